// The `tessera` program.
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "tessera/cli/run.h"
#include "tessera/record/signals.h"

int main(int argc, char** argv) {
  // A reader that goes away must give an error to report, not kill the program.
  std::signal(SIGPIPE, SIG_IGN);
  tessera::InstallStopSignals();
  return tessera::RunTessera(std::vector<std::string>(argv + 1, argv + argc), std::cout, std::cerr,
                             {.terminal = tessera::StderrTerminal});
}
