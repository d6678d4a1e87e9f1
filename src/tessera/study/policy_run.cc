// Runs of `tessera train --curriculum`.
#include <fmt/format.h>

#include "tessera/map.h"
#include "tessera/mapper/policy_run.h"
#include "tessera/part.h"
#include "tessera/record/clock.h"
#include "tessera/runs.h"
#include "tessera/study/kinds.h"

namespace tessera {
namespace {

constexpr std::string_view kCurriculum = "inputs/curriculum.yaml";

Result<std::unique_ptr<RunResult>> ResumePolicyFolder(RunDirectory& directory,
                                                      const RunContext& context) {
  return RunPolicyTraining(directory.File(kCurriculum),
                           static_cast<uint64_t>(directory.header().seed), &directory, context);
}

// Trained again from its beginning, without what the folder holds, as far as time allows.
Result<RunVerification> VerifyPolicyFolder(const RunDirectory& directory,
                                           const VerifyOptions& options) {
  RunVerification verification;
  auto result = std::make_unique<PolicyRunResult>();
  const double deadline = SteadySeconds() + options.seconds;
  Result<PolicyTraining> again = TrainPolicyAgain(
      directory, options.threads, [&] { return SteadySeconds() >= deadline || StopRequested(); });
  const bool late = !again && again.error().kind == ErrorKind::kInterrupted;
  if (!again && !late) return again.error();
  if (again) result->training = *std::move(again);
  verification.found.part = "steps";
  verification.found.parts.push_back({.name = "training", .trials = result->training.step});
  if (late || result->training.interrupted) {
    verification.found.trusted.push_back(fmt::format(
        "the policy and its curves: {} of {} steps were trained again in the time given",
        result->training.step, result->training.steps));
  } else {
    verification.again = std::move(result);
  }
  return verification;
}

std::string Line(const RunDirectory& directory) {
  return fmt::format("a policy, seed {}", directory.header().seed);
}

}  // namespace

Result<std::unique_ptr<RunResult>> RunPolicyTraining(const std::string& curriculum_file,
                                                     uint64_t seed, const RunDirectory* directory,
                                                     const RunContext& context) {
  std::shared_ptr<ProgressObserver> progress;
  if (context.start_progress) {
    progress = context.start_progress({.name_heading = "phase",
                                       .samples_heading = "steps",
                                       .best_heading = "loss, log2 cost",
                                       .quiet_seconds = 2});
  }
  auto result = std::make_unique<PolicyRunResult>();
  Result<PolicyTraining> trained =
      TrainPolicy(curriculum_file, seed, context.threads,
                  {.progress = progress.get(), .stopped = context.stopped, .directory = directory});
  if (!trained) return trained.error();
  result->training = *std::move(trained);
  return std::unique_ptr<RunResult>(std::move(result));
}

RunKind PolicyRunKind() {
  return {.name = kPolicyRun,
          .summary = "a policy that learns to map",
          .check_exec = [](const RunDirectory&, bool) { return Result<void>(); },
          .resume = ResumePolicyFolder,
          .verify = VerifyPolicyFolder,
          .line = Line};
}

}  // namespace tessera
