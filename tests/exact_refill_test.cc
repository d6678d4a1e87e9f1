// What levels inside a tile cannot hold comes again at every visit (docs/optimality.md, B19):
// against the words that the model counts, with rooms exactly as large as the tiles that are in
// them.
#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loopnest_random.h"
#include "tessera/cost/loopnest/evaluation.h"
#include "tessera/search/exact/frame.h"
#include "tessera/search/exact/membership.h"
#include "tessera/search/exact/model.h"
#include "tessera/search/exact/word_cost.h"
#include "thorough.h"

namespace tessera::exact {
namespace {

using loopnest::Semantics;

// Loops outside a level's tile, for one tensor.
struct Outside {
  double visits = 1, instances = 1;
  double moved = 1;   // visits that bring a tile of which nothing was there, at least
  double copies = 1;  // instances that have the same tile
};

Outside OutsideOf(const Model& model, const LoopMapping& mapping, int level, int v) {
  Outside outside;
  for (int i = level + 1; i < model.num_levels; ++i) {
    const LoopLevel& loops = mapping.levels[static_cast<size_t>(i)];
    for (int d = 0; d < model.num_dims; ++d) {
      const double temporal = loops.temporal[static_cast<size_t>(d)];
      const double spatial = loops.spatial[static_cast<size_t>(d)];
      outside.visits *= temporal;
      outside.instances *= spatial;
      if (Has(model.tensors[v].plain, d)) outside.moved *= temporal;
      if (!Has(model.tensors[v].dims, d)) outside.copies *= spatial;
    }
  }
  return outside;
}

// Words of the tile of a level.
double TileOf(const Model& model, const LoopMapping& mapping, int level, int v,
              loopnest::TouchedScratch& scratch) {
  int32_t extents[kMaxDims];
  for (int d = 0; d < model.num_dims; ++d) {
    extents[d] = model.bounds[d];
    for (int i = level + 1; i < model.num_levels; ++i) {
      const LoopLevel& loops = mapping.levels[static_cast<size_t>(i)];
      extents[d] /= static_cast<int32_t>(loops.temporal[static_cast<size_t>(d)] *
                                         loops.spatial[static_cast<size_t>(d)]);
    }
  }
  return TileWords(model, v, extents, scratch);
}

struct Seen {
  int64_t read_only = 0, sums = 0, windows = 0, passing = 0, tight = 0;
};

// All levels and tensors of one mapping.
void CheckMapping(const Model& model, const LoopMapping& mapping,
                  const loopnest::ExactResult& result, Seen& seen) {
  loopnest::TouchedScratch scratch;
  for (int v = 0; v < model.num_tensors; ++v) {
    for (int level = 1; level + 1 < model.num_levels; ++level) {
      const int inside = model.next_kept[level - 1][v];
      const double tile = TileOf(model, mapping, level, v, scratch);
      const Refill refill = RefillOf(model, v, level, tile);
      if (refill.words == 0) continue;
      const Outside outside = OutsideOf(model, mapping, level, v);
      const double least = outside.instances *
                           (outside.moved * tile + (outside.visits - outside.moved) * refill.words);
      const bool sums = model.tensors[v].read_write;
      const auto at = [&](int i) { return result.levels[i].tensors[v]; };
      const double first = sums ? model.tensors[v].elements * outside.copies : 0;
      const double arrived = static_cast<double>(at(inside).fills) + first;
      EXPECT_GE(arrived, least) << "tensor " << v << " at level " << level;
      (sums ? seen.sums : seen.read_only) += 1;
      seen.windows += model.tensors[v].simple ? 0 : 1;
      seen.tight += arrived == least && outside.visits > outside.moved ? 1 : 0;
      if (!model.Keeps(level, v)) {
        ++seen.passing;
        continue;
      }
      EXPECT_GE(static_cast<double>(at(level).reads) + first, least)
          << "tensor " << v << " at level " << level;
      const auto updates = static_cast<double>(at(level).updates);
      EXPECT_GE(sums ? updates : least, least) << "tensor " << v << " at level " << level;
    }
  }
}

TEST(ExactRefill, WhatDoesNotFitInsideComesAgain) {
  const Restrictions none;
  Seen seen;
  for (uint64_t k = 0; k < Thorough(300'000, 10'000) && !testing::Test::HasFailure(); ++k) {
    CounterRng rng(9, StreamId("exact.refill"), k);
    const RandomCase random = MakeRandomCase(
        rng, {.max_macs = 600, .max_levels = 5, .perfect = true, .narrow = k % 3 == 0});
    const auto setup = loopnest::Prepare(random.problem, random.machine, Semantics::kExact);
    if (!setup) continue;
    std::vector<uint8_t> keep = KeepSets(random.mapping);
    const auto all = static_cast<uint8_t>((1u << random.problem.num_tensors) - 1);
    for (uint8_t& set : keep) set &= all;
    if (keep.back() != all) continue;
    Model model = MakeModel(*setup, none, keep);
    if (!model.refills || !InSpace(model, random.mapping)) continue;
    loopnest::Workspace workspace;
    loopnest::Evaluate(*setup, random.mapping, workspace);
    if (workspace.nest_error.kind != loopnest::NestError::Kind::kNone) continue;
    if (workspace.exact.status != loopnest::ExactResult::Status::kOk) continue;
    loopnest::TouchedScratch scratch;
    for (int i = 0; i < model.num_levels; ++i) {
      for (int v = 0; v < model.num_tensors; ++v) {
        EXPECT_TRUE(!model.Keeps(i, v) ||
                    model.most_words[i][v] >= TileOf(model, random.mapping, i, v, scratch));
        model.most_words[i][v] = TileOf(model, random.mapping, i, v, scratch);
      }
    }
    SCOPED_TRACE(fmt::format("case {}: {}", k, ToString(random.problem)));
    CheckMapping(model, random.mapping, workspace.exact, seen);
  }
  fmt::print("refills of {} operands and {} sums, {} of them windows, {} past a level; {} exact\n",
             seen.read_only, seen.sums, seen.windows, seen.passing, seen.tight);
  EXPECT_GT(std::min({seen.read_only, seen.sums, seen.windows, seen.passing, seen.tight}), 100);
}

}  // namespace
}  // namespace tessera::exact
