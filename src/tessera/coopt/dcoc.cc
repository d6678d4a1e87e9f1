#include "tessera/coopt/searcher.h"
namespace tessera::coopt {
MethodInfo DcocMethod();
MethodInfo RandomMethod();
MethodInfo DcocMethod() { return RandomMethod(); }
}  // namespace tessera::coopt
