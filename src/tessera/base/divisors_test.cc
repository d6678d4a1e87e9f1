// Divisors against trial division, and a size that trial division would take seconds for.
#include "tessera/base/divisors.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Divisors, AreThoseOfTrialDivision) {
  for (int64_t value = 1; value <= 200; ++value) {
    for (const int64_t most : {int64_t{0}, int64_t{1}, int64_t{7}, int64_t{14}, value, 2 * value}) {
      std::vector<int64_t> expected;
      for (int64_t d = 1; d <= std::min(value, most); ++d) {
        if (value % d == 0) expected.push_back(d);
      }
      EXPECT_EQ(Divisors(value, most), expected) << value << " up to " << most;
    }
  }
}

TEST(Divisors, OfALargePrimeAreFoundAtOnce) {
  const int64_t prime = (int64_t{1} << 31) - 1;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Divisors(prime), (std::vector<int64_t>{1, prime}));
}

TEST(Divisors, SmallestPrimeIsTheSecondDivisor) {
  EXPECT_EQ(SmallestPrime(1), 1);
  for (int64_t value = 2; value <= 200; ++value) {
    EXPECT_EQ(SmallestPrime(value), Divisors(value)[1]) << value;
  }
}

}  // namespace
}  // namespace tessera
