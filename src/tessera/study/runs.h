// Runs of each kind: what they come to, and how a new one starts. Without a folder they leave
// nothing behind and cannot be resumed.
#ifndef TESSERA_STUDY_RUNS_H_
#define TESSERA_STUDY_RUNS_H_

#include <memory>
#include <string>

#include "tessera/coopt/run.h"
#include "tessera/mapper/compare_run.h"
#include "tessera/mapper/map_network.h"
#include "tessera/study/run_kinds.h"
#include "tessera/training/train_run.h"

namespace tessera {

struct MapRunResult final : RunResult {
  MapJob job = {};
  NetworkMapping mapping = {};
};
struct CompareRunResult final : RunResult {
  MapJob job = {};
  Comparison comparison = {};
};
struct CooptimizeRunResult final : RunResult {
  coopt::CooptimizeResult result;
};
struct TrainRunResult final : RunResult {
  TrainOutcome outcome = {};
};

// `directory` may be null; it has begun.
Result<std::unique_ptr<RunResult>> RunMap(MapJob job, const RunDirectory* directory,
                                          const RunContext& context);
Result<std::unique_ptr<RunResult>> RunCompare(CompareJob job, const RunDirectory* directory,
                                              const RunContext& context);
Result<std::unique_ptr<RunResult>> RunCooptimize(coopt::CooptimizeJob job,
                                                 const RunDirectory* directory,
                                                 const RunContext& context);
Result<std::unique_ptr<RunResult>> RunTrain(const TrainSettings& settings, RunDirectory* directory,
                                            const RunContext& context);

RunKind MapRunKind();
RunKind CompareRunKind();
RunKind CooptimizeRunKind();
RunKind TrainRunKind();

}  // namespace tessera

#endif  // TESSERA_STUDY_RUNS_H_
