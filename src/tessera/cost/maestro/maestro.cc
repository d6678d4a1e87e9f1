#include "tessera/cost/maestro/maestro.h"

#include <string>
#include <utility>
#include <variant>

#include "tessera/cost/maestro/analysis.h"
#include "tessera/cost/maestro/breakdown.h"
#include "tessera/cost/maestro/report.h"
#include "tessera/cost/maestro/rules.h"
#include "tessera/cost/maestro/settings.h"
#include "tessera/part.h"
#include "tessera/result.h"

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

class ConfiguredMaestro final : public ConfiguredModel {
 public:
  explicit ConfiguredMaestro(const MaestroOptions& options) : options_(options) {}

  Result<std::unique_ptr<CostModel>> Make(const Layer& layer,
                                          const Accelerator& accelerator) const override {
    if (Result<void> suits = CheckMachine(kMaestroModel.form, kMaestroModel.name, accelerator);
        !suits) {
      return suits.error();
    }
    const Result<maestro::Declaration> declaration = maestro::Declare(layer);
    if (!declaration) return declaration.error();
    return MakeMaestroModel(*declaration, *accelerator.pe_array, options_);
  }

  SpaceRules RulesFor(const Layer& layer, const Accelerator& accelerator) const override {
    return maestro::RulesFor(layer, *accelerator.pe_array, options_.version, options_.legality);
  }

  // MACs over the peak of the machine; nothing bounds MAESTRO's energy.
  Result<CostBounds> BoundsFor(const Layer& layer, const Accelerator& accelerator,
                               bool /*any_keep*/) const override {
    const PeArray& array = *accelerator.pe_array;
    const double peak = static_cast<double>(array.num_pes * array.simd_lanes);
    return CostBounds{.cycles = static_cast<double>(Macs(layer)) / peak};
  }

  Result<CostBreakdown> BreakDown(const Layer& layer, const Accelerator& accelerator,
                                  const Mapping& mapping, bool any_keep) const override {
    const Result<std::unique_ptr<CostModel>> model = Make(layer, accelerator);
    if (!model) return model.error();
    const Result<Cost> cost = tessera::Evaluate(**model, mapping);
    if (!cost) return cost.error();
    const Result<CostBounds> bounds = BoundsFor(layer, accelerator, any_keep);
    if (!bounds) return bounds.error();
    const Result<maestro::Workload> workload = maestro::MakeWorkload(*maestro::Declare(layer));
    if (!workload) return workload.error();
    CostBreakdown breakdown = maestro::BreakDown(*workload, *accelerator.pe_array, options_,
                                                 std::get<Dataflow>(mapping), *cost);
    breakdown.bounds = *bounds;
    breakdown.bound_cycles_from = kComputeLimit;
    return breakdown;
  }

  static ParameterList<MaestroOptions> Parameters() {
    return {
        {"energy", &MaestroOptions::energy, kMaestroEnergyNames,
         "energy of model maestro: MAESTRO's column, as the literature, or that of MACs, L1 and "
         "L2"},
        maestro::LegalityParameter(&MaestroOptions::legality),
        {"area", &MaestroOptions::area, kMaestroAreaNames, "area formula of model maestro"},
        maestro::VersionParameter(&MaestroOptions::version)};
  }

 private:
  const MaestroOptions options_;
};

}  // namespace

constinit const CostModelInfo kMaestroModel = {
    .name = "maestro",
    .summary = "MAESTRO's numbers, quirks included, for results that compare with the literature",
    .form = MappingForm::kDataflow,
    .parameters = DescribeSettings<ConfiguredMaestro>,
    .configure = Configure<ConfiguredMaestro>,
};

CostModelChoice MaestroChoice(const MaestroOptions& options) {
  const auto text = [](auto value, const auto& names) { return std::string(NameOf(value, names)); };
  return *CostModelChoice::Make(kMaestroModel,
                                {{"energy", text(options.energy, kMaestroEnergyNames)},
                                 {"legality", text(options.legality, kMaestroLegalityNames)},
                                 {"area", text(options.area, kMaestroAreaNames)},
                                 {"maestro-version", text(options.version, kMaestroVersionNames)}});
}

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
