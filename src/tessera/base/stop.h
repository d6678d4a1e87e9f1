// Ctrl-C: the one flag that says that somebody asked the program to stop. Whatever waits for
// something outside of the program, or works for seconds, looks at it ten times a second and gives
// up with Interrupted(); a search instead ends with what it has.
#ifndef TESSERA_BASE_STOP_H_
#define TESSERA_BASE_STOP_H_

#include <sys/types.h>

#include <atomic>
#include <functional>
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

// While it lives, work on this thread that nobody wants any more may be left as it is: a round of
// learning when the time is over, networks that are made for a run that was asked to stop. Such
// work asks Abandoned() between its steps; whoever opened the scope does not use what came of it.
// Scopes nest: what an outer one does not want, an inner one does not either.
class AbandonScope {
 public:
  // `unwanted` is asked on this thread only, and not again once it has said yes.
  explicit AbandonScope(std::function<bool()> unwanted);
  AbandonScope(const AbandonScope&) = delete;
  AbandonScope& operator=(const AbandonScope&) = delete;
  ~AbandonScope();

  // Whether some work was left: somebody asked, and was told so.
  bool abandoned() const { return abandoned_; }

 private:
  friend bool Abandoned();
  bool Ask();

  const std::function<bool()> unwanted_;
  AbandonScope* const outer_;
  bool abandoned_ = false;
};

// Whether to leave the work of this thread as it is. Never without an AbandonScope.
bool Abandoned();

// Whether it was left already, in the innermost scope of this thread. Asks nobody.
bool WasAbandoned();

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
