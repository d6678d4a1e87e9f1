#include "tessera/record/clock.h"

#include <chrono>

namespace tessera {

double SteadySeconds() {
  using std::chrono::duration;
  return duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace tessera
