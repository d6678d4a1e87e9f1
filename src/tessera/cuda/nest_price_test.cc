// Prices of packed mappings: the code that a device runs, compiled for the host, gives the numbers
// of model loopnest, every count and every bit of the energy. scripts/check-cuda compares what a
// device computes.
#include "tessera/cuda/nest_price.h"

#include <gtest/gtest.h>

#include "tessera/cuda/map_engine.h"
#include "tessera/cuda/nest_pack.h"
#include "tessera/space.h"

namespace tessera::cuda {
namespace {

Layer Conv(int64_t k, int64_t c, int64_t y, int64_t r, int64_t stride = 1, int64_t dilation = 1) {
  Layer layer;
  layer.k = k, layer.c = c, layer.y = layer.x = y, layer.r = layer.s = r;
  layer.stride = {stride, stride};
  layer.dilation = {dilation, dilation};
  return layer;
}

std::vector<Layer> Layers() {
  std::vector<Layer> layers = {Conv(64, 64, 58, 3), Conv(96, 3, 227, 11, 4), Conv(32, 16, 33, 5, 2),
                               Conv(16, 8, 37, 3, 3, 2), Conv(256, 128, 14, 1)};
  Layer depthwise = Conv(32, 32, 114, 3);
  depthwise.groups = 32;
  Layer grouped = Conv(64, 64, 30, 3);
  grouped.groups = 4;
  Layer fc;
  fc.type = LayerType::kFullyConnected;
  fc.k = 1000, fc.c = 512, fc.n = 4;
  Layer product;
  product.type = LayerType::kMatmul;
  product.h = 12, product.m = 128, product.n = 64, product.k = 128;
  for (const Layer& layer : {depthwise, grouped, fc, product}) layers.push_back(layer);
  return layers;
}

// Machines as they are, and with what few of them have: words that pay for every hop, buffers that
// do not add, several words per access, fewer memories than instances.
std::vector<Accelerator> Machines() {
  std::vector<Accelerator> machines;
  for (const char* name : {"simple3", "eyeriss-256", "eyeriss-168", "nvdla", "simba", "tpu-128"}) {
    machines.push_back(*LoadAccelerator(name));
  }
  for (const char* name : {"simple3", "eyeriss-256"}) {
    Accelerator changed = *LoadAccelerator(name);
    for (MemoryLevel& level : changed.hierarchy->levels) {
      level.network.hop_pj = *Decimal::Parse("0.37");
      level.network.router_pj = *Decimal::Parse("0.11");
      level.network.ingress_pj = *Decimal::Parse("0.05");
      level.address_pj = *Decimal::Parse("0.02");
      level.reduces_in_place = false;
      level.block_words = 3;
      level.read_words_per_cycle = *Decimal::Parse("1.7");
      level.shared_words_per_cycle = *Decimal::Parse("2.3");
    }
    machines.push_back(changed);
  }
  return machines;
}

// What comparing many mappings came to.
struct Tally {
  int64_t priced = 0, refused = 0, for_host = 0;
};

void Compare(const MappingProblem& problem, const Hierarchy& hierarchy, uint64_t samples,
             Tally& tally) {
  const auto setup =
      loopnest::Prepare(problem.loops()->problem, hierarchy, loopnest::Semantics::kExact);
  ASSERT_TRUE(setup) << setup.error();
  const Result<NestPlan> plan = MakeNestPlan(*setup);
  ASSERT_TRUE(plan) << plan.error();
  loopnest::Workspace host;
  std::vector<uint32_t> words(kMostNestWords);
  std::vector<NestCounts> counts(static_cast<size_t>(plan->num_levels * plan->num_tensors));
  for (uint64_t sample = 0; sample < samples; ++sample) {
    CounterRng rng(1, 2, sample);
    const Mapping mapping = problem.space().Decode(problem.space().Sample(rng, 1));
    const auto& loops = std::get<LoopMapping>(mapping);
    loopnest::Evaluate(*setup, loops, host);
    ASSERT_GT(PackNest(host.nest, loops, *plan, words), 0u);
    const NestPrice price = PriceOnHost(*plan, words.data(), counts.data());
    if (price.status == NestStatus::kForHost) {
      ++tally.for_host;
      continue;
    }
    const bool fits = host.exact.status == loopnest::ExactResult::Status::kOk;
    ASSERT_EQ(price.status == NestStatus::kPriced, fits);
    ++(fits ? tally.priced : tally.refused);
    if (!fits) continue;
    ASSERT_EQ(price.cycles, host.exact.cycles);
    for (int i = 0; i < plan->num_levels; ++i) {
      for (int v = 0; v < plan->num_tensors; ++v) {
        const loopnest::ExactTensor& tensor = host.exact.levels[i].tensors[v];
        const NestCounts& own = counts[static_cast<size_t>(i * plan->num_tensors + v)];
        const int64_t used = host.nest.used[i];
        ASSERT_EQ(used * own.reads, tensor.reads) << "level " << i << ", tensor " << v;
        ASSERT_EQ(used * own.fills, tensor.fills) << "level " << i << ", tensor " << v;
        ASSERT_EQ(used * own.updates, tensor.updates) << "level " << i << ", tensor " << v;
      }
    }
    ASSERT_EQ(price.energy_pj, host.exact.energy);
  }
}

TEST(NestPrice, IsTheModels) {
  Tally tally;
  for (const Accelerator& machine : Machines()) {
    for (const Layer& layer : Layers()) {
      for (const bool bypass : {false, true}) {
        const auto problem = MappingProblem::Make(layer, machine, *ChooseCostModel("loopnest"),
                                                  {.space = {.decide_keep = bypass}});
        ASSERT_TRUE(problem) << problem.error();
        Compare(**problem, *machine.hierarchy, 60, tally);
        // Half the memory: some of the same mappings do not fit.
        Hierarchy tight = *machine.hierarchy;
        for (MemoryLevel& level : tight.levels) {
          if (level.entries) level.entries = *level.entries / 2;
        }
        Compare(**problem, tight, 10, tally);
        if (testing::Test::HasFatalFailure()) {
          FAIL() << machine.name << ", " << ToString(layer) << ", bypass " << bypass;
        }
      }
    }
  }
  EXPECT_GT(tally.priced, 100 * tally.for_host);
  EXPECT_GT(tally.refused, 100);
}

// Parallel loops over a window and its kernel: children with different indices ask for the same
// words, along columns and rows.
TEST(NestPrice, CountsWindowsThatCoincideInTheArray) {
  const Accelerator machine = Machines().back();
  const auto problem =
      MappingProblem::Make(Conv(8, 4, 30, 3), machine, *ChooseCostModel("loopnest"), {});
  ASSERT_TRUE(problem) << problem.error();
  const auto& [loop_problem, hierarchy] = *(*problem)->loops();
  const auto setup = loopnest::Prepare(loop_problem, hierarchy, loopnest::Semantics::kExact);
  const Result<NestPlan> plan = MakeNestPlan(*setup);
  ASSERT_TRUE(plan) << plan.error();
  const DecisionSpace& space = (*problem)->space();
  Tally tally;
  loopnest::Workspace host;
  std::vector<uint32_t> words(kMostNestWords);
  for (uint64_t sample = 0; sample < 1000; ++sample) {
    CounterRng rng(3, 4, sample);
    Point point = space.Sample(rng, 1);
    for (const char* name : {"R_GLB_par", "P_GLB_par", "S_GLB_par", "Q_GLB_par", "R_Dummy_par",
                             "P_Dummy_par", "Q_Dummy_par"}) {
      const size_t at = space.Find(name);
      if (at < space.size() && rng.Uniform() < 0.6) {
        point[at] = static_cast<int32_t>(rng.UniformInt(space.decisions()[at].size()));
      }
    }
    space.Repair(point);
    const auto loops = std::get<LoopMapping>((*problem)->space().Decode(point));
    loopnest::Evaluate(*setup, loops, host);
    if (host.exact.status != loopnest::ExactResult::Status::kOk) continue;
    ASSERT_GT(PackNest(host.nest, loops, *plan, words), 0u);
    const NestPrice price = PriceOnHost(*plan, words.data(), nullptr);
    if (price.status == NestStatus::kForHost) continue;
    ++tally.priced;
    ASSERT_EQ(price.cycles, host.exact.cycles) << sample;
    ASSERT_EQ(price.energy_pj, host.exact.energy) << sample;
  }
  EXPECT_GT(tally.priced, 100);
}

TEST(NestPlan, SaysWhatOnlyTheHostPrices) {
  const auto plan_of = [](const Layer& layer, const std::string& machine,
                          loopnest::Semantics semantics) {
    const auto setup =
        loopnest::Prepare(*MakeLoopProblem(layer), *LoadAccelerator(machine)->hierarchy, semantics);
    const Result<NestPlan> plan = MakeNestPlan(*setup);
    return plan ? std::string() : plan.error().message;
  };
  using loopnest::Semantics;
  EXPECT_EQ(plan_of(Conv(8, 8, 8, 3), "simple3", Semantics::kTimeloop3),
            "Timeloop's semantics are not on --device cuda");
  EXPECT_EQ(plan_of(Conv(8, 8, 8, 3), "shidiannao", Semantics::kExact),
            "links between neighbours are not on --device cuda");
  Layer transposed = Conv(8, 8, 8, 3, 2);
  transposed.type = LayerType::kTransposedConv;
  EXPECT_EQ(plan_of(transposed, "simple3", Semantics::kExact),
            "Outputs: windows of partial sums are not on --device cuda");
}

// A build or a machine without a device says so.
TEST(MapEngine, NeedsADevice) {
  const Result<std::unique_ptr<MapEngine>> engine = MapEngine::Make(NestPlan{});
  if (engine) GTEST_SKIP() << "this machine has a device";
  EXPECT_EQ(engine.error().kind, ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace tessera::cuda
