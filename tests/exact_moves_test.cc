// Small changes of mappings: those that the search leaves out because they change nothing, and
// those that find a good mapping before anything is proved.
#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "loopnest_random.h"
#include "tessera/accelerator.h"
#include "tessera/cost/loopnest/evaluation.h"
#include "tessera/search/exact/anneal.h"
#include "tessera/search/exact/mapper.h"
#include "tessera/search/exact/membership.h"
#include "tessera/search/exact/model.h"
#include "thorough.h"

namespace tessera::exact {
namespace {

using loopnest::Semantics;

struct Price {
  bool accepted = false;
  int64_t cycles = 0;
  double energy_pj = 0;

  friend bool operator==(const Price&, const Price&) = default;
};

Price PriceOf(const loopnest::Setup& setup, const LoopMapping& mapping) {
  loopnest::Workspace workspace;
  loopnest::Evaluate(setup, mapping, workspace);
  if (workspace.nest_error.kind != loopnest::NestError::Kind::kNone) return {};
  if (workspace.exact.status != loopnest::ExactResult::Status::kOk) return {};
  return {true, workspace.exact.cycles, workspace.exact.energy};
}

// All loops of a level as the innermost ones of the level outside, in their order; false if one of
// them would be another loop there (docs/optimality.md, B13).
bool MoveOutwards(const Model& model, int level, LoopMapping& mapping) {
  LoopLevel& from = mapping.levels[static_cast<size_t>(level)];
  LoopLevel& to = mapping.levels[static_cast<size_t>(level) + 1];
  std::vector<uint8_t> order;
  for (int k = 0; k < model.num_dims; ++k) {
    const uint8_t d = from.temporal_order[static_cast<size_t>(k)];
    if (from.temporal[d] == 1) continue;
    const bool label = (model.labels >> d & 1) != 0;
    if ((model.outward[level] >> d & 1) == 0 || to.temporal[d] != 1) return false;
    if (to.spatial[d] != 1 && !label) return false;
    std::swap(from.temporal[d], to.temporal[d]);
    order.push_back(d);
  }
  const size_t moved = order.size();
  for (int k = 0; k < model.num_dims; ++k) {
    const uint8_t d = to.temporal_order[static_cast<size_t>(k)];
    if (std::find(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(moved), d) ==
        order.begin() + static_cast<std::ptrdiff_t>(moved)) {
      order.push_back(d);
    }
  }
  std::ranges::copy(order, to.temporal_order.begin());
  return moved > 0;
}

// A random mapping with its problem and machine, and what its levels hold.
struct Drawn {
  RandomCase random;
  loopnest::Setup setup;
  std::vector<uint8_t> keep;
};

// None: the model does not take the problem, or the outermost level does not hold everything.
std::optional<Drawn> Draw(uint64_t seed, std::string_view stream, uint64_t k) {
  CounterRng rng(seed, StreamId(stream), k);
  RandomCase random = MakeRandomCase(rng, {.max_macs = 400, .max_levels = 5, .perfect = true});
  auto setup = loopnest::Prepare(random.problem, random.machine, Semantics::kExact);
  if (!setup) return std::nullopt;
  std::vector<uint8_t> keep = KeepSets(random.mapping);
  const auto all = static_cast<uint8_t>((1u << random.problem.num_tensors) - 1);
  for (uint8_t& set : keep) set &= all;
  if (keep.back() != all) return std::nullopt;
  return Drawn{std::move(random), std::move(*setup), std::move(keep)};
}

TEST(ExactMoves, LoopsThatNoHeldTensorHasCouldAsWellLieFurtherOut) {
  const Restrictions none;
  int64_t moved = 0;
  for (uint64_t k = 0; k < Thorough(200'000, 6'000); ++k) {
    const std::optional<Drawn> drawn = Draw(5, "exact.moves", k);
    if (!drawn) continue;
    const auto& [random, setup, keep] = *drawn;
    const Model model = MakeModel(setup, none, keep);
    if (!InSpace(model, random.mapping)) continue;
    for (int i = 0; i + 1 < model.num_levels; ++i) {
      LoopMapping other = random.mapping;
      if (!MoveOutwards(model, i, other)) continue;
      const Price before = PriceOf(setup, random.mapping), after = PriceOf(setup, other);
      if (!before.accepted) continue;
      ++moved;
      ASSERT_EQ(before.cycles, after.cycles) << k << " " << ToString(random.problem);
      ASSERT_NEAR(before.energy_pj, after.energy_pj, 1e-9 * before.energy_pj)
          << k << " " << ToString(random.problem);
    }
  }
  EXPECT_GT(moved, 100);
}

// Loops of a level as the innermost ones of the level outside, in their order, together with what
// that has over the same dimensions: all loops of the level, or of the innermost level, where the
// order makes no difference, those that can. False if there are none (docs/optimality.md, B17).
bool JoinOutside(const Model& model, int level, LoopMapping& mapping) {
  if ((model.joins >> level & 1) == 0) return false;
  LoopLevel& from = mapping.levels[static_cast<size_t>(level)];
  LoopLevel& to = mapping.levels[static_cast<size_t>(level) + 1];
  std::vector<uint8_t> order;
  for (int k = 0; k < model.num_dims; ++k) {
    const uint8_t d = from.temporal_order[static_cast<size_t>(k)];
    if (from.temporal[d] == 1) continue;
    const bool label = (model.labels >> d & 1) != 0;
    const bool can = (model.outward[level] >> d & 1) != 0 && (to.spatial[d] == 1 || label);
    if (!can && level > 0) return false;
    if (can) order.push_back(d);
  }
  for (const uint8_t d : order) to.temporal[d] *= std::exchange(from.temporal[d], 1);
  const size_t joined = order.size();
  for (int k = 0; k < model.num_dims; ++k) {
    const uint8_t d = to.temporal_order[static_cast<size_t>(k)];
    if (std::ranges::find(order, d) == order.end()) order.push_back(d);
  }
  std::ranges::copy(order, to.temporal_order.begin());
  return joined > 0;
}

TEST(ExactMoves, LoopsThatJoinThoseOutsideCostNoMore) {
  const Restrictions none;
  int64_t innermost = 0, simple = 0, empty = 0, cheaper = 0;
  for (uint64_t k = 0; k < Thorough(400'000, 12'000); ++k) {
    const std::optional<Drawn> drawn = Draw(6, "exact.joins", k);
    if (!drawn) continue;
    const auto& [random, setup, kept] = *drawn;
    std::vector<uint8_t> keep = kept;
    // A level that holds nothing now and then, which random mappings seldom have.
    const size_t passed = k % keep.size();
    if (k % 3 == 0 && passed + 1 < keep.size()) keep[passed] = 0;
    LoopMapping mapping = random.mapping;
    for (size_t i = 0; i < keep.size(); ++i) mapping.levels[i].keep = keep[i];
    const Model model = MakeModel(setup, none, keep);
    if (!InSpace(model, mapping)) continue;
    for (int i = 0; i + 1 < model.num_levels; ++i) {
      LoopMapping other = mapping;
      if (!JoinOutside(model, i, other)) continue;
      const Price before = PriceOf(setup, mapping), after = PriceOf(setup, other);
      if (!before.accepted) continue;
      const bool all_simple = (model.joins >> 1 & 1) != 0;
      ++(all_simple ? simple : innermost);
      if (keep[static_cast<size_t>(i)] == 0) ++empty;
      if (after.energy_pj < before.energy_pj * (1 - 1e-9)) ++cheaper;
      ASSERT_TRUE(after.accepted) << k << " " << ToString(random.problem);
      ASSERT_LE(after.cycles, before.cycles) << k << " " << ToString(random.problem);
      ASSERT_LE(after.energy_pj, before.energy_pj * (1 + 1e-9))
          << k << " " << ToString(random.problem);
    }
  }
  EXPECT_GT(innermost, 100);
  EXPECT_GT(simple, 100);
  EXPECT_GT(empty, 100);
  EXPECT_GT(cheaper, 10);
}

// A prime factor of a loop over dimension d of the level outside becomes part of a level: of its
// loop over the same dimension, or the outermost one. False if that is no such move
// (docs/optimality.md, B18).
bool GrowTile(const Model& model, int level, uint8_t d, LoopMapping& mapping) {
  LoopLevel& to = mapping.levels[static_cast<size_t>(level)];
  LoopLevel& from = mapping.levels[static_cast<size_t>(level) + 1];
  if (from.temporal[d] == 1) return false;
  const auto innermost = std::ranges::find_if(
      from.temporal_order, [&](uint8_t other) { return from.temporal[other] > 1; });
  if (model.grows) {
    if ((model.growing[level][*innermost] >> d & 1) == 0) return false;
  } else {
    // With windows, the order in time has to stay, and so have the places of parallel loops.
    const bool label = (model.labels >> d & 1) != 0;
    if (!model.grows_in_order || *innermost != d || to.temporal[d] != 1) return false;
    if ((from.spatial[d] != 1 && !label) || (model.outward[level] >> d & 1) != 0) return false;
  }
  int32_t prime = 2;
  while (from.temporal[d] % prime != 0) ++prime;
  from.temporal[d] /= prime;
  if (to.temporal[d] == 1) {
    const auto end = to.temporal_order.begin() + model.num_dims;
    const auto place = std::find(to.temporal_order.begin(), end, d);
    std::rotate(place, place + 1, end);
  }
  to.temporal[d] *= prime;
  return true;
}

TEST(ExactMoves, LargerTilesCostNoMoreIfTheyFit) {
  const Restrictions none;
  int64_t grown = 0, windows = 0, too_large = 0, cheaper = 0;
  for (uint64_t k = 0; k < Thorough(400'000, 15'000); ++k) {
    const std::optional<Drawn> drawn = Draw(7, "exact.grows", k);
    if (!drawn) continue;
    const auto& [random, setup, keep] = *drawn;
    const Model model = MakeModel(setup, none, keep);
    if (!InSpace(model, random.mapping)) continue;
    const Price before = PriceOf(setup, random.mapping);
    const int moves = before.accepted ? (model.num_levels - 1) * model.num_dims : 0;
    for (int move = 0; move < moves; ++move) {
      const int i = move / model.num_dims;
      LoopMapping other = random.mapping;
      if (!GrowTile(model, i, static_cast<uint8_t>(move % model.num_dims), other)) continue;
      const Price after = PriceOf(setup, other);
      ++(!after.accepted ? too_large : model.grows ? grown : windows);
      // The search asks the same of memory as the model does.
      Bounder bounder(model);
      int32_t extents[kMaxDims];
      std::fill_n(extents, kMaxDims, 1);
      for (int j = 0; j <= i; ++j) {
        for (size_t d = 0; d < kMaxDims; ++d) {
          const LoopLevel& loops = other.levels[static_cast<size_t>(j)];
          extents[d] *= loops.temporal[d] * loops.spatial[d];
        }
      }
      ASSERT_EQ(bounder.Fits(i, extents), after.accepted) << k << " " << ToString(random.problem);
      if (!after.accepted) continue;
      if (after.energy_pj < before.energy_pj * (1 - 1e-9)) ++cheaper;
      ASSERT_LE(after.cycles, before.cycles) << k << " " << ToString(random.problem);
      ASSERT_LE(after.energy_pj, before.energy_pj * (1 + 1e-9))
          << k << " " << ToString(random.problem);
    }
  }
  EXPECT_GT(grown, 100);
  EXPECT_GT(windows, 100);
  EXPECT_GT(too_large, 10);
  EXPECT_GT(cheaper, 1);
}

// The worst case of a short clock: bounds say little over bypasses, and one dive took seconds.
TEST(ExactMoves, AnnealingFindsFastMappingsOverBypasses) {
  const Accelerator machine = *LoadAccelerator("eyeriss-168");
  const LoopProblem dense = *MakeLoopProblem("gemm", {{"M", 128}, {"N", 3072}, {"K", 768}});
  const auto mapper =
      Mapper::Make(dense, *machine.hierarchy,
                   {.goal = Goal::kCycles, .decide_keep = true, .split_steps = 20'000});
  ASSERT_TRUE(mapper) << mapper.error();
  ThreadPool pool(1);
  for (int round = 0; round < 12; ++round) (*mapper)->Step(pool);
  const Progress progress = (*mapper)->progress();
  ASSERT_TRUE(progress.best);
  EXPECT_LE(progress.best->value, 2'949'120);
}

TEST(ExactMoves, StopsAtOnceWithAMapping) {
  const Accelerator machine = *LoadAccelerator("eyeriss-256");
  const LoopProblem conv = *MakeLoopProblem(
      "conv", {{"R", 7}, {"S", 7}, {"P", 112}, {"Q", 112}, {"C", 3}, {"K", 64}, {"N", 4}});
  const auto mapper =
      Mapper::Make(conv, *machine.hierarchy,
                   {.goal = Goal::kEdp, .decide_keep = true, .stopped = [] { return true; }});
  ASSERT_TRUE(mapper) << mapper.error();
  ThreadPool pool(1);
  EXPECT_TRUE((*mapper)->Step(pool));
  const Progress progress = (*mapper)->progress();
  EXPECT_TRUE(progress.best);
  EXPECT_EQ(progress.status, Status::kBounded);
  // No phase goes on for long without asking.
  EXPECT_LT(progress.counters.evaluations, 500);
  EXPECT_LT(progress.counters.tiles + progress.counters.nodes, 500);
}

}  // namespace
}  // namespace tessera::exact
