// Explorations against the obvious oracle: every machine mapped by itself.
#include "tessera/cooptimize.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tessera/arch/template.h"
#include "tessera/base/file.h"
#include "tessera/explore/explorer.h"
#include "tessera/explore/proposals.h"
#include "tessera/explore/relax.h"
#include "tessera/map.h"
#include "tessera/space/conformance.h"

namespace tessera {
namespace {

// As tests/thorough.h: a part of the cases, all of them with TESSERA_THOROUGH.
uint64_t Cases(uint64_t all, uint64_t part) {
  return std::getenv("TESSERA_THOROUGH") != nullptr ? all : part;
}

Network SomeNetwork(CounterRng& rng) {
  const auto size = [&](std::initializer_list<int64_t> sizes) {
    return *(sizes.begin() + rng.UniformInt(std::ssize(sizes)));
  };
  std::vector<NetworkLayer> layers;
  layers.push_back({.name = "gemm",
                    .layer = {.type = LayerType::kMatmul,
                              .m = size({4, 9, 6}),
                              .n = size({4, 6, 8}),
                              .k = size({6, 8, 12})}});
  layers.push_back({.name = "conv",
                    .layer = {.k = size({4, 6}), .c = size({2, 3}), .y = 4, .x = 3, .r = 2, .s = 2},
                    .count = 1 + rng.UniformInt(3)});
  Result<Network> network = MakeNetwork("some", layers);
  EXPECT_TRUE(network) << ToString(network.error());
  return *std::move(network);
}

// A template of some ten machines; some numbers follow from components, some are given.
std::string SomeTemplate(CounterRng& rng) {
  const auto pick = [&](std::initializer_list<std::string_view> texts) {
    return *(texts.begin() + rng.UniformInt(std::ssize(texts)));
  };
  const std::string_view columns =
      pick({"{choose: [2, 4], as: columns}", "{choose: [4, 2, 8], as: columns}"});
  const std::string_view hop = pick({"", ", network: {hop_pj: 0.02, router_pj: 0.01}"});
  const std::string_view buffer =
      pick({"entries: {from: 128, to: 512, times: 2}, read_pj: 2, fill_pj: 2.5, update_pj: 2.5",
            "entries: {choose: [512, 1K]}, component: sram, block_words: 2",
            "entries: [64, 256], read_pj: {choose: [1, 3]}, fill_pj: 2, update_pj: 2"});
  const std::string_view middle =
      pick({"",
            "  - {name: L2, present: {choose: [true, false]}, entries: 96, mesh_x: 1, read_pj: "
            "0.8, fill_pj: 0.9, update_pj: 0.9}\n"});
  const std::string_view bandwidth = pick({"{choose: [1, 4]}", "2", "{choose: [2, 0.5]}"});
  const std::string_view require = pick({"", "constraints: [columns * GLB.entries <= 2048]\n"});
  // Choices of kept tensors multiply with levels; with both, mapping every machine takes minutes.
  const std::string_view bypass =
      middle.empty() ? pick({"true", "false", "false", "{choose: [true, false]}"}) : "false";
  return fmt::format(
      "format: tessera-accelerator-1\nname: t\nhierarchy:\n  node_nm: 45\n  bypass: {}\n"
      "  arithmetic: {{name: MAC, mesh_x: {}, mesh_y: 2, word_bits: 16, component: mac}}\n"
      "  levels:\n"
      "  - {{name: RF, entries: {}, mesh_x: {{as: columns}}, mesh_y: 2, read_pj: 0.2, "
      "fill_pj: "
      "0.25, update_pj: 0.25, area_um2: 100}}\n"
      "{}"
      "  - {{name: GLB, {}{}, read_words_per_cycle: {}, write_words_per_cycle: 2}}\n"
      "  - {{name: DRAM, read_pj: 50, fill_pj: 50, update_pj: 50, read_words_per_cycle: 2, "
      "write_words_per_cycle: 2}}\n{}",
      bypass, columns, pick({"8", "24", "[8, 24]"}), middle, buffer, hop, bandwidth, require);
}

struct Mapped {
  int64_t number = 0;
  Low costs = {};
};

// What `map --method exact` finds for every machine.
std::vector<Mapped> MapEvery(const ExploreJob& job) {
  std::vector<Mapped> all;
  const MachineTemplate& machines = *job.machines;
  const MachineLimits limits = *LimitsOf(job);
  for (int64_t i = 0; i < machines.combinations(); ++i) {
    if (!machines.Has(machines.At(i))) continue;
    const Result<TemplateMachine> machine = machines.Machine(machines.At(i));
    if (!machine || !limits.Broken(*machine).empty()) continue;
    MapSettings settings = job.settings.map;
    settings.method = ProofMethod(ProofUse::kAlone);
    settings.budget = {};
    const Result<MapJob> map = MakeMapJob(settings, job.networks.front(), machine->accelerator);
    EXPECT_TRUE(map) << ToString(map.error());
    const Result<NetworkMapping> mapping = MapNetwork(*map, 1);
    if (!mapping) continue;
    const bool whole = std::ranges::all_of(
        mapping->layers, [](const LayerMapping& layer) { return layer.cost.has_value(); });
    if (!whole) continue;
    all.push_back({i + 1,
                   {.cycles = mapping->total.cycles,
                    .energy_pj = mapping->total.energy_pj,
                    .edp = mapping->total.edp(),
                    .area_um2 = machine->area_um2}});
  }
  return all;
}

bool Near(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

void CheckBest(const ExploreJob& job, const ExploreResult& result, const std::vector<Mapped>& all) {
  double least = std::numeric_limits<double>::infinity();
  for (const Mapped& machine : all) {
    least = std::min(least, machine.costs.Of(job.settings.objective));
  }
  ASSERT_TRUE(result.best);
  EXPECT_TRUE(Near(result.best->value, least)) << result.best->value << " " << least;
  EXPECT_EQ(result.best->status, MapStatus::kOptimal);
  ASSERT_TRUE(result.gap);
  EXPECT_EQ(*result.gap, 0);
  EXPECT_EQ(result.stopped_by, MapStop::kProved);
  // Its numbers are those of `map`, and no machine was discarded that is better.
  for (const Mapped& machine : all) {
    const auto record =
        std::ranges::find(result.records, machine.number - 1, &MachineRecord::number);
    ASSERT_NE(record, result.records.end());
    EXPECT_LE(record->bound, machine.costs.Of(job.settings.objective) * (1 + 1e-9))
        << "machine " << machine.number;
    if (machine.number != result.best->number) continue;
    EXPECT_EQ(machine.costs.cycles, result.best->cycles);
    EXPECT_TRUE(Near(machine.costs.energy_pj, result.best->energy_pj));
  }
}

bool Beats(const Low& a, const Low& b, const std::vector<Objective>& objectives) {
  bool less = false;
  for (const Objective objective : objectives) {
    if (a.Of(objective) > b.Of(objective) * (1 + 1e-9)) return false;
    less |= a.Of(objective) < b.Of(objective) * (1 - 1e-9);
  }
  return less;
}

void CheckFront(const ExploreJob& job, const ExploreResult& result,
                const std::vector<Mapped>& all) {
  const std::vector<Objective>& objectives = job.settings.pareto;
  const auto same = [&](const Low& a, const Low& b) {
    return std::ranges::all_of(
        objectives, [&](Objective objective) { return Near(a.Of(objective), b.Of(objective)); });
  };
  const auto low_of = [](const ExploredMachine& machine) {
    return Low{.cycles = machine.cycles,
               .energy_pj = machine.energy_pj,
               .edp = machine.edp(),
               .area_um2 = machine.area_um2};
  };
  for (const Mapped& machine : all) {
    const bool beaten = std::ranges::any_of(
        all, [&](const Mapped& other) { return Beats(other.costs, machine.costs, objectives); });
    const bool shown = std::ranges::any_of(result.front, [&](const ExploredMachine& other) {
      return same(low_of(other), machine.costs);
    });
    EXPECT_EQ(shown, !beaten) << "machine " << machine.number;
  }
  EXPECT_EQ(result.gap, 0.0);
}

// Best machine and front against every machine, mapped by itself.
void CheckAgainstEvery(const Network& network, const std::string& text, Objective objective) {
  SCOPED_TRACE(ToString(objective));
  const ExploreSettings settings{.objective = objective};
  const Result<ExploreJob> job = MakeExploreJob(settings, {network}, text, "t.yaml");
  ASSERT_TRUE(job) << ToString(job.error());
  const std::vector<Mapped> all = MapEvery(*job);
  const Result<ExploreResult> result = Explore(*job, 2);
  if (all.empty()) {
    EXPECT_FALSE(result);
    return;
  }
  ASSERT_TRUE(result) << ToString(result.error());
  CheckBest(*job, *result, all);
  ExploreJob front = *job;
  front.settings.pareto = {Objective::kLatency, Objective::kEnergy, Objective::kArea};
  const Result<ExploreResult> explored = Explore(front, 2);
  ASSERT_TRUE(explored) << ToString(explored.error());
  CheckFront(front, *explored, all);
}

constexpr Objective kTurns[] = {Objective::kEdp, Objective::kEnergy, Objective::kLatency};

TEST(Explore, FindsWhatMappingEveryMachineFinds) {
  const uint64_t cases = Cases(120, 1);
  for (uint64_t seed = 0; seed < cases; ++seed) {
    CounterRng rng(seed, StreamId("explore.test"));
    const std::string text = SomeTemplate(rng);
    const Network network = SomeNetwork(rng);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
    for (uint64_t turn = 0; turn < Cases(3, 1); ++turn) {
      CheckAgainstEvery(network, text, kTurns[(seed + turn) % 3]);
    }
  }
}

// `counts` values of the columns, of both memories and of a bus, from components at 22 nm.
std::string TemplateOf(std::array<int, 4> counts) {
  return fmt::format(
      "format: tessera-accelerator-1\nname: t\nhierarchy:\n  node_nm: 22\n  bypass: false\n"
      "  arithmetic: {{mesh_x: {{from: 2, to: {}, times: 2, as: columns}}, mesh_y: 4, word_bits: "
      "8, "
      "component: mac}}\n  levels:\n"
      "  - {{name: RF, component: regfile, entries: {{from: 16, to: {}, times: 2}}, word_bits: 8, "
      "mesh_x: {{as: columns}}, mesh_y: 4}}\n"
      "  - {{name: GLB, component: sram, entries: {{from: 2K, to: {}, times: 2}}, word_bits: 8, "
      "block_words: 8, read_words_per_cycle: {{from: 2, to: {}, times: 2, as: bus}}, "
      "write_words_per_cycle: {{as: bus}}}}\n"
      "  - {{name: DRAM, component: dram, type: lpddr4, word_bits: 8, read_words_per_cycle: 4, "
      "write_words_per_cycle: 4}}\n",
      2 << (counts[0] - 1), 16 << (counts[1] - 1), 2048 << (counts[2] - 1), 2 << (counts[3] - 1));
}

TEST(Explore, FindsWhatMappingThreeHundredMachinesFinds) {
  constexpr std::array<int, 4> kCounts[] = {{1, 2, 2, 1}, {5, 5, 4, 3}, {4, 3, 5, 5}, {3, 4, 5, 4}};
  const uint64_t cases = Cases(4, 1);
  for (uint64_t seed = 0; seed < cases; ++seed) {
    CounterRng rng(seed, StreamId("explore.large"));
    const std::string text = TemplateOf(kCounts[seed]);
    const Network network = SomeNetwork(rng);
    SCOPED_TRACE(text);
    for (uint64_t turn = 0; turn < Cases(3, 1); ++turn) {
      CheckAgainstEvery(network, text, kTurns[(seed + turn) % 3]);
    }
  }
}

// Layers as they are: mapping one that has no windows takes some hundredths of a second, others up
// to a second, so they have fewer machines.
TEST(Explore, FindsWhatMappingLayersOfResnet18OnEveryMachineFinds) {
  if (Cases(1, 0) == 0) GTEST_SKIP() << "takes minutes; with TESSERA_THOROUGH";
  const Result<Network> resnet = LoadNetwork("resnet18");
  ASSERT_TRUE(resnet) << ToString(resnet.error());
  struct Study {
    std::vector<std::string_view> layers;
    std::array<int, 4> counts;  // of TemplateOf
  };
  const Study studies[] = {{{"fc", "layer4.0.downsample.0"}, {5, 5, 4, 3}},
                           {{"layer2.0.downsample.0", "layer3.0.downsample.0"}, {3, 4, 5, 5}},
                           {{"layer4.0.conv1", "fc"}, {3, 2, 3, 2}},
                           {{"layer4.0.conv2"}, {2, 3, 2, 2}},
                           {{"layer3.0.conv1", "layer4.0.downsample.0"}, {2, 2, 2, 1}},
                           {{"layer1.0.conv1"}, {2, 1, 3, 1}}};
  for (const Study& study : studies) {
    Network network = *resnet;
    network.graph = {};
    std::erase_if(network.layers, [&](const NetworkLayer& layer) {
      return std::ranges::find(study.layers, layer.name) == study.layers.end();
    });
    ASSERT_EQ(network.layers.size(), study.layers.size());
    const std::string text = TemplateOf(study.counts);
    SCOPED_TRACE(fmt::format("{}\n{}", study.layers.front(), text));
    for (const Objective objective : kTurns) CheckAgainstEvery(network, text, objective);
  }
}

constexpr std::string_view kSmall = R"(format: tessera-accelerator-1
name: small
hierarchy:
  arithmetic: {mesh_x: {choose: [2, 4, 8], as: columns}, mac_pj: 1, area_um2: 500}
  levels:
  - {name: RF, entries: [16, 32], mesh_x: {as: columns}, read_pj: 0.2, fill_pj: 0.2, update_pj: 0.2, area_um2: 90}
  - {name: GLB, entries: {from: 64, to: 1K, times: 2}, read_pj: 3, fill_pj: 3, update_pj: 3, area_um2: 4000}
  - {name: DRAM, read_pj: 60, fill_pj: 60, update_pj: 60, read_words_per_cycle: 2, write_words_per_cycle: 2}
)";

ExploreJob SmallJob(ExploreSettings settings) {
  Result<Network> network = MakeNetwork(
      "n", {{.name = "gemm", .layer = {.type = LayerType::kMatmul, .m = 24, .n = 16, .k = 32}}});
  Result<ExploreJob> job = MakeExploreJob(settings, {*network}, kSmall, "small.yaml");
  EXPECT_TRUE(job) << ToString(job.error());
  return *std::move(job);
}

TEST(Explore, TheSameOnAnyNumberOfThreads) {
  const ExploreJob job = SmallJob({.objective = Objective::kEdp});
  const Result<ExploreResult> one = Explore(job, 1);
  ASSERT_TRUE(one);
  for (const int threads : {2, 8}) {
    const Result<ExploreResult> other = Explore(job, threads);
    ASSERT_TRUE(other);
    EXPECT_EQ(one->best->number, other->best->number);
    EXPECT_EQ(one->turns, other->turns);
    for (size_t i = 0; i < one->records.size(); ++i) {
      EXPECT_EQ(one->records[i].fate, other->records[i].fate);
      EXPECT_EQ(one->records[i].bound, other->records[i].bound);
    }
  }
}

// Runs a job in a folder of its own until nobody stops it any more, and returns its journal.
// `patience`: how often a sitting may ask whether it is to stop; 0: for ever.
template <typename Job, typename Create, typename Go>
std::string JournalOf(const Job& job, const Create& create, const Go& go, int threads,
                      int64_t patience) {
  const std::string folder =
      fmt::format("{}/explore-journal-{}-{}", testing::TempDir(), threads, patience);
  std::filesystem::remove_all(folder);
  const Result<RunDirectory> directory = create(folder, job, RunOrigin{});
  EXPECT_TRUE(directory) << ToString(directory.error());
  for (int64_t sitting = 1;; ++sitting) {
    std::atomic<int64_t> asked = 0;
    RunHooks hooks{.directory = &*directory};
    if (patience > 0) hooks.stopped = [&] { return ++asked > sitting * patience; };
    const auto result = go(job, threads, hooks);
    EXPECT_TRUE(result) << ToString(result.error());
    if (!result || !result->interrupted) break;
  }
  const Result<std::string> text = ReadFile(directory->Journal("cells").path);
  EXPECT_TRUE(text);
  std::filesystem::remove_all(folder);
  return text ? *text : "";
}

TEST(Explore, StopsAndThreadsLeaveTheSameBytes) {
  const ExploreJob job = SmallJob({.objective = Objective::kEdp});
  const std::string whole = JournalOf(job, CreateExploreRun, Explore, 1, 0);
  EXPECT_GT(std::ranges::count(whole, '\n'), 10);
  for (const auto& [threads, patience] : {std::pair{1, 4'000}, {2, 0}, {8, 0}, {8, 1'500}}) {
    EXPECT_EQ(JournalOf(job, CreateExploreRun, Explore, threads, patience), whole)
        << threads << " " << patience;
  }
}

// Stops at the n-th question after the m-th turn.
class StopsAfterTurn final : public ProgressObserver {
 public:
  StopsAfterTurn(int64_t turn, int64_t questions) : turn_(turn), questions_(questions) {}
  void OnProgress(ProgressEvent event, const ProgressRow& /*row*/) override {
    if (event != ProgressEvent::kStarted) ++turns_;
  }
  bool Stopped() { return turns_ >= turn_ && ++asked_ >= questions_; }

 private:
  const int64_t turn_, questions_;
  int64_t turns_ = 0, asked_ = 0;
};

// Wherever between two turns the time is over, doing it again comes as far, and no further.
void CheckStopsBetweenTurns(const std::string& method) {
  const ExploreJob job = SmallJob({.objective = Objective::kEdp, .method = method, .samples = 24});
  const std::string folder = testing::TempDir() + "/explore-stops-between-turns";
  const Result<ExploreResult> whole = Explore(job, 1);
  ASSERT_TRUE(whole);
  const auto last = std::min(whole->turns, static_cast<int64_t>(Cases(1'000, 2)));
  for (int64_t turn = 1; turn < last; ++turn) {
    for (int64_t questions = 1; questions <= 3; ++questions) {
      SCOPED_TRACE(fmt::format("question {} after turn {}", questions, turn));
      std::filesystem::remove_all(folder);
      const Result<RunDirectory> directory = CreateExploreRun(folder, job, RunOrigin{});
      ASSERT_TRUE(directory) << ToString(directory.error());
      StopsAfterTurn stops(turn, questions);
      const RunHooks hooks{
          .progress = &stops, .stopped = [&] { return stops.Stopped(); }, .directory = &*directory};
      const Result<ExploreResult> cut = Explore(job, 1, hooks);
      ASSERT_TRUE(cut) << ToString(cut.error());
      ASSERT_TRUE(WriteFileAtomically(
          directory->File("result.json"),
          fmt::format(R"({{"turns": {}, "stopped_by": "interrupted"}})", cut->turns)));
      Verification found;
      const Result<ExploreResult> again = ExploreAgain(*directory, {}, found);
      ASSERT_TRUE(again) << ToString(again.error());
      EXPECT_EQ(again->turns, cut->turns);
      const auto value = [](const ExploreResult& result) {
        return result.best ? result.best->value : 0;
      };
      EXPECT_EQ(value(*again), value(*cut));
    }
  }
  std::filesystem::remove_all(folder);
}

TEST(Explore, StopsBetweenTurnsAreRepeated) {
  for (const std::string method : {"exhaustive", "random"}) CheckStopsBetweenTurns(method);
}

TEST(Explore, LimitsAndAreas) {
  const ExploreJob free = SmallJob({.objective = Objective::kLatency});
  const Result<ExploreResult> fastest = Explore(free, 1);
  ASSERT_TRUE(fastest);
  ExploreSettings settings{.objective = Objective::kLatency,
                           .limits = {{"area_um2", fastest->best->area_um2 - 1}}};
  const Result<ExploreResult> limited = Explore(SmallJob(settings), 1);
  ASSERT_TRUE(limited);
  EXPECT_GT(limited->Count(MachineFate::kLimit), 0);
  EXPECT_LT(limited->best->area_um2, fastest->best->area_um2);
  const Result<ExploreResult> smallest = Explore(SmallJob({.objective = Objective::kArea}), 1);
  ASSERT_TRUE(smallest);
  for (int64_t i = 0; i < free.machines->combinations(); ++i) {
    EXPECT_GE(free.machines->Machine(free.machines->At(i))->area_um2, smallest->best->area_um2);
  }
  settings.limits = {{"area_um2", 1}};
  EXPECT_FALSE(Explore(SmallJob(settings), 1));
}

TEST(Explore, EveryMethodFindsAMachineWithABound) {
  const Result<ExploreResult> best = Explore(SmallJob({.objective = Objective::kEnergy}), 1);
  ASSERT_TRUE(best);
  for (const std::string& method : ExploreMethods().Names()) {
    SCOPED_TRACE(method);
    ExploreSettings settings{.objective = Objective::kEnergy, .method = method, .samples = 12};
    const Result<ExploreResult> first = Explore(SmallJob(settings), 1),
                                second = Explore(SmallJob(settings), 2);
    ASSERT_TRUE(first && second);
    ASSERT_TRUE(first->best && first->gap);
    EXPECT_EQ(first->best->number, second->best->number);
    EXPECT_GE(first->best->value, best->best->value * (1 - 1e-9));
    EXPECT_LE(first->best->value / (1 + *first->gap), best->best->value * (1 + 1e-9));
  }
}

TEST(Explore, TemplatesAreDecisionSpaces) {
  const ExploreJob job = SmallJob({});
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < job.machines->combinations(); i += 3) numbers.push_back(i);
  const TemplateSpace space(*job.machines, numbers);
  const Result<void> conforms = CheckSpace(space, 1);
  EXPECT_TRUE(conforms) << ToString(conforms.error());
}

// Doubling a buffer, a bandwidth or the array at equal energies per access. Every mapping of the
// smaller machine is one of the larger, at the same cost, so perfect factors do not break it
// either: factors may be less than a fan-out. What can break it is a price of distances
// (docs/explore.md).
TEST(Explore, MoreIsNeverWorse) {
  const uint64_t cases = Cases(200, 1);
  for (uint64_t seed = 0; seed < cases; ++seed) {
    CounterRng rng(seed, StreamId("explore.more"));
    const Network network = SomeNetwork(rng);
    const int64_t x = int64_t{1} << rng.UniformInt(3), words = 24 + rng.UniformInt(200);
    const int64_t rate = 1 + rng.UniformInt(3);
    const auto machine = [&](int64_t columns, int64_t entries, int64_t bandwidth) {
      const std::string text = fmt::format(
          "format: tessera-accelerator-1\nname: m\nhierarchy:\n  arithmetic: {{mesh_x: {0}, "
          "mesh_y: 2, mac_pj: 1}}\n  levels:\n  - {{name: RF, entries: 12, mesh_x: {0}, mesh_y: 2, "
          "read_pj: 0.3, fill_pj: 0.3, update_pj: 0.3}}\n  - {{name: GLB, entries: {1}, read_pj: "
          "4, "
          "fill_pj: 4, update_pj: 4, read_words_per_cycle: {2}, write_words_per_cycle: {2}}}\n"
          "  - {{name: DRAM, read_pj: 70, fill_pj: 70, update_pj: 70, read_words_per_cycle: 1, "
          "write_words_per_cycle: 1}}\n",
          columns, entries, bandwidth);
      return *ParseAccelerator(text, "m.yaml");
    };
    for (const Objective objective : {Objective::kLatency, Objective::kEnergy, Objective::kEdp}) {
      const auto best = [&](const Accelerator& accelerator) {
        MapSettings settings{.objective = objective, .method = ProofMethod(ProofUse::kAlone)};
        const Result<MapJob> job = MakeMapJob(settings, network, accelerator);
        const Result<NetworkMapping> mapping = MapNetwork(*job, 1);
        std::vector<double> values;
        for (const LayerMapping& layer : mapping->layers) values.push_back(layer.value);
        return values;
      };
      const std::vector<double> small = best(machine(x, words, rate));
      for (const Accelerator& larger : {machine(2 * x, words, rate), machine(x, 2 * words, rate),
                                        machine(x, words, 2 * rate)}) {
        const std::vector<double> more = best(larger);
        for (size_t i = 0; i < small.size(); ++i) EXPECT_LE(more[i], small[i] * (1 + 1e-9)) << seed;
      }
    }
  }
}

// With leakage, the least energy is that of the point of the front without it that has the least
// sum of its energy and of what leaks in its cycles.
TEST(Leakage, CountsInEnergyByTheCycle) {
  const auto machine = [](double leakage_mw) {
    return *ParseAccelerator(
        fmt::format(
            "format: tessera-accelerator-1\nname: m\nhierarchy:\n  arithmetic: {{mesh_x: 4, "
            "mac_pj: 1}}\n  levels:\n  - {{name: RF, entries: 8, mesh_x: 4, read_pj: 0.3, "
            "fill_pj: 0.3, update_pj: 0.3}}\n  - {{name: GLB, entries: 64, read_pj: 4, "
            "fill_pj: 4, update_pj: 4, leakage_mw: {}, area_um2: 7, read_words_per_cycle: "
            "1}}\n  - {{name: DRAM, read_pj: 70, fill_pj: 70, update_pj: 70}}\n",
            leakage_mw),
        "m.yaml");
  };
  const Network network = *MakeNetwork(
      "n", {{.name = "g", .layer = {.type = LayerType::kMatmul, .m = 12, .n = 8, .k = 18}}});
  for (const bool bypass : {true, false}) {
    const MapSettings settings{
        .objective = Objective::kEnergy, .method = ProofMethod(ProofUse::kAlone), .bypass = bypass};
    const Result<MapJob> dry = MakeMapJob(settings, network, machine(0));
    const Result<NetworkFronts> fronts = FindFronts(*dry, 1);
    ASSERT_TRUE(fronts);
    ASSERT_TRUE(fronts->layers.front().complete);
    for (const double leakage_mw : {0.0, 3.0, 40.0, 1000.0}) {
      double least = std::numeric_limits<double>::infinity();
      for (const FrontPoint& point : fronts->layers.front().points) {
        least = std::min(
            least, point.cost.energy_pj + leakage_mw * static_cast<double>(point.cost.cycles));
      }
      const Result<MapJob> job = MakeMapJob(settings, network, machine(leakage_mw));
      const Result<NetworkMapping> mapping = MapNetwork(*job, 1);
      ASSERT_TRUE(mapping);
      EXPECT_EQ(mapping->layers.front().status, MapStatus::kOptimal);
      EXPECT_NEAR(mapping->total.energy_pj, least, 1e-9 * least) << leakage_mw << bypass;
      const Result<LayerExplanation> parts =
          ExplainMapping(*job, network.layers.front(), *mapping->layers.front().mapping);
      ASSERT_TRUE(parts);
      EXPECT_NEAR(parts->parts.leakage_pj, leakage_mw * mapping->total.cycles, 1e-6);
    }
  }
}

// Buffers of all sizes, of which each starts from what is known of the smaller ones, two of them at
// a time, against every point by itself; and the same bytes whatever happens.
TEST(Sweep, SharesWhatIsKnownOfSmallerMachines) {
  constexpr std::string_view kMachine = R"(format: tessera-accelerator-1
name: m
hierarchy:
  arithmetic: {mesh_x: 4, mac_pj: 1}
  levels:
  - {name: RF, entries: 8, mesh_x: 4, read_pj: 0.3, fill_pj: 0.3, update_pj: 0.3}
  - {name: GLB, entries: 64, read_pj: 4, fill_pj: 4, update_pj: 4, leakage_mw: 1, read_words_per_cycle: 3,
     multiple_buffering: 1.5, network: {hop_pj: 0.1, router_pj: 0.2}}
  - {name: DRAM, read_pj: 70, fill_pj: 70, update_pj: 70, read_words_per_cycle: 2}
)";
  for (uint64_t seed = 0; seed < Cases(40, 1); ++seed) {
    CounterRng rng(seed, StreamId("explore.sweep"));
    SCOPED_TRACE(seed);
    Network network = SomeNetwork(rng);
    // EDP is a product of sums, so that of one layer is compared.
    if (kTurns[seed % 3] == Objective::kEdp) network.layers.resize(1);
    SweepSettings settings{.map = {.objective = kTurns[seed % 3], .bypass = seed % 4 > 1},
                           .vary = {{"levels.GLB.entries", {"24", "64", "99", "300"}},
                                    {"levels.RF.entries", {"4", "9"}}}};
    if (seed % 2 == 1) settings.vary.push_back({"levels.GLB.read_pj", {"4", "5"}});
    const auto same = [&](const auto& /*parameters*/) { return Result<Network>(network); };
    const Result<SweepJob> job = MakeSweepJob(settings, same, kMachine, "m.yaml");
    ASSERT_TRUE(job) << ToString(job.error());
    const Result<SweepResult> result = Sweep(*job, 2);
    ASSERT_TRUE(result) << ToString(result.error());
    for (const SweepPoint& point : result->points) {
      ASSERT_TRUE(point.machine) << point.why;
      EXPECT_EQ(point.machine->status, MapStatus::kOptimal);
      const Result<Accelerator> accelerator = ParseAccelerator(point.machine->file, "a.yaml");
      ASSERT_TRUE(accelerator) << ToString(accelerator.error());
      MapSettings alone = settings.map;
      alone.method = ProofMethod(ProofUse::kAlone);
      const Result<MapJob> map = MakeMapJob(alone, network, *accelerator);
      const Result<NetworkMapping> mapping = MapNetwork(*map, 1);
      ASSERT_TRUE(mapping);
      double sum = 0;
      for (const LayerMapping& layer : mapping->layers) {
        sum += static_cast<double>(layer.count) * layer.value;
      }
      EXPECT_TRUE(Near(sum, point.machine->value)) << sum << " " << point.machine->value;
    }
    if (seed > 0) continue;
    const std::string whole = JournalOf(*job, CreateSweepRun, Sweep, 1, 0);
    for (const int threads : {2, 8}) {
      const int64_t patience = threads == 2 ? 0 : 2'000;
      EXPECT_EQ(JournalOf(*job, CreateSweepRun, Sweep, threads, patience), whole) << threads;
    }
  }
}

TEST(Sweep, PointsAreWhatMapFinds) {
  SweepSettings settings{.map = {.objective = Objective::kEnergy},
                         .vary = {{"levels.GLB.entries", {"64", "128", "256", "512", "1024"}},
                                  {"network.n", {"1", "2"}}}};
  const auto network = [](const auto& parameters) {
    return MakeNetwork("n", {{.name = "gemm",
                              .layer = {.type = LayerType::kMatmul,
                                        .m = 24,
                                        .n = 16 * std::stoll(parameters.front().second),
                                        .k = 32}}});
  };
  std::string text(kSmall);
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{"{choose: [2, 4, 8], as: columns}", "4"},
        {"{as: columns}", "4"},
        {"[16, 32]", "16"},
        {"{from: 64, to: 1K, times: 2}", "64"}}) {
    text.replace(text.find(from), from.size(), to);
  }
  const Result<SweepJob> job = MakeSweepJob(settings, network, text, "small.yaml");
  ASSERT_TRUE(job) << ToString(job.error());
  const Result<SweepResult> result = Sweep(*job, 1);
  ASSERT_TRUE(result) << ToString(result.error());
  ASSERT_EQ(result->points.size(), 10u);
  for (const SweepPoint& point : result->points) {
    ASSERT_TRUE(point.machine) << point.why;
    EXPECT_EQ(point.machine->status, MapStatus::kOptimal);
    const Result<Accelerator> accelerator = ParseAccelerator(point.machine->file, "a.yaml");
    ASSERT_TRUE(accelerator) << ToString(accelerator.error());
    const Result<Network> sized =
        network(std::vector{std::pair<std::string, std::string>{"n", point.values[1].text}});
    const Result<MapJob> map =
        MakeMapJob({.objective = Objective::kEnergy, .method = ProofMethod(ProofUse::kAlone)},
                   *sized, *accelerator);
    const Result<NetworkMapping> mapping = MapNetwork(*map, 1);
    ASSERT_TRUE(mapping);
    EXPECT_TRUE(Near(mapping->total.energy_pj, point.machine->energy_pj));
  }
}

}  // namespace
}  // namespace tessera
