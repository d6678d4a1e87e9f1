// The mapping of a layer as an environment of reinforcement learning, after the paper: an action is
// a mapping, the observation is what it costs as <latency, power, energy, area>, the reward is high
// where the objective is low. What follows an action does not depend on what came before.
#ifndef TESSERA_ENV_MAPPING_MAPPING_ENV_H_
#define TESSERA_ENV_MAPPING_MAPPING_ENV_H_

#include <cstdint>
#include <memory>
#include <string>

#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/rl/env.h"
#include "tessera/space/mapping_problem.h"

namespace tessera {

enum class MappingReward : uint8_t {
  kInverse,  // reference / objective: 1 for the reference mapping, more for better ones
  kLog,      // log10(reference / objective)
};

enum class MappingAgents : uint8_t {
  kEach,  // one agent per decision with more than one value, each with one choice
  kOne,   // one agent with a vector of numbers, -1 to 1 for the first to the last value
};

struct MappingEnvOptions {
  MappingReward reward = MappingReward::kInverse;  // Default: kInverse.
  MappingAgents agents = MappingAgents::kEach;     // Default: kEach.

  // Reward of mappings that the model refuses. Default: -1, as in ArchGym.
  double penalty = -1;

  // Whether illegal combinations are repaired; otherwise they are refused. Default: true.
  bool repair = true;

  // Steps of an episode. Default: 100, as in ArchGym.
  int64_t horizon = 100;
};

// Observations are log10 of the costs over those of a reference mapping, the first feasible one of
// a fixed random sequence; zeros after a reset and for refused mappings. Errors: no reference.
Result<std::unique_ptr<Env>> MakeMappingEnv(std::shared_ptr<const MappingProblem> problem,
                                            const MappingEnvOptions& options, int64_t batch,
                                            ThreadPool* pool);

}  // namespace tessera

#endif  // TESSERA_ENV_MAPPING_MAPPING_ENV_H_
