// Runs of `tessera train --curriculum`.
#include <fmt/format.h>

#include "tessera/map.h"
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

// Trained again from its beginning, without what the folder holds.
Result<RunVerification> VerifyPolicyFolder(const RunDirectory& directory,
                                           const VerifyOptions& options) {
  RunVerification verification;
  auto result = std::make_unique<PolicyRunResult>();
  Result<PolicyTraining> again =
      TrainPolicy(directory.File(kCurriculum), static_cast<uint64_t>(directory.header().seed),
                  options.threads, {});
  if (!again) return again.error();
  result->training = *std::move(again);
  verification.found.part = "steps";
  verification.found.parts.push_back({.name = "training", .trials = result->training.step});
  verification.again = std::move(result);
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
