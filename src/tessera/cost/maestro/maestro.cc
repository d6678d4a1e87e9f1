#include "tessera/cost/maestro/maestro.h"

#include <utility>
#include <variant>

#include "tessera/base/check.h"
#include "tessera/cost/maestro/analysis.h"
#include "tessera/cost/maestro/report.h"
#include "tessera/cost/maestro/rules.h"

namespace tessera {
namespace {

using maestro::Analyser;
using maestro::Analysis;

class MaestroWorkspace final : public CostModel::Workspace {
 public:
  Analyser analyser;
};

class MaestroModel final : public CostModel {
 public:
  MaestroModel(maestro::Workload workload, const PeArray& array, const MaestroOptions& options)
      : workload_(std::move(workload)), array_(array), options_(options) {}

  std::unique_ptr<Workspace> MakeWorkspace() const override {
    return std::make_unique<MaestroWorkspace>();
  }

  Cost Evaluate(const Mapping& mapping, Workspace& workspace) const override {
    const Dataflow* dataflow = std::get_if<Dataflow>(&mapping);
    TESSERA_CHECK(dataflow != nullptr);
    auto& analyser = static_cast<MaestroWorkspace&>(workspace).analyser;
    Cost cost;
    Analysis analysis;
    cost.violation = analyser.Run(workload_, array_, options_.version, *dataflow, analysis);
    if (cost.feasible()) Fill(analysis, cost);
    return cost;
  }

  Error Describe(const Violation& violation) const override { return maestro::Describe(violation); }

 private:
  void Fill(const Analysis& analysis, Cost& cost) const {
    cost.cycles = analysis.cycles;
    cost.macs = analysis.macs;
    cost.energy_pj = options_.energy == MaestroEnergy::kLayer
                         ? maestro::kMacPj * maestro::EnergyOf(analysis).total()
                         : 1000 * maestro::CsvEnergyNj(analysis, nullptr);
    cost.power_mw = maestro::PowerOf(analysis, array_).total_mw();
    cost.area_um2 = maestro::AreaUm2(analysis, array_, options_.area);
    cost.utilization = analysis.busy_units / static_cast<double>(array_.num_pes);
    cost.num_levels = 2;
    cost.levels[0] = {.reads = analysis.l1_reads, .writes = analysis.l1_writes};
    cost.levels[1] = {.reads = analysis.l2_reads, .writes = analysis.l2_writes};
    cost.flags = maestro::FlagsOf(workload_, array_, analysis);
    if (options_.legality == MaestroLegality::kStrict) {
      cost.violation = maestro::CheckStrict(workload_, array_, analysis, cost.flags);
    }
  }

  const maestro::Workload workload_;
  const PeArray array_;
  const MaestroOptions options_;
};

Result<std::unique_ptr<CostModel>> Make(const Layer& layer, const Accelerator& accelerator,
                                        const CostModelOptions& options) {
  if (!accelerator.pe_array) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = "model 'maestro' needs an accelerator with a PE array; '" +
                            accelerator.name + "' has none",
                 .hint = "use an accelerator such as 'maestro-256', or model 'loopnest'"};
  }
  const Result<maestro::Declaration> declaration = maestro::Declare(layer);
  if (!declaration) return declaration.error();
  return MakeMaestroModel(*declaration, *accelerator.pe_array, options.maestro);
}

}  // namespace

const CostModelInfo kMaestroModel = {
    .name = "maestro",
    .summary = "MAESTRO's numbers, quirks included, for results that compare with the literature",
    .make = Make,
};

Result<std::unique_ptr<CostModel>> MakeMaestroModel(const maestro::Declaration& declaration,
                                                    const PeArray& array,
                                                    const MaestroOptions& options) {
  if (Result<void> valid = Validate(Accelerator{.pe_array = array}); !valid) return valid.error();
  Result<maestro::Workload> workload = maestro::MakeWorkload(declaration);
  if (!workload) return workload.error();
  return std::unique_ptr<CostModel>(
      std::make_unique<MaestroModel>(std::move(*workload), array, options));
}

}  // namespace tessera
