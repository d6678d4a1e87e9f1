// The folder of a run, the same for every command that makes runs:
//
//   RUN/run.json      what was asked for, hashes of inputs and results (record/run_header.h)
//   RUN/inputs/       copies of everything that was read: nothing outside is read again
//   RUN/journal/      what was evaluated, line by line (record/line_journal.h)
//   RUN/result.json   the result, the same on every machine; report.html: the same for people
//   RUN/times.json    clock times of every sitting, which are not
//   RUN/...           files of the kind: mappings/, programs/, checkpoint.safetensors
#ifndef TESSERA_RECORD_RUN_DIRECTORY_H_
#define TESSERA_RECORD_RUN_DIRECTORY_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/folder_lock.h"
#include "tessera/base/result.h"
#include "tessera/record/line_journal.h"
#include "tessera/record/run_header.h"
#include "tessera/record/verification.h"

namespace tessera {

// Contract:
//   Lock         one that writes holds the folder's lock while it lives, so that two programs
//                cannot write to one run.
//   Trust        a folder is data: symbolic links in it are refused, and inputs that are not those
//                of run.json.
//   Cleanliness  removes nothing but temporary files of its own run.
class RunDirectory {
 public:
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
  // What temporary files of the run are called (base/file.h).
  const std::string& token() const { return header_.id; }

  // The run goes on: from here to End it has no results.
  Result<void> Begin();
  // Replaces the settings of the run; its id stays.
  Result<void> ChangeSettings(std::string settings);

  // Replaces a file of the run, in a folder that is made if need be. It becomes one of the results.
  Result<void> Write(const std::string& name, std::string_view contents);
  // Clock times of this sitting, an object; those of earlier sittings stay. They are no result.
  Result<void> AddTimes(std::string_view object) const;

  // The run has ended: hashes of everything written since Begin, of all journals and of `more`
  // go to run.json.
  Result<void> End(const std::vector<std::string>& more = {});

  // Files that are not what run.json says.
  Verification CheckFiles() const;

 private:
  RunDirectory(std::string path, std::optional<FolderLock> lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  static Result<RunDirectory> Checked(const std::string& folder, bool writes);
  Result<void> WriteHeader() const;
  Result<void> CheckInputs() const;
  Result<void> Put(const std::string& name, std::string_view contents) const;
  void RemoveUnfinished() const;

  std::string path_;
  std::optional<FolderLock> lock_;
  RunHeader header_;
  std::map<std::string, std::string> written_;  // hashes, since Begin
};

}  // namespace tessera

#endif  // TESSERA_RECORD_RUN_DIRECTORY_H_
