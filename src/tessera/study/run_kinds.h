// The kinds of runs that there are, each a descriptor: how to go on with one, how to check one, and
// how to name one in a list. `tessera resume`, `tessera verify` and `tessera list runs` know no
// more about a kind than this. A new kind is a file and a line in run_kinds.cc; what its result
// looks like is a view of report/run_views.cc.
#ifndef TESSERA_STUDY_RUN_KINDS_H_
#define TESSERA_STUDY_RUN_KINDS_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tessera/base/result.h"
#include "tessera/record/progress.h"
#include "tessera/record/run_directory.h"
#include "tessera/record/verification.h"

namespace tessera {

// What a run may use while it goes on. All functions may be empty.
struct RunContext {
  int threads = 0;  // 0: one per core. Default: 0.
  std::function<bool()> stopped = {};
  std::function<std::shared_ptr<ProgressObserver>(ProgressOptions)> start_progress = {};
  std::function<void(std::string_view)> remark = {};
};

// What a run came to; each kind has its own (study/runs.h).
struct RunResult {
  virtual ~RunResult() = default;
};

struct RunVerification {
  Verification found = {};
  // The result, computed again from what was evaluated again: everything that is shown of it has to
  // be what the folder holds. Null: `found` has compared it already.
  std::unique_ptr<RunResult> again = {};
};

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

}  // namespace tessera

#endif  // TESSERA_STUDY_RUN_KINDS_H_
