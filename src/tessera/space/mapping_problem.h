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
#include "tessera/space/constraints.h"
#include "tessera/space/external_model.h"
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
  CostModelOptions model = {};

  // Limits of the program of model `exec:COMMAND`; its command is in the model's name.
  ExternalOptions external = {};

  // Tile sizes of model `maestro`; `loopnest` has perfect factors only. Default: kDivisors.
  TileSizes sizes = TileSizes::kDivisors;

  // Model `maestro`: whether the number of PEs is a decision. Default: false.
  bool decide_pes = false;

  // Model `loopnest`: whether bypassing a level is a decision. Default: false.
  bool decide_keep = false;

  Constraints constraints = {};
};

class MappingProblem final : public Problem {
 public:
  // `model` is a name of cost/models.h, or exec:COMMAND, whose program prices dataflows.
  // Errors: unknown models, layers or machines that the model cannot take, constraints that leave
  // nothing.
  static Result<std::unique_ptr<MappingProblem>> Make(const Layer& layer,
                                                      const Accelerator& accelerator,
                                                      std::string_view model,
                                                      const MappingProblemOptions& options = {});

  const MappingSpace& space() const override { return *space_; }
  std::unique_ptr<Workspace> MakeWorkspace() const override;
  using Problem::Evaluate;
  Outcome Evaluate(const Point& point, Workspace& workspace) const override;
  bool EvaluateBatch(std::span<Trial> trials, ThreadPool& pool) const override;

  // Everything that is known about a feasible trial. A program of the user's is not asked again.
  Cost CostOf(const Trial& trial) const;

  Objective objective() const { return options_.objective; }

 private:
  MappingProblem(std::unique_ptr<MappingSpace> space, MappingProblemOptions options)
      : space_(std::move(space)), options_(std::move(options)) {}

  // The model at a point; it depends on the point only where the number of PEs is decided.
  const CostModel& ModelAt(const Point& point) const;
  int64_t PesAt(const Point& point) const;
  Outcome OutcomeOf(const Cost& cost) const;

  std::unique_ptr<MappingSpace> space_;
  MappingProblemOptions options_;
  size_t pes_decision_ = 0;                         // size() of the space: not decided
  std::vector<std::unique_ptr<CostModel>> models_;  // one, or one per number of PEs
  std::optional<ExternalModel> external_ = {};      // instead of models
  int64_t macs_ = 0, num_pes_ = 1;
};

// A point of one space as a point of another: decisions by name take the same or the nearest value,
// those that only `to` has take their first; then repaired. For good mappings of similar layers.
Point Translate(const DecisionSpace& from, const Point& point, const DecisionSpace& to);

}  // namespace tessera

#endif  // TESSERA_SPACE_MAPPING_PROBLEM_H_
