// Philox against its published vectors; draws are functions of their position, and uniform.
#include "tessera/part.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace tessera {
namespace {

// The known answers that Salmon et al. publish with Random123 for philox4x32-10.
TEST(Philox, GivesThePublishedVectors) {
  using Block = std::array<uint32_t, 4>;
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

std::vector<uint64_t> Draws(uint64_t seed, uint64_t stream, uint64_t step, int count) {
  CounterRng rng(seed, stream, step);
  std::vector<uint64_t> draws;
  for (int i = 0; i < count; ++i) draws.push_back(rng());
  return draws;
}

TEST(CounterRng, RepeatsFromItsCoordinates) { EXPECT_EQ(Draws(1, 2, 3, 100), Draws(1, 2, 3, 100)); }

TEST(CounterRng, DiffersInEachCoordinate) {
  const std::vector<uint64_t> base = Draws(1, 2, 3, 4);
  EXPECT_NE(base, Draws(2, 2, 3, 4));
  EXPECT_NE(base, Draws(1, 3, 3, 4));
  EXPECT_NE(base, Draws(1, 2, 4, 4));
  EXPECT_NE(base, Draws(1 + (uint64_t{1} << 40), 2, 3, 4));
}

TEST(StreamId, KeepsNamesAndNumbersApart) {
  static_assert(StreamId("search.random") != StreamId("search.ga"));
  static_assert(StreamId("agent", 1) != StreamId("agent", 2));
  static_assert(StreamId("agent", 1) != StreamId("agent1"));
}

TEST(CounterRng, UniformIsUniform) {
  constexpr int kDraws = 100'000, kBins = 20;
  constexpr double kExpected = 5'000;
  CounterRng rng(7, StreamId("uniform"));
  std::array<int, kBins> bins{};
  for (int i = 0; i < kDraws; ++i) {
    const double value = rng.Uniform();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    ++bins[static_cast<size_t>(value * kBins)];
  }
  double chi_squared = 0;
  for (const int bin : bins) chi_squared += std::pow(bin - kExpected, 2) / kExpected;
  EXPECT_LT(chi_squared, 43.8);  // 99.9 % of the distribution with 19 degrees of freedom
}

TEST(CounterRng, UniformIntReachesEveryValueEquallyOften) {
  CounterRng rng(8, StreamId("int"));
  std::array<int, 6> faces{};
  for (int i = 0; i < 60'000; ++i) ++faces[static_cast<size_t>(rng.UniformInt(6))];
  for (const int face : faces) EXPECT_NEAR(face, 10'000, 500);
  EXPECT_EQ(rng.UniformInt(1), 0);
  EXPECT_GE(rng.UniformInt(std::numeric_limits<int64_t>::max()), 0);
}

TEST(CounterRng, NormalHasItsMoments) {
  constexpr int kDraws = 100'000;
  CounterRng rng(9, StreamId("normal"));
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = rng.Normal();
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.02);
  EXPECT_NEAR(squares / kDraws, 1, 0.02);
}

TEST(CounterRng, ShuffleIsAPermutationThatVaries) {
  std::vector<int> items(20);
  std::iota(items.begin(), items.end(), 0);
  const std::vector<int> sorted = items;
  CounterRng(1, 2).Shuffle(std::span(items));
  EXPECT_NE(items, sorted);
  std::sort(items.begin(), items.end());
  EXPECT_EQ(items, sorted);
}

}  // namespace
}  // namespace tessera
