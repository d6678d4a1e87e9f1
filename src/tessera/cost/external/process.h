// Runs a program on some input, with limits: what it wrote, how it ended, how long it took to start
// answering. Only cost/external uses it.
#ifndef TESSERA_COST_EXTERNAL_PROCESS_H_
#define TESSERA_COST_EXTERNAL_PROCESS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tessera {

struct ProcessLimits {
  // Longest silence: from the start of execution to the first answer, and from answer to answer.
  double silence_seconds = 60;

  // Address space of the program and of each of its children; 0: no limit.
  int64_t memory_mib = 0;
};

struct ProcessEnd {
  enum class Kind {
    kExited,       // `code` is the exit status
    kSignalled,    // `code` is the signal
    kTimedOut,     // killed after a silence of silence_seconds
    kEndlessLine,  // killed because it wrote kMaxLineMib without ending the line
    kNotStarted,   // `code` is errno
    kInterrupted,  // killed because somebody asked to stop (base/stop.h)
  };
  Kind kind = Kind::kExited;
  int code = 0;
  std::string last_words = {};  // the end of what it wrote to stderr
};

inline constexpr size_t kMaxLineMib = 64;

// What a line was worth. Only answers keep a program alive: one that talks nonsense for ever is
// silent.
enum class Heard { kNonsense, kAnswer, kLastAnswer };

// Takes a line without its end. After kLastAnswer no more lines are wanted.
using LineTaker = std::function<Heard(std::string_view line)>;

// Runs `sh -c command` with `input` on its stdin and calls `line` for every line it writes to
// stdout. Once no more lines are wanted it has a moment to end by itself. When it ends, or is
// killed, so are all processes that it started and that stayed in its group. Threads: any; the
// calling one waits.
ProcessEnd RunProcess(const std::string& command, std::string_view input,
                      const ProcessLimits& limits, const LineTaker& line);

}  // namespace tessera

#endif  // TESSERA_COST_EXTERNAL_PROCESS_H_
