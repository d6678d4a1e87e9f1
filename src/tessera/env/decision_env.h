// Any problem of search as an environment of reinforcement learning, after the mapping paper: an
// action is a point, the observation is what it costs as <latency, power, energy, area>, the reward
// is high where the objective is low. What follows an action does not depend on what came before.
#ifndef TESSERA_ENV_DECISION_ENV_H_
#define TESSERA_ENV_DECISION_ENV_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tessera/env.h"
#include "tessera/env/decision_agents.h"
#include "tessera/part.h"
#include "tessera/result.h"
#include "tessera/space.h"

namespace tessera {

enum class CostReward : uint8_t {
  kInverse,  // reference / objective: 1 for the reference point, more for better ones
  kLog,      // log10(reference / objective)
};

struct DecisionEnvOptions {
  CostReward reward = CostReward::kInverse;  // Default: kInverse.

  // Who decides what: a list of decisions for every agent. Default: empty, one for each decision
  // with more than one value.
  DecisionGroups agents = {};

  // How they act; groups of several decisions act by vectors. Default: kChoice.
  ActionForm form = ActionForm::kChoice;

  // Reward of points that are not feasible. Default: -1, as in ArchGym.
  double penalty = -1;

  // Whether illegal combinations are repaired; otherwise they are refused. Default: true.
  bool repair = true;

  // Steps of an episode. Default: 100, as in ArchGym.
  int64_t horizon = 100;

  // Of the spec. Default: "mapping".
  std::string name = "mapping";

  // What Env::Found says of the best feasible point, which was the `step`-th of its environment.
  // May be empty. Default: empty.
  std::function<std::shared_ptr<FoundMapping>(const Trial& best, int64_t step)> describe = {};
};

// The reference of a problem: what the first feasible point of a fixed random sequence costs.
// Errors: none of the points tried is feasible, or an evaluation failed.
inline constexpr int64_t kReferenceTries = 10'000;
Result<Outcome> FindReference(const Problem& problem, int64_t tries = kReferenceTries);

// Observations are log10 of the costs over those of a reference point, the first feasible one of a
// fixed random sequence; zeros after a reset and for infeasible points. Errors: no reference.
Result<std::unique_ptr<Env>> MakeDecisionEnv(std::shared_ptr<const Problem> problem,
                                             const DecisionEnvOptions& options, int64_t batch,
                                             ThreadPool* pool);

}  // namespace tessera

#endif  // TESSERA_ENV_DECISION_ENV_H_
