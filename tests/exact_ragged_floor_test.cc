// What everything inside a level costs at least with any factors (docs/optimality.md, R5), against
// random mappings: of a tile, of a tile with parallel factors, and of all tiles.
#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loopnest_random.h"
#include "tessera/base/checked.h"
#include "tessera/cost/loopnest/evaluation.h"
#include "tessera/search/exact/bound.h"
#include "tessera/search/exact/model.h"
#include "thorough.h"

namespace tessera::exact {
namespace {

using loopnest::Semantics;

constexpr double kRounding = 1e-12;

// Loops as they run: none goes on beyond the size of its dimension.
void CutLoops(const Model& model, LoopMapping& mapping) {
  for (int d = 0; d < model.num_dims; ++d) {
    int64_t extent = 1;
    const auto dim = static_cast<size_t>(d);
    for (size_t i = 0; i < static_cast<size_t>(model.num_levels); ++i) {
      LoopLevel& level = mapping.levels[i];
      for (int32_t* const count : {&level.spatial[dim], &level.temporal[dim]}) {
        const int64_t most = CeilDiv(model.bounds[d], extent);
        // 0: all that is left.
        *count = static_cast<int32_t>(*count == 0 ? most : std::min<int64_t>(*count, most));
        extent *= *count;
      }
    }
  }
}

// The frames and chains outside `level` of a mapping, and the tile inside it.
struct Way {
  std::vector<Frame> frames = std::vector<Frame>(kMaxLevels + 1);
  std::vector<Chain> chains = {};
  Tile tile = {};
};

Way WayTo(const Model& model, const LoopMapping& mapping, int level, Goal goal, Bounder& bounder) {
  Way way;
  const auto extents_below = [&](int above) {
    Tile tile;
    for (int d = 0; d < model.num_dims; ++d) {
      int64_t extent = 1;
      for (int i = 0; i < above; ++i) {
        const LoopLevel& loops = mapping.levels[static_cast<size_t>(i)];
        extent *= loops.spatial[static_cast<size_t>(d)] * loops.temporal[static_cast<size_t>(d)];
      }
      const auto fits = static_cast<int32_t>(std::min<int64_t>(extent, model.bounds[d]));
      tile.extents[d] = tile.least[d] = fits;
      tile.positions[d] = static_cast<int16_t>(fits - 1);
    }
    bounder.Measure(tile);
    return tile;
  };
  way.frames[static_cast<size_t>(model.num_levels)] = bounder.Root();
  way.chains = {bounder.RootChain()};
  for (int i = model.num_levels - 1; i > level; --i) {
    const LoopLevel& loops = mapping.levels[static_cast<size_t>(i)];
    int32_t spatial[kMaxDims], temporal[kMaxDims];
    for (int d = 0; d < model.num_dims; ++d) {
      spatial[d] = loops.spatial[static_cast<size_t>(d)];
      temporal[d] = loops.temporal[static_cast<size_t>(d)];
    }
    bounder.MakeFrame(way.frames, i, extents_below(i), spatial, temporal);
    std::vector<Chain> chains;
    bounder.Least(way.frames, i, way.chains, goal, kInfinity, chains);
    way.chains = std::move(chains);
  }
  way.tile = extents_below(level);
  return way;
}

TEST(ExactRaggedFloor, NoMappingCostsLess) {
  const Restrictions none;
  int64_t mappings = 0, ragged = 0, close = 0;
  for (uint64_t k = 0; k < Thorough(400'000, 8'000) && !testing::Test::HasFailure(); ++k) {
    CounterRng rng(29, StreamId("exact.ragged_floor"), k);
    const RandomCase random = MakeRandomCase(rng, {.max_macs = 60, .max_levels = 5});
    const auto size = [&] { return 1 + rng.UniformInt(24); };
    const LoopProblem problem =
        k % 4 == 0 ? random.problem
                   : *MakeLoopProblem("gemm", {{"M", size()}, {"N", size()}, {"K", size()}});
    const auto setup = loopnest::Prepare(problem, random.machine, Semantics::kExact);
    if (!setup) continue;
    const auto all = static_cast<uint8_t>((1u << problem.num_tensors) - 1);
    std::vector<uint8_t> keep = KeepSets(random.mapping);
    for (uint8_t& set : keep) set = k % 3 == 0 ? static_cast<uint8_t>(set & all) : all;
    keep.back() = all;
    LoopMapping mapping = MakeRandomMapping(rng, problem, random.machine, /*perfect=*/false);
    for (size_t i = 0; i < keep.size(); ++i) mapping.levels[i].keep = keep[i];
    const Model model = MakeModel(*setup, none, keep, /*any=*/true);
    Bounder bounder(model);
    const auto goal = static_cast<Goal>(k % 3);
    const Floor floor = bounder.FindFloor(goal);
    if (!floor.ragged) continue;
    bounder.SetFloor(floor);
    CutLoops(model, mapping);
    loopnest::Workspace workspace;
    loopnest::Evaluate(*setup, mapping, workspace);
    if (workspace.nest_error.kind != loopnest::NestError::Kind::kNone) continue;
    if (workspace.exact.status != loopnest::ExactResult::Status::kOk) continue;
    const Bound cost{.energy_pj = workspace.exact.energy,
                     .cycles = static_cast<double>(workspace.exact.cycles)};
    const Way way = WayTo(model, mapping, floor.level, goal, bounder);
    const Frame& parent = way.frames[static_cast<size_t>(floor.level) + 1];
    const LoopLevel& loops = mapping.levels[static_cast<size_t>(floor.level)];
    double of_tile = kInfinity, of_split = kInfinity;
    for (const Chain& chain : way.chains) {
      const ChainSummary outside = bounder.Summarize(way.frames, floor.level + 1, {&chain, 1});
      of_tile = std::min(of_tile, bounder.RaggedTileBound(parent, outside, way.tile, goal));
      of_split = std::min(of_split,
                          bounder.RaggedSplitBound(parent, outside, way.tile, loops.spatial.data(),
                                                   loops.temporal.data(), goal));
    }
    SCOPED_TRACE(fmt::format("case {}: {}, level {}\n{}", k, ToString(problem), floor.level,
                             PrintLoopNest(mapping, problem, setup->machine.level_names)));
    ++mappings;
    const double value = cost.Value(goal);
    EXPECT_LE(of_tile * (1 - kRounding), value);
    EXPECT_LE(of_split * (1 - kRounding), value);
    for (int d = 0; d < model.num_dims; ++d) {
      int64_t product = 1;
      for (const LoopLevel& level : mapping.levels) {
        product *=
            int64_t{level.spatial[static_cast<size_t>(d)]} * level.temporal[static_cast<size_t>(d)];
      }
      if (product == model.bounds[d]) continue;
      ++ragged;
      close += of_split * 1.02 > value ? 1 : 0;
      break;
    }
  }
  fmt::print("{} mappings, {} of them ragged, {} of these within 2 %\n", mappings, ragged, close);
  EXPECT_GT(mappings, 500);
  EXPECT_GT(ragged, 200);
  // Floors that are 2 % too high would be noticed.
  EXPECT_GT(close, 20);
}

}  // namespace
}  // namespace tessera::exact
