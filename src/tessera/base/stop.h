// Ctrl-C: the one flag that says that somebody asked the program to stop. Whatever waits for
// something outside of the program, or works for seconds, looks at it ten times a second and gives
// up with Interrupted(); a search instead ends with what it has.
#ifndef TESSERA_BASE_STOP_H_
#define TESSERA_BASE_STOP_H_

#include <sys/types.h>

#include <atomic>
#include <string>

#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

// The longest that anything waits without looking at the flag.
inline constexpr int kStopPollMilliseconds = 100;

// The error of work that was given up: "interrupted while DOING".
Error Interrupted(const std::string& doing);

// Ends the program at once with kInterruptedExitCode, and all ProcessGroups with it. Safe in a
// signal handler.
[[noreturn]] void StopAtOnce();

// Processes that must not outlive this one: while it lives, StopAtOnce kills the group. One that
// finds no place (there are 256) is not killed.
class ProcessGroup {
 public:
  explicit ProcessGroup(pid_t leader);
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;
  ~ProcessGroup();

 private:
  std::atomic<pid_t>* place_ = nullptr;
};

}  // namespace tessera

#endif  // TESSERA_BASE_STOP_H_
