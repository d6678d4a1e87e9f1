// Runs of `tessera map`.
#include <fmt/format.h>

#include "tessera/interlayer/verify_plan.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/mapper/verify.h"
#include "tessera/runs.h"
#include "tessera/study/kinds.h"

namespace tessera {
namespace {

Result<void> CheckExec(const RunDirectory& directory, bool allowed) {
  const Result<MapSettings> settings =
      ParseMapSettings(directory.header().settings, directory.File("run.json"));
  return settings ? CheckMayExecute(*settings, allowed) : settings.error();
}

Result<std::unique_ptr<RunResult>> ResumeMapFolder(RunDirectory& directory,
                                                   const RunContext& context) {
  Result<MapJob> job = LoadMapJob(directory);
  if (!job) return job.error();
  return RunMap(*std::move(job), &directory, context);
}

Result<RunVerification> VerifyMapFolder(const RunDirectory& directory,
                                        const VerifyOptions& options) {
  Result<Verification> found = VerifyMapRun(directory, options);
  if (!found) return found.error();
  if (Result<void> plan = VerifyPlan(directory, *found); !plan) return plan.error();
  return RunVerification{.found = *std::move(found)};
}

std::string Line(const RunDirectory& directory) {
  const Result<MapJob> job = LoadMapJob(directory);
  if (!job) return job.error().message;
  return fmt::format("{} on {}, {}, {}", job->network.name, job->accelerator.name,
                     ToString(job->settings.objective), job->settings.method.ToString());
}

}  // namespace

Result<std::unique_ptr<RunResult>> RunMap(MapJob job, const RunDirectory* directory,
                                          const RunContext& context) {
  std::shared_ptr<ProgressObserver> progress;
  if (context.start_progress) progress = context.start_progress({.name_heading = "layer"});
  auto result = std::make_unique<MapRunResult>();
  result->job = std::move(job);
  Result<NetworkMapping> mapping =
      MapGraph(result->job, context.threads,
               {.progress = progress.get(), .stopped = context.stopped, .directory = directory},
               context.device);
  if (!mapping) return mapping.error();
  result->mapping = *std::move(mapping);
  return std::unique_ptr<RunResult>(std::move(result));
}

RunKind MapRunKind() {
  return {.name = kMapRun,
          .summary = "the best mapping of every layer of a network",
          .check_exec = CheckExec,
          .resume = ResumeMapFolder,
          .verify = VerifyMapFolder,
          .line = Line};
}

}  // namespace tessera
