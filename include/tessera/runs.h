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

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

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
struct ExploreRunResult final : RunResult {
  ExploreResult result = {};
};
struct SweepRunResult final : RunResult {
  SweepResult result = {};
};
struct PolicyRunResult final : RunResult {
  PolicyTraining training = {};
};
struct TrainRunResult final : RunResult {
  TrainOutcome outcome = {};
};

// ---- Studies -----------------------------------------------------------------------------------
//
// Many mappings as one run: a file names networks, layers, accelerators, objectives, methods and
// seeds, or lists its work units (docs/cluster.md). A unit's record depends on the unit alone, so
// units may be computed anywhere and in any order, and the study ends with the same bytes.
//
//   RUN/inputs/units.jsonl     the units, a line each; beside it their networks and machines
//   RUN/journal/units.jsonl    the records of units that are done; in order once all are
//   RUN/study.sqlite           the same as tables, which others may read at any time

inline constexpr std::string_view kStudyRun = "study";

// A piece of work, as lists and tables show it.
struct StudyUnit {
  int64_t number = 0;   // from 1
  std::string id = {};  // 16 digits over everything that its record depends on
  std::string network = {};
  std::string layer = {};  // empty: all layers
  std::string accelerator = {};
  std::string model = {};
  std::string objective = {};
  std::string method = {};
  int64_t seed = 1;
  int64_t cores = 1;  // what a cluster has to reserve for it
  int64_t memory_mib = 0;

  std::string Name() const;  // "alexnet conv1, eyeriss-256, edp, ga, seed 1"
};

// Units I, I+N, I+2N, ... of a study.
struct StudyPart {
  int64_t index = 1, of = 1;

  bool Has(int64_t unit) const { return (unit - index) % of == 0; }
  friend bool operator==(const StudyPart&, const StudyPart&) = default;
};
Result<StudyPart> ParseStudyPart(std::string_view text);  // "2/3"

struct StudyRunResult final : RunResult {
  std::string name = {};
  std::string id = {};  // of the units and all that they depend on
  int64_t units_of_all_parts = 0;
  StudyPart part = {};
  std::vector<StudyUnit> units = {};      // of the part
  std::vector<std::string> records = {};  // of each of them, a JSON object; empty: not done
  double seconds = 0;

  int64_t done() const;
  bool complete() const { return done() == std::ssize(units); }
};

// A new run of the study that a file holds, or the run of it that the folder holds already: a study
// that is started again goes on. Errors: with line and column of the file; another study, or
// another part of it, in the folder.
Result<RunDirectory> CreateStudyRun(const std::string& path, const std::string& file,
                                    const StudyPart& part, const RunOrigin& origin);

// What a folder holds, finished or not; nothing is computed.
Result<std::unique_ptr<StudyRunResult>> LoadStudyRun(const RunDirectory& directory);

// Computes units, `threads` at a time, and ends the study when nothing is left. Units that failed
// (no mapping was found, ...) are done; `retry`: they are tried again.
Result<std::unique_ptr<RunResult>> RunStudy(RunDirectory& directory, const RunContext& context,
                                            bool retry = false);

// The record of one unit, computed now; writes nothing.
Result<std::string> ComputeStudyUnit(const RunDirectory& directory, int64_t unit,
                                     const RunContext& context);

// Takes records that were computed elsewhere, as `next` gives them, until it gives none. One that
// is not of this study is an error, as is another record of a unit that is known.
Result<std::unique_ptr<RunResult>> AddStudyRecords(
    RunDirectory& directory, const std::function<Result<std::optional<std::string>>()>& next,
    const RunContext& context);

// Everything that runs of one study have, whatever their parts and whether they have ended. Errors
// as AddStudyRecords; runs of different studies.
Result<std::unique_ptr<StudyRunResult>> CollectStudies(const std::vector<std::string>& folders);
// The same into the folder of a run of the whole study, which is made if need be.
Result<RunDirectory> CollectStudiesInto(const std::string& path,
                                        const std::vector<std::string>& folders,
                                        const RunOrigin& origin);

// study.sqlite of a result: equal results give equal bytes.
Result<std::string> StudyStoreBytes(const StudyRunResult& result);

// Null, an integer, a number or text.
using StudyValue = std::variant<std::monostate, int64_t, double, std::string>;
struct StudyRows {
  std::vector<std::string> columns = {};
  std::vector<std::vector<StudyValue>> rows = {};
};
// Asks the store of a folder, also while the study runs; if study.sqlite is missing or damaged, the
// journal is asked instead. Statements that would change something are errors.
Result<StudyRows> QueryStudy(const std::string& folder, const std::string& sql,
                             const std::function<bool()>& stopped = {});

// ---- New runs ----------------------------------------------------------------------------------

// `directory` may be null; it has begun.
Result<std::unique_ptr<RunResult>> RunMap(MapJob job, const RunDirectory* directory,
                                          const RunContext& context);
Result<std::unique_ptr<RunResult>> RunCompare(CompareJob job, const RunDirectory* directory,
                                              const RunContext& context);
Result<std::unique_ptr<RunResult>> RunCooptimize(coopt::CooptimizeJob job,
                                                 const RunDirectory* directory,
                                                 const RunContext& context);
Result<std::unique_ptr<RunResult>> RunExplore(ExploreJob job, const RunDirectory* directory,
                                              const RunContext& context);
Result<std::unique_ptr<RunResult>> RunSweep(SweepJob job, const RunDirectory* directory,
                                            const RunContext& context);
Result<std::unique_ptr<RunResult>> RunTrain(const TrainSettings& settings, RunDirectory* directory,
                                            const RunContext& context);
Result<std::unique_ptr<RunResult>> RunPolicyTraining(const std::string& curriculum_file,
                                                     uint64_t seed, const RunDirectory* directory,
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
