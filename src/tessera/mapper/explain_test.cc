// Explanations against evaluation: parts add up, and a limit that is lifted gives the cycles that
// were promised.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tessera/map.h"
#include "tessera/part.h"

namespace tessera {
namespace {

MapJob JobFor(const std::string& network, const Accelerator& machine, const std::string& model,
              const Assignments& settings = {}) {
  MapSettings map;
  map.model = *ChooseCostModel(model, settings);
  Result<MapJob> job = MakeMapJob(map, *LoadNetwork(network), machine);
  EXPECT_TRUE(job) << job.error().message;
  return *std::move(job);
}

// Feasible mappings of a layer, drawn at random.
std::vector<Mapping> SampleMappings(const MapJob& job, const NetworkLayer& layer, size_t most) {
  const auto problem =
      MappingProblem::Make(layer.layer, job.accelerator, job.settings.model, job.problem);
  EXPECT_TRUE(problem);
  const auto model = job.settings.model->Make(layer.layer, job.accelerator);
  const auto workspace = (*model)->MakeWorkspace();
  std::vector<Mapping> mappings;
  for (uint64_t draw = 0; draw < 2'000 && mappings.size() < most; ++draw) {
    CounterRng rng(1, StreamId("explain.test"), draw);
    Mapping mapping = (*problem)->space().Decode((*problem)->space().Sample(rng, 64));
    if ((*model)->Evaluate(mapping, *workspace).feasible()) mappings.push_back(mapping);
  }
  return mappings;
}

std::vector<double> PartsOf(const CostBreakdown& parts) {
  std::vector<double> all = {parts.mac_pj, parts.leakage_pj};
  for (const LevelShare& level : parts.levels) {
    for (const TensorShare& tensor : level.tensors) all.push_back(tensor.energy_pj);
  }
  return all;
}

struct Case {
  std::string model;
  Assignments settings;
  std::string machine;
};

TEST(Explain, PartsAddUpExactlyInAnyOrder) {
  const Case cases[] = {{"loopnest", {}, "eyeriss-256"},
                        {"loopnest", {{"semantics", "timeloop3"}}, "eyeriss-256"},
                        {"maestro", {{"energy", "layer"}}, "maestro-256"},
                        {"maestro", {}, "maestro-256"}};
  for (const Case& c : cases) {
    const MapJob job = JobFor("resnet18", *LoadAccelerator(c.machine), c.model, c.settings);
    const NetworkLayer& layer = job.network.layers[1];
    for (const Mapping& mapping : SampleMappings(job, layer, 20)) {
      const auto explained = ExplainMapping(job, layer, mapping);
      ASSERT_TRUE(explained) << explained.error().message;
      std::vector<double> parts = PartsOf(explained->parts);
      const double total = explained->parts.cost.energy_pj;
      EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), 0.0), total);
      std::ranges::reverse(parts);
      EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), 0.0), total);
      std::ranges::sort(parts);
      EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), 0.0), total);
      EXPECT_GE(parts.front(), 0);
    }
  }
}

// Evaluates the mapping on the machine without the bandwidths of a level.
int64_t CyclesWithout(const std::string& name, MapJob job, const Layer& layer,
                      const Mapping& mapping) {
  for (MemoryLevel& level : job.accelerator.hierarchy->levels) {
    if (level.name != name) continue;
    level.read_words_per_cycle = level.write_words_per_cycle = level.shared_words_per_cycle =
        std::nullopt;
  }
  const auto model = job.settings.model->Make(layer, job.accelerator);
  return Evaluate(**model, mapping)->cycles;
}

TEST(Explain, LiftedBandwidthGivesThePromisedCycles) {
  for (const std::string semantics : {"exact", "timeloop3"}) {
    Accelerator machine = *LoadAccelerator("eyeriss-256");
    for (MemoryLevel& level : machine.hierarchy->levels) {
      level.read_words_per_cycle = *Decimal::Parse("0.7");
      level.write_words_per_cycle = *Decimal::Parse("0.9");
    }
    const MapJob job = JobFor("resnet18", machine, "loopnest", {{"semantics", semantics}});
    size_t limited = 0;
    for (const NetworkLayer& layer : job.network.layers) {
      for (const Mapping& mapping : SampleMappings(job, layer, 8)) {
        const auto explained = ExplainMapping(job, layer, mapping);
        ASSERT_TRUE(explained);
        const CostBreakdown& parts = explained->parts;
        if (parts.limited_by == kComputeLimit) continue;
        ++limited;
        EXPECT_EQ(CyclesWithout(parts.limited_by, job, layer.layer, mapping),
                  parts.cycles_if_lifted)
            << parts.limited_by;
        EXPECT_LT(parts.cycles_if_lifted, parts.cost.cycles);
      }
    }
    EXPECT_GT(limited, 20u) << semantics;
  }
}

Decimal Twice(const Decimal& value) {
  return *Decimal::Parse(fmt::format("{}", 2 * value.ToDouble()));
}

// The mapping's cycles on a machine in which `change` was done to one level, or to all (empty).
template <typename Change>
int64_t CyclesWith(const std::string& name, MapJob job, const Layer& layer, const Mapping& mapping,
                   const Change& change) {
  for (MemoryLevel& level : job.accelerator.hierarchy->levels) {
    if (name.empty() || level.name == name) change(level);
  }
  const auto model = job.settings.model->Make(layer, job.accelerator);
  return Evaluate(**model, mapping)->cycles;
}

void DoubleBandwidth(MemoryLevel& level) {
  for (auto* bandwidth :
       {&level.read_words_per_cycle, &level.write_words_per_cycle, &level.shared_words_per_cycle}) {
    if (*bandwidth) *bandwidth = Twice(**bandwidth);
  }
}

// The sentence on what limits a layer, for three layers of ResNet-18: with that bandwidth doubled
// the same mapping takes half of what it asked for, or what the next limit asks for; a doubled
// buffer helps nothing; and where the MACs limit, doubling all bandwidths does not.
TEST(Explain, SentencesOnResNet18HoldWithTheLimitLifted) {
  size_t by_bandwidth = 0, by_macs = 0;
  for (const std::string dram : {"1.5", "4000"}) {
    Accelerator machine = *LoadAccelerator("eyeriss-256");
    for (MemoryLevel& level : machine.hierarchy->levels) {
      level.shared_words_per_cycle = *Decimal::Parse(level.name == "DRAM" ? dram : "4000");
    }
    const MapJob job = JobFor("resnet18", machine, "loopnest");
    for (const size_t index : {size_t{0}, size_t{1}, job.network.layers.size() - 1}) {
      const NetworkLayer& layer = job.network.layers[index];
      for (const Mapping& mapping : SampleMappings(job, layer, 40)) {
        const auto explained = ExplainMapping(job, layer, mapping);
        ASSERT_TRUE(explained) << explained.error().message;
        const CostBreakdown& parts = explained->parts;
        const std::string sentence = LimitSentence(*explained);
        EXPECT_NE(sentence.find(WithThousands(parts.cycles_if_lifted)), std::string::npos);
        if (parts.limited_by == kComputeLimit) {
          ++by_macs;
          EXPECT_NE(sentence.find("the MACs limit it"), std::string::npos) << sentence;
          EXPECT_EQ(CyclesWith("", job, layer.layer, mapping, DoubleBandwidth), parts.cost.cycles);
          continue;
        }
        ++by_bandwidth;
        EXPECT_NE(sentence.find("of " + parts.limited_by + " limits it"), std::string::npos)
            << sentence;
        const int64_t asked =
            std::ranges::find(parts.levels, parts.limited_by, &LevelShare::name)->cycles;
        const int64_t half = (asked + 1) / 2 + parts.latency_cycles;
        EXPECT_EQ(CyclesWith(parts.limited_by, job, layer.layer, mapping, DoubleBandwidth),
                  std::max(half, parts.cycles_if_lifted))
            << layer.name << ": " << sentence;
        const auto double_buffer = [](MemoryLevel& level) {
          if (level.entries) *level.entries *= 2;
        };
        EXPECT_EQ(CyclesWith(parts.limited_by, job, layer.layer, mapping, double_buffer),
                  parts.cost.cycles);
      }
    }
  }
  EXPECT_GT(by_bandwidth, 20u);
  EXPECT_GT(by_macs, 0u);
}

// A buffer over a row of MACs below a slow DRAM. The loop over K moves from time to a row that is
// long enough: DRAM sees the same traffic, and decides.
TEST(Explain, EnlargedArrayGivesThePromisedCycles) {
  Accelerator machine{.name = "row"};
  machine.hierarchy =
      Hierarchy{.arithmetic = {.mesh_x = 1, .mac_pj = 1},
                .levels = {{.name = "SRAM", .entries = 65'536, .read_pj = 1},
                           {.name = "DRAM", .shared_words_per_cycle = Decimal(1), .read_pj = 100}}};
  const Network network = *MakeNetwork(
      "one",
      {{.name = "fc", .layer = {.type = LayerType::kFullyConnected, .n = 64, .k = 64, .c = 16}}});
  Accelerator large = machine;
  large.hierarchy->arithmetic.mesh_x = 64;
  MapSettings settings;
  const MapJob job = *MakeMapJob(settings, network, machine);
  const MapJob larger = *MakeMapJob(settings, network, large);
  const LoopProblem problem = *MakeLoopProblem(network.layers.front().layer);
  LoopMapping mapping{.num_levels = 2};
  for (size_t d = 0; d < problem.dims().size(); ++d) {
    mapping.levels[0].temporal[d] = static_cast<int32_t>(problem.dimensions[d].bound);
  }
  const auto small = ExplainMapping(job, network.layers.front(), mapping);
  ASSERT_TRUE(small) << small.error().message;
  EXPECT_EQ(small->parts.limited_by, kComputeLimit);
  LoopMapping spread = mapping;
  for (size_t d = 0; d < problem.dims().size(); ++d) {
    if (problem.dimensions[d].name.view() != "K") continue;
    std::swap(spread.levels[0].temporal[d], spread.levels[0].spatial[d]);
  }
  const auto model = larger.settings.model->Make(network.layers.front().layer, large);
  const Result<Cost> cost = Evaluate(**model, spread);
  ASSERT_TRUE(cost) << cost.error().message;
  EXPECT_EQ(cost->cycles, small->parts.cycles_if_lifted);
}

TEST(Explain, MaestroLimitsAreThoseOfAMachineWithoutThem) {
  Accelerator machine = *LoadAccelerator("maestro-256");
  machine.pe_array->noc_elements_per_cycle = 4;
  const MapJob job = JobFor("resnet18", machine, "maestro");
  const NetworkLayer& layer = job.network.layers[1];
  size_t limited = 0;
  for (const Mapping& mapping : SampleMappings(job, layer, 20)) {
    const auto explained = ExplainMapping(job, layer, mapping);
    ASSERT_TRUE(explained);
    if (explained->parts.limited_by != "L2") continue;
    ++limited;
    Accelerator without = machine;
    without.pe_array->noc_elements_per_cycle = PeArray::kUnlimited;
    const auto model = job.settings.model->Make(layer.layer, without);
    EXPECT_EQ(Evaluate(**model, mapping)->cycles, explained->parts.cycles_if_lifted);
  }
  EXPECT_GT(limited, 0u);
}

// Positions of a 3x3 window over 4x4 inputs with a frame of zeros: 4 * 3 pairs per axis, of which
// the first and the last row of outputs miss one each.
TEST(Explain, CountsOperationsOnPadding) {
  const Network network = *MakeNetwork(
      "padded", {{.name = "conv",
                  .layer = {.k = 2, .c = 2, .y = 4, .x = 4, .r = 3, .s = 3, .pad = {1, 1, 1, 1}}}});
  const MapJob job = *MakeMapJob({}, network, *LoadAccelerator("eyeriss-256"));
  const std::vector<Mapping> mappings = SampleMappings(job, network.layers.front(), 5);
  ASSERT_FALSE(mappings.empty());
  for (const Mapping& mapping : mappings) {
    const auto explained = ExplainMapping(job, network.layers.front(), mapping);
    ASSERT_TRUE(explained);
    const MacCycles& macs = explained->mac_cycles;
    EXPECT_DOUBLE_EQ(macs.padding / (macs.padding + macs.useful), 1 - 100.0 / 144);
    EXPECT_NEAR(macs.useful + macs.padding + macs.ragged + macs.unused + macs.waiting, 1, 1e-12);
  }
}

TEST(Diff, AttributesTheWholeDifference) {
  const MapJob job = JobFor("resnet18", *LoadAccelerator("eyeriss-256"), "loopnest");
  const NetworkLayer& layer = job.network.layers[1];
  const std::vector<Mapping> mappings = SampleMappings(job, layer, 2);
  ASSERT_EQ(mappings.size(), 2u);
  RunExplanation a, b;
  a.layers = {*ExplainMapping(job, layer, mappings[0])};
  b.layers = {*ExplainMapping(job, layer, mappings[1])};
  b.layers.front().name = "called otherwise";
  const RunDiff diff = DiffRuns(a, b);
  ASSERT_EQ(diff.layers.size(), 1u);
  EXPECT_EQ(diff.layers.front().b, 0u);
  double sum = 0;
  for (const PartDelta& part : diff.layers.front().parts) sum += part.delta_pj();
  const double energy =
      b.layers.front().parts.cost.energy_pj - a.layers.front().parts.cost.energy_pj;
  EXPECT_NEAR(sum, energy, 1e-9 * std::abs(energy));
}

}  // namespace
}  // namespace tessera
