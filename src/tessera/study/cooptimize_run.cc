// Runs of `tessera cooptimize`.
#include <fmt/format.h>

#include "tessera/coopt/run.h"
#include "tessera/runs.h"
#include "tessera/study/kinds.h"

namespace tessera {
namespace {

using coopt::CooptimizeJob;
using coopt::CooptimizeResult;

Result<std::unique_ptr<RunResult>> ResumeCooptimizeFolder(RunDirectory& directory,
                                                          const RunContext& context) {
  Result<CooptimizeJob> job = coopt::LoadCooptimizeJob(directory);
  if (!job) return job.error();
  return RunCooptimize(*std::move(job), &directory, context);
}

Result<RunVerification> VerifyCooptimizeFolder(const RunDirectory& directory,
                                               const VerifyOptions& options) {
  RunVerification verification;
  Result<CooptimizeResult> again = coopt::CooptimizeAgain(directory, options, verification.found);
  if (!again) return again.error();
  auto result = std::make_unique<CooptimizeRunResult>();
  result->result = *std::move(again);
  verification.again = std::move(result);
  return verification;
}

std::string Line(const RunDirectory& directory) {
  const Result<CooptimizeJob> job = coopt::LoadCooptimizeJob(directory);
  if (!job) return job.error().message;
  return fmt::format("{} on {}, {}, {}", job->name, job->settings.target,
                     coopt::kCooptObjectiveNames[static_cast<size_t>(job->settings.objective)],
                     job->settings.method);
}

}  // namespace

Result<std::unique_ptr<RunResult>> RunCooptimize(CooptimizeJob job, const RunDirectory* directory,
                                                 const RunContext& context) {
  const bool walks = job.method.method->proves;
  std::shared_ptr<ProgressObserver> progress;
  if (context.start_progress) {
    progress = context.start_progress(
        {.name_heading = walks ? "network" : "layer", .samples_heading = "measurements"});
  }
  auto result = std::make_unique<CooptimizeRunResult>();
  Result<CooptimizeResult> made = coopt::Cooptimize(
      std::move(job), context.threads,
      {.progress = progress.get(), .stopped = context.stopped, .directory = directory});
  if (!made) return made.error();
  result->result = *std::move(made);
  return std::unique_ptr<RunResult>(std::move(result));
}

RunKind CooptimizeRunKind() {
  return {.name = coopt::kCooptimizeRun,
          .summary = "hardware within a budget and schedules, found together",
          .check_exec = [](const RunDirectory&, bool) { return Result<void>(); },
          .resume = ResumeCooptimizeFolder,
          .verify = VerifyCooptimizeFolder,
          .line = Line};
}

}  // namespace tessera
