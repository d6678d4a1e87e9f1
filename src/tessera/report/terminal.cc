// Terminal size of the system.
#include "tessera/report/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace tessera {

Terminal StderrTerminal() {
  Terminal terminal;
  const char* const type = std::getenv("TERM");
  const bool dumb = type == nullptr || std::string_view(type) == "dumb";
  terminal.live = ::isatty(STDERR_FILENO) == 1 && !dumb;
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
    terminal.columns = size.ws_col;
    terminal.lines = size.ws_row;
  }
  return terminal;
}

}  // namespace tessera
