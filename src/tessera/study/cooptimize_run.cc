// Runs of `tessera cooptimize`.
#include <fmt/format.h>

#include "tessera/study/runs.h"

namespace tessera {
namespace {

using coopt::CooptimizeJob;
using coopt::CooptimizeResult;
using coopt::SessionResult;

Result<std::unique_ptr<RunResult>> Resume(RunDirectory& directory, const RunContext& context) {
  Result<CooptimizeJob> job = coopt::LoadCooptimizeJob(directory);
  if (!job) return job.error();
  return RunCooptimize(*std::move(job), &directory, context);
}

Result<RunVerification> Verify(const RunDirectory& directory, const VerifyOptions& options) {
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
  return fmt::format("{} on {}, {}, {}", job->name, job->settings.target, job->settings.objective,
                     job->settings.method);
}

// One row per layer and one for the network.
void Report(const CooptimizeJob& job, const SessionResult& result, ProgressObserver& progress) {
  const coopt::CooptProblem& problem = *job.problem;
  const auto show = [&](const ProgressRow& row) {
    progress.OnProgress(row.samples >= row.budget ? ProgressEvent::kDone : ProgressEvent::kAdvanced,
                        row);
  };
  for (size_t i = 0; i < problem.layers().size(); ++i) {
    ProgressRow row = {.name = problem.layers()[i].name,
                       .samples = result.layer_measurements[i],
                       .budget = job.settings.measurements};
    if (!result.layer_curves[i].empty()) row.best = result.layer_curves[i].back().cycles;
    show(row);
  }
  ProgressRow row = {.name = job.name,
                     .samples = result.measurements,
                     .budget = job.settings.measurements * std::ssize(problem.layers())};
  if (const coopt::HardwareScore* best = result.best()) {
    row.best = best->cycles;
    row.gap = best->value / problem.FloorCycles(*result.hardware) - 1;
  }
  if (problem.options().objective == coopt::CooptObjective::kEdpProxy) row.gap.reset();
  show(row);
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
  coopt::CooptimizeHooks hooks{.stopped = context.stopped, .directory = directory};
  const CooptimizeJob told = job;
  if (progress != nullptr) {
    hooks.progress = [&](const SessionResult& so_far) { Report(told, so_far, *progress); };
    hooks.counted = [&](int64_t measured, std::optional<double> best) {
      progress->OnProgress(ProgressEvent::kAdvanced,
                           {.name = told.name, .best = best, .samples = measured});
    };
  }
  auto result = std::make_unique<CooptimizeRunResult>();
  Result<CooptimizeResult> made = coopt::Cooptimize(std::move(job), context.threads, hooks);
  if (!made) return made.error();
  result->result = *std::move(made);
  return std::unique_ptr<RunResult>(std::move(result));
}

RunKind CooptimizeRunKind() {
  return {.name = coopt::kCooptimizeRun,
          .summary = "hardware within a budget and schedules, found together",
          .check_exec = [](const RunDirectory&, bool) { return Result<void>(); },
          .resume = Resume,
          .verify = Verify,
          .line = Line};
}

}  // namespace tessera
