// The `tessera` program.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "tessera/cli/run.h"
#include "tessera/run.h"

namespace {

// A file that the program opens must not get the number of a standard stream that was closed:
// progress and tables would go into it.
void OpenStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1) continue;
    const int opened = ::open("/dev/null", stream == STDIN_FILENO ? O_RDONLY : O_WRONLY);
    if (opened != stream && opened >= 0) {
      ::dup2(opened, stream);
      ::close(opened);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  OpenStandardStreams();
  // A reader that goes away must give an error to report, not kill the program.
  std::signal(SIGPIPE, SIG_IGN);
  tessera::InstallStopSignals();
  return tessera::RunTessera(std::vector<std::string>(argv + 1, argv + argc), std::cout, std::cerr,
                             {.terminal = tessera::StderrTerminal});
}
