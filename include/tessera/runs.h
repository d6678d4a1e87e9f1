// Runs with a folder: started, gone on with after any interruption, checked by anybody, and listed,
// the same way for every kind. Runs without a folder leave nothing behind and cannot be resumed.
//
//   Result<RunDirectory> folder = CreateMapRun("runs/alexnet", job, {});
//   const Result<std::unique_ptr<RunResult>> result = Resume(*folder);   // also after kill -9
//   const auto& mapped = dynamic_cast<const MapRunResult&>(**result);
//
// The pages that `tessera resume` adds to a folder (result.json, report.html) are the program's.
#ifndef TESSERA_RUNS_H_
#define TESSERA_RUNS_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tessera/cooptimize.h"
#include "tessera/map.h"
#include "tessera/result.h"
#include "tessera/run.h"
#include "tessera/train.h"

namespace tessera {

// ---- What runs come to -------------------------------------------------------------------------

// What a run came to; each kind has its own.
struct RunResult {
  virtual ~RunResult() = default;
};

struct RunVerification {
  Verification found = {};
  // The result, computed again from what was evaluated again: everything that is shown of it has to
  // be what the folder holds. Null: `found` has compared it already.
  std::unique_ptr<RunResult> again = {};
};

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

// ---- New runs ----------------------------------------------------------------------------------

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

// ---- Kinds of runs -----------------------------------------------------------------------------
//
// How to go on with a run, how to check it, and how to name it in a list.

struct RunKind {
  std::string_view name;     // as in run.json
  std::string_view summary;  // one line
  // An error if going on would run a program that stands in the folder, which needs a permission.
  Result<void> (*check_exec)(const RunDirectory&, bool allowed);
  // Runs to the end, from what the journals hold; files other than journals are written by whoever
  // shows the result. The directory has begun.
  Result<std::unique_ptr<RunResult>> (*resume)(RunDirectory&, const RunContext&);
  Result<RunVerification> (*verify)(const RunDirectory&, const VerifyOptions&);
  // What the run is about, in a few words: "alexnet on eyeriss-256".
  std::string (*line)(const RunDirectory&);
};

std::span<const RunKind> RunKinds();

// The kind of a folder; one that this version does not know is an error.
Result<const RunKind*> KindOf(const RunDirectory& directory);

// Goes on with a run to its end, and checks one. A folder is data: a program that stands in it
// (model exec:COMMAND) is run only if `allow_exec` says so; otherwise that is an error that shows
// it.
Result<std::unique_ptr<RunResult>> Resume(RunDirectory& directory, const RunContext& context = {},
                                          bool allow_exec = false);
Result<RunVerification> Verify(const RunDirectory& directory, const VerifyOptions& options = {},
                               bool allow_exec = false);

}  // namespace tessera

#endif  // TESSERA_RUNS_H_
