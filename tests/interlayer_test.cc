// Plans for random small networks (chains, residuals, branches, concatenations) on random machines
// against brute force over everything that can be decided, and against walking the plan.
#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph_oracle.h"
#include "tessera/interlayer/graph_problem.h"
#include "tessera/interlayer/node_costs.h"
#include "tessera/interlayer/pins.h"
#include "tessera/interlayer/replay.h"
#include "tessera/map.h"
#include "thorough.h"

namespace tessera {
namespace {

int64_t Between(CounterRng& rng, int64_t least, int64_t most) {
  return least + rng.UniformInt(most - least + 1);
}
bool Chance(CounterRng& rng, double probability) { return rng.Uniform() < probability; }

// Builds a network node by node.
class GraphMaker {
 public:
  int32_t Tensor(std::vector<int64_t> shape, TensorKind kind) {
    network_.graph.tensors.push_back({.name = fmt::format("t{}", network_.graph.tensors.size()),
                                      .shape = std::move(shape),
                                      .kind = kind});
    return static_cast<int32_t>(network_.graph.tensors.size()) - 1;
  }
  const std::vector<int64_t>& Shape(int32_t tensor) const {
    return network_.graph.tensors[static_cast<size_t>(tensor)].shape;
  }

  int32_t Node(GraphNode node, std::vector<int64_t> shape) {
    const int32_t out = Tensor(std::move(shape), TensorKind::kActivation);
    node.name = fmt::format("n{}", network_.graph.nodes.size());
    node.outputs = {out};
    network_.graph.nodes.push_back(std::move(node));
    return out;
  }

  int32_t Macs(const Layer& layer, int32_t input, std::vector<int64_t> shape) {
    size_t at = 0;
    while (at < network_.layers.size() && !(network_.layers[at].layer == layer)) ++at;
    if (at == network_.layers.size()) {
      network_.layers.push_back({.name = fmt::format("l{}", at), .layer = layer, .count = 0});
    }
    ++network_.layers[at].count;
    const int32_t weight = Tensor({WeightElements(layer)}, TensorKind::kWeight);
    return Node({.type = std::string(TypeName(layer)),
                 .inputs = {input, weight},
                 .layer = static_cast<int32_t>(at)},
                std::move(shape));
  }

  // What nobody reads leaves the network.
  Network Take() {
    const GraphLinks links = Links(network_.graph);
    for (size_t t = 0; t < network_.graph.tensors.size(); ++t) {
      GraphTensor& tensor = network_.graph.tensors[t];
      if (links.consumers[t].empty() && tensor.kind == TensorKind::kActivation) {
        tensor.kind = TensorKind::kOutput;
      }
    }
    network_.name = "random";
    return network_;
  }

 private:
  Network network_;
};

std::optional<int32_t> RandomConv(GraphMaker& maker, int32_t input, CounterRng& rng) {
  const std::vector<int64_t> in = maker.Shape(input);
  Layer layer{.k = Between(rng, 1, 2), .c = in[1], .y = in[2], .x = in[3]};
  layer.r = Between(rng, 1, 3);
  layer.s = Between(rng, 1, 2);
  layer.stride = {Between(rng, 1, 2), 1};
  layer.pad.top = layer.r > 1 ? Between(rng, 0, 1) : 0;
  layer.pad.bottom = layer.r > 1 ? Between(rng, 0, 1) : 0;
  layer.dilation.y = layer.r == 2 ? Between(rng, 1, 2) : 1;
  if (in[1] > 1 && Chance(rng, 0.3)) layer.k = layer.groups = in[1];
  if (!Validate(layer)) return std::nullopt;
  const Pair out = OutputSize(layer);
  return maker.Macs(layer, input, {1, layer.k, out.y, out.x});
}

int32_t RandomPool(GraphMaker& maker, int32_t input, CounterRng& rng) {
  const std::vector<int64_t> in = maker.Shape(input);
  const int64_t kernel = std::min<int64_t>(in[2], Between(rng, 1, 3)), stride = Between(rng, 1, 2);
  GraphNode node{.type = Chance(rng, 0.5) ? "maxpool" : "avgpool",
                 .inputs = {input},
                 .kernel = {kernel, 1},
                 .stride = {stride, 1}};
  if (kernel > 1 && Chance(rng, 0.4)) node.pad.top = 1;
  const int64_t rows = (in[2] + node.pad.top - kernel) / stride + 1;
  return maker.Node(node, {1, in[1], rows, in[3]});
}

Network RandomNetwork(CounterRng& rng) {
  GraphMaker maker;
  std::vector<int32_t> images = {maker.Tensor(
      {1, Between(rng, 1, 2), Between(rng, 2, 5), Between(rng, 1, 2)}, TensorKind::kInput)};
  const int64_t nodes = Between(rng, 2, 4);
  for (int64_t k = 0; k < nodes; ++k) {
    // Mostly the last one, so that there are chains; others make branches.
    const int32_t from = Chance(rng, 0.7)
                             ? images.back()
                             : images[static_cast<size_t>(rng.UniformInt(std::ssize(images)))];
    const std::vector<int64_t> shape = maker.Shape(from);
    const double what = rng.Uniform();
    if (what < 0.12 && shape[2] > 1) {
      images.push_back(RandomPool(maker, from, rng));
      continue;
    }
    if (what < 0.4 && images.size() > 1) {
      std::optional<int32_t> other;
      for (const int32_t image : images) {
        const std::vector<int64_t>& its = maker.Shape(image);
        if (image != from && its[2] == shape[2] && its[3] == shape[3]) other = image;
      }
      if (other && maker.Shape(*other)[1] == shape[1] && Chance(rng, 0.6)) {
        images.push_back(maker.Node({.type = "add", .inputs = {from, *other}}, shape));
        continue;
      }
      if (other) {
        std::vector<int64_t> joined = shape;
        joined[1] += maker.Shape(*other)[1];
        images.push_back(maker.Node({.type = "concat", .inputs = {from, *other}}, joined));
        continue;
      }
    }
    if (const std::optional<int32_t> made = RandomConv(maker, from, rng)) images.push_back(*made);
    if (Chance(rng, 0.3)) {
      images.push_back(maker.Node({.type = "relu", .inputs = {images.back()}, .view = true},
                                  maker.Shape(images.back())));
    }
  }
  if (Chance(rng, 0.3)) {
    int64_t words = 1;
    for (const int64_t size : maker.Shape(images.back())) words *= size;
    const int32_t flat =
        maker.Node({.type = "flatten", .inputs = {images.back()}, .view = true}, {1, words});
    const int64_t outputs = Between(rng, 1, 2);
    maker.Macs({.type = LayerType::kFullyConnected, .k = outputs, .c = words}, flat, {1, outputs});
  }
  return maker.Take();
}

Hierarchy RandomMachine(CounterRng& rng) {
  const auto pj = [&](int64_t least, int64_t most) { return Decimal(Between(rng, least, most)); };
  const auto rate = [&](std::optional<Decimal>& of) {
    if (Chance(rng, 0.5)) of = Decimal(Between(rng, 1, 3));
  };
  Hierarchy machine;
  machine.arithmetic.mac_pj = 1;
  machine.arithmetic.mesh_x = Between(rng, 1, 2);
  if (Chance(rng, 0.3)) machine.arithmetic.vector_lanes = Between(rng, 1, 3);
  if (Chance(rng, 0.3)) machine.arithmetic.vector_op_pj = pj(0, 3);
  const bool registers = Chance(rng, 0.6), two = Chance(rng, 0.25);
  const auto add = [&](std::string name, std::optional<int64_t> entries, int64_t cost) {
    MemoryLevel level{.name = std::move(name), .entries = entries};
    level.block_words = Chance(rng, 0.3) ? 2 : 1;
    level.read_pj = pj(cost, 2 * cost);
    level.fill_pj = pj(cost, 2 * cost);
    level.update_pj = pj(cost, 2 * cost);
    if (Chance(rng, 0.2)) level.address_pj = pj(0, 1);
    rate(level.read_words_per_cycle);
    rate(level.write_words_per_cycle);
    if (Chance(rng, 0.3)) rate(level.shared_words_per_cycle);
    level.reduces_in_place = Chance(rng, 0.7);
    if (Chance(rng, 0.2)) level.multiple_buffering = 2;
    if (Chance(rng, 0.3)) level.network.ingress_pj = pj(0, 2);
    machine.levels.push_back(std::move(level));
  };
  if (registers) {
    add("RF", Between(rng, 3, 12), 1);
    machine.levels.back().mesh_x = machine.arithmetic.mesh_x;
  }
  if (two) add("L1", Between(rng, 6, 30), 4);
  add("GLB", Between(rng, 8, 60), 8);
  add("DRAM", std::nullopt, 40);
  if (Chance(rng, 0.3)) {
    machine.keeps.assign(machine.levels.size(), {"Weights", "Inputs", "Outputs"});
    machine.keeps[machine.levels.size() - 2] = Chance(rng, 0.5)
                                                   ? std::vector<std::string>{"Inputs", "Outputs"}
                                                   : std::vector<std::string>{"Weights", "Inputs"};
  }
  return machine;
}

double ValueOf(const GraphOptima& optima, Objective objective) {
  return objective == Objective::kLatency  ? optima.cycles
         : objective == Objective::kEnergy ? optima.energy_pj
                                           : optima.edp;
}

struct Case {
  Network network = {};
  Accelerator accelerator = {};
  bool bypass = false;
};

// The next random case that brute force can do.
std::optional<Case> RandomCase(uint64_t number) {
  CounterRng rng(11, StreamId("interlayer.random"), number);
  Case made{.network = RandomNetwork(rng)};
  made.accelerator = {.name = "random", .hierarchy = RandomMachine(rng)};
  made.bypass = number % 4 == 0;
  if (made.network.layers.empty()) return std::nullopt;
  if (!Validate(made.accelerator) || !ValidateGraph(made.network)) return std::nullopt;
  if (MappingsOf(made.network, *made.accelerator.hierarchy) > (made.bypass ? 40 : 250)) {
    return std::nullopt;
  }
  return made;
}

void CheckCase(uint64_t number, const Case& random, int64_t& groups, int64_t& homes) {
  double values[2][3] = {};
  for (const InterLayer which : {InterLayer::kHomes, InterLayer::kSlices}) {
    const GraphOptima brute =
        SearchEveryPlan(random.network, *random.accelerator.hierarchy,
                        {.slices = which == InterLayer::kSlices, .bypass = random.bypass});
    if (!brute.found) return;
    for (const Objective objective : {Objective::kLatency, Objective::kEnergy, Objective::kEdp}) {
      const std::string what =
          fmt::format("case {} {} {}", number, static_cast<int>(which), ToString(objective));
      MapSettings settings;
      settings.objective = objective;
      settings.method = ProofMethod(ProofUse::kAlone);
      settings.bypass = random.bypass;
      settings.inter_layer = which;
      const Result<MapJob> job = MakeMapJob(settings, random.network, random.accelerator);
      ASSERT_TRUE(job) << what << job.error();
      const Result<NetworkMapping> mapped = MapGraph(*job, 1);
      ASSERT_TRUE(mapped) << what << mapped.error();
      ASSERT_TRUE(mapped->inter_layer) << what;
      const NetworkTotal& total = mapped->total;
      const double expected = ValueOf(brute, objective);
      EXPECT_NEAR(total.value, expected, 1e-9 * expected) << what;
      EXPECT_LE(*total.bound, expected * (1 + 1e-9)) << what;
      if (objective != Objective::kEdp) {
        EXPECT_EQ(mapped->inter_layer->status, MapStatus::kOptimal) << what << " " << *total.bound;
      }
      const InterLayerPlan& plan = *mapped->inter_layer;
      const double none = objective == Objective::kLatency ? plan.none_cycles
                          : objective == Objective::kEnergy
                              ? plan.none_energy_pj
                              : plan.none_cycles * plan.none_energy_pj;
      EXPECT_LE(total.value, none * (1 + 1e-9)) << what;
      values[which == InterLayer::kSlices][static_cast<size_t>(objective)] = total.value;
      const interlayer::Replayed walked = interlayer::Replay(
          random.network, *random.accelerator.hierarchy, plan, /*walked_macs=*/100'000);
      EXPECT_EQ(walked.error, "") << what;
      EXPECT_EQ(walked.cycles, total.cycles) << what;
      EXPECT_NEAR(walked.energy_pj, total.energy_pj, 1e-9 * total.energy_pj) << what;
      homes += std::ssize(plan.homes);
      for (const PlanStage& stage : plan.stages) groups += stage.level.empty() ? 0 : 1;
    }
  }
  for (size_t k = 0; k < 3; ++k) EXPECT_LE(values[1][k], values[0][k] * (1 + 1e-9)) << number;
}

TEST(InterLayer, EqualsBruteForceOnRandomGraphs) {
  const uint64_t wanted = Thorough(600, 20);
  uint64_t cases = 0;
  int64_t groups = 0, homes = 0;
  for (uint64_t number = 0; cases < wanted && !testing::Test::HasFailure(); ++number) {
    const std::optional<Case> random = RandomCase(number);
    if (!random) continue;
    ++cases;
    CheckCase(number, *random, groups, homes);
  }
  fmt::print("{} cases, {} groups, {} tensors on chip\n", cases, groups, homes);
  EXPECT_GT(groups, static_cast<int64_t>(wanted / 4));
  EXPECT_GT(homes, static_cast<int64_t>(wanted));
}

// An inverted bottleneck of MobileNet-v2, which does not fit the buffer: its slices are found, and
// proved to be within 5 %, by what closed bounds say and by a few rounds of work.
TEST(InterLayer, ABottleneckRunsInSlices) {
  GraphMaker maker;
  const int32_t image = maker.Tensor({1, 24, 56, 56}, TensorKind::kInput);
  const int32_t wide = maker.Macs({.k = 144, .c = 24, .y = 56, .x = 56}, image, {1, 144, 56, 56});
  Layer depthwise{.k = 144, .c = 144, .y = 56, .x = 56, .r = 3, .s = 3, .groups = 144};
  depthwise.pad = {1, 1, 1, 1};
  const int32_t filtered = maker.Macs(depthwise, wide, {1, 144, 56, 56});
  maker.Macs({.k = 24, .c = 144, .y = 56, .x = 56}, filtered, {1, 24, 56, 56});
  const Result<Accelerator> machine = LoadAccelerator("eyeriss-256");
  ASSERT_TRUE(machine) << machine.error();
  MapSettings settings;
  settings.objective = Objective::kEnergy;
  settings.method = ProofMethod(ProofUse::kAlone);
  settings.inter_layer = InterLayer::kSlices;
  settings.target_gap = 0.05;
  const Result<MapJob> job = MakeMapJob(settings, maker.Take(), *machine);
  ASSERT_TRUE(job) << job.error();
  NetworkTotal totals[2];
  for (const int threads : {1, 2}) {
    const Result<NetworkMapping> mapped = MapGraph(*job, threads);
    ASSERT_TRUE(mapped) << mapped.error();
    ASSERT_TRUE(mapped->inter_layer);
    const NetworkTotal& total = totals[threads - 1] = mapped->total;
    EXPECT_LE(total.value, *total.bound * 1.05);
    EXPECT_LT(total.value, 0.5 * mapped->inter_layer->none_energy_pj);
    const std::vector<PlanStage>& stages = mapped->inter_layer->stages;
    ASSERT_EQ(stages.size(), 1u);
    EXPECT_EQ(stages[0].nodes.size(), 3u);
    EXPECT_GT(stages[0].slices, 1);
  }
  EXPECT_EQ(totals[0].value, totals[1].value);
  EXPECT_EQ(*totals[0].bound, *totals[1].bound);
}

// Whenever a run is stopped, what it says is right: a plan that is no worse than the one it started
// from, and a bound that the best plan with slices is not below.
TEST(InterLayer, AStoppedRunHasABoundForPlansWithSlices) {
  GraphMaker maker;
  const int32_t image = maker.Tensor({1, 2, 8, 4}, TensorKind::kInput);
  Layer first{.k = 4, .c = 2, .y = 8, .x = 4, .r = 3};
  first.pad.top = first.pad.bottom = 1;
  const int32_t wide = maker.Macs(first, image, {1, 4, 8, 4});
  maker.Macs({.k = 2, .c = 4, .y = 8, .x = 4}, wide, {1, 2, 8, 4});
  Hierarchy machine;
  machine.arithmetic.mac_pj = 1;
  machine.arithmetic.mesh_x = 4;
  for (const auto& [name, entries, pj] : {std::tuple("RF", std::optional<int64_t>(8), 1),
                                          std::tuple("GLB", std::optional<int64_t>(96), 6),
                                          std::tuple("DRAM", std::optional<int64_t>(), 100)}) {
    MemoryLevel level{.name = name, .entries = entries};
    level.read_pj = level.fill_pj = level.update_pj = pj;
    if (level.name == "RF") level.mesh_x = 4;
    machine.levels.push_back(std::move(level));
  }
  MapSettings settings;
  settings.objective = Objective::kEnergy;
  settings.method = ProofMethod(ProofUse::kAlone);
  settings.bypass = false;
  settings.inter_layer = InterLayer::kSlices;
  const Result<MapJob> job =
      MakeMapJob(settings, maker.Take(), {.name = "small", .hierarchy = machine});
  ASSERT_TRUE(job) << job.error();
  const Result<NetworkMapping> whole = MapGraph(*job, 1);
  ASSERT_TRUE(whole) << whole.error();
  ASSERT_EQ(whole->inter_layer->status, MapStatus::kOptimal);
  ASSERT_LT(whole->total.energy_pj, whole->inter_layer->homes_energy_pj);
  ASSERT_LE(whole->inter_layer->homes_energy_pj, whole->inter_layer->none_energy_pj);
  int plans = 0;
  bool ended = false;
  for (int after = 0; !ended; after = 2 * after + 1) {
    int calls = 0;
    RunHooks hooks;
    hooks.stopped = [&] { return ++calls > after; };
    const Result<NetworkMapping> mapped = MapGraph(*job, 1, hooks);
    ASSERT_TRUE(mapped) << mapped.error();
    ended = calls <= after;
    if (!mapped->inter_layer) continue;
    ++plans;
    EXPECT_LE(*mapped->total.bound, whole->total.energy_pj * (1 + 1e-9)) << after;
    EXPECT_GE(mapped->total.energy_pj, whole->total.energy_pj * (1 - 1e-9)) << after;
    EXPECT_LE(mapped->total.energy_pj, mapped->inter_layer->none_energy_pj) << after;
  }
  EXPECT_GT(plans, 2);
}

// Six convolutions in a row, as MobileNet-v2 begins, of a size that a group of all of them fits a
// buffer of 6,000 words, but not with all weights: what is best then is two groups, as with 5,000.
TEST(InterLayer, MoreRoomIsNeverWorse) {
  GraphMaker maker;
  const auto conv = [&](int32_t input, int64_t c, int64_t k, int64_t kernel, int64_t groups) {
    Layer layer{.k = k, .c = c, .y = 16, .x = 16, .r = kernel, .s = kernel, .groups = groups};
    layer.pad = {kernel / 2, kernel / 2, kernel / 2, kernel / 2};
    return maker.Macs(layer, input, {1, k, 16, 16});
  };
  int32_t image = maker.Tensor({1, 3, 16, 16}, TensorKind::kInput);
  image = conv(image, 3, 16, 3, 1);
  image = conv(image, 16, 16, 3, 16);
  image = conv(image, 16, 8, 1, 1);
  image = conv(image, 8, 48, 1, 1);
  image = conv(image, 48, 48, 3, 48);
  conv(image, 48, 16, 1, 1);
  const Network network = maker.Take();
  Result<Accelerator> machine = LoadAccelerator("simple3");
  ASSERT_TRUE(machine) << machine.error();
  MapSettings settings;
  settings.objective = Objective::kEnergy;
  settings.method = ProofMethod(ProofUse::kAlone);
  settings.inter_layer = InterLayer::kSlices;
  double before = std::numeric_limits<double>::infinity();
  for (const int64_t words : {5'000, 6'000}) {
    machine->hierarchy->levels[1].entries = words;
    const Result<MapJob> job = MakeMapJob(settings, network, *machine);
    ASSERT_TRUE(job) << job.error();
    // Before pins were chosen with what they leave, the second run never ended.
    RunHooks hooks;
    int64_t calls = 0;
    constexpr int64_t kManyCalls = 2'000'000;
    hooks.stopped = [&] { return ++calls > kManyCalls; };
    const Result<NetworkMapping> mapped = MapGraph(*job, 1, hooks);
    ASSERT_TRUE(mapped) << mapped.error();
    ASSERT_TRUE(mapped->inter_layer);
    EXPECT_EQ(mapped->inter_layer->status, MapStatus::kOptimal) << words;
    EXPECT_LE(mapped->total.energy_pj, before);
    before = mapped->total.energy_pj;
  }
}

// The level on chip that is nearest to the outermost one.
int64_t& LastEntries(Accelerator& machine) {
  std::vector<MemoryLevel>& levels = machine.hierarchy->levels;
  return *levels[levels.size() - 2].entries;
}

Result<NetworkMapping> MapWith(InterLayer which, Objective objective, int64_t rounds,
                               const Network& network, const Accelerator& machine, bool bypass) {
  MapSettings settings;
  settings.objective = objective;
  settings.method = ProofMethod(ProofUse::kAlone);
  settings.proof_rounds = rounds;
  settings.bypass = bypass;
  settings.inter_layer = which;
  const Result<MapJob> job = MakeMapJob(settings, network, machine);
  if (!job) return job.error();
  return MapGraph(*job, 1);
}

// With more room and with more freedom nothing gets worse, and at both ends of the range plans are
// what brute force finds.
TEST(InterLayer, MoreRoomAndMoreFreedomAreNeverWorse) {
  const uint64_t wanted = Thorough(200, 12);
  constexpr double kFactors[] = {0.2, 0.3, 0.45, 0.65, 1, 2};
  uint64_t cases = 0, fits = 0, cheaper = 0;
  for (uint64_t number = 0; cases < wanted; ++number) {
    const std::optional<Case> random = RandomCase(1'000'000 + number);
    if (!random) continue;
    ++cases;
    const Objective objective = number % 2 == 0 ? Objective::kEnergy : Objective::kLatency;
    double before[3];
    std::ranges::fill(before, std::numeric_limits<double>::infinity());
    double first = 0, last = 0;
    for (const double factor : kFactors) {
      Case resized = *random;
      int64_t& words = LastEntries(resized.accelerator);
      words = static_cast<int64_t>(static_cast<double>(words) * factor);
      const std::string what = fmt::format("case {} with {} words", number, words);
      double now[3] = {};
      for (const InterLayer which : {InterLayer::kHomes, InterLayer::kSlices}) {
        const Result<NetworkMapping> mapped =
            MapWith(which, objective, 0, resized.network, resized.accelerator, resized.bypass);
        if (!mapped && mapped.error().kind == ErrorKind::kInfeasible) break;
        ASSERT_TRUE(mapped) << what << mapped.error();
        if (!mapped->inter_layer) break;
        const InterLayerPlan& plan = *mapped->inter_layer;
        now[0] = objective == Objective::kEnergy ? plan.none_energy_pj : plan.none_cycles;
        now[which == InterLayer::kHomes ? 1 : 2] = mapped->total.value;
        EXPECT_EQ(plan.status, MapStatus::kOptimal) << what;
      }
      if (now[2] == 0) continue;  // Some layer does not fit yet.
      EXPECT_LE(now[1], now[0] * (1 + 1e-9)) << what;
      EXPECT_LE(now[2], now[1] * (1 + 1e-9)) << what;
      for (size_t k = 0; k < 3; ++k) {
        EXPECT_LE(now[k], before[k] * (1 + 1e-9)) << what << " " << k;
        before[k] = now[k];
      }
      const bool end = first == 0 || factor == std::end(kFactors)[-1];
      first = first == 0 ? now[2] : first;
      last = now[2];
      if (!end) continue;
      const GraphOptima brute = SearchEveryPlan(resized.network, *resized.accelerator.hierarchy,
                                                {.slices = true, .bypass = resized.bypass});
      ASSERT_TRUE(brute.found) << what;
      EXPECT_NEAR(now[2], ValueOf(brute, objective), 1e-9 * now[2]) << what;
    }
    fits += last > 0 ? 1 : 0;
    cheaper += last < first ? 1 : 0;
  }
  EXPECT_GT(fits, wanted / 2);
  EXPECT_GT(cheaper, wanted / 8);
}

// The same for a real network by rounds, which prove nothing, but always find the same.
TEST(InterLayer, MoreRoomIsNeverWorseByRounds) {
  if (Thorough(1, 0) == 0) GTEST_SKIP() << "takes a minute; with TESSERA_THOROUGH";
  const Result<Network> network = LoadNetwork("mobilenet-v2");
  const Result<Accelerator> machine = LoadAccelerator("eyeriss-256");
  ASSERT_TRUE(network && machine);
  double before = std::numeric_limits<double>::infinity();
  for (const double factor : {0.5, 0.8, 1.0, 1.25, 1.6, 2.0, 3.0}) {
    Accelerator resized = *machine;
    int64_t& words = LastEntries(resized);
    words = static_cast<int64_t>(static_cast<double>(words) * factor);
    const Result<NetworkMapping> mapped =
        MapWith(InterLayer::kSlices, Objective::kEnergy, 1, *network, resized, /*bypass=*/true);
    ASSERT_TRUE(mapped) << mapped.error();
    const InterLayerPlan& plan = *mapped->inter_layer;
    EXPECT_LE(mapped->total.energy_pj, plan.homes_energy_pj) << words;
    EXPECT_LE(plan.homes_energy_pj, plan.none_energy_pj) << words;
    EXPECT_LT(mapped->total.energy_pj, before) << words;
    before = mapped->total.energy_pj;
  }
}

// Every choice of up to eight items, against trying all, with prices that rise with what is pinned.
TEST(Pins, TheBestChoiceIsFound) {
  int64_t given_up = 0;
  for (uint64_t number = 0; number < Thorough(20'000, 2'000); ++number) {
    CounterRng rng(5, StreamId("pins"), number);
    std::vector<interlayer::PinItem> items(static_cast<size_t>(Between(rng, 0, 8)));
    for (size_t k = 0; k < items.size(); ++k) {
      items[k] = {.place = static_cast<int>(3 * k),
                  .words = Between(rng, 1, 20),
                  .loose = static_cast<double>(Between(rng, 0, 30)),
                  .pinned = static_cast<double>(Between(rng, 0, 30))};
      if (Chance(rng, 0.1)) items[k].loose = std::numeric_limits<double>::infinity();
    }
    const int64_t room = Between(rng, 0, 60), penalty = Between(rng, 0, 2);
    const auto price = [&](uint64_t pinned) {
      double value = 7;
      for (const interlayer::PinItem& item : items) {
        const bool is = (pinned >> item.place & 1) != 0;
        value += is ? item.pinned + static_cast<double>(penalty * (item.words % 5)) : item.loose;
      }
      return value;
    };
    double best = std::numeric_limits<double>::infinity();
    for (uint64_t some = 0; some < uint64_t{1} << items.size(); ++some) {
      uint64_t pinned = 0;
      int64_t words = 0;
      for (size_t k = 0; k < items.size(); ++k) {
        if ((some >> k & 1) == 0) continue;
        pinned |= uint64_t{1} << items[k].place;
        words += items[k].words;
      }
      if (words <= room) best = std::min(best, price(pinned));
    }
    const interlayer::PinChoice all = interlayer::ChoosePins(items, room, 7, price, 1'000);
    ASSERT_TRUE(all.complete) << number;
    ASSERT_EQ(all.value, best) << number;
    if (best < std::numeric_limits<double>::infinity()) {
      ASSERT_EQ(price(all.pinned), best) << number;
    }
    const interlayer::PinChoice few = interlayer::ChoosePins(items, room, 7, price, 1);
    if (few.complete) {
      ASSERT_EQ(few.value, best) << number;
    }
    given_up += few.complete ? 0 : 1;
  }
  EXPECT_GT(given_up, 10);
}

// Two rows of the first layer of MobileNet-v2, whose best mapping wants more room than a group of
// six nodes leaves.
TEST(InterLayer, ARoomThatTheBestMappingDoesNotFitGetsAProofOfItsOwn) {
  const Result<Network> network = LoadNetwork("mobilenet-v2");
  const Result<Accelerator> machine = LoadAccelerator("eyeriss-256");
  ASSERT_TRUE(network && machine);
  const Result<interlayer::GraphProblem> problem = interlayer::MakeGraphProblem(*network, *machine);
  ASSERT_TRUE(problem) << problem.error();
  interlayer::NodeCosts costs(*problem, {});
  interlayer::NodeKey key{.layer = 0, .rows = 2};
  for (size_t v = 0; v < 3; ++v) key.homes[v] = static_cast<int8_t>(problem->outermost());
  const auto output = static_cast<size_t>(problem->output_slot[0]);
  key.homes[output] = static_cast<int8_t>(problem->homes[0]);
  const int staircase = costs.Find(key);
  interlayer::Room wide;
  wide.fill(interlayer::kUnlimitedWords);
  wide[0] = problem->EntriesOf(0);
  interlayer::Room room = wide;
  room[0] = 2'816;
  ThreadPool pool(1);
  EXPECT_TRUE(costs.Upper(staircase, room).empty());
  EXPECT_TRUE(costs.Refine(staircase, wide, /*rounds=*/1, pool));
  ASSERT_FALSE(costs.Upper(staircase, wide).empty());
  for (int round = 0; round < 3; ++round) costs.Refine(staircase, room, /*rounds=*/1, pool);
  ASSERT_FALSE(costs.Upper(staircase, room).empty());
  const double best = costs.Upper(staircase, room)[0].spent.energy_pj;
  EXPECT_GE(best, costs.Upper(staircase, wide)[0].spent.energy_pj);
  const double bound = costs.Lower(staircase, room)[0].spent.energy_pj;
  EXPECT_LE(bound, best);
  EXPECT_LE(best, 1.1 * bound);
}

// What is known of a layer with other rows is something to plan with at once.
TEST(InterLayer, MappingsGoFromStaircaseToStaircase) {
  const Result<Network> network = LoadNetwork("mobilenet-v2");
  const Result<Accelerator> machine = LoadAccelerator("simple3");
  ASSERT_TRUE(network && machine);
  const Result<interlayer::GraphProblem> problem = interlayer::MakeGraphProblem(*network, *machine);
  ASSERT_TRUE(problem) << problem.error();
  interlayer::NodeCosts costs(*problem, {});
  interlayer::NodeKey key{.layer = 1, .rows = problem->layer_rows[1]};
  for (size_t v = 0; v < 3; ++v) key.homes[v] = static_cast<int8_t>(problem->outermost());
  interlayer::Room room;
  room.fill(interlayer::kUnlimitedWords);
  room[0] = problem->EntriesOf(0);
  ThreadPool pool(1);
  const int whole = costs.Find(key);
  ASSERT_TRUE(costs.Refine(whole, room, /*rounds=*/1, pool));
  ASSERT_FALSE(costs.Upper(whole, room).empty());
  const int64_t before = costs.evaluations();

  for (const int64_t rows : {1, 5, 28}) {
    key.rows = rows;
    const int slice = costs.Find(key);
    ASSERT_TRUE(costs.Refine(slice, room, /*rounds=*/1, pool));
    ASSERT_FALSE(costs.Upper(slice, room).empty()) << rows;
    EXPECT_LE(costs.Lower(slice, room)[0].spent.energy_pj,
              costs.Upper(slice, room)[0].spent.energy_pj);
  }
  EXPECT_EQ(costs.evaluations(), before) << "no search was needed";
}

}  // namespace
}  // namespace tessera
