// What the exact mapper knows of parallel factors before they are chosen, against all that there
// are; and of hops before axes and orders are, against the model's.
#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "loopnest_random.h"
#include "tessera/cost/loopnest/evaluation.h"
#include "tessera/search/exact/least_hops.h"
#include "tessera/search/exact/model.h"
#include "tessera/search/exact/parallel.h"
#include "thorough.h"

namespace tessera::exact {
namespace {

using loopnest::Semantics;

struct Case {
  RandomCase random;
  loopnest::Setup setup;
  Restrictions none;
  Model model;
};

// A random problem and machine whose levels hold all tensors; null if the model rejects them.
std::unique_ptr<Case> MakeCase(uint64_t number) {
  CounterRng rng(7, StreamId("exact.parallel"), number);
  auto made = std::make_unique<Case>();
  made->random = MakeRandomCase(rng, {.max_macs = 200, .max_levels = 4, .perfect = true});
  auto setup = loopnest::Prepare(made->random.problem, made->random.machine, Semantics::kExact);
  if (!setup) return nullptr;
  made->setup = *std::move(setup);
  const auto all = static_cast<uint8_t>((1u << made->random.problem.num_tensors) - 1);
  const std::vector<uint8_t> keep(static_cast<size_t>(made->setup.machine.num_levels), all);
  made->model = MakeModel(made->setup, made->none, keep);
  return made;
}

// Different offsets of a tensor among children that differ by these factors, each dimension's next
// to each other.
double Offsets(const Model& model, int v, const std::vector<int32_t>& factors) {
  std::set<std::vector<int64_t>> offsets;
  std::vector<int32_t> index(factors.size(), 0);
  const TensorFacts& tensor = model.tensors[v];
  while (true) {
    std::vector<int64_t> offset;
    for (int r = 0; r < tensor.num_ranks; ++r) {
      int64_t sum = 0;
      for (int k = 0; k < tensor.ranks[r].num_terms; ++k) {
        sum += static_cast<int64_t>(tensor.ranks[r].coefficients[k]) *
               index[static_cast<size_t>(tensor.ranks[r].dims[k])];
      }
      offset.push_back(sum);
    }
    offsets.insert(offset);
    size_t d = 0;
    while (d < index.size() && ++index[d] == factors[d]) index[d++] = 0;
    if (d == index.size()) return static_cast<double>(offsets.size());
  }
}

// Calls use(factors) for all parallel factors of the levels inside `level` together.
template <typename Use>
void ForEachChoice(const Model& model, int level, const Use& use) {
  std::vector<int32_t> factors(static_cast<size_t>(model.num_dims), 1);
  std::set<std::vector<int32_t>> seen;
  const auto choose = [&](const auto& self, int i, int d, int64_t x, int64_t y) -> void {
    if (i == level) {
      if (seen.insert(factors).second) use(factors);
      return;
    }
    const LevelFacts& facts = model.levels[i];
    if (d == model.num_dims) {
      const bool last = i + 1 == level;
      return self(self, i + 1, 0, last ? 1 : model.levels[i + 1].fan_x,
                  last ? 1 : model.levels[i + 1].fan_y);
    }
    int32_t& factor = factors[static_cast<size_t>(d)];
    const int32_t before = factor;
    for (int32_t f = 1; f <= facts.fan && before * f <= model.bounds[d]; ++f) {
      if (model.bounds[d] % (before * f) != 0) continue;
      factor = before * f;
      if (f <= x) self(self, i, d + 1, x / f, y);
      if (f <= y && f > 1) self(self, i, d + 1, x, y / f);
    }
    factor = before;
  };
  choose(choose, 0, 0, level == 0 ? 1 : model.levels[0].fan_x,
         level == 0 ? 1 : model.levels[0].fan_y);
}

TEST(ExactParallel, FrontsCoverEveryChoiceAndReachTheLargestProduct) {
  int64_t choices = 0, cases = 0;
  for (uint64_t k = 0; k < Thorough(3'000, 150); ++k) {
    const std::unique_ptr<Case> made = MakeCase(k);
    if (!made) continue;
    const Model& model = made->model;
    LeastHops hops(model);
    ParallelFronts fronts(model, /*detailed=*/k % 2 == 0, hops);
    int from[kMaxTensors];
    std::fill_n(from, kMaxTensors, model.num_levels);
    int16_t whole[kMaxDims] = {};
    for (int d = 0; d < model.num_dims; ++d) {
      whole[d] = static_cast<int16_t>(model.divisors[d].values.size() - 1);
    }
    for (int level = 0; level <= model.num_levels; ++level) {
      if (model.fan_below[level] > 512) break;  // Enumerating all of them takes long.
      ParallelFronts::Table& table = fronts.TableOf(level, from);
      const auto points = fronts.Of(table, whole);
      double most = 0, reached = 0;
      for (const ParallelPoint& point : points) reached = std::max(reached, point.product);
      ForEachChoice(model, level, [&](const std::vector<int32_t>& factors) {
        ParallelPoint real{.product = 1, .hop_pj = kInfinity};
        for (const int32_t factor : factors) real.product *= factor;
        for (int v = 0; v < model.num_tensors; ++v) {
          real.multicast[v] = real.product / Offsets(model, v, factors) * (1 - 1e-12);
        }
        most = std::max(most, real.product);
        EXPECT_TRUE(std::ranges::any_of(
            points,
            [&](const ParallelPoint& point) { return point.Covers(real, model.num_tensors); }))
            << made->random.family << ", case " << k << ", level " << level;
        // So does the front of just these extents.
        int16_t own[kMaxDims] = {};
        for (int d = 0; d < model.num_dims; ++d) {
          own[d] = static_cast<int16_t>(
              std::ranges::find(model.divisors[d].values, factors[static_cast<size_t>(d)]) -
              model.divisors[d].values.begin());
        }
        const auto least = fronts.Of(table, own);
        EXPECT_TRUE(std::ranges::any_of(least,
                                        [&](const ParallelPoint& point) {
                                          return point.product == real.product &&
                                                 point.Covers(real, model.num_tensors);
                                        }))
            << made->random.family << ", case " << k << ", level " << level;
        ++choices;
      });
      EXPECT_EQ(reached, most) << made->random.family << ", case " << k << ", level " << level;
      ++cases;
    }
  }
  EXPECT_GT(cases, 100);
  EXPECT_GT(choices, 2'000);
}

// A 3x3 layer on a machine with three arrays: most extents have the front of others, which is kept
// once. A search that is stopped keeps nothing, and the next one finds what it would have found.
TEST(ExactParallel, FrontsThatAreEqualAreKeptOnce) {
  const LoopProblem conv = *MakeLoopProblem(
      "conv", {{"R", 3}, {"S", 3}, {"P", 80}, {"Q", 80}, {"C", 48}, {"K", 96}, {"N", 1}});
  const Hierarchy machine = *LoadAccelerator("simba")->hierarchy;
  const auto setup = loopnest::Prepare(conv, machine, Semantics::kExact, /*extrapolate=*/true,
                                       /*clock_ghz=*/1);
  ASSERT_TRUE(setup);
  const Restrictions none;
  const Model model = MakeModel(*setup, none, std::vector<uint8_t>(machine.levels.size(), 7));
  LeastHops hops(model);
  bool stopped = true;
  ParallelFronts fronts(model, /*detailed=*/true, hops, [&stopped] { return stopped; });
  int from[kMaxTensors];
  std::fill_n(from, kMaxTensors, 0);
  int16_t whole[kMaxDims] = {};
  int64_t extents = 1;
  for (int d = 0; d < model.num_dims; ++d) {
    extents *= std::ssize(model.divisors[d].values);
    whole[d] = static_cast<int16_t>(model.divisors[d].values.size() - 1);
  }
  ASSERT_GT(extents, 40'000);
  ParallelFronts::Table& table = fronts.TableOf(model.num_levels, from);
  const auto cut = fronts.Of(table, whole);
  ASSERT_EQ(cut.size(), 1u);
  EXPECT_EQ(cut.front().product, kInfinity);
  stopped = false;
  const auto points = fronts.Of(table, whole);
  double most = 0;
  for (const ParallelPoint& point : points) most = std::max(most, point.product);
  EXPECT_EQ(most, model.fan_below[model.num_levels]);
  EXPECT_GT(fronts.bytes(), 8 * extents);
  EXPECT_LT(fronts.bytes(), 64 * extents);
}

TEST(ExactParallel, NoPlacementHasFewerHops) {
  int64_t compared = 0, equal = 0;
  for (uint64_t k = 0; k < Thorough(60'000, 6'000); ++k) {
    const std::unique_ptr<Case> made = MakeCase(k);
    if (!made) continue;
    const Model& model = made->model;
    LeastHops hops(model);
    loopnest::Workspace workspace;
    loopnest::Evaluate(made->setup, made->random.mapping, workspace);
    if (workspace.nest_error.kind != loopnest::NestError::Kind::kNone) continue;
    if (workspace.exact.status != loopnest::ExactResult::Status::kOk) continue;
    for (int i = 0; i < model.num_levels; ++i) {
      int32_t spatial[kMaxDims];
      for (int d = 0; d < model.num_dims; ++d) {
        spatial[d] = static_cast<int32_t>(
            made->random.mapping.levels[static_cast<size_t>(i)].spatial[static_cast<size_t>(d)]);
      }
      for (int v = 0; v < model.num_tensors; ++v) {
        const loopnest::ExactNetworkTensor& network = workspace.exact.levels[i].network[v];
        if (!model.tensors[v].simple || network.ingresses.empty() || network.link_transfers > 0) {
          continue;
        }
        int64_t words = 0;
        for (const loopnest::ExactIngress& ingress : network.ingresses) words += ingress.words;
        const double real = static_cast<double>(network.half_hops) / 2 / static_cast<double>(words);
        const double least = hops.Of(i, spatial)[static_cast<size_t>(v)];
        EXPECT_LE(least, real * (1 + 1e-12)) << made->random.family << ", case " << k;
        compared += real > 0 ? 1 : 0;
        equal += real > 0 && least >= real * (1 - 1e-12) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(compared, 1'000);
  EXPECT_GT(equal, compared / 4);
}

}  // namespace
}  // namespace tessera::exact
