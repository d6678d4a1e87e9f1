// Which environment, which algorithm and which settings: what agents are trained from, as data that
// goes to a file and comes back.
#ifndef TESSERA_TRAINING_CONFIG_H_
#define TESSERA_TRAINING_CONFIG_H_

#include <cstdint>
#include <memory>
#include <string>

#include "tessera/base/document.h"
#include "tessera/base/parameter.h"
#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/rl/env.h"
#include "tessera/rl/learner.h"

namespace tessera {

inline constexpr int64_t kMostEnvs = 1 << 20;

// Everything that a run's result and its log depend on, but for its length.
struct TrainingConfig {
  std::string env = "predator_prey";
  Assignments env_settings = {};
  std::string algorithm = "maddpg";
  std::string preset = {};  // empty: the algorithm's first
  Assignments settings = {};
  int64_t envs = 1;
  uint64_t seed = 1;
  int64_t report_every = 1'000;  // episodes between rows of the log, and behind each of its means

  friend bool operator==(const TrainingConfig&, const TrainingConfig&) = default;
};

// As a JSON object, and back; unknown keys and wrong types are errors with their place.
std::string ToJsonText(const TrainingConfig& config);
Result<TrainingConfig> ReadTrainingConfig(const Node& node);

struct Training {
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<Env> env;
  std::unique_ptr<Learner> learner;
};

// threads = 0 takes one per core.
Result<Training> MakeTraining(const TrainingConfig& config, int64_t threads, Profiler* profiler);

}  // namespace tessera

#endif  // TESSERA_TRAINING_CONFIG_H_
