// Random constraints against all points of small loop spaces: feasible sets are solved and repaired
// to; infeasible ones are refused with a set that no point satisfies, and every part of it has one.
#include <set>

#include <gtest/gtest.h>

#include "tessera/space/conformance.h"
#include "tessera/space/loop_space.h"

namespace tessera {
namespace {

using Demand = Constraints::Demand;
using enum Constraints::Rule;

struct Case {
  LoopProblem problem;
  Hierarchy hierarchy;
};

// A buffer over 2 x 2 or 4 x 1 registers of a few words.
Case MakeCase(CounterRng& rng) {
  const auto pick = [&](std::initializer_list<int64_t> values) {
    return *(values.begin() + rng.UniformInt(std::ssize(values)));
  };
  Case made;
  made.problem =
      *MakeLoopProblem("gemm", {{"M", pick({4, 6})}, {"N", pick({2, 3})}, {"K", pick({1, 4})}});
  const bool square = rng.UniformInt(2) == 0;
  const int64_t x = square ? 2 : 4, y = square ? 2 : 1;
  made.hierarchy.arithmetic.mesh_x = x;
  made.hierarchy.arithmetic.mesh_y = y;
  MemoryLevel rf, glb, dram;
  rf.name = "RF";
  rf.entries = pick({3, 5, 12});
  rf.mesh_x = x;
  rf.mesh_y = y;
  glb.name = "GLB";
  glb.entries = pick({12, 24, 60});
  dram.name = "DRAM";
  made.hierarchy.levels = {rf, glb, dram};
  return made;
}

// All legal mappings, up to the order of loops.
std::vector<LoopMapping> AllMappings(const Case& made) {
  const auto space = LoopSpace::Make(made.problem, made.hierarchy);
  if (!space) return {};
  std::vector<size_t> free;
  for (const size_t i : (*space)->open()) {
    if ((*space)->decisions()[i].kind() != DecisionKind::kPermutation) free.push_back(i);
  }
  std::vector<LoopMapping> mappings;
  Point point((*space)->size());
  while (true) {
    if ((*space)->Check(point)) mappings.push_back(std::get<LoopMapping>((*space)->Decode(point)));
    size_t k = 0;
    while (k < free.size() && ++point[free[k]] == (*space)->decisions()[free[k]].size()) {
      point[free[k++]] = 0;
    }
    if (k == free.size()) return mappings;
  }
}

// A factor of a mapping by its name, and the axis that it lies on.
struct Factor {
  int64_t value = 1;
  std::string axis = {};
};

Factor Read(const Case& made, const LoopMapping& mapping, const std::string& name) {
  const auto dim = static_cast<size_t>(*FindDimension(made.problem, name.substr(0, 1)));
  for (size_t i = 0; i < made.hierarchy.levels.size(); ++i) {
    const LoopLevel& level = mapping.levels[i];
    const std::string own = name.substr(0, 2) + made.hierarchy.levels[i].name;
    if (name == own) return {level.temporal[dim]};
    if (name != own + "_par" && name != own + "_axis") continue;
    size_t place = 0;
    while (level.spatial_order[place] != dim) ++place;
    return {level.spatial[dim], place < level.split ? "X" : "Y"};
  }
  ADD_FAILURE() << name;
  return {};
}

// Whether a mapping does what is demanded, asked of the mapping itself.
bool Satisfies(const Case& made, const LoopMapping& mapping, const Demand& demand) {
  const Factor factor = Read(made, mapping, demand.decision);
  const auto value = static_cast<double>(factor.value);
  const bool named = std::ranges::count(demand.values, std::to_string(factor.value)) > 0;
  switch (demand.rule) {
    case kAllowed:
      if (demand.decision.ends_with("_axis")) {
        return factor.value == 1 || factor.axis == demand.values.front();
      }
      return named;
    case kForbidden: return !named;
    case kRange: return value >= demand.min && value <= demand.max;
    case kRatio: {
      const auto under = static_cast<double>(Read(made, mapping, demand.values.front()).value);
      return value >= demand.min * under && value <= demand.max * under;
    }
    default: return false;
  }
}

bool AnySatisfies(const Case& made, const std::vector<LoopMapping>& mappings,
                  const std::vector<Demand>& demands) {
  return std::ranges::any_of(mappings, [&](const LoopMapping& mapping) {
    return std::ranges::all_of(
        demands, [&](const Demand& demand) { return Satisfies(made, mapping, demand); });
  });
}

Demand RandomDemand(const Case& made, CounterRng& rng) {
  const auto factor = [&] {
    const std::string dim(1, "MNK"[rng.UniformInt(3)]);
    const int64_t where = rng.UniformInt(4);
    return dim + std::array{"_RF", "_GLB", "_DRAM", "_GLB_par"}[static_cast<size_t>(where)];
  };
  Demand demand{.decision = factor()};
  const auto number = [&] { return std::to_string(1 + rng.UniformInt(4)); };
  switch (rng.UniformInt(6)) {
    case 0: demand.values = {number()}; break;
    case 1: demand.values = {number(), number()}; break;
    case 2:
      demand.rule = kForbidden;
      demand.values = {number(), number()};
      break;
    case 3:
      demand.rule = kRange;
      (rng.UniformInt(2) == 0 ? demand.min : demand.max) =
          static_cast<double>(1 + rng.UniformInt(4));
      break;
    case 4:
      demand.rule = kRatio;
      demand.values = {factor()};
      demand.min = demand.max =
          std::array{0.5, 1.0, 2.0, 3.0}[static_cast<size_t>(rng.UniformInt(4))];
      if (rng.UniformInt(2) == 0) demand.max *= 2;
      break;
    default:
      // The axis of a factor is one decision, whether or not the factor is 1: one that has to be X
      // and Y would be a conflict of decisions and none of mappings.
      const bool on_y = made.hierarchy.levels[0].mesh_y > 1 && demand.decision[0] == 'N';
      demand.decision = demand.decision.substr(0, 1) + "_GLB_axis";
      demand.values = {on_y ? "Y" : "X"};
  }
  return demand;
}

// The demands that an error names, by their texts.
std::vector<size_t> NamedDemands(const Error& error, const std::vector<Demand>& demands) {
  std::vector<size_t> named;
  for (const std::string& text : error.conflict) {
    size_t k = 0;
    while (k < demands.size() &&
           (ToString(demands[k]) != text || std::ranges::count(named, k) > 0)) {
      ++k;
    }
    EXPECT_LT(k, demands.size()) << text;
    named.push_back(k);
  }
  return named;
}

TEST(ConstraintConflicts, AgreeWithBruteForce) {
  int solved = 0, refused = 0;
  for (uint64_t k = 0; k < 150; ++k) {
    CounterRng rng(7, k);
    const Case made = MakeCase(rng);
    const std::vector<LoopMapping> mappings = AllMappings(made);
    Constraints constraints;
    const int64_t count = 1 + rng.UniformInt(6);
    for (int64_t i = 0; i < count; ++i) {
      constraints.demands.push_back(RandomDemand(made, rng));
    }
    const std::vector<Demand>& demands = constraints.demands;
    SCOPED_TRACE(k);
    const auto space = LoopSpace::Make(made.problem, made.hierarchy, {.constraints = constraints});
    ASSERT_EQ(space.ok(), AnySatisfies(made, mappings, demands))
        << (space ? "solved" : ToString(space.error()));
    if (space) {
      ++solved;
      for (uint64_t draw = 0; draw < 20; ++draw) {
        CounterRng random(k, draw);
        const Point point = (*space)->Sample(random, 4);
        const Result<void> legal = (*space)->Check(point);
        ASSERT_TRUE(legal) << legal.error();
        const auto mapping = std::get<LoopMapping>((*space)->Decode(point));
        for (const Demand& demand : demands) {
          ASSERT_TRUE(Satisfies(made, mapping, demand)) << ToString(demand);
        }
      }
      continue;
    }
    ++refused;
    EXPECT_EQ(space.error().kind, ErrorKind::kInfeasible);
    const std::vector<size_t> named = NamedDemands(space.error(), demands);
    std::vector<Demand> conflict;
    for (const size_t member : named) conflict.push_back(demands[member]);
    EXPECT_FALSE(AnySatisfies(made, mappings, conflict)) << space.error().message;
    for (size_t leave = 0; leave < conflict.size(); ++leave) {
      std::vector<Demand> part = conflict;
      part.erase(part.begin() + static_cast<std::ptrdiff_t>(leave));
      EXPECT_TRUE(AnySatisfies(made, mappings, part)) << space.error().message;
    }
  }
  EXPECT_GT(solved, 20);
  EXPECT_GT(refused, 20);
}

}  // namespace
}  // namespace tessera
