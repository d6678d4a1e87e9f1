// Speed of the VTA simulators on the convolutions of ResNet-18 with their best schedules: cycle
// counts without data movement, and functional runs. Baselines are the slow twins of each, and what
// others have published about theirs.
#include <vector>

#include "harness.h"
#include "tessera/network.h"
#include "tessera/result.h"
#include "tessera/vta.h"
#include "tessera/vta/codegen/best.h"
#include "tessera/vta/codegen/data.h"
#include "tessera/vta/codegen/reference.h"
#include "tessera/vta/sim/cycles.h"
#include "tessera/vta/sim/step.h"

namespace tessera::bench {
namespace {

using namespace tessera::vta;

struct Convolution {
  ConvShape shape;
  int64_t count;
  Kernel kernel;
  Kernel reference;  // the template at its best knobs
  ConvData data;
  Program program;
};

Kernel BestReferenceKernel(const ConvShape& shape) {
  CycleSimulator simulator({});
  std::optional<Kernel> best;
  int64_t best_cycles = 0;
  for (const Knobs& knobs : KnobSpace(shape, {})) {
    if (!CheckKnobs(shape, knobs, {}).valid()) continue;
    if (best && ReferenceLowerBound(shape, knobs, {}, {}, {}) >= best_cycles) continue;
    Kernel kernel = GenerateReference(shape, knobs, {});
    const int64_t cycles = simulator.Run(kernel.instructions)->cycles;
    if (best && cycles >= best_cycles) continue;
    best = std::move(kernel);
    best_cycles = cycles;
  }
  TESSERA_CHECK(best.has_value());
  return *std::move(best);
}

std::vector<Convolution> ResNet18() {
  const Result<Network> network = LoadZooNetwork("resnet18");
  TESSERA_CHECK(network.ok());
  std::vector<Convolution> list;
  for (const NetworkLayer& entry : network->layers) {
    if (entry.name == "fc") continue;
    const ConvShape shape = *ConvShapeOf(entry.layer);
    Result<BestConv> best = FindBest(shape, {});
    TESSERA_CHECK(best.ok());
    ConvData data = RandomConvData(shape, /*bias=*/true, /*seed=*/1);
    Program program = *LinkConv(best->kernel, shape, data);
    list.push_back({shape, entry.count, std::move(best->kernel), BestReferenceKernel(shape),
                    std::move(data), std::move(program)});
  }
  return list;
}

void CycleCounts(Harness& harness, const std::vector<Convolution>& layers) {
  const auto count = static_cast<double>(layers.size());
  harness.Measure("cycle by cycle", "schedules", count, [&] {
    std::vector<InstructionTime> times;
    for (const Convolution& layer : layers) {
      Keep(StepThrough(layer.kernel.instructions, {}, {}, &times));
    }
  });
  CycleSimulator simulator({});
  harness.Measure(
      "by events", "schedules", count,
      [&] {
        for (const Convolution& layer : layers) Keep(simulator.Run(layer.kernel.instructions));
      },
      "cycle by cycle");
  harness.Measure(
      "by events, reference template", "schedules", count,
      [&] {
        for (const Convolution& layer : layers) Keep(simulator.Run(layer.reference.instructions));
      },
      "cycle by cycle");
}

void FunctionalRuns(Harness& harness, std::vector<Convolution>& layers) {
  const std::string unit = "ResNet-18s";
  harness.Quote("TSIM", unit, 1 / 227.7, "apache/tvm pull request 4986, another machine");
  harness.Quote("fsim", unit, 1 / 1.0, "apache/tvm pull request 4986, another machine");
  const auto all_occurrences = [&layers](const auto& body) {
    for (Convolution& layer : layers) {
      for (int64_t i = 0; i < layer.count; ++i) body(layer);
    }
  };
  harness.Measure("plain convolution", unit, 1, [&] {
    all_occurrences(
        [](const Convolution& layer) { Keep(ReferenceConv(layer.shape, layer.data, {})); });
  });
  harness.Measure(
      "simulated", unit, 1,
      [&] {
        all_occurrences(
            [](Convolution& layer) { Keep(CheckAndRun(layer.program, {.memory = false})); });
      },
      "plain convolution");
  harness.Measure(
      "simulated, races and uninitialised reads checked", unit, 1,
      [&] { all_occurrences([](Convolution& layer) { Keep(CheckAndRun(layer.program)); }); },
      "plain convolution");
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  using namespace tessera::bench;
  Harness harness(argc, argv);
  std::vector<Convolution> layers = ResNet18();
  CycleCounts(harness, layers);
  FunctionalRuns(harness, layers);
  return harness.Finish();
}
