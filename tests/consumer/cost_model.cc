// A cost model of one's own: registered with one line, then mapped with by name.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <variant>

#include "tessera/accelerator.h"
#include "tessera/cost.h"
#include "tessera/map.h"
#include "tessera/network.h"

using namespace tessera;

namespace {

struct OutermostOptions {
  int64_t cycles = 1;
};

// A mapping costs some cycles per iteration of its outermost loops, and as much energy.
class OutermostModel final : public CostModel {
 public:
  explicit OutermostModel(const OutermostOptions& options) : options_(options) {}
  std::unique_ptr<Workspace> MakeWorkspace() const override {
    return std::make_unique<Workspace>();
  }
  Cost Evaluate(const Mapping& mapping, Workspace& /*workspace*/) const override {
    Cost cost;
    cost.cycles = options_.cycles;
    for (const int32_t factor : std::get<LoopMapping>(mapping).view().back().temporal) {
      cost.cycles *= std::max(1, factor);
    }
    cost.energy_pj = static_cast<double>(cost.cycles);
    return cost;
  }
  Error Describe(const Violation& /*violation*/) const override { return {}; }

 private:
  const OutermostOptions options_;
};

class ConfiguredOutermost final : public ConfiguredModel {
 public:
  explicit ConfiguredOutermost(const OutermostOptions& options) : options_(options) {}
  Result<std::unique_ptr<CostModel>> Make(const Layer&, const Accelerator&) const override {
    return std::unique_ptr<CostModel>(std::make_unique<OutermostModel>(options_));
  }
  Result<CostBounds> BoundsFor(const Layer&, const Accelerator&, bool) const override {
    return CostBounds{.cycles = static_cast<double>(options_.cycles), .energy_pj = {}};
  }
  static ParameterList<OutermostOptions> Parameters() {
    return {{"outermost-cycles", &OutermostOptions::cycles, Range{1, 1000}, "of an iteration"}};
  }

 private:
  const OutermostOptions options_;
};

constexpr CostModelInfo kOutermost = {.name = "outermost",
                                      .summary = "iterations of the outermost loops",
                                      .form = MappingForm::kLoops,
                                      .parameters = DescribeSettings<ConfiguredOutermost>,
                                      .configure = Configure<ConfiguredOutermost>};

Result<NetworkMapping> MapWithIt() {
  const Layer layer = {.k = 64, .c = 32, .y = 14, .x = 14, .r = 3, .s = 3};
  const Result<Network> network = MakeNetwork("mine", {{.name = "conv", .layer = layer}});
  if (!network) return network.error();
  const Result<Accelerator> machine = LoadAccelerator("eyeriss-256");
  if (!machine) return machine.error();
  Result<CostModelChoice> model = ChooseCostModel("outermost", {{"outermost-cycles", "7"}});
  if (!model) return model.error();
  MapSettings settings;
  settings.model = *std::move(model);
  settings.method = *ParseMapMethod("ga");
  settings.budget.samples = 500;
  const Result<MapJob> job = MakeMapJob(settings, *network, *machine);
  if (!job) return job.error();
  return MapNetwork(*job);
}

}  // namespace

int main() {
  if (!RegisterCostModel(kOutermost)) return 1;
  const Result<NetworkMapping> mapped = MapWithIt();
  if (!mapped) return std::puts(ToString(mapped.error()).c_str()), 2;
  const LayerMapping& layer = mapped->layers.front();
  std::printf("outermost: %lld cycles\n", static_cast<long long>(layer.cost->cycles));
  return layer.cost->cycles % 7 == 0 && layer.bound == 7 ? 0 : 3;
}
