// Cutting convolutions: pieces, input windows and taps against plain counting, and which operand
// stays on chip.
#include "tessera/vta/codegen/geometry.h"

#include <gtest/gtest.h>

#include "tessera/part.h"
#include "tessera/vta/codegen/tile_cache.h"

namespace tessera::vta {
namespace {

TEST(Geometry, CutsIntoPieces) {
  EXPECT_EQ(Cut(10, 4), (std::vector<Extent>{{0, 4}, {4, 8}, {8, 10}}));
  EXPECT_EQ(Cut(10, 4, 2), (std::vector<Extent>{{0, 2}, {2, 6}, {6, 10}}));
  EXPECT_EQ(Cut(10, 4, 4), Cut(10, 4));
  EXPECT_EQ(Cut(3, 8), (std::vector<Extent>{{0, 3}}));
}

// Every tap of every output lies at first_tap + output * step + tap, and is an input that was
// loaded, a zero that was filled in, or, when trimmed, outside the buffer.
TEST(Geometry, WindowsHoldWhatTheTapsNeed) {
  for (uint64_t trial = 0; trial < 2000; ++trial) {
    CounterRng rng(31, StreamId("geometry_test"), trial);
    Axis axis = {.kernel = 1 + rng.UniformInt(7), .stride = 1 + rng.UniformInt(3)};
    axis.pad = rng.UniformInt(axis.kernel);
    axis.size = axis.kernel + rng.UniformInt(20);
    const int64_t outputs = (axis.size + 2 * axis.pad - axis.kernel) / axis.stride + 1;
    const int64_t begin = rng.UniformInt(outputs);
    const Extent range = {begin, begin + 1 + rng.UniformInt(outputs - begin)};
    const bool trim = rng.UniformInt(2) == 0;
    const Window window = WindowOf(axis, range, trim, rng.UniformInt(2) == 0);
    int64_t grouped = 0, any_grouped = 0;
    for (const TapGroup& group : GroupTaps(window, range.size(), axis.kernel)) {
      EXPECT_TRUE(group.Alike());
      grouped += std::ssize(group.taps) * group.outputs;
    }
    for (const TapGroup& group : GroupTaps(window, range.size(), axis.kernel, true)) {
      any_grouped += std::ssize(group.taps) * group.outputs;
      for (size_t k = 0; k < group.taps.size(); ++k) {
        const Extent all = OutputsOfTap(window, range.size(), group.taps[k]);
        EXPECT_EQ(all, (Extent{group.first[k], group.first[k] + group.outputs}));
      }
    }
    int64_t met = 0;
    for (int64_t tap = 0; tap < axis.kernel; ++tap) {
      const Extent outputs_met = OutputsOfTap(window, range.size(), tap);
      for (int64_t o = 0; o < range.size(); ++o) {
        const int64_t input = (range.begin + o) * axis.stride - axis.pad + tap;
        const bool real = input >= 0 && input < axis.size;
        const bool inside = o >= outputs_met.begin && o < outputs_met.end;
        EXPECT_EQ(inside, real || !trim);
        met += inside ? 1 : 0;
        if (!inside) continue;
        const int64_t place = window.first_tap + o * window.step + tap;
        ASSERT_GE(place, 0);
        ASSERT_LT(place, window.size());
        const int64_t loaded = place - window.pad_before;
        EXPECT_EQ(loaded >= 0 && loaded < window.loaded, real);
        if (real) {
          EXPECT_EQ(window.begin + loaded * window.load_step, input);
        }
      }
    }
    EXPECT_EQ(grouped, met);
    EXPECT_EQ(any_grouped, met);
  }
}

TEST(TileCache, KeepsWhatIsNeededSoonest) {
  const std::vector<int32_t> uses = {0, 1, 2, 0, 1, 3, 0};
  TileCache cache(uses, 3);
  std::vector<bool> loads;
  for (int64_t step = 0; step < std::ssize(uses); ++step) loads.push_back(cache.Use(step).load);
  EXPECT_EQ(loads, (std::vector<bool>{true, true, true, false, false, true, false}))
      << "2 is never needed again, so 3 takes its slot";
}

TEST(TileCache, AlternatesBetweenTwoSlotsWhenNothingComesBack) {
  const std::vector<int32_t> uses = {0, 1, 2, 3};
  TileCache cache(uses, 2);
  std::vector<int64_t> slots;
  for (int64_t step = 0; step < 4; ++step) slots.push_back(cache.Use(step).slot);
  EXPECT_EQ(slots, (std::vector<int64_t>{0, 1, 0, 1}));
}

}  // namespace
}  // namespace tessera::vta
