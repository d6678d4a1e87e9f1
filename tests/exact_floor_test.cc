// Bounds along the way to random mappings: of tiles before the level above has parallel factors
// (docs/optimality.md, B20), what everything further in costs at least (B21), and what innermost
// loops say of the visits at which a window's tile is another one (B3).
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "exact_case.h"
#include "tessera/search/exact/bound.h"
#include "tessera/search/exact/membership.h"
#include "tessera/search/exact/model.h"
#include "tessera/search/exact/spread_bound.h"
#include "thorough.h"

namespace tessera::exact {
namespace {

constexpr double kRounding = 1e-12;

// A random mapping that is one of the space.
std::unique_ptr<ExactCase> MakeMapping(uint64_t number, const RandomCaseOptions& options) {
  std::unique_ptr<ExactCase> made = MakeExactCase(23, "exact.floor", number, options);
  if (!made) return nullptr;
  // Larger tiles that are as good would be other mappings.
  made->model.grows = made->model.grows_in_order = false;
  return InSpace(made->model, made->random.mapping) ? std::move(made) : nullptr;
}

// The tile inside a level of a mapping, and the level's parallel factors; frames of the levels
// outside are set.
Tile TileInside(const Model& model, const LoopMapping& mapping, int level,
                const std::vector<Frame>& frames, Bounder& bounder, int32_t* spatial) {
  const LoopLevel& loops = mapping.levels[static_cast<size_t>(level)];
  const Frame& outside = frames[static_cast<size_t>(level) + 1];
  Tile tile;
  for (int d = 0; d < model.num_dims; ++d) {
    const auto dim = static_cast<size_t>(d);
    spatial[d] = static_cast<int32_t>(loops.spatial[dim]);
    tile.extents[d] =
        outside.extents[d] / static_cast<int32_t>(loops.spatial[dim] * loops.temporal[dim]);
    const std::vector<int32_t>& values = model.divisors[d].values;
    tile.positions[d] =
        static_cast<int16_t>(std::ranges::lower_bound(values, tile.extents[d]) - values.begin());
  }
  bounder.Measure(tile);
  return tile;
}

// Bounds of all parts of the tree that a mapping lies in, from the outermost level inwards: of each
// level's tile and of the level with its factors.
std::vector<double> BoundsOnTheWay(const Model& model, const LoopMapping& mapping, Goal goal,
                                   Bounder& bounder) {
  std::vector<double> bounds;
  std::vector<Frame> frames(kMaxLevels + 1);
  std::vector<Chain> chains[kMaxLevels + 1];
  const auto outside = static_cast<size_t>(model.num_levels);
  frames[outside] = bounder.Root();
  chains[outside] = {bounder.RootChain()};
  for (int level = model.num_levels - 1; level >= 0; --level) {
    const size_t above = static_cast<size_t>(level) + 1;
    int32_t spatial[kMaxDims];
    const Tile tile = TileInside(model, mapping, level, frames, bounder, spatial);
    if (level > 0) bounds.push_back(bounder.TileBound(frames, level, chains[above], tile, goal));
    bounder.MakeFrame(frames, level, tile, spatial);
    bounds.push_back(bounder.Least(frames, level, chains[above], goal, kInfinity,
                                   chains[static_cast<size_t>(level)]));
  }
  return bounds;
}

TEST(ExactFloor, NoMappingCostsLessThanTheBoundsOnItsWay) {
  int64_t mappings = 0, raised = 0, spread_raised = 0, close = 0, spread_close = 0;
  for (uint64_t k = 0; k < Thorough(300'000, 12'000) && !testing::Test::HasFailure(); ++k) {
    const auto made =
        MakeMapping(k, {.max_macs = 600, .max_levels = 5, .perfect = true, .narrow = k % 3 == 0});
    if (!made) continue;
    const double cost = CostOfMapping(*made);
    if (std::isinf(cost)) continue;
    const Model& model = made->model;
    const LoopMapping& mapping = made->random.mapping;
    Bounder bounder(model);
    const std::vector<double> without = BoundsOnTheWay(model, mapping, made->goal, bounder);
    bounder.SetFloor(bounder.FindFloor(made->goal));
    const std::vector<double> with = BoundsOnTheWay(model, mapping, made->goal, bounder);
    LeastHops hops(model);
    SpreadBound spread(model, hops);
    bounder.SetFloor(bounder.FindFloor(made->goal, {.spread = &spread}));
    const std::vector<double> both = BoundsOnTheWay(model, mapping, made->goal, bounder);
    SCOPED_TRACE(fmt::format("case {}: {}", k, ToString(made->random.problem)));
    ++mappings;
    for (size_t j = 0; j < with.size(); ++j) {
      const double least = std::max(with[j], both[j]);
      EXPECT_LE(least * (1 - kRounding), cost) << "bound " << j;
      EXPECT_GE(std::min(with[j], both[j]), without[j]);
      raised += with[j] > without[j] ? 1 : 0;
      close += with[j] > without[j] && with[j] * 1.02 > cost ? 1 : 0;
      spread_raised += both[j] > with[j] ? 1 : 0;
      spread_close += both[j] > with[j] && both[j] * 1.02 > cost ? 1 : 0;
    }
  }
  fmt::print(
      "{} mappings; {} bounds are higher by a floor, {} of them within 2 %; {} and {} by "
      "what arrays say of it\n",
      mappings, raised, close, spread_raised, spread_close);
  EXPECT_GT(mappings, 1000);
  EXPECT_GT(raised, 500);
  EXPECT_GT(spread_raised, 500);
  // Floors that are 2 % too high would be noticed.
  EXPECT_GT(close, 20);
  EXPECT_GT(spread_close, 20);
}

// The loops in time of a mapping's levels from `level` outwards, from the innermost one.
struct Loop {
  int dim;
  int64_t count;
};
std::vector<Loop> LoopsFrom(const Model& model, const LoopMapping& mapping, int level) {
  std::vector<Loop> loops;
  for (int i = level; i < model.num_levels; ++i) {
    const LoopLevel& here = mapping.levels[static_cast<size_t>(i)];
    for (int k = 0; k < model.num_dims; ++k) {
      const int dim = here.temporal_order[static_cast<size_t>(k)];
      const int64_t count = here.temporal[static_cast<size_t>(dim)];
      if (count > 1) loops.push_back({dim, count});
    }
  }
  return loops;
}

// Visits, of all that loops make, that begin with another index of `dims` than the one before.
int64_t VisitsThatMove(const std::vector<Loop>& loops, uint32_t dims) {
  std::vector<int64_t> at(loops.size(), 0);
  for (int64_t moves = 1;;) {
    bool moved = false;
    size_t k = 0;
    for (; k < loops.size(); ++k) {
      moved |= Has(dims, loops[k].dim);
      if (++at[k] < loops[k].count) break;
      at[k] = 0;
    }
    if (k == loops.size()) return moves;
    moves += moved ? 1 : 0;
  }
}

// What a chain says of a mapping's loops from `level` outwards is true.
bool IsTrue(const Model& model, const std::vector<Loop>& loops, const Chain& chain) {
  for (int v = 0; v < model.num_tensors; ++v) {
    const TensorFacts& tensor = model.tensors[v];
    double run = 1;
    for (size_t k = 0; k < loops.size() && !Has(tensor.dims, loops[k].dim); ++k) {
      run *= static_cast<double>(loops[k].count);
    }
    if (run > chain.idle_run[v] * (1 + kRounding)) return false;
    const auto moves = static_cast<double>(VisitsThatMove(loops, tensor.plain));
    if (moves < chain.plain_visits[v] * (1 - kRounding)) return false;
  }
  return true;
}

TEST(ExactFloor, InnermostLoopsSayHowOftenTilesOfWindowsAreOthers) {
  int64_t chains = 0, none_only = 0, some_only = 0, as_many = 0;
  for (uint64_t k = 0; k < Thorough(300'000, 12'000) && !testing::Test::HasFailure(); ++k) {
    const auto made = MakeMapping(k, {.max_macs = 600, .max_levels = 5, .perfect = true});
    if (!made) continue;
    const Model& model = made->model;
    const LoopMapping& mapping = made->random.mapping;
    Bounder bounder(model);
    std::vector<Frame> frames(kMaxLevels + 1);
    frames[static_cast<size_t>(model.num_levels)] = bounder.Root();
    Chain outside = bounder.RootChain();
    SCOPED_TRACE(fmt::format("case {}: {}", k, ToString(made->random.problem)));
    for (int level = model.num_levels - 1; level >= 0; --level) {
      int32_t spatial[kMaxDims];
      const Tile tile = TileInside(model, mapping, level, frames, bounder, spatial);
      bounder.MakeFrame(frames, level, tile, spatial);
      const Frame& frame = frames[static_cast<size_t>(level)];
      const std::vector<Loop> loops = LoopsFrom(model, mapping, level);
      const int dim = frame.loops == 0 ? -1 : loops.front().dim;
      Chain any, none, some;
      bounder.Extend(frames, level, outside, dim, any);
      EXPECT_TRUE(IsTrue(model, loops, any));
      ++chains;
      if (!bounder.HasRivals(frame, dim)) {
        outside = any;
        continue;
      }
      bounder.Extend(frames, level, outside, dim, none, Inside::kNoneOfThese);
      bounder.Extend(frames, level, outside, dim, some, Inside::kSomeOfThese);
      const bool is_none = IsTrue(model, loops, none), is_some = IsTrue(model, loops, some);
      EXPECT_TRUE(is_none || is_some);
      none_only += is_none && !is_some ? 1 : 0;
      some_only += is_some && !is_none ? 1 : 0;
      outside = is_none ? none : some;
      for (int v = 0; v < model.num_tensors && !is_none; ++v) {
        const auto moves = static_cast<double>(VisitsThatMove(loops, model.tensors[v].plain));
        as_many += some.plain_visits[v] > any.plain_visits[v] && moves == some.plain_visits[v];
      }
    }
  }
  fmt::print("{} chains; with rivals {} of the one kind, {} of the other; {} with no more visits\n",
             chains, none_only, some_only, as_many);
  // Neither kind stands for the other, and counts that are larger would be noticed.
  EXPECT_GT(none_only, 20);
  EXPECT_GT(some_only, 20);
  EXPECT_GT(as_many, 20);
}

}  // namespace
}  // namespace tessera::exact
