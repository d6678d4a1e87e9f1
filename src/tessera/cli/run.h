// The whole program as a function, so that tests can call it in process.
#ifndef TESSERA_CLI_RUN_H_
#define TESSERA_CLI_RUN_H_

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tessera/report/terminal.h"

namespace tessera {

// What the program finds around it; tests bring their own.
struct Surroundings {
  // What `err` is connected to. Default: a file.
  std::function<Terminal()> terminal = [] { return Terminal{}; };

  // Seconds. Default: the system's steady clock.
  std::function<double()> clock = SteadySeconds;
};

// Runs `tessera WORDS...` and returns its exit code. Results go to `out`; errors, remarks and
// progress go to `err`.
int RunTessera(const std::vector<std::string>& words, std::ostream& out, std::ostream& err,
               const Surroundings& surroundings = {});

}  // namespace tessera

#endif  // TESSERA_CLI_RUN_H_
