// Whole quantised ResNet-18 with the improved generator: every value right, and fewer cycles than
// the published schedule choices and than the template at its best knobs.
#include <limits>

#include "tessera/vta/network/run.h"
#include "vta_golden.h"

namespace tessera::vta {
namespace {

// Layers of the golden landscapes, by the names that publications give them.
struct KnownLayer {
  const char* name;
  const char* step;
};
constexpr KnownLayer kKnownLayers[] = {{"C2", "layer1.0.conv1"}, {"C4", "layer2.0.downsample.0"},
                                       {"C6", "layer3.0.conv1"}, {"C7", "layer3.0.downsample.0"},
                                       {"C9", "layer4.0.conv1"}, {"C11", "layer4.0.conv2"}};

// The best of a layer's whole knob space.
int64_t BestReferenceCycles(const std::string& layer) {
  int64_t best = std::numeric_limits<int64_t>::max();
  for (const std::string& line : GoldenLines("conv-default/landscape_" + layer + ".csv.gz")) {
    const std::vector<std::string_view> row = Split(line, ',');
    if (row[6] == "ok") best = std::min(best, *ParseInt(row[7]));
  }
  return best;
}

const StepRun* FindStep(const NetworkRun& run, std::string_view name) {
  for (const StepRun& step : run.steps) {
    if (step.name == name) return &step;
  }
  return nullptr;
}

// RunNetwork compares every value with plain arithmetic and refuses programs with any finding.
TEST(VtaBest, ResNet18IsRightAndTakesFewerCyclesThanAnyKnownSchedule) {
  const Result<Network> network = LoadZooNetwork("resnet18");
  ASSERT_TRUE(network) << network.error();
  const Result<Graph> graph = GraphOf(*network);
  ASSERT_TRUE(graph) << graph.error();
  const Result<NetworkRun> run = RunNetwork(*graph, {.threads = 2});
  ASSERT_TRUE(run) << run.error();
  for (const KnownLayer& layer : kKnownLayers) {
    const StepRun* step = FindStep(*run, layer.step);
    ASSERT_NE(step, nullptr) << layer.step;
    EXPECT_LE(step->report.cycles, BestReferenceCycles(layer.name)) << layer.name;
  }
  int64_t convolutions = 0;
  for (const StepRun& step : run->steps) {
    EXPECT_GT(step.distinct_values, 100) << step.name << " should use the range of int8";
    if (step.kind == StepKind::kConv && step.name != "conv1") convolutions += step.report.cycles;
  }
  // Published TopHub choices 7,453,740; the template at its best knobs 7,357,673.
  EXPECT_LE(convolutions, 6'680'000);
}

}  // namespace
}  // namespace tessera::vta
