// Runs of `tessera compare`.
#include <fmt/format.h>

#include "tessera/mapper/compare_run.h"
#include "tessera/runs.h"
#include "tessera/study/kinds.h"

namespace tessera {
namespace {

Result<std::unique_ptr<RunResult>> ResumeCompareFolder(RunDirectory& directory,
                                                       const RunContext& context) {
  Result<CompareJob> job = LoadCompareJob(directory);
  if (!job) return job.error();
  return RunCompare(*std::move(job), &directory, context);
}

Result<RunVerification> VerifyCompareFolder(const RunDirectory& directory,
                                            const VerifyOptions& options) {
  Result<CompareJob> job = LoadCompareJob(directory);
  if (!job) return job.error();
  RunVerification verification;
  Result<Comparison> again = CompareAgain(*job, directory, options, verification.found);
  if (!again) return again.error();
  auto result = std::make_unique<CompareRunResult>();
  result->job = std::move(job->problem);
  result->comparison = *std::move(again);
  verification.again = std::move(result);
  return verification;
}

std::string Line(const RunDirectory& directory) {
  const Result<CompareJob> job = LoadCompareJob(directory);
  if (!job) return job.error().message;
  const MapJob& problem = job->problem;
  return fmt::format("{} {} on {}, {}, {} methods, {} seeds", problem.network.name,
                     problem.network.layers.front().name, problem.accelerator.name,
                     ToString(problem.settings.objective), job->options.methods.size(),
                     job->options.seeds);
}

}  // namespace

Result<std::unique_ptr<RunResult>> RunCompare(CompareJob job, const RunDirectory* directory,
                                              const RunContext& context) {
  std::shared_ptr<ProgressObserver> progress;
  if (context.start_progress) progress = context.start_progress({.name_heading = "run"});
  Result<Comparison> comparison = CompareMethods(
      job.problem, job.options, context.threads,
      {.progress = progress.get(), .stopped = context.stopped, .directory = directory});
  if (!comparison) return comparison.error();
  auto result = std::make_unique<CompareRunResult>();
  result->job = std::move(job.problem);
  result->comparison = *std::move(comparison);
  return std::unique_ptr<RunResult>(std::move(result));
}

RunKind CompareRunKind() {
  return {.name = kCompareRun,
          .summary = "search methods against each other on one layer",
          .check_exec = CheckCompareMayExecute,
          .resume = ResumeCompareFolder,
          .verify = VerifyCompareFolder,
          .line = Line};
}

}  // namespace tessera
