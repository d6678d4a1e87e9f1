// Long work: what it tells while it goes on, how it is stopped, and the folder of a run, from which
// it can be resumed and checked by anybody, anywhere. tessera/runs.h has the runs themselves.
//
//   RUN/run.json      what was asked for, hashes of inputs and results
//   RUN/inputs/       copies of everything that was read: nothing outside is read again
//   RUN/journal/      what was evaluated, line by line, with chained checksums
//   RUN/result.json   the result, the same on every machine; report.html: the same for people
//   RUN/times.json    clock times of every sitting, which are not
//   RUN/...           files of the kind: mappings/, programs/, checkpoint.safetensors
#ifndef TESSERA_RUN_H_
#define TESSERA_RUN_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

// ---- Progress ----------------------------------------------------------------------------------

enum class ProgressEvent {
  kStarted,    // work on something began
  kAdvanced,   // more samples, nothing better
  kImproved,   // a better result
  kMilestone,  // a mark on a long way: worth a line where there is no table
  kDone,       // finished; the row will not change any more
};

// The state of one piece of work: a layer, a file, a training run.
struct ProgressRow {
  std::string name;                            // unique among the rows of one reporter
  std::optional<double> best = std::nullopt;   // best value so far
  std::optional<double> bound = std::nullopt;  // no value can be below it
  std::optional<double> gap = std::nullopt;    // best / bound - 1
  int64_t samples = 0;                         // done
  int64_t budget = 0;                          // to do; 0: not known
};

// Contract: called by one thread at a time; must not fail or throw.
class ProgressObserver {
 public:
  virtual ~ProgressObserver() = default;
  virtual void OnProgress(ProgressEvent event, const ProgressRow& row) = 0;
};

struct ProgressOptions {
  // Heading of the first column: "layer". Default: "name".
  std::string name_heading = "name";

  // Heading of the samples: "files". Default: "samples".
  std::string samples_heading = "samples";

  // Heading of the results: "team_return". Default: "best".
  std::string best_heading = "best";

  // Nothing is shown before the work has taken this long; what is short needs no progress.
  // Default: 0.5.
  double quiet_seconds = 0.5;

  // Least time between two drawings of the table. Default: 0.1.
  double redraw_seconds = 0.1;
};

// ---- Stopping ----------------------------------------------------------------------------------
//
// Ctrl-C for programs that want it: the first asks running work to stop at its next safe point,
// where it keeps what it has; the second ends the program at once with exit code 130. Work that
// takes a `stopped` function polls any other source just as well. The flag itself is in part.h.

// Takes over SIGINT, SIGTERM and, unless it is ignored, SIGHUP. Called once, by the program and not
// by the library.
void InstallStopSignals();

// ---- What long work may use --------------------------------------------------------------------

// All functions may be empty.
enum class Device : int;  // tessera/env.h

struct RunContext {
  int threads = 0;     // 0: one per core. Default: 0.
  Device device = {};  // of learners. Default: the processor.
  std::function<bool()> stopped = {};
  std::function<std::shared_ptr<ProgressObserver>(ProgressOptions)> start_progress = {};
  std::function<void(std::string_view)> remark = {};
};

// ---- The folder of a run -----------------------------------------------------------------------

// Who starts a run: nothing that its result depends on.
struct RunOrigin {
  std::string version = {};               // of the program
  std::vector<std::string> command = {};  // the words of the command line
};

struct RunHeader {
  std::string kind = {};  // "map", "compare", "cooptimize", "train"
  RunOrigin origin = {};
  std::string settings = {};  // a JSON object, in the words of the kind
  int64_t seed = 1;
  std::map<std::string, std::string> inputs = {};   // file of the folder -> SHA-256
  std::map<std::string, std::string> results = {};  // of a run that has ended
  // Kind, settings, seed and inputs of the run when it was made, as 16 digits: journals start with
  // it, and temporary files have it in their names.
  std::string id = {};

  bool ended() const { return !results.empty(); }
};

// Where a journal is, and what its first sum starts from.
struct JournalFile {
  std::string path = {};
  std::string start = {};
};

// ---- Verification ------------------------------------------------------------------------------

// Something that is not what it should be.
struct Discrepancy {
  std::string what;  // "layer 'conv1': cycles"
  std::string reported;
  std::string computed;
};

// What was checked of a part of the run, such as a layer.
struct CheckedPart {
  std::string name = {};
  int64_t numbers = 0;                    // of the report, computed again
  int64_t trials = 0;                     // of the journal, evaluated again
  int64_t files = 0;                      // compared
  std::vector<std::string> remarks = {};  // one per column of Verification::remarks
};

struct Verification {
  std::string part = "part";              // what a part is: "layer"
  std::vector<std::string> remarks = {};  // columns: "mapping", "bound"
  std::vector<CheckedPart> parts = {};
  int64_t total_numbers = 0;  // of the whole
  int64_t total_files = 0;
  std::vector<Discrepancy> discrepancies = {};
  std::vector<std::string> trusted = {};  // what was not computed again, and why
};

struct VerifyOptions {
  int threads = 0;  // 0: one per core. Default: 0.

  // Time for proofs and training to be repeated; what does not fit is listed as trusted.
  // Default: 10.
  double seconds = 10;

  // Random mappings per pruning rule and layer below what proofs left out. Default: 0 (none).
  int64_t audit = 0;
};

// ---- Folders -----------------------------------------------------------------------------------

class FolderLock;

// Contract:
//   Lock         one that writes holds the folder's lock while it lives, so that two programs
//                cannot write to one run.
//   Trust        a folder is data: symbolic links in it are refused, and inputs that are not those
//                of run.json.
//   Cleanliness  removes nothing but temporary files of its own run.
class RunDirectory {
 public:
  RunDirectory(RunDirectory&&) = default;
  RunDirectory& operator=(RunDirectory&&) = default;

  using Files = std::map<std::string, std::string>;  // name in the folder -> contents

  // Makes the folder of a new run: inputs, then run.json. Of the header, id and hashes are filled
  // in. A folder that already holds a run is an error.
  static Result<RunDirectory> Create(const std::string& folder, RunHeader header,
                                     const Files& inputs);
  // Opens the folder of an earlier run, to go on with it.
  static Result<RunDirectory> Open(const std::string& path);
  // The same to look at it: writes nothing, not even a lock.
  static Result<RunDirectory> ReadOnly(const std::string& path);

  const std::string& path() const { return path_; }
  const RunHeader& header() const { return header_; }
  std::string File(std::string_view name) const { return path_ + "/" + std::string(name); }
  JournalFile Journal(std::string_view name) const;  // "001": journal/001.jsonl
  // What temporary files of the run are called (WriteFileAtomically).
  const std::string& token() const { return header_.id; }

  // The run goes on: from here to End it has no results.
  Result<void> Begin();
  // Replaces the settings of the run; its id stays.
  Result<void> ChangeSettings(std::string settings);

  // Replaces a file of the run, in a folder that is made if need be. It becomes one of the results.
  Result<void> Write(const std::string& name, std::string_view contents);
  // Replaces a result of a run that has ended, and its hash: a page that is drawn anew.
  Result<void> Replace(const std::string& name, std::string_view contents);
  // Clock times of this sitting, an object; those of earlier sittings stay. They are no result.
  Result<void> AddTimes(std::string_view object) const;

  // The run has ended: hashes of everything written since Begin, of all journals and of `more`
  // go to run.json.
  Result<void> End(const std::vector<std::string>& more = {});

  // Files that are not what run.json says.
  Verification CheckFiles() const;

 private:
  RunDirectory(std::string path, std::shared_ptr<FolderLock> lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  static Result<RunDirectory> Checked(const std::string& folder, bool writes);
  Result<void> WriteHeader() const;
  Result<void> CheckInputs() const;
  Result<void> Put(const std::string& name, std::string_view contents) const;
  void RemoveUnfinished() const;

  std::string path_;
  std::shared_ptr<FolderLock> lock_;  // null: only to look at it
  RunHeader header_;
  std::map<std::string, std::string> written_;  // hashes, since Begin
};

// What a use case tells and asks while it goes on, and where it leaves its journals.
struct RunHooks {
  ProgressObserver* progress = nullptr;     // may be null
  std::function<bool()> stopped = {};       // polled now and then; may be empty
  const RunDirectory* directory = nullptr;  // what it holds is not done again; may be null
};

}  // namespace tessera

#endif  // TESSERA_RUN_H_
