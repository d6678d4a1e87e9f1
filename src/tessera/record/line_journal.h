// Journals of runs: one JSON object a line, only ever appended to. Whatever happens to the program,
// what it had written is there, and a run that starts again goes on from there. Every line carries
// a checksum over itself and all lines before it, so that nobody takes a changed one for a record:
//
//   {"point":[3,0,5],"value":1.5e9,"sum":"9f86d081884c7d65"}
//
// The sum is the first 16 digits of SHA-256 over the previous sum and the line without its own; the
// first line's previous sum is `start`, which names the run, so that a journal of another run does
// not pass either.
#ifndef TESSERA_RECORD_LINE_JOURNAL_H_
#define TESSERA_RECORD_LINE_JOURNAL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/result.h"
#include "tessera/run.h"

namespace tessera {

// The lines of a journal that were written to their end.
struct JournalText {
  std::vector<std::string> lines = {};  // objects, without their sums
  std::vector<std::string> sums = {};   // of each line
  std::vector<int64_t> ends = {};       // bytes up to the end of each line
  int64_t torn_bytes = 0;  // after them: a line that was being written when the program ended

  int64_t bytes() const { return ends.empty() ? 0 : ends.back(); }
  // Forgets all but the first lines.
  void Keep(size_t count);
};

// Reads a journal; a file that does not exist is an empty one. An end without line end is torn and
// left out, and so is one of zero bytes, which a power cut may leave. Any other line whose sum does
// not fit is an error with its place.
Result<JournalText> ReadJournalText(const JournalFile& file);

// Contract:
//   Threads      used by one thread at a time.
//   Durability   when Append returns, the lines survive the end of this process, kill -9 included.
//                A second later at the latest, at the next Append, and when the journal is closed,
//                they are on the disk and survive a power cut.
//   Links        a symbolic link in place of the file is an error.
//   Failures     after an error (a full disk) the file may end in a torn line, which
//                ReadJournalText leaves out.
class LineJournal {
 public:
  // Opens a journal to append to it, after the lines of `known`; what follows them is cut off.
  static Result<std::unique_ptr<LineJournal>> Open(const JournalFile& file,
                                                   const JournalText& known);
  ~LineJournal();
  LineJournal(const LineJournal&) = delete;
  LineJournal& operator=(const LineJournal&) = delete;

  // JSON objects on one line each, without line ends.
  Result<void> Append(std::span<const std::string> objects);
  // Puts everything on the disk now.
  Result<void> Sync();

 private:
  LineJournal(std::string path, int descriptor, std::string sum);
  Result<void> Write(std::string_view text);

  const std::string path_;
  const int descriptor_;
  std::string sum_;  // of the last line
  double synced_ = 0;
  bool unsynced_ = false;
};

// The text as a JSON string. What is not printable ASCII goes out as \u escapes of its bytes, so
// that a line stays one line whatever a message holds.
std::string JournalString(std::string_view text);

}  // namespace tessera

#endif  // TESSERA_RECORD_LINE_JOURNAL_H_
