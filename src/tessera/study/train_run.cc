// Runs of `tessera train`.
#include "tessera/training/train_run.h"
#include "tessera/train.h"

#include <fmt/format.h>

#include "tessera/runs.h"
#include "tessera/study/kinds.h"

namespace tessera {
namespace {

Result<std::unique_ptr<RunResult>> ResumeTrainFolder(RunDirectory& directory,
                                                     const RunContext& context) {
  const Result<TrainSettings> settings = LoadTrainSettings(directory);
  if (!settings) return settings.error();
  return RunTrain(*settings, &directory, context);
}

Result<RunVerification> VerifyTrainFolder(const RunDirectory& directory,
                                          const VerifyOptions& options) {
  RunVerification verification;
  Result<TrainOutcome> again = TrainAgain(directory, options, verification.found);
  if (!again) return again.error();
  auto result = std::make_unique<TrainRunResult>();
  result->outcome = *std::move(again);
  verification.again = std::move(result);
  return verification;
}

std::string Line(const RunDirectory& directory) {
  const Result<TrainSettings> settings = LoadTrainSettings(directory);
  if (!settings) return settings.error().message;
  return fmt::format("{} in {}, {} episodes", settings->config.algorithm, settings->config.env,
                     settings->episodes);
}

}  // namespace

Result<std::unique_ptr<RunResult>> RunTrain(const TrainSettings& settings, RunDirectory* directory,
                                            const RunContext& context) {
  std::shared_ptr<ProgressObserver> progress;
  if (context.start_progress) {
    progress = context.start_progress({.name_heading = "algorithm",
                                       .samples_heading = "episodes",
                                       .best_heading = "team_return",
                                       .quiet_seconds = 2});
  }
  auto result = std::make_unique<TrainRunResult>();
  Result<TrainOutcome> outcome =
      Train(settings, context.threads,
            {.progress = progress.get(), .stopped = context.stopped, .directory = directory},
            context.device);
  if (!outcome) return outcome.error();
  result->outcome = *std::move(outcome);
  return std::unique_ptr<RunResult>(std::move(result));
}

RunKind TrainRunKind() {
  return {.name = kTrainRun,
          .summary = "agents that learn in an environment",
          .check_exec = [](const RunDirectory&, bool) { return Result<void>(); },
          .resume = ResumeTrainFolder,
          .verify = VerifyTrainFolder,
          .line = Line};
}

}  // namespace tessera
