// ResNet-18 with the improved generator: fewer cycles than the template at its best knobs;
// thoroughly, the whole quantised network with every value right, and fewer than the published
// schedule choices.
#include <limits>

#include "tessera/network.h"
#include "tessera/vta.h"
#include "tessera/vta/network/run.h"
#include "thorough.h"
#include "vta_golden.h"

namespace tessera::vta {
namespace {

// Layers of the golden landscapes, by the names that publications give them.
struct KnownLayer {
  const char* name;
  const char* step;
  bool is_quick;
};
constexpr KnownLayer kKnownLayers[] = {
    {"C2", "layer1.0.conv1", false}, {"C4", "layer2.0.downsample.0", true},
    {"C6", "layer3.0.conv1", false}, {"C7", "layer3.0.downsample.0", true},
    {"C9", "layer4.0.conv1", false}, {"C11", "layer4.0.conv2", false}};

// The best of a layer's whole knob space.
int64_t BestReferenceCycles(const std::string& layer) {
  int64_t best = std::numeric_limits<int64_t>::max();
  for (const std::string& line : GoldenLines("conv-default/landscape_" + layer + ".csv.gz")) {
    const std::vector<std::string_view> row = Split(line, ',');
    if (row[6] == "ok") best = std::min(best, *ParseInt(row[7]));
  }
  return best;
}

// The layers whose search takes little time.
TEST(VtaBest, LayersTakeFewerCyclesThanAnyKnobsOfTheTemplate) {
  const Result<Network> network = LoadZooNetwork("resnet18");
  ASSERT_TRUE(network) << network.error();
  for (const KnownLayer& known : kKnownLayers) {
    if (Thorough(1, 0) == 0 && !known.is_quick) continue;
    const Result<const NetworkLayer*> named = FindLayer(*network, known.step);
    ASSERT_TRUE(named) << named.error();
    const Result<CompiledLayer> compiled = CompileLayer((*named)->layer, {});
    ASSERT_TRUE(compiled) << compiled.error();
    EXPECT_LT(compiled->report.cycles, BestReferenceCycles(known.name)) << known.name;
  }
}

// RunNetwork compares every value with plain arithmetic and refuses programs with any finding.
TEST(VtaBest, ResNet18IsRightAndTakesFewerCyclesThanAnyKnownSchedule) {
  if (Thorough(1, 0) == 0) GTEST_SKIP() << "with TESSERA_THOROUGH only";
  const Result<Graph> graph = GraphOf(*LoadZooNetwork("resnet18"));
  ASSERT_TRUE(graph) << graph.error();
  const Result<NetworkRun> run = RunNetwork(*graph, {.threads = 2});
  ASSERT_TRUE(run) << run.error();
  int64_t convolutions = 0;
  for (const StepRun& step : run->steps) {
    EXPECT_GT(step.distinct_values, 100) << step.name << " should use the range of int8";
    if (step.kind == StepKind::kConv && step.name != "conv1") convolutions += step.report.cycles;
  }
  // Published TopHub choices 7,453,740; the template at its best knobs 7,357,673.
  EXPECT_LE(convolutions, 6'660'000);
}

}  // namespace
}  // namespace tessera::vta
