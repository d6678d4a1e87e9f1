// Spaces and models put together.
#include "tessera/space.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "tessera/part.h"
#include "tessera/space/forms.h"
#include "tessera/space/translate.h"

namespace tessera {
namespace {

class MappingWorkspace final : public Problem::Workspace {
 public:
  explicit MappingWorkspace(std::unique_ptr<CostModel::Workspace> made) : model(std::move(made)) {}
  const std::unique_ptr<CostModel::Workspace> model;
};

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

// A unit does at most one MAC in a cycle. Models that say nothing of cycles price something else.
Result<void> CheckWork(const Cost& cost, int64_t macs_of_layer, int64_t units) {
  if (cost.cycles == 0) return {};
  const int64_t macs = cost.macs > 0 ? cost.macs : macs_of_layer;
  // Whole cycles may be rounded either way.
  const double least = std::floor(static_cast<double>(macs) / static_cast<double>(units));
  if (static_cast<double>(cost.cycles) >= least) return {};
  return Error{.kind = ErrorKind::kBadValue,
               .message = fmt::format("'cycles' of the answer is {}, but {} MACs on {} units take "
                                      "at least {}; 'macs' says how many are left where some are "
                                      "skipped",
                                      cost.cycles, macs, units, least)};
}

}  // namespace

Result<std::unique_ptr<MappingProblem>> MappingProblem::Make(const Layer& layer,
                                                             const Accelerator& accelerator,
                                                             const CostModelChoice& model,
                                                             const MappingProblemOptions& options) {
  const MappingForm form = model.info().form;
  if (Result<void> suits = CheckMachine(form, model.ToString(), accelerator); !suits) {
    return suits.error();
  }
  Result<std::unique_ptr<MappingSpace>> space = MakeMappingSpace(
      form, layer, accelerator, model->RulesFor(layer, accelerator), options.space);
  if (!space) return space.error();
  std::unique_ptr<MappingProblem> problem(new MappingProblem(*std::move(space), model, options));
  problem->macs_ = Macs(layer);
  problem->array_ = accelerator.pe_array;
  problem->num_pes_ = form == MappingForm::kLoops ? accelerator.hierarchy->arithmetic.instances()
                                                  : accelerator.pe_array->num_pes;
  if (form == MappingForm::kLoops) {
    problem->loops_ = {.problem = *MakeLoopProblem(layer), .hierarchy = *accelerator.hierarchy};
  }
  if (Result<void> made = problem->MakeModels(layer, accelerator); !made) return made.error();
  return problem;
}

Result<void> MappingProblem::MakeModels(const Layer& layer, const Accelerator& accelerator) {
  Result<std::unique_ptr<BatchModel>> batch = model_->MakeBatch(layer, accelerator);
  if (!batch) return batch.error();
  batch_ = *std::move(batch);
  if (batch_ != nullptr) return {};
  const size_t decision = space_->pes_decision();
  const bool decided = decision < space_->size();
  const Decision* pes = decided ? &space_->decisions()[decision] : nullptr;
  for (int32_t i = 0; i < (decided ? pes->size() : 1); ++i) {
    Accelerator machine = accelerator;
    if (decided) machine.pe_array->num_pes = pes->value(i);
    Result<std::unique_ptr<CostModel>> made = model_->Make(layer, machine);
    if (!made) return made.error();
    models_.push_back(*std::move(made));
  }
  return {};
}

const CostModel& MappingProblem::ModelAt(const Point& point) const {
  if (models_.size() == 1) return *models_.front();
  return *models_[static_cast<size_t>(point[space_->pes_decision()])];
}

int64_t MappingProblem::PesAt(const Point& point) const {
  const size_t decision = space_->pes_decision();
  if (decision == space_->size()) return num_pes_;
  return space_->decisions()[decision].value(point[decision]);
}

std::unique_ptr<Problem::Workspace> MappingProblem::MakeWorkspace() const {
  if (batch_ != nullptr) return std::make_unique<Workspace>();
  // Models of one kind differ only in the number of PEs, which a workspace does not depend on.
  return std::make_unique<MappingWorkspace>(models_.front()->MakeWorkspace());
}

Outcome MappingProblem::OutcomeOf(const Cost& cost) const {
  if (const std::optional<Objective> broken = options_.limits.Broken(cost)) {
    const double have = ValueOf(cost, *broken), most = options_.limits.Of(*broken);
    const std::string_view key = kObjectiveKeys[static_cast<size_t>(*broken)];
    return Outcome::Infeasible(fmt::format("{} {} <= {}", key, have, most), std::log2(have / most));
  }
  return {.kind = OutcomeKind::kFeasible,
          .value = ValueOf(cost, options_.objective),
          .cycles = static_cast<double>(cost.cycles),
          .energy_pj = cost.energy_pj,
          .power_mw = cost.power_mw,
          .area_um2 = cost.area_um2};
}

bool MappingProblem::Better(const Outcome& a, const Outcome& b) const {
  if (a.value != b.value) return a.value < b.value;
  const auto value = [](const Outcome& outcome, Objective objective) {
    const std::array<double, 5> values = {outcome.cycles, outcome.energy_pj,
                                          outcome.cycles * outcome.energy_pj, outcome.power_mw,
                                          outcome.area_um2};
    return values[static_cast<size_t>(objective)];
  };
  for (const Objective objective : options_.ties) {
    const double left = value(a, objective), right = value(b, objective);
    if (left != right) return left < right;
  }
  return false;
}

Outcome MappingProblem::Evaluate(const Point& point, Workspace& workspace) const {
  if (batch_ != nullptr) {
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
  if (batch_ == nullptr) return false;
  std::vector<BatchModel::Request> requests;
  std::vector<Trial*> asked;
  for (Trial& trial : trials) {
    if (const Result<void> legal = space_->Check(trial.point); !legal) {
      trial.outcome = Outcome::Infeasible(legal.error().message);
      continue;
    }
    requests.push_back({.mapping = space_->Decode(trial.point), .num_pes = PesAt(trial.point)});
    asked.push_back(&trial);
  }
  const std::vector<Result<Cost>> costs = batch_->Evaluate(requests, pool);
  for (size_t i = 0; i < asked.size(); ++i) {
    if (costs[i]) {
      const Result<void> possible = CheckWork(*costs[i], macs_, requests[i].num_pes);
      asked[i]->outcome =
          possible ? OutcomeOf(*costs[i]) : Outcome::Failed(possible.error().message);
    } else if (costs[i].error().kind == ErrorKind::kInfeasible) {
      asked[i]->outcome = Outcome::Infeasible(costs[i].error().message);
    } else {
      asked[i]->outcome = Outcome::Failed(costs[i].error().message);
    }
  }
  return true;
}

Cost MappingProblem::CostOf(const Trial& trial) const {
  if (batch_ == nullptr) {
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
