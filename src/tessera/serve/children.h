// Runs that the dashboard has started: `tessera` itself as a process per run, so that one that
// fails or takes all memory does not take the dashboard with it.
#ifndef TESSERA_SERVE_CHILDREN_H_
#define TESSERA_SERVE_CHILDREN_H_

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "tessera/report/json.h"
#include "tessera/result.h"

namespace tessera {

// Contract:
//   Threads   used by one thread at a time.
//   Ending    Stop asks all to stop as Ctrl-C does, and waits for them; what they have is in their
//             folders.
class Children {
 public:
  static constexpr size_t kMostRunning = 4;
  static constexpr size_t kMostRemembered = 50;

  // `program` is what is started: a `tessera`.
  explicit Children(std::string program) : program_(std::move(program)) {}
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() { Stop(/*seconds=*/0); }

  // `name` is for people. Errors: too many at a time; a program that cannot be started.
  Result<void> Start(const std::string& name, const std::vector<std::string>& words);

  // Takes note of those that have ended.
  void Reap();

  // Those that do not end in time are killed: their journals hold what they had.
  void Stop(double seconds);

  // [{"name", "command", "state": "running", "exit_code", "said"}], the latest first.
  Json ToJson() const;

 private:
  struct Child {
    std::string name;
    std::vector<std::string> words;
    pid_t process = 0;  // 0: has ended
    int output = -1;    // a file in memory with what it says
    int exit_code = 0;
    std::string said = {};  // its last words, of one that has ended
  };

  size_t running() const;

  const std::string program_;
  std::vector<Child> children_;
};

}  // namespace tessera

#endif  // TESSERA_SERVE_CHILDREN_H_
