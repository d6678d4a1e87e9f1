// What a result says about its space is all that restricts it: lifting something that the line does
// not name never improves an optimal result.
#include <algorithm>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "tessera/accelerator.h"
#include "tessera/map.h"
#include "tessera/network.h"

namespace tessera {
namespace {

int64_t Pick(CounterRng& rng, std::initializer_list<int64_t> values) {
  return *(values.begin() + rng.UniformInt(std::ssize(values)));
}

Accelerator RandomMachine(CounterRng& rng) {
  Accelerator machine{.name = "random"};
  Hierarchy& hierarchy = machine.hierarchy.emplace();
  const int64_t x = Pick(rng, {1, 2, 4}), y = Pick(rng, {1, 2});
  hierarchy.arithmetic = {.mesh_x = x, .mesh_y = y, .mac_pj = 1};
  MemoryLevel rf{.name = "RF", .entries = Pick(rng, {2, 4, 8}), .mesh_x = x, .mesh_y = y};
  rf.read_pj = rf.fill_pj = rf.update_pj = 1;
  MemoryLevel glb{.name = "GLB", .entries = Pick(rng, {8, 16, 64})};
  glb.read_words_per_cycle = 2;
  glb.read_pj = glb.fill_pj = glb.update_pj = 5;
  MemoryLevel dram{.name = "DRAM"};
  dram.shared_words_per_cycle = 1;
  dram.read_pj = dram.fill_pj = dram.update_pj = 50;
  hierarchy.levels = {rf, glb, dram};
  return machine;
}

Layer RandomLayer(CounterRng& rng) {
  if (rng.UniformInt(2) == 0) {
    return {.type = LayerType::kMatmul,
            .m = Pick(rng, {3, 4, 6}),
            .n = Pick(rng, {2, 4}),
            .k = Pick(rng, {2, 4})};
  }
  return {.k = Pick(rng, {2, 4}), .c = Pick(rng, {1, 2, 3}), .x = Pick(rng, {4, 5, 6}), .s = 3};
}

struct Task {
  MapSettings settings = {};
  Accelerator machine = {};
};

// Something that narrows the space: how, and the word of the line that says so.
struct Restriction {
  std::string word;
  std::function<void(CounterRng&, Task&)> add;
};

std::vector<Restriction> Restrictions() {
  return {
      {"no bypass", [](CounterRng&, Task& setup) { setup.settings.bypass = false; }},
      {"the machine forbids it",
       [](CounterRng&, Task& setup) { setup.machine.hierarchy->bypass = false; }},
      {"what the machine names",
       [](CounterRng&, Task& setup) {
         setup.machine.hierarchy->keeps = {
             {"Weights"}, {"Inputs", "Outputs"}, {"Weights", "Inputs", "Outputs"}};
       }},
      {"constraints of the machine",
       [](CounterRng& rng, Task& setup) {
         setup.machine.constraints.demands.push_back(
             {.decision = rng.UniformInt(2) == 0 ? "K_*" : "*_GLB", .values = {"1"}});
       }},
      {"dataflow ",
       [](CounterRng& rng, Task& setup) {
         const std::vector<std::string> names = DataflowNames();
         setup.settings.dataflow = names[static_cast<size_t>(rng.UniformInt(std::ssize(names)))];
       }},
      {"limits of each layer: energy_pj",
       [](CounterRng&, Task& setup) { setup.settings.limits.Of(Objective::kEnergy) = 2500; }},
  };
}

struct Answer {
  std::string space = {};
  std::optional<double> value = {};  // of an OPTIMAL result
};

Answer Map(const Task& setup, const Layer& layer) {
  const Network network = *MakeNetwork("n", {{.name = "l", .layer = layer}});
  const Result<MapJob> job = MakeMapJob(setup.settings, network, setup.machine);
  EXPECT_TRUE(job) << job.error();
  if (!job) return {};
  const Result<NetworkMapping> mapped = MapNetwork(*job, 1);
  Answer answer{.space = DescribeSpace(*job)};
  if (mapped && mapped->layers[0].status == MapStatus::kOptimal) {
    answer.value = mapped->layers[0].value;
  }
  return answer;
}

TEST(SpaceText, NamesEverythingWhoseLiftingImprovesAnOptimum) {
  const std::vector<Restriction> all = Restrictions();
  int improved = 0, optimal = 0;
  for (uint64_t k = 0; k < 60; ++k) {
    CounterRng rng(11, k);
    Task free{.machine = RandomMachine(rng)};
    free.settings.method = ProofMethod(ProofUse::kAlone);
    free.settings.proof_rounds = 200;
    free.settings.objective = rng.UniformInt(2) == 0 ? Objective::kLatency : Objective::kEnergy;
    const Layer layer = RandomLayer(rng);
    std::vector<const Restriction*> used;
    for (const Restriction& restriction : all) {
      if (rng.UniformInt(3) == 0) used.push_back(&restriction);
    }
    // The setup with all of them but one; none is left out at the end.
    const auto without = [&](size_t lifted) {
      CounterRng draws(12, k);
      Task setup = free;
      for (size_t i = 0; i < used.size(); ++i) {
        Task ignored = setup;
        used[i]->add(draws, i == lifted ? ignored : setup);
      }
      return setup;
    };
    const Answer restricted = Map(without(used.size()), layer);
    if (!restricted.value) continue;
    ++optimal;
    for (size_t lifted = 0; lifted < used.size(); ++lifted) {
      const Answer more = Map(without(lifted), layer);
      if (!more.value || *more.value >= *restricted.value * (1 - 1e-9)) continue;
      ++improved;
      EXPECT_NE(restricted.space.find(used[lifted]->word), std::string::npos)
          << "case " << k << ": " << used[lifted]->word << " lifted: " << *restricted.value
          << " to " << *more.value << "; " << restricted.space;
    }
    // Other seeds and methods do not find what the proof says is not there.
    Task search = without(used.size());
    search.settings.method = *ParseMapMethod("random");
    search.settings.budget.samples = 300;
    const Network network = *MakeNetwork("n", {{.name = "l", .layer = layer}});
    const Result<NetworkMapping> found =
        MapNetwork(*MakeMapJob(search.settings, network, search.machine), 1);
    if (found && found->layers[0].cost) {
      EXPECT_GE(found->layers[0].value, *restricted.value * (1 - 1e-9)) << k;
    }
  }
  EXPECT_GT(optimal, 30);
  EXPECT_GT(improved, 10);
}

}  // namespace
}  // namespace tessera
