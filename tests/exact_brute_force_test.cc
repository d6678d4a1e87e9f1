// The exact mapper against brute force on random small problems and machines: strides, dilations,
// grouped and depthwise layers, links, bypasses fixed and searched, several fan-outs, constraints,
// both semantics.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "exact_front.h"
#include "exact_oracle.h"
#include "loopnest_random.h"
#include "tessera/cost.h"
#include "tessera/search/exact/count.h"
#include "tessera/search/exact/keep_choices.h"
#include "tessera/search/exact/mapper.h"
#include "thorough.h"

namespace tessera::exact {
namespace {

using loopnest::Semantics;

constexpr uint64_t kSeed = 7;

struct Tally {
  int64_t cases = 0, mappings = 0, infeasible = 0;

  void Add(const OracleResult& oracle) {
    ++cases;
    mappings += oracle.mappings;
    infeasible += oracle.valid == 0 ? 1 : 0;
  }
  void Print() const {
    fmt::print("{} cases, {} mappings, {} without a mapping\n", cases, mappings, infeasible);
  }
};

double OracleValue(const OracleResult& oracle, Goal goal) {
  return goal == Goal::kCycles ? oracle.cycles : goal == Goal::kEnergy ? oracle.energy : oracle.edp;
}

// The keep sets of the random mapping, made legal.
std::vector<uint8_t> KeepOf(const RandomCase& random) {
  std::vector<uint8_t> keep = KeepSets(random.mapping);
  const auto all = static_cast<uint8_t>((1u << random.problem.num_tensors) - 1);
  for (uint8_t& set : keep) set &= all;
  keep.back() = all;
  return keep;
}

// The mapper proves what the oracle found, for all goals, from different starting values.
void CheckAgainst(const OracleResult& oracle, const RandomCase& random, MapperOptions options,
                  uint64_t number) {
  ThreadPool pool(1);
  for (const Goal goal : {Goal::kCycles, Goal::kEnergy, Goal::kEdp}) {
    const double starts[] = {0, 1.35, 2};
    const double start = starts[(number + static_cast<uint64_t>(goal)) % 3];
    options.goal = goal;
    options.dive_width = number % 2 == 0 ? 0 : 4;
    const auto mapper = Mapper::Make(random.problem, random.machine, options);
    if (!mapper) {
      EXPECT_EQ(oracle.valid, 0) << mapper.error();
      continue;
    }
    // Where everything is free, a value that is to be beaten would leave nothing to find.
    const double offered = oracle.valid > 0 ? OracleValue(oracle, goal) * start : 0;
    if (offered > 0) (*mapper)->OfferValue(offered);
    while ((*mapper)->Step(pool)) {
    }
    const Progress progress = (*mapper)->progress();
    std::vector<std::string> levels;
    for (const MemoryLevel& level : random.machine.levels) levels.push_back(level.name);
    const std::string name = fmt::format("case {} {} goal {} start {}: {}", number, random.family,
                                         static_cast<int>(goal), start, ToString(random.problem));
    if (oracle.valid == 0) {
      EXPECT_EQ(progress.status, Status::kInfeasible) << name;
      continue;
    }
    EXPECT_EQ(progress.status, Status::kOptimal) << name;
    ASSERT_TRUE(progress.best) << name;
    EXPECT_NEAR(progress.best->value, OracleValue(oracle, goal), 1e-9 * OracleValue(oracle, goal))
        << name << "\n"
        << PrintLoopNest(progress.best->mapping, random.problem, levels);
  }
}

RandomCase CaseOf(std::string_view test, Semantics semantics, uint64_t number,
                  const RandomCaseOptions& options) {
  CounterRng rng(kSeed, StreamId(test, static_cast<uint64_t>(semantics)), number);
  return MakeRandomCase(rng, options);
}

void CheckMany(Semantics semantics, uint64_t cases, int levels, double most_mappings) {
  Tally tally;
  for (uint64_t k = 0; k < cases && !testing::Test::HasFailure(); ++k) {
    const RandomCase random = CaseOf(fmt::format("exact.brute.{}", levels), semantics, k,
                                     {.max_macs = 60, .max_levels = levels, .perfect = true});
    if (CountMappings(random.problem, random.machine) > most_mappings) continue;
    const std::vector<uint8_t> keep = KeepOf(random);
    const OracleResult oracle = SearchEverything(random.problem, random.machine, semantics, keep);
    tally.Add(oracle);
    CheckAgainst(oracle, random, {.semantics = semantics, .keep = keep}, k);
  }
  tally.Print();
  EXPECT_GT(tally.cases, static_cast<int64_t>(cases / 4));
}

TEST(ExactBruteForce, Timeloop3) {
  CheckMany(Semantics::kTimeloop3, Thorough(3'000, 400), 4, 6'000);
}
TEST(ExactBruteForce, ExactSemantics) {
  CheckMany(Semantics::kExact, Thorough(3'000, 400), 4, 6'000);
}
TEST(ExactBruteForce, FiveLevelsTimeloop3) { CheckMany(Semantics::kTimeloop3, 300, 5, 12'000); }
TEST(ExactBruteForce, FiveLevelsExactSemantics) { CheckMany(Semantics::kExact, 300, 5, 12'000); }

// Windows and scaled ranks of few dimensions, so that loops can have more iterations: displacements
// that meet or vanish, tiles that are sent again, words past levels that do not hold them.
void CheckNarrow(Semantics semantics, uint64_t cases) {
  Tally tally;
  for (uint64_t k = 0; k < cases && !testing::Test::HasFailure(); ++k) {
    const int levels = static_cast<int>(2 + k % 4);
    const RandomCase random =
        CaseOf("exact.narrow", semantics, k,
               {.max_macs = 400, .max_levels = levels, .perfect = true, .narrow = true});
    if (CountMappings(random.problem, random.machine) > 5'000) continue;
    const std::vector<uint8_t> keep = KeepOf(random);
    const OracleResult oracle = SearchEverything(random.problem, random.machine, semantics, keep);
    tally.Add(oracle);
    CheckAgainst(oracle, random, {.semantics = semantics, .keep = keep}, k);
  }
  tally.Print();
}

TEST(ExactBruteForce, NarrowTimeloop3) {
  CheckNarrow(Semantics::kTimeloop3, Thorough(40'000, 300));
}
TEST(ExactBruteForce, NarrowExactSemantics) {
  CheckNarrow(Semantics::kExact, Thorough(40'000, 300));
}

// The best over several sets of kept tensors.
OracleResult SearchKeeps(const RandomCase& random, Semantics semantics,
                         const std::vector<std::vector<uint8_t>>& keeps) {
  OracleResult oracle;
  for (const std::vector<uint8_t>& keep : keeps) {
    const OracleResult one = SearchEverything(random.problem, random.machine, semantics, keep);
    oracle.mappings += one.mappings;
    oracle.valid += one.valid;
    oracle.cycles = std::min(oracle.cycles, one.cycles);
    oracle.energy = std::min(oracle.energy, one.energy);
    oracle.edp = std::min(oracle.edp, one.edp);
  }
  return oracle;
}

// Every choice of what a level holds, by brute force one after the other.
void CheckBypasses(Semantics semantics, uint64_t cases) {
  Tally tally;
  for (uint64_t k = 0; k < cases && !testing::Test::HasFailure(); ++k) {
    const RandomCase random =
        CaseOf("exact.bypass", semantics, k, {.max_macs = 40, .max_levels = 3, .perfect = true});
    if (CountMappings(random.problem, random.machine) > 400) continue;
    MapperOptions options{.semantics = semantics, .keep = KeepOf(random), .decide_keep = true};
    const auto choices = KeepChoicesOf(random.problem, random.machine, options);
    ASSERT_TRUE(choices) << choices.error();
    const OracleResult oracle = SearchKeeps(random, semantics, choices->sets);
    tally.Add(oracle);
    CheckAgainst(oracle, random, options, k);
  }
  tally.Print();
}

// Tensors of several widths, and words of several sizes: fixed keep sets and searched ones.
TEST(ExactBruteForce, Widths) {
  Tally tally;
  const uint64_t cases = Thorough(6'000, 200);
  for (uint64_t k = 0; k < cases && !testing::Test::HasFailure(); ++k) {
    const RandomCase random = CaseOf("exact.widths", Semantics::kExact, k,
                                     {.max_macs = k % 4 == 0 ? 200 : 60,
                                      .max_levels = 4,
                                      .perfect = true,
                                      .narrow = k % 4 == 0,
                                      .widths = true});
    const bool searched = k % 5 == 0;
    if (CountMappings(random.problem, random.machine) > (searched ? 400 : 3'000)) continue;
    MapperOptions options{.keep = KeepOf(random), .decide_keep = searched};
    std::vector<std::vector<uint8_t>> keeps = {options.keep};
    if (searched) {
      const auto choices = KeepChoicesOf(random.problem, random.machine, options);
      ASSERT_TRUE(choices) << choices.error();
      keeps = choices->sets;
    }
    const OracleResult oracle = SearchKeeps(random, Semantics::kExact, keeps);
    tally.Add(oracle);
    CheckAgainst(oracle, random, options, k);
  }
  tally.Print();
  EXPECT_GT(tally.cases, static_cast<int64_t>(cases / 4));
}

TEST(ExactBruteForce, BypassesTimeloop3) {
  CheckBypasses(Semantics::kTimeloop3, Thorough(400, 120));
}
TEST(ExactBruteForce, BypassesExactSemantics) {
  CheckBypasses(Semantics::kExact, Thorough(400, 120));
}

// A random level of one instance, or the outermost, for every tensor.
std::vector<int> HomesOf(const RandomCase& random, uint64_t number) {
  CounterRng rng(kSeed, StreamId("exact.homes"), number);
  std::vector<int> shared;
  for (size_t i = 0; i < random.machine.levels.size(); ++i) {
    if (random.machine.levels[i].instances() == 1) shared.push_back(static_cast<int>(i));
  }
  std::vector<int> homes;
  for (int v = 0; v < random.problem.num_tensors; ++v) {
    homes.push_back(
        shared[static_cast<size_t>(rng.Uniform() * static_cast<double>(shared.size()))]);
  }
  return homes;
}

// Tensors that are on chip before the layer begins, with bypasses fixed and searched.
TEST(ExactBruteForce, Homes) {
  Tally tally;
  int64_t at_home = 0;
  for (uint64_t k = 0; k < Thorough(3'000, 120) && !testing::Test::HasFailure(); ++k) {
    const bool narrow = k % 3 == 0, bypass = k % 2 == 0;
    const RandomCase random =
        CaseOf("exact.homes", Semantics::kExact, k,
               {.max_macs = narrow ? 200 : 40, .max_levels = 4, .perfect = true, .narrow = narrow});
    if (CountMappings(random.problem, random.machine) > (bypass ? 300 : 3'000)) continue;
    MapperOptions options{
        .keep = KeepOf(random), .decide_keep = bypass, .homes = HomesOf(random, k)};
    const auto outermost = static_cast<int>(random.machine.levels.size()) - 1;
    for (const int home : options.homes) at_home += home < outermost ? 1 : 0;
    const auto choices = KeepChoicesOf(random.problem, random.machine, options);
    ASSERT_TRUE(choices) << choices.error();
    OracleResult oracle;
    for (const std::vector<uint8_t>& keep : choices->sets) {
      const OracleResult one = SearchEverything(random.problem, random.machine, Semantics::kExact,
                                                keep, nullptr, options.homes);
      oracle.mappings += one.mappings;
      oracle.valid += one.valid;
      oracle.cycles = std::min(oracle.cycles, one.cycles);
      oracle.energy = std::min(oracle.energy, one.energy);
      oracle.edp = std::min(oracle.edp, one.edp);
    }
    tally.Add(oracle);
    CheckAgainst(oracle, random, options, k);
  }
  tally.Print();
  EXPECT_GT(at_home, 20);
}

// Random constraints, in the mapper's terms and as plain questions about a mapping.
struct RandomRules {
  Restrictions restrictions;

  bool Allows(const LoopMapping& mapping, int num_dims) const {
    for (size_t i = 0; i < restrictions.levels.size(); ++i) {
      const Restrictions::Level& rules = restrictions.levels[i];
      const LoopLevel& level = mapping.levels[i];
      const auto among = [](const std::vector<int32_t>& list, int32_t factor) {
        return list.empty() || std::ranges::find(list, factor) != list.end();
      };
      for (size_t d = 0; d < static_cast<size_t>(num_dims); ++d) {
        if (!among(rules.temporal[d], level.temporal[d])) return false;
        if (!among(rules.spatial[d], level.spatial[d])) return false;
        if (level.spatial[d] == 1) continue;
        const auto* place = std::find(level.spatial_order.begin(), level.spatial_order.end(), d);
        const bool on_y = place - level.spatial_order.begin() >= level.split;
        if (on_y ? rules.no_y[d] : rules.no_x[d]) return false;
      }
      if (rules.temporal_orders.any) continue;
      // The loops that run have to come in the one order that is allowed.
      const std::vector<uint8_t>& wanted = rules.temporal_orders.allowed.front();
      std::vector<uint8_t> is, should;
      for (size_t d = 0; d < static_cast<size_t>(num_dims); ++d) {
        if (level.temporal[level.temporal_order[d]] > 1) is.push_back(level.temporal_order[d]);
        if (level.temporal[wanted[d]] > 1) should.push_back(wanted[d]);
      }
      if (is != should) return false;
    }
    return true;
  }
};

RandomRules MakeRules(const RandomCase& random, CounterRng& rng) {
  RandomRules rules{.restrictions = {.none = false}};
  const auto dims = static_cast<size_t>(random.problem.num_dimensions);
  for (size_t i = 0; i < random.machine.levels.size(); ++i) {
    Restrictions::Level level;
    for (size_t d = 0; d < dims; ++d) {
      for (std::vector<int32_t>* list : {&level.temporal[d], &level.spatial[d]}) {
        if (rng.Uniform() < 0.85) continue;
        list->push_back(1);
        if (rng.Uniform() < 0.5) list->push_back(2);
        if (rng.Uniform() < 0.5) list->push_back(3);
      }
      level.no_x[d] = rng.Uniform() < 0.1;
      level.no_y[d] = !level.no_x[d] && rng.Uniform() < 0.1;
    }
    if (rng.Uniform() < 0.4) {
      std::vector<uint8_t> order(dims);
      for (size_t d = 0; d < dims; ++d) order[d] = static_cast<uint8_t>(d);
      rng.Shuffle(std::span(order));
      level.temporal_orders = {.any = false, .allowed = {order}};
    }
    rules.restrictions.levels.push_back(std::move(level));
  }
  return rules;
}

void CheckConstraints(Semantics semantics, uint64_t cases) {
  Tally tally;
  for (uint64_t k = 0; k < cases && !testing::Test::HasFailure(); ++k) {
    const RandomCase random = CaseOf("exact.constraints", semantics, k,
                                     {.max_macs = 60, .max_levels = 4, .perfect = true});
    if (CountMappings(random.problem, random.machine) > 4'000) continue;
    CounterRng rng(kSeed, StreamId("exact.rules"), k);
    const RandomRules rules = MakeRules(random, rng);
    const std::vector<uint8_t> keep = KeepOf(random);
    const auto allowed = [&](const LoopMapping& mapping) {
      return rules.Allows(mapping, random.problem.num_dimensions);
    };
    const OracleResult oracle =
        SearchEverything(random.problem, random.machine, semantics, keep, allowed);
    tally.Add(oracle);
    CheckAgainst(oracle, random,
                 {.semantics = semantics, .keep = keep, .restrictions = rules.restrictions}, k);
  }
  tally.Print();
}

TEST(ExactBruteForce, ConstraintsTimeloop3) {
  CheckConstraints(Semantics::kTimeloop3, Thorough(800, 250));
}
TEST(ExactBruteForce, ConstraintsExactSemantics) {
  CheckConstraints(Semantics::kExact, Thorough(800, 250));
}

// The front of cycles and energy, point by point.
void CheckFronts(Semantics semantics, uint64_t cases) {
  Tally tally;
  ThreadPool pool(1);
  int64_t longest = 0;
  for (uint64_t k = 0; k < cases && !testing::Test::HasFailure(); ++k) {
    const RandomCase random =
        CaseOf("exact.front", semantics, k, {.max_macs = 60, .max_levels = 4, .perfect = true});
    if (CountMappings(random.problem, random.machine) > 2'000) continue;
    const std::vector<uint8_t> keep = KeepOf(random);
    const OracleResult oracle = SearchEverything(random.problem, random.machine, semantics, keep);
    tally.Add(oracle);
    const auto front =
        FindParetoFront(random.problem, random.machine,
                        {.mapper = {.semantics = semantics, .keep = keep, .dive_width = 4}}, pool);
    if (!front) {
      EXPECT_EQ(oracle.valid, 0) << front.error();
      continue;
    }
    EXPECT_TRUE(front->complete) << k;
    std::vector<std::pair<double, double>> expected, found;
    for (const auto& [cycles, energy] : oracle.least_energy) {
      if (expected.empty() || energy < expected.back().second * (1 - kTolerance)) {
        expected.emplace_back(cycles, energy);
      }
    }
    std::ranges::reverse(expected);
    for (const Candidate& point : front->points) found.emplace_back(point.cycles, point.energy_pj);
    ASSERT_EQ(found.size(), expected.size()) << k << " " << ToString(random.problem);
    longest = std::max(longest, static_cast<int64_t>(std::ssize(found)));
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].first, expected[i].first) << k;
      EXPECT_NEAR(found[i].second / expected[i].second, 1, 1e-9) << k;
    }
  }
  tally.Print();
  EXPECT_GT(longest, 2);
}

TEST(ExactBruteForce, FrontsTimeloop3) { CheckFronts(Semantics::kTimeloop3, 200); }
TEST(ExactBruteForce, FrontsExactSemantics) { CheckFronts(Semantics::kExact, 200); }

}  // namespace
}  // namespace tessera::exact
