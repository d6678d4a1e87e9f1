// The `tessera` program.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/cli/exit_code.h"
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
  // So must a file that grows past what `ulimit -f` allows.
  std::signal(SIGXFSZ, SIG_IGN);
  tessera::InstallStopSignals();
  try {
    return tessera::RunTessera(std::vector<std::string>(argv + 1, argv + argc), std::cout,
                               std::cerr, {.terminal = tessera::StderrTerminal});
  } catch (const std::bad_alloc&) {  // not even enough to say so in the usual way
    constexpr std::string_view kText = "tessera: out of memory\n";
    [[maybe_unused]] const ssize_t put = ::write(STDERR_FILENO, kText.data(), kText.size());
    return tessera::ExitCode(tessera::ErrorKind::kInfeasible);
  }
}
