// The journal of a co-optimization: one line per measurement, only ever appended to. A run that was
// killed takes the lines that are there instead of measuring again, and so ends as it would have.
#ifndef TESSERA_COOPT_JOURNAL_H_
#define TESSERA_COOPT_JOURNAL_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tessera/coopt/session.h"
#include "tessera/result.h"

namespace tessera::coopt {

struct JournalContents {
  Outcomes outcomes;
  int64_t bytes = 0;  // up to the end of the last whole line
};

// `settings` is what the measurements depend on, in one line; a journal of other settings is an
// error. A last line without its end is left out, any other that cannot be read is an error.
Result<JournalContents> ReadJournal(const std::string& path, std::string_view settings,
                                    const CooptProblem& problem);

// Contract:
//   Durability   when Append returns, the lines survive the end of this process, kill -9 included.
class Journal {
 public:
  // A new journal, which must not exist, or one to go on with after its first `bytes` bytes.
  static Result<std::unique_ptr<Journal>> Create(const std::string& path,
                                                 std::string_view settings);
  static Result<std::unique_ptr<Journal>> Open(const std::string& path, int64_t bytes);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  Result<void> Append(std::span<const Measured> measured);

 private:
  Journal(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  Result<void> Write(std::string_view text);

  const std::string path_;
  const int descriptor_;
};

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_JOURNAL_H_
