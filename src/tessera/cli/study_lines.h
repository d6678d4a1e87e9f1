// Lines of standard input as they come, for commands that work while others still write.
#ifndef TESSERA_CLI_STUDY_LINES_H_
#define TESSERA_CLI_STUDY_LINES_H_

#include <functional>
#include <optional>
#include <string>

#include "tessera/result.h"

namespace tessera {

// Contract: used by one thread at a time; nobody else reads from standard input.
class InputLines {
 public:
  explicit InputLines(std::function<bool()> stopped) : stopped_(std::move(stopped)) {}

  // The next line without its end; none at the end of the input, and when the user wants to stop.
  // An end without line end is no line: its writer was killed.
  Result<std::optional<std::string>> Next();

 private:
  Result<bool> ReadMore();  // false: there is no more

  std::function<bool()> stopped_;
  std::string text_ = {};
  size_t begin_ = 0;  // of what was not handed out yet
};

}  // namespace tessera

#endif  // TESSERA_CLI_STUDY_LINES_H_
