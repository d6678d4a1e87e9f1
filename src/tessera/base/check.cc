// The one place where the library prints and aborts: a defect of Tessera itself.
#include "tessera/result.h"

#include <cstdio>
#include <cstdlib>

namespace tessera {

void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: internal error: %s does not hold; please report this\n", file, line,
               condition);
  std::abort();
}

}  // namespace tessera
