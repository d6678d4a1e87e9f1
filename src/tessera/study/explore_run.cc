// Runs of `tessera explore` and `tessera sweep`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/cooptimize.h"
#include "tessera/runs.h"
#include "tessera/study/kinds.h"

namespace tessera {
namespace {

Result<void> NoExec(const RunDirectory& /*directory*/, bool /*allowed*/) { return {}; }

template <typename Job, auto kLoad, auto kRun>
Result<std::unique_ptr<RunResult>> ResumeFolder(RunDirectory& directory,
                                                const RunContext& context) {
  Result<Job> job = kLoad(directory);
  if (!job) return job.error();
  return kRun(*std::move(job), &directory, context);
}

template <typename Made, auto kAgain>
Result<RunVerification> VerifyFolder(const RunDirectory& directory, const VerifyOptions& options) {
  RunVerification verification;
  auto again = kAgain(directory, options, verification.found);
  if (!again) return again.error();
  auto result = std::make_unique<Made>();
  result->result = *std::move(again);
  verification.again = std::move(result);
  return verification;
}

template <typename Job>
std::string NamesOf(const Job& job) {
  std::vector<std::string> names;
  for (const Network& network : job.networks) names.push_back(network.name);
  return fmt::format("{}", fmt::join(names, " + "));
}

std::string ExploreLine(const RunDirectory& directory) {
  const Result<ExploreJob> job = LoadExploreJob(directory);
  if (!job) return job.error().message;
  return fmt::format("{} on machines of a template, {}, {}", NamesOf(*job),
                     ToString(job->settings.objective), job->settings.method);
}

std::string SweepLine(const RunDirectory& directory) {
  const Result<SweepJob> job = LoadSweepJob(directory);
  if (!job) return job.error().message;
  std::vector<std::string> fields;
  for (const auto& [field, values] : job->settings.vary) fields.push_back(field);
  return fmt::format("{} by {}, {}", job->networks.front().name, fmt::join(fields, ", "),
                     ToString(job->settings.map.objective));
}

// Progress around the use case, the same for a new run and a resumed one.
template <typename Made, typename Job, auto kDo>
Result<std::unique_ptr<RunResult>> Go(const Job& job, const RunDirectory* directory,
                                      const RunContext& context, const char* what) {
  std::shared_ptr<ProgressObserver> progress;
  if (context.start_progress) {
    progress = context.start_progress({.name_heading = "template", .samples_heading = what});
  }
  auto made =
      kDo(job, context.threads,
          RunHooks{.progress = progress.get(), .stopped = context.stopped, .directory = directory});
  if (!made) return made.error();
  auto result = std::make_unique<Made>();
  result->result = *std::move(made);
  return std::unique_ptr<RunResult>(std::move(result));
}

}  // namespace

Result<std::unique_ptr<RunResult>> RunExplore(ExploreJob job, const RunDirectory* directory,
                                              const RunContext& context) {
  return Go<ExploreRunResult, ExploreJob, Explore>(job, directory, context, "machines");
}

Result<std::unique_ptr<RunResult>> RunSweep(SweepJob job, const RunDirectory* directory,
                                            const RunContext& context) {
  return Go<SweepRunResult, SweepJob, Sweep>(job, directory, context, "points");
}

RunKind ExploreRunKind() {
  return {.name = kExploreRun,
          .summary = "the best machines of a template, with proof",
          .check_exec = NoExec,
          .resume = ResumeFolder<ExploreJob, LoadExploreJob, RunExplore>,
          .verify = VerifyFolder<ExploreRunResult, ExploreAgain>,
          .line = ExploreLine};
}

RunKind SweepRunKind() {
  return {.name = kSweepRun,
          .summary = "what a network costs as numbers of a machine change",
          .check_exec = NoExec,
          .resume = ResumeFolder<SweepJob, LoadSweepJob, RunSweep>,
          .verify = VerifyFolder<SweepRunResult, SweepAgain>,
          .line = SweepLine};
}

}  // namespace tessera
