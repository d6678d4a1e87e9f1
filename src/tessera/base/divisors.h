// Divisors of sizes that users choose: found in the square root of the size, not in the size.
#ifndef TESSERA_BASE_DIVISORS_H_
#define TESSERA_BASE_DIVISORS_H_

#include <cstdint>
#include <limits>
#include <vector>

namespace tessera {

// The divisors of a value >= 1 that are at most `most`, in ascending order.
std::vector<int64_t> Divisors(int64_t value, int64_t most = std::numeric_limits<int64_t>::max());

// The smallest prime that divides a value > 1; 1 of 1.
int64_t SmallestPrime(int64_t value);

}  // namespace tessera

#endif  // TESSERA_BASE_DIVISORS_H_
