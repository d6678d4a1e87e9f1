// The problem that mappers solve: a layer on an accelerator, what its mappings cost under a model,
// and which of the costs is to be small.
#ifndef TESSERA_SPACE_MAPPING_PROBLEM_H_
#define TESSERA_SPACE_MAPPING_PROBLEM_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/arch/accelerator.h"
#include "tessera/base/result.h"
#include "tessera/cost/cost.h"
#include "tessera/cost/cost_model.h"
#include "tessera/cost/models.h"
#include "tessera/mapping/loop_problem.h"
#include "tessera/space/constraints.h"
#include "tessera/space/forms.h"
#include "tessera/space/mapping_space.h"
#include "tessera/space/problem.h"
#include "tessera/workload/layer.h"

namespace tessera {

// Lower is better: cycles, pJ, pJ * cycles, mW, um^2.
enum class Objective : uint8_t { kLatency, kEnergy, kEdp, kPower, kArea };
inline constexpr std::array<std::string_view, 5> kObjectiveNames = {"latency", "energy", "edp",
                                                                    "power", "area"};
Result<Objective> FindObjective(std::string_view name);
std::string_view ToString(Objective objective);
double ValueOf(const Cost& cost, Objective objective);

struct MappingProblemOptions {
  Objective objective = Objective::kLatency;  // Default: kLatency.
  SpaceOptions space = {};
};

class MappingProblem final : public Problem {
 public:
  // Errors: layers or machines that the model cannot take, constraints that leave nothing.
  static Result<std::unique_ptr<MappingProblem>> Make(const Layer& layer,
                                                      const Accelerator& accelerator,
                                                      const CostModelChoice& model,
                                                      const MappingProblemOptions& options = {});

  const MappingSpace& space() const override { return *space_; }
  std::unique_ptr<Workspace> MakeWorkspace() const override;
  using Problem::Evaluate;
  Outcome Evaluate(const Point& point, Workspace& workspace) const override;
  bool EvaluateBatch(std::span<Trial> trials, ThreadPool& pool) const override;

  // Everything that is known about a feasible trial. A model that prices by the batch is not asked
  // again.
  Cost CostOf(const Trial& trial) const;

  Objective objective() const { return options_.objective; }
  const MappingProblemOptions& options() const { return options_; }
  const CostModelChoice& model() const { return model_; }

  // What is mapped, where mappings are loops; null otherwise.
  struct LoopForm {
    LoopProblem problem = {};
    Hierarchy hierarchy = {};
  };
  const LoopForm* loops() const { return loops_ ? &*loops_ : nullptr; }

 private:
  MappingProblem(std::unique_ptr<MappingSpace> space, CostModelChoice model,
                 MappingProblemOptions options)
      : space_(std::move(space)), model_(std::move(model)), options_(std::move(options)) {}

  Result<void> MakeModels(const Layer& layer, const Accelerator& accelerator);

  // The model at a point; it depends on the point only where the number of PEs is decided.
  const CostModel& ModelAt(const Point& point) const;
  int64_t PesAt(const Point& point) const;
  Outcome OutcomeOf(const Cost& cost) const;

  std::unique_ptr<MappingSpace> space_;
  CostModelChoice model_;
  MappingProblemOptions options_;
  std::optional<LoopForm> loops_ = {};
  std::vector<std::unique_ptr<CostModel>> models_;  // one, or one per number of PEs
  std::unique_ptr<BatchModel> batch_ = nullptr;     // instead of models
  int64_t macs_ = 0, num_pes_ = 1;
};

// A point of one space as a point of another: decisions by name take the same or the nearest value,
// those that only `to` has take their first; then repaired. For good mappings of similar layers.
Point Translate(const DecisionSpace& from, const Point& point, const DecisionSpace& to);

}  // namespace tessera

#endif  // TESSERA_SPACE_MAPPING_PROBLEM_H_
