// Maps ResNet-18 on eyeriss-256, and prices one of its mappings again, alone and in a batch.
#include <cstdio>
#include <memory>
#include <span>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/cost.h"
#include "tessera/map.h"
#include "tessera/network.h"
#include "tessera/version.h"

using namespace tessera;

namespace {

// Progress as a program of yours would take it.
class CountEvents final : public ProgressObserver {
 public:
  void OnProgress(ProgressEvent, const ProgressRow&) override { ++events; }
  int events = 0;
};

// The model gives the cost that the search reported, one mapping at a time or many.
Result<bool> PricesAgain(const LayerMapping& layer, const Accelerator& machine) {
  const Result<CostModelChoice> choice = ChooseCostModel("loopnest");
  if (!choice) return choice.error();
  const Result<std::unique_ptr<CostModel>> model = (*choice)->Make(layer.layer, machine);
  if (!model) return model.error();
  const Result<Cost> cost = Evaluate(**model, *layer.mapping);
  if (!cost) return cost.error();
  ThreadPool pool(2);
  const std::vector<Mapping> mappings(8, *layer.mapping);
  std::vector<Cost> costs(8);
  BatchEvaluator(**model, pool).EvaluateBatch(mappings, costs);
  return *cost == *layer.cost && costs.front() == *cost && costs.back() == *cost;
}

Result<NetworkMapping> MapResNet(const Accelerator& machine, CountEvents& progress) {
  const Result<Network> network = LoadNetwork("resnet18");
  if (!network) return network.error();
  MapSettings settings;
  settings.objective = Objective::kEdp;
  settings.method = *ParseMapMethod("random");
  settings.budget.samples = 200;
  const Result<MapJob> job = MakeMapJob(settings, *network, machine);
  if (!job) return job.error();
  return MapNetwork(*job, /*threads=*/2, {.progress = &progress});
}

}  // namespace

int main() {
  const Result<Accelerator> machine = LoadAccelerator("eyeriss-256");
  if (!machine) return 1;
  CountEvents progress;
  const Result<NetworkMapping> mapped = MapResNet(*machine, progress);
  if (!mapped) return std::puts(ToString(mapped.error()).c_str()), 2;
  const Result<bool> again = PricesAgain(mapped->layers.front(), *machine);
  if (!again || !*again) return 3;
  if (progress.events == 0 || !mapped->total.bound || mapped->total.edp() < *mapped->total.bound) {
    return 4;
  }
  std::printf("tessera %s: %zu layers, %.0f cycles, %.0f pJ\n", TESSERA_VERSION_STRING,
              mapped->layers.size(), mapped->total.cycles, mapped->total.energy_pj);
  static_assert(TESSERA_VERSION_MAJOR == 0 && TESSERA_VERSION_MINOR >= 2);
  return LoadNetwork("resnet81").ok() ? 5 : 0;  // An error is a value.
}
