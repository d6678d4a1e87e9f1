// Spaces and models put together.
#include "tessera/space/mapping_problem.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/mapping/loop_problem.h"
#include "tessera/space/loop_space.h"
#include "tessera/space/maestro_space.h"

namespace tessera {
namespace {

class MappingWorkspace final : public Problem::Workspace {
 public:
  explicit MappingWorkspace(std::unique_ptr<CostModel::Workspace> made) : model(std::move(made)) {}
  const std::unique_ptr<CostModel::Workspace> model;
};

Error MissingPart(const Accelerator& accelerator, std::string_view model, std::string_view part) {
  return Error{.kind = ErrorKind::kUnsupported,
               .message = fmt::format("model '{}' needs a {}, but accelerator '{}' has none", model,
                                      part, accelerator.name),
               .hint = model == "loopnest" ? "use 'eyeriss-256', or --model maestro"
                                           : "use 'maestro-256', or --model loopnest"};
}

// Whether a PE cannot hold what one output needs. MAESTRO buffers an input window, its weights and
// as many outputs, all of them twice.
bool KernelTooLarge(const Layer& layer, const PeArray& array) {
  return layer.type == LayerType::kConv && 6 * layer.r * layer.s > array.l1_elements;
}

// The space that fits the model. Which space goes with which model is known here and nowhere else.
Result<std::unique_ptr<MappingSpace>> MakeSpace(const Layer& layer, const Accelerator& accelerator,
                                                std::string_view model,
                                                const MappingProblemOptions& options) {
  if (model == "maestro" || model.starts_with(kExternalPrefix)) {
    if (!accelerator.pe_array) return MissingPart(accelerator, model, "pe_array");
    const bool head = options.model.maestro.version == MaestroVersion::kHead;
    const bool strict = options.model.maestro.legality == MaestroLegality::kStrict;
    Result<std::unique_ptr<MaestroSpace>> space =
        MaestroSpace::Make(layer, *accelerator.pe_array,
                           {.sizes = options.sizes,
                            .decide_pes = options.decide_pes,
                            .kernel_tiles = !head,
                            .parallel_kernel = head && KernelTooLarge(layer, *accelerator.pe_array),
                            .strided_tiles = !strict,
                            .constraints = options.constraints});
    if (!space) return space.error();
    return std::unique_ptr<MappingSpace>(*std::move(space));
  }
  if (!accelerator.hierarchy) return MissingPart(accelerator, model, "hierarchy");
  const Result<LoopProblem> problem = MakeLoopProblem(layer);
  if (!problem) return problem.error();
  // Under Timeloop's rules neighbours always hand words on.
  const bool exact = options.model.loopnest.semantics == loopnest::Semantics::kExact;
  const SpatialOrders spatial_orders =
      exact ? SpatialOrders::kWhereTheyMatter : SpatialOrders::kAlways;
  Result<std::unique_ptr<LoopSpace>> space = LoopSpace::Make(*problem, *accelerator.hierarchy,
                                                             {.decide_keep = options.decide_keep,
                                                              .spatial_orders = spatial_orders,
                                                              .store_holes = !exact,
                                                              .constraints = options.constraints});
  if (!space) return space.error();
  return std::unique_ptr<MappingSpace>(*std::move(space));
}

double ExcessOf(const Violation& violation) {
  if (violation.excess > 0) return violation.excess;
  constexpr double kFar = 128;  // where the broken rule is not about a size
  if (violation.limit <= 0 || violation.have <= violation.limit) return kFar;
  return std::log2(violation.have / violation.limit);
}

int32_t TranslatedIndex(const Decision& from, int32_t index, const Decision& to) {
  if (from.kind() != to.kind()) return 0;
  switch (to.kind()) {
    case DecisionKind::kOrdinal: {
      // Sizes scale with the dimension: the whole of one becomes the whole of the other.
      if (index + 1 == from.size()) return to.size() - 1;
      return to.Nearest(static_cast<double>(from.value(index)));
    }
    case DecisionKind::kCategorical: {
      const Result<int32_t> same = to.Parse(from.Label(index));
      return same ? *same : 0;
    }
    case DecisionKind::kPermutation: break;
  }
  // Items that both have keep their order; those that only `to` has follow.
  const Permutation order = from.OrderAt(index);
  Permutation translated;
  std::vector<bool> placed(to.labels().size());
  const auto place = [&](size_t item) {
    translated.items[translated.size++] = static_cast<uint8_t>(item);
    placed[item] = true;
  };
  for (const uint8_t item : order.order()) {
    const auto found = std::find(to.labels().begin(), to.labels().end(), from.labels()[item]);
    if (found != to.labels().end()) place(static_cast<size_t>(found - to.labels().begin()));
  }
  for (size_t item = 0; item < placed.size(); ++item) {
    if (!placed[item]) place(item);
  }
  return to.IndexOfOrder(translated);
}

}  // namespace

Result<Objective> FindObjective(std::string_view name) {
  const auto found = std::find(kObjectiveNames.begin(), kObjectiveNames.end(), name);
  if (found != kObjectiveNames.end()) {
    return static_cast<Objective>(found - kObjectiveNames.begin());
  }
  return Error{.kind = ErrorKind::kUsage,
               .message = fmt::format("unknown objective {}", Quoted(name)),
               .hint = DidYouMean(name, kObjectiveNames)};
}

std::string_view ToString(Objective objective) {
  return kObjectiveNames[static_cast<size_t>(objective)];
}

double ValueOf(const Cost& cost, Objective objective) {
  switch (objective) {
    case Objective::kLatency: return static_cast<double>(cost.cycles);
    case Objective::kEnergy: return cost.energy_pj;
    case Objective::kEdp: return cost.edp();
    case Objective::kPower: return cost.power_mw;
    case Objective::kArea: return cost.area_um2;
  }
  return 0;
}

Result<std::unique_ptr<MappingProblem>> MappingProblem::Make(const Layer& layer,
                                                             const Accelerator& accelerator,
                                                             std::string_view model,
                                                             const MappingProblemOptions& options) {
  const bool external = model.starts_with(kExternalPrefix);
  const Result<const CostModelInfo*> info = FindCostModel(external ? "maestro" : model);
  if (!info) return info.error();
  Result<std::unique_ptr<MappingSpace>> space = MakeSpace(layer, accelerator, model, options);
  if (!space) return space.error();
  std::unique_ptr<MappingProblem> problem(new MappingProblem(*std::move(space), options));
  problem->macs_ = Macs(layer);
  problem->num_pes_ = accelerator.pe_array ? accelerator.pe_array->num_pes : 1;
  if (model == "loopnest") {
    problem->loopnest_ = {.problem = *MakeLoopProblem(layer), .hierarchy = *accelerator.hierarchy};
  }
  problem->pes_decision_ = problem->space_->Find("num_pe");
  if (external) {
    ExternalOptions program = options.external;
    program.command = model.substr(kExternalPrefix.size());
    Result<ExternalModel> made = ExternalModel::Make(
        layer, *accelerator.pe_array, options.model.maestro.version, std::move(program));
    if (!made) return made.error();
    problem->external_ = *std::move(made);
    return problem;
  }
  const bool decided = problem->pes_decision_ < problem->space_->size();
  const Decision* pes = decided ? &problem->space_->decisions()[problem->pes_decision_] : nullptr;
  for (int32_t i = 0; i < (decided ? pes->size() : 1); ++i) {
    Accelerator machine = accelerator;
    if (decided) machine.pe_array->num_pes = pes->value(i);
    Result<std::unique_ptr<CostModel>> made = (*info)->make(layer, machine, options.model);
    if (!made) return made.error();
    problem->models_.push_back(*std::move(made));
  }
  return problem;
}

const CostModel& MappingProblem::ModelAt(const Point& point) const {
  return models_.size() == 1 ? *models_[0] : *models_[static_cast<size_t>(point[pes_decision_])];
}

int64_t MappingProblem::PesAt(const Point& point) const {
  if (pes_decision_ == space_->size()) return num_pes_;
  return space_->decisions()[pes_decision_].value(point[pes_decision_]);
}

std::unique_ptr<Problem::Workspace> MappingProblem::MakeWorkspace() const {
  if (external_) return std::make_unique<Workspace>();
  // Models of one kind differ only in the number of PEs, which a workspace does not depend on.
  return std::make_unique<MappingWorkspace>(models_.front()->MakeWorkspace());
}

Outcome MappingProblem::OutcomeOf(const Cost& cost) const {
  return {.kind = OutcomeKind::kFeasible,
          .value = ValueOf(cost, options_.objective),
          .cycles = static_cast<double>(cost.cycles),
          .energy_pj = cost.energy_pj,
          .power_mw = cost.power_mw,
          .area_um2 = cost.area_um2};
}

Outcome MappingProblem::Evaluate(const Point& point, Workspace& workspace) const {
  if (external_) {
    ThreadPool pool(1);
    Trial trial{.point = point};
    EvaluateBatch(std::span(&trial, 1), pool);
    return std::move(trial.outcome);
  }
  if (const Result<void> legal = space_->Check(point); !legal) {
    return Outcome::Infeasible(legal.error().message);
  }
  const CostModel& model = ModelAt(point);
  const Cost cost =
      model.Evaluate(space_->Decode(point), *static_cast<MappingWorkspace&>(workspace).model);
  if (!cost.feasible()) {
    return Outcome::Infeasible(model.Describe(cost.violation).message, ExcessOf(cost.violation));
  }
  return OutcomeOf(cost);
}

bool MappingProblem::EvaluateBatch(std::span<Trial> trials, ThreadPool& pool) const {
  if (!external_) return false;
  std::vector<ExternalModel::Request> requests;
  std::vector<Trial*> asked;
  for (Trial& trial : trials) {
    if (const Result<void> legal = space_->Check(trial.point); !legal) {
      trial.outcome = Outcome::Infeasible(legal.error().message);
      continue;
    }
    requests.push_back({.dataflow = std::get<Dataflow>(space_->Decode(trial.point)),
                        .num_pes = PesAt(trial.point)});
    asked.push_back(&trial);
  }
  const std::vector<Result<Cost>> costs = external_->Evaluate(requests, pool);
  for (size_t i = 0; i < asked.size(); ++i) {
    if (costs[i]) {
      asked[i]->outcome = OutcomeOf(*costs[i]);
    } else if (costs[i].error().kind == ErrorKind::kInfeasible) {
      asked[i]->outcome = Outcome::Infeasible(costs[i].error().message);
    } else {
      asked[i]->outcome = Outcome::Failed(costs[i].error().message);
    }
  }
  return true;
}

Cost MappingProblem::CostOf(const Trial& trial) const {
  if (!external_) {
    const CostModel& model = ModelAt(trial.point);
    return model.Evaluate(space_->Decode(trial.point), *model.MakeWorkspace());
  }
  Cost cost{.cycles = static_cast<int64_t>(trial.outcome.cycles),
            .macs = macs_,
            .energy_pj = trial.outcome.energy_pj,
            .power_mw = trial.outcome.power_mw,
            .area_um2 = trial.outcome.area_um2};
  if (cost.cycles > 0) {
    cost.utilization = static_cast<double>(macs_) /
                       (static_cast<double>(cost.cycles) * static_cast<double>(num_pes_));
  }
  return cost;
}

Point Translate(const DecisionSpace& from, const Point& point, const DecisionSpace& to) {
  Point translated(to.size());
  for (size_t i = 0; i < to.size(); ++i) {
    const size_t source = from.Find(to.decisions()[i].name());
    if (source == from.size()) continue;
    translated[i] = TranslatedIndex(from.decisions()[source], point[source], to.decisions()[i]);
  }
  to.Repair(translated);
  return translated;
}

}  // namespace tessera
