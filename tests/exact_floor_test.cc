// Bounds along the way to random mappings: of tiles before the level above has parallel factors
// (docs/optimality.md, B20), and what everything further in costs at least (B21).
#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loopnest_random.h"
#include "tessera/cost/loopnest/evaluation.h"
#include "tessera/search/exact/bound.h"
#include "tessera/search/exact/membership.h"
#include "tessera/search/exact/model.h"
#include "thorough.h"

namespace tessera::exact {
namespace {

using loopnest::Semantics;

constexpr double kRounding = 1e-12;

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
    const LoopLevel& loops = mapping.levels[static_cast<size_t>(level)];
    const size_t above = static_cast<size_t>(level) + 1;
    Tile tile;
    int32_t spatial[kMaxDims];
    for (int d = 0; d < model.num_dims; ++d) {
      const auto dim = static_cast<size_t>(d);
      spatial[d] = static_cast<int32_t>(loops.spatial[dim]);
      tile.extents[d] =
          frames[above].extents[d] / static_cast<int32_t>(loops.spatial[dim] * loops.temporal[dim]);
      const std::vector<int32_t>& values = model.divisors[d].values;
      tile.positions[d] =
          static_cast<int16_t>(std::ranges::lower_bound(values, tile.extents[d]) - values.begin());
    }
    bounder.Measure(tile);
    if (level > 0) bounds.push_back(bounder.TileBound(frames, level, chains[above], tile, goal));
    bounder.MakeFrame(frames, level, tile, spatial);
    bounds.push_back(bounder.Least(frames, level, chains[above], goal, kInfinity,
                                   chains[static_cast<size_t>(level)]));
  }
  return bounds;
}

TEST(ExactFloor, NoMappingCostsLessThanTheBoundsOnItsWay) {
  const Restrictions none;
  int64_t mappings = 0, raised = 0, close = 0;
  for (uint64_t k = 0; k < Thorough(300'000, 12'000) && !testing::Test::HasFailure(); ++k) {
    CounterRng rng(23, StreamId("exact.floor"), k);
    const RandomCase random = MakeRandomCase(
        rng, {.max_macs = 600, .max_levels = 5, .perfect = true, .narrow = k % 3 == 0});
    const auto setup = loopnest::Prepare(random.problem, random.machine, Semantics::kExact);
    if (!setup) continue;
    std::vector<uint8_t> keep = KeepSets(random.mapping);
    const auto all = static_cast<uint8_t>((1u << random.problem.num_tensors) - 1);
    for (uint8_t& set : keep) set &= all;
    if (keep.back() != all) continue;
    Model model = MakeModel(*setup, none, keep);
    // Larger tiles that are as good would be other mappings.
    model.grows = model.grows_in_order = false;
    if (!InSpace(model, random.mapping)) continue;
    loopnest::Workspace workspace;
    loopnest::Evaluate(*setup, random.mapping, workspace);
    if (workspace.nest_error.kind != loopnest::NestError::Kind::kNone) continue;
    if (workspace.exact.status != loopnest::ExactResult::Status::kOk) continue;
    const Bound cost{.energy_pj = workspace.exact.energy,
                     .cycles = static_cast<double>(workspace.exact.cycles)};
    const auto goal = static_cast<Goal>(k % 3);
    Bounder bounder(model);
    const std::vector<double> without = BoundsOnTheWay(model, random.mapping, goal, bounder);
    bounder.SetFloor(bounder.FindFloor(goal));
    const std::vector<double> with = BoundsOnTheWay(model, random.mapping, goal, bounder);
    SCOPED_TRACE(fmt::format("case {}: {}", k, ToString(random.problem)));
    ++mappings;
    for (size_t j = 0; j < with.size(); ++j) {
      EXPECT_LE(with[j] * (1 - kRounding), cost.Value(goal)) << "bound " << j;
      EXPECT_GE(with[j], without[j]);
      raised += with[j] > without[j] ? 1 : 0;
      close += with[j] > without[j] && with[j] * 1.02 > cost.Value(goal) ? 1 : 0;
    }
  }
  fmt::print("{} mappings; {} bounds are higher by a floor, {} of them within 2 %\n", mappings,
             raised, close);
  EXPECT_GT(mappings, 1000);
  EXPECT_GT(raised, 500);
  // Floors that are 2 % too high would be noticed.
  EXPECT_GT(close, 20);
}

}  // namespace
}  // namespace tessera::exact
