// What stderr is connected to, a terminal that can redraw lines, or a file or pipe; and the clock
// that says when to redraw them.
#ifndef TESSERA_REPORT_TERMINAL_H_
#define TESSERA_REPORT_TERMINAL_H_

#include <cstdint>

#include "tessera/record/clock.h"  // IWYU pragma: export

namespace tessera {

struct Terminal {
  // Whether lines can be redrawn in place. Default: false (a file or pipe).
  bool live = false;

  // Size in characters. Default: 80 x 24.
  int64_t columns = 80;
  int64_t lines = 24;
};

// Asks the system now; a window may have changed its size since the last call.
Terminal StderrTerminal();

}  // namespace tessera

#endif  // TESSERA_REPORT_TERMINAL_H_
