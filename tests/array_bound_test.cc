// What instances of an array need at least (docs/bounds.md) against the best of all mappings, on
// machines whose instances have small memories of their own.
#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "exact_oracle.h"
#include "tessera/cost/array_bound.h"
#include "tessera/cost/keep_bounds.h"
#include "tessera/cost/loopnest/evaluation.h"
#include "tessera/search/exact/count.h"
#include "thorough.h"

namespace tessera {
namespace {

int64_t Between(CounterRng& rng, int64_t least, int64_t most) {
  return least + rng.UniformInt(most - least + 1);
}
bool Chance(CounterRng& rng, double probability) { return rng.Uniform() < probability; }

LoopProblem RandomProblem(CounterRng& rng) {
  if (Chance(rng, 0.2)) {
    return *MakeLoopProblem(
        "gemm", {{"M", Between(rng, 1, 6)}, {"N", Between(rng, 1, 6)}, {"K", Between(rng, 1, 8)}});
  }
  // One row, so that spaces stay small.
  Layer layer{.k = Between(rng, 1, 4), .c = Between(rng, 1, 4), .y = 1, .r = 1};
  layer.s = Between(rng, 1, 4);
  layer.stride.x = Between(rng, 1, 3);
  layer.dilation.x = Between(rng, 1, 2);
  layer.x = (Between(rng, 1, 6) - 1) * layer.stride.x + layer.dilation.x * (layer.s - 1) + 1;
  if (Chance(rng, 0.3)) layer.k = layer.groups = layer.c;
  const Result<LoopProblem> problem = MakeLoopProblem(layer);
  return *problem;
}

Hierarchy RandomMachine(CounterRng& rng) {
  Hierarchy machine;
  machine.arithmetic.mac_pj = 1;
  const int64_t columns = Between(rng, 1, 4), rows = Between(rng, 1, 3);
  machine.arithmetic.mesh_x = columns;
  machine.arithmetic.mesh_y = rows;
  const auto add = [&](std::string name, std::optional<int64_t> entries, int64_t pj, int64_t mesh_x,
                       int64_t mesh_y) {
    MemoryLevel level{.name = std::move(name), .entries = entries};
    level.mesh_x = mesh_x;
    level.mesh_y = mesh_y;
    level.block_words = Chance(rng, 0.2) ? 2 : 1;
    level.read_pj = Decimal(Between(rng, 0, 2 * pj));
    level.fill_pj = Decimal(Between(rng, 0, 2 * pj));
    level.update_pj = Decimal(Between(rng, 0, 2 * pj));
    level.reduces_in_place = Chance(rng, 0.7);
    if (Chance(rng, 0.3)) level.network.ingress_pj = Decimal(Between(rng, 0, 3));
    if (Chance(rng, 0.3)) level.network.router_pj = Decimal(Between(rng, 0, 3));
    if (Chance(rng, 0.2)) level.multiple_buffering = 2;
    machine.levels.push_back(std::move(level));
  };
  const int64_t own = Between(rng, 0, 2);  // memories of one instance
  for (int64_t k = 0; k < own; ++k)
    add(fmt::format("RF{}", k), Between(rng, 2, 8), 1, columns, rows);
  if (rows > 1 && Chance(rng, 0.5)) add("Column", 0, 0, columns, 1);
  add("GLB", Chance(rng, 0.5) ? std::optional<int64_t>(Between(rng, 8, 60)) : std::nullopt, 6, 1,
      1);
  if (Chance(rng, 0.4)) add("DRAM", std::nullopt, 20, 1, 1);
  machine.links = Chance(rng, 0.3);
  return machine;
}

// What a level of the machine holds; the outermost one all.
std::vector<uint8_t> RandomKeep(CounterRng& rng, const LoopProblem& problem,
                                const Hierarchy& machine) {
  const auto all = static_cast<uint8_t>((1u << problem.num_tensors) - 1);
  std::vector<uint8_t> keep;
  for (const MemoryLevel& level : machine.levels) {
    const auto some = static_cast<uint8_t>(rng.UniformInt(all + 1));
    keep.push_back(level.name == "Column" ? uint8_t{0} : Chance(rng, 0.3) ? all : some);
  }
  keep.back() = all;
  return keep;
}

// Some tensors are at the level inside the outermost one before the layer begins.
std::vector<int> RandomHomes(CounterRng& rng, const LoopProblem& problem, const Hierarchy& machine,
                             std::vector<uint8_t>& keep) {
  std::vector<int> homes;
  const auto outermost = static_cast<int>(machine.levels.size()) - 1;
  for (int v = 0; v < problem.num_tensors; ++v) {
    const bool inside = outermost > 0 && machine.levels[machine.levels.size() - 2].name == "GLB" &&
                        Chance(rng, 0.4);
    homes.push_back(inside ? outermost - 1 : outermost);
    if (!inside) continue;
    keep.back() = static_cast<uint8_t>(keep.back() & ~(1u << v));
    keep[static_cast<size_t>(outermost) - 1] |= static_cast<uint8_t>(1u << v);
  }
  return homes;
}

struct Seen {
  int64_t cases = 0, larger = 0, rooms = 0, equal = 0, homes = 0;
};

void CheckCase(uint64_t number, Seen& seen) {
  CounterRng rng(5, StreamId("array.bound"), number);
  const LoopProblem problem = RandomProblem(rng);
  const Hierarchy machine = RandomMachine(rng);
  if (exact::CountMappings(problem, machine) > 4'000) return;
  const Result<loopnest::Setup> setup =
      loopnest::Prepare(problem, machine, loopnest::Semantics::kExact);
  ASSERT_TRUE(setup) << setup.error();
  std::vector<uint8_t> keep = RandomKeep(rng, problem, machine);
  const std::vector<int> homes = RandomHomes(rng, problem, machine, keep);
  const double bound = ArrayBound(setup->data, setup->machine).Energy(keep);
  if (bound == 0) return;
  const OracleResult best =
      SearchEverything(problem, machine, loopnest::Semantics::kExact, keep, nullptr, homes);
  if (best.valid == 0) return;
  ++seen.cases;
  EXPECT_LE(bound, best.energy * (1 + 1e-12)) << number << " " << ToString(problem);
  std::optional<int64_t> compute_cycles;
  const double other = *KeepBounds(setup->data, setup->machine, keep, compute_cycles).energy_pj;
  Hierarchy wide = machine;
  for (MemoryLevel& level : wide.levels) {
    if (level.name.starts_with("RF")) level.entries.reset();
  }
  const auto roomy = loopnest::Prepare(problem, wide, loopnest::Semantics::kExact);
  ASSERT_TRUE(roomy);
  seen.larger += bound > other * (1 + 1e-9) ? 1 : 0;
  seen.rooms += bound > ArrayBound(roomy->data, roomy->machine).Energy(keep) * (1 + 1e-9) ? 1 : 0;
  seen.equal += bound > best.energy * (1 - 1e-9) ? 1 : 0;
  seen.homes += std::ranges::any_of(homes, [&](int home) { return home != homes[0]; }) ? 1 : 0;
}

TEST(ArrayBound, NoMappingTakesLess) {
  Seen seen;
  for (uint64_t k = 0; k < Thorough(60'000, 2'000) && !testing::Test::HasFailure(); ++k) {
    CheckCase(k, seen);
  }
  fmt::print(
      "{} cases: larger than the other closed bound in {}, because of rooms in {}, equal to "
      "the optimum in {}; homes differ in {}\n",
      seen.cases, seen.larger, seen.rooms, seen.equal, seen.homes);
  EXPECT_GT(seen.larger, seen.cases / 10);
  EXPECT_GT(seen.rooms, seen.cases / 100);
  EXPECT_GT(seen.equal, seen.cases / 10);
  EXPECT_GT(seen.homes, seen.cases / 20);
}

}  // namespace
}  // namespace tessera
