// The journal of a search: one line per evaluated point, only ever appended to. Whatever happens to
// the program, what it had written is there, and a run that starts again takes it from there.
//
//   {"point":[3,0,5],"value":1.5e9,"cycles":420000,"energy_pj":3571.4,"power_mw":1,"area_um2":2}
//   {"point":[3,0,6],"infeasible":"L1 600 <= 512"}
//   {"point":[3,0,7],"failed":"the objective is nan"}
#ifndef TESSERA_RECORD_JOURNAL_H_
#define TESSERA_RECORD_JOURNAL_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/result.h"
#include "tessera/space.h"

namespace tessera {

// One line of a journal, with its line end.
std::string JournalLine(const Trial& trial);

// The lines of a journal that were written to their end.
struct JournalText {
  std::string whole = {};  // all of them, with their line ends
  int64_t torn_bytes = 0;  // after them: a line that was being written when the program ended

  std::vector<std::string_view> lines() const;  // without line ends
};

// A file that does not exist is an empty one.
Result<JournalText> ReadJournalText(const std::string& path);

struct JournalContents {
  std::vector<Trial> trials = {};
  int64_t bytes = 0;       // that the trials take
  int64_t torn_bytes = 0;  // after them: a line that was being written when the program ended
};

// Reads a journal; a file that does not exist is an empty one. An end without line end is torn and
// left out; any other line that cannot be read is an error with its place.
Result<JournalContents> ReadJournal(const std::string& path);

// Contract:
//   Threads      used by one thread at a time.
//   Durability   when Append returns, the lines survive the end of this process, kill -9 included.
//   Failures     after an error (a full disk) the file may end in a torn line, which ReadJournal
//                leaves out.
class Journal {
 public:
  // Opens a journal to append to it, cut to its first `bytes` bytes.
  static Result<std::unique_ptr<Journal>> Open(const std::string& path, int64_t bytes);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  Result<void> Append(std::span<const Trial> trials);
  // Whole lines, with their line ends.
  Result<void> Append(std::string_view lines);

 private:
  Journal(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  const std::string path_;
  const int descriptor_;
};

}  // namespace tessera

#endif  // TESSERA_RECORD_JOURNAL_H_
