// Every divisor up to the root brings its partner above it.
#include "tessera/base/divisors.h"

#include <algorithm>

namespace tessera {

std::vector<int64_t> Divisors(int64_t value, int64_t most) {
  std::vector<int64_t> divisors, partners;
  for (int64_t d = 1; d <= value / d; ++d) {
    if (value % d != 0) continue;
    if (d <= most) divisors.push_back(d);
    if (d != value / d && value / d <= most) partners.push_back(value / d);
  }
  divisors.insert(divisors.end(), partners.rbegin(), partners.rend());
  return divisors;
}

int64_t SmallestPrime(int64_t value) {
  for (int64_t p = 2; p <= value / p; ++p) {
    if (value % p == 0) return p;
  }
  return value;
}

}  // namespace tessera
