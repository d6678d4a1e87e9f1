// Lehmer indices number all orders of a few items, in sorting order.
#include "tessera/space.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Permutation, EnumeratesAsNextPermutationDoes) {
  for (const size_t size : {1u, 2u, 5u, 6u}) {
    std::vector<uint8_t> expected(size);
    for (size_t i = 0; i < size; ++i) expected[i] = static_cast<uint8_t>(i);
    for (int64_t index = 0; index < Factorial(size); ++index) {
      const Permutation permutation = PermutationAt(index, size);
      ASSERT_TRUE(std::ranges::equal(permutation.order(), expected)) << index;
      ASSERT_EQ(IndexOf(permutation), index);
      std::next_permutation(expected.begin(), expected.end());
    }
  }
}

template <typename T>
concept GivesOrder = requires(T permutation) { static_cast<T>(permutation).order(); };

TEST(Permutation, NoViewOfATemporary) {
  EXPECT_TRUE(GivesOrder<const Permutation&>);
  EXPECT_FALSE(GivesOrder<Permutation&&>);
}

TEST(Permutation, CountsOrders) {
  EXPECT_EQ(Factorial(0), 1);
  EXPECT_EQ(Factorial(7), 5040);
  EXPECT_EQ(Factorial(10), 3'628'800);
}

}  // namespace
}  // namespace tessera
