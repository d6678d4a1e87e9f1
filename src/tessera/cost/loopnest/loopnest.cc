// The model as the rest of Tessera sees it.
#include "tessera/cost/loopnest/loopnest.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "tessera/cost.h"
#include "tessera/cost/loopnest/breakdown.h"
#include "tessera/cost/loopnest/evaluation.h"
#include "tessera/cost/loopnest/violation.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {
namespace {

using loopnest::Evaluate;
using loopnest::ExactResult;
using loopnest::Rule;
using loopnest::Semantics;
using loopnest::Setup;
using loopnest::TimeloopResult;

class LoopnestWorkspace final : public CostModel::Workspace {
 public:
  loopnest::Workspace scratch;
};

// Index of Cost's arrays for a tensor.
size_t PlaceOf(const LoopTensor& tensor) {
  switch (tensor.role) {
    case TensorRole::kWeight: return static_cast<size_t>(Tensor::kWeight);
    case TensorRole::kOutput: return static_cast<size_t>(Tensor::kOutput);
    case TensorRole::kInput:
    case TensorRole::kOther: break;
  }
  return static_cast<size_t>(Tensor::kInput);
}

class LoopnestModel final : public CostModel {
 public:
  LoopnestModel(Setup setup, double clock_ghz, double area_um2)
      : setup_(std::move(setup)), clock_ghz_(clock_ghz), area_um2_(area_um2) {}

  std::unique_ptr<Workspace> MakeWorkspace() const override {
    auto workspace = std::make_unique<LoopnestWorkspace>();
    Reserve(setup_, workspace->scratch);
    return workspace;
  }

  Cost Evaluate(const Mapping& mapping, Workspace& workspace) const override {
    const LoopMapping* loops = std::get_if<LoopMapping>(&mapping);
    TESSERA_CHECK(loops != nullptr);
    Cost cost;
    cost.violation = CheckForm(*loops);
    if (!cost.feasible()) return cost;
    auto& scratch = static_cast<LoopnestWorkspace&>(workspace).scratch;
    loopnest::Evaluate(setup_, *loops, scratch);
    cost.violation = ViolationOf(setup_, scratch);
    if (!cost.feasible()) return cost;
    cost.num_levels = setup_.machine.num_levels;
    if (setup_.semantics == Semantics::kExact) {
      Fill(scratch.exact, cost);
    } else {
      Fill(scratch.timeloop, scratch.nest, cost);
    }
    cost.power_mw = cost.energy_pj / static_cast<double>(cost.cycles) * clock_ghz_;  // pJ per ns
    cost.area_um2 = area_um2_;
    return cost;
  }

  Error Describe(const Violation& violation) const override {
    return DescribeViolation(setup_, violation);
  }

  Error Explain(const Mapping& mapping, const Violation& violation) const override {
    return DescribeViolation(setup_, violation, std::get_if<LoopMapping>(&mapping));
  }

  const Setup& setup() const { return setup_; }

 private:
  // What Validate would refuse, without its sentences; evaluation relies on it.
  Violation CheckForm(const LoopMapping& mapping) const {
    if (mapping.num_levels != setup_.machine.num_levels) {
      return {.rule = static_cast<int16_t>(Rule::kLevels),
              .have = static_cast<double>(mapping.num_levels),
              .limit = static_cast<double>(setup_.machine.num_levels)};
    }
    const auto dims = static_cast<size_t>(setup_.data.problem.num_dimensions);
    const uint32_t all = (1u << dims) - 1;
    for (int i = 0; i < mapping.num_levels; ++i) {
      const LoopLevel& level = mapping.levels[static_cast<size_t>(i)];
      uint32_t temporal = 0, spatial = 0;
      bool good = true;
      for (size_t k = 0; k < dims; ++k) {
        good = good && level.temporal_order[k] < dims && level.spatial_order[k] < dims &&
               (level.temporal[k] | level.spatial[k]) >= 0;
        temporal |= 1u << (level.temporal_order[k] & 31u);
        spatial |= 1u << (level.spatial_order[k] & 31u);
      }
      if (good && temporal == all && spatial == all) continue;
      return {.rule = static_cast<int16_t>(Rule::kOrder), .level = static_cast<int16_t>(i)};
    }
    return {};
  }

  void Fill(const ExactResult& result, Cost& cost) const {
    cost.cycles = result.cycles;
    cost.macs = result.computes;
    cost.energy_pj = result.energy;
    cost.utilization = result.utilization;
    for (int i = 0; i < setup_.machine.num_levels; ++i) {
      for (int v = 0; v < setup_.data.problem.num_tensors; ++v) {
        const loopnest::ExactTensor& tensor = result.levels[i].tensors[v];
        Add(i, v, tensor.reads, tensor.fills + tensor.updates, cost);
      }
    }
  }

  void Fill(const TimeloopResult& result, const loopnest::Nest& nest, Cost& cost) const {
    cost.cycles = result.cycles;
    cost.macs = result.computes;
    cost.energy_pj = result.energy;
    cost.utilization = result.utilization;
    for (int i = 0; i < setup_.machine.num_levels; ++i) {
      for (int v = 0; v < setup_.data.problem.num_tensors; ++v) {
        const loopnest::TimeloopTensor& tensor = result.levels[i].tensors[v];
        Add(i, v, static_cast<int64_t>(tensor.reads) * nest.used[i],
            static_cast<int64_t>(tensor.fills + tensor.updates) * nest.used[i], cost);
      }
    }
  }

  void Add(int level, int v, int64_t reads, int64_t writes, Cost& cost) const {
    LevelAccesses& accesses = cost.levels[static_cast<size_t>(level)];
    const size_t place = PlaceOf(setup_.data.problem.tensors[static_cast<size_t>(v)]);
    accesses.reads[place] += reads;
    accesses.writes[place] += writes;
  }

  const Setup setup_;
  const double clock_ghz_;
  const double area_um2_;  // of the machine; 0: not known
};

// The keep sets of mappings that leave the choice to the machine; one that names nothing holds
// everything everywhere, as in the space.
std::vector<uint8_t> KeepsOf(const LoopProblem& problem, const Hierarchy& hierarchy) {
  std::vector<uint8_t> keep = KeepSets(problem, hierarchy);
  const auto all = static_cast<uint8_t>((1u << problem.num_tensors) - 1);
  if (keep.empty()) keep.assign(hierarchy.levels.size(), all);
  return keep;
}

class ConfiguredLoopnest final : public ConfiguredModel {
 public:
  explicit ConfiguredLoopnest(const LoopnestOptions& options) : options_(options) {}

  Result<std::unique_ptr<CostModel>> Make(const Layer& layer,
                                          const Accelerator& accelerator) const override {
    const Result<LoopProblem> problem = ProblemFor(layer, accelerator);
    if (!problem) return problem.error();
    return MakeLoopnestModel(*problem, *accelerator.hierarchy, options_);
  }

  // Under Timeloop's rules neighbours always hand words on, and tiles are boxes.
  SpaceRules RulesFor(const Layer& /*layer*/, const Accelerator& /*accelerator*/) const override {
    const bool exact = options_.semantics == Semantics::kExact;
    return {.always_order_parallel_loops = !exact, .store_holes = !exact};
  }

  Result<CostBounds> BoundsFor(const Layer& layer, const Accelerator& accelerator,
                               bool any_keep) const override {
    const Result<LoopProblem> problem = ProblemFor(layer, accelerator);
    if (!problem) return problem.error();
    const Result<LoopBounds> bounds = LoopBoundsFor(*problem, *accelerator.hierarchy, any_keep);
    if (!bounds) return bounds.error();
    return CostBounds{.cycles = static_cast<double>(bounds->cycles),
                      .energy_pj = bounds->energy_pj};
  }

  Result<CostBreakdown> BreakDown(const Layer& layer, const Accelerator& accelerator,
                                  const Mapping& mapping, bool any_keep) const override {
    const Result<LoopProblem> problem = ProblemFor(layer, accelerator);
    if (!problem) return problem.error();
    const Hierarchy& hierarchy = *accelerator.hierarchy;
    Result<Setup> setup = loopnest::Prepare(*problem, hierarchy, options_.semantics,
                                            /*extrapolate=*/true, options_.clock_ghz);
    if (!setup) return setup.error();
    const LoopnestModel model(*std::move(setup), options_.clock_ghz,
                              AreaUm2(hierarchy).value_or(0));
    const std::unique_ptr<CostModel::Workspace> workspace = model.MakeWorkspace();
    const Cost cost = model.Evaluate(mapping, *workspace);
    if (!cost.feasible()) return model.Explain(mapping, cost.violation);
    const Result<LoopBounds> bounds = LoopBoundsFor(*problem, hierarchy, any_keep);
    if (!bounds) return bounds.error();
    return loopnest::BreakDown(model.setup(), std::get<LoopMapping>(mapping),
                               static_cast<const LoopnestWorkspace&>(*workspace).scratch, cost,
                               *bounds);
  }

  Result<void> CheckObjective(Objective objective, const Accelerator& accelerator) const override {
    if (objective == Objective::kArea) {
      return Error{.kind = ErrorKind::kUnsupported,
                   .message = "with model loopnest no mapping changes the area of the machine",
                   .hint = "choose another objective, or a machine and --model maestro"};
    }
    if (objective == Objective::kLatency || !accelerator.hierarchy ||
        HasEnergies(*accelerator.hierarchy)) {
      return {};
    }
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = fmt::format("machine '{}' has no energies, so objective {} would be 0 "
                                        "for every mapping",
                                        accelerator.name, ToString(objective)),
                 .hint =
                     "give its levels read_pj, fill_pj and update_pj and its MACs mac_pj; a "
                     "Timeloop file needs energies of its own or an ERT"};
  }

  std::string PowerNote() const override {
    return fmt::format("power at {} GHz", options_.clock_ghz);
  }

  std::optional<Semantics> semantics() const override { return options_.semantics; }
  double clock_ghz() const override { return options_.clock_ghz; }

  static ParameterList<LoopnestOptions> Parameters() {
    constexpr double kSlowest = 1e-6, kFastest = 1e3;
    return {{"semantics", &LoopnestOptions::semantics, loopnest::kSemanticsNames,
             "rules by which model loopnest counts"},
            {"clock-ghz", &LoopnestOptions::clock_ghz, Range{kSlowest, kFastest},
             "clock of the machine, from which model loopnest takes power and leakage"}};
  }

 private:
  static Result<LoopProblem> ProblemFor(const Layer& layer, const Accelerator& accelerator) {
    if (Result<void> suits = CheckMachine(kLoopnestModel.form, kLoopnestModel.name, accelerator);
        !suits) {
      return suits.error();
    }
    return MakeLoopProblem(layer);
  }

  Result<LoopBounds> LoopBoundsFor(const LoopProblem& problem, const Hierarchy& hierarchy,
                                   bool any_keep) const {
    BoundOptions options{.semantics = options_.semantics, .clock_ghz = options_.clock_ghz};
    if (!any_keep) options.keep = KeepsOf(problem, hierarchy);
    return LowerBounds(problem, hierarchy, options);
  }

  const LoopnestOptions options_;
};

}  // namespace

constinit const CostModelInfo kLoopnestModel = {
    .name = "loopnest",
    .summary = "any memory hierarchy, exact counts; also Timeloop's numbers",
    .form = MappingForm::kLoops,
    .parameters = DescribeSettings<ConfiguredLoopnest>,
    .configure = Configure<ConfiguredLoopnest>,
};

CostModelChoice LoopnestChoice(const LoopnestOptions& options) {
  const std::string_view semantics = NameOf(options.semantics, loopnest::kSemanticsNames);
  return *CostModelChoice::Make(
      kLoopnestModel,
      {{"semantics", std::string(semantics)}, {"clock-ghz", fmt::format("{}", options.clock_ghz)}});
}

Result<std::unique_ptr<CostModel>> MakeLoopnestModel(const LoopProblem& problem,
                                                     const Hierarchy& hierarchy,
                                                     const LoopnestOptions& options) {
  Result<Setup> setup = loopnest::Prepare(problem, hierarchy, options.semantics,
                                          /*extrapolate=*/true, options.clock_ghz);
  if (!setup) return setup.error();
  return std::unique_ptr<CostModel>(std::make_unique<LoopnestModel>(
      *std::move(setup), options.clock_ghz, AreaUm2(hierarchy).value_or(0)));
}

}  // namespace tessera
