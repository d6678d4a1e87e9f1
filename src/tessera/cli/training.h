// What `tessera train` and `tessera profile` have in common: which environment, which algorithm and
// which settings, from flags or from the folder of an earlier run.
#ifndef TESSERA_CLI_TRAINING_H_
#define TESSERA_CLI_TRAINING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/cli/command.h"
#include "tessera/env.h"
#include "tessera/part.h"
#include "tessera/report/json.h"
#include "tessera/result.h"
#include "tessera/rl/learner.h"

namespace tessera {

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

Json ToJson(const TrainingConfig& config);
Result<TrainingConfig> ReadTrainingConfig(const std::string& path);

// The flags that make a config. An empty optional was not given.
struct TrainingFlags {
  std::optional<std::string> env, algorithm, preset, compat, sampler, replay;
  std::optional<int64_t> agents, envs;
  std::vector<std::string> settings, env_settings;
};

std::vector<Flag> MakeTrainingFlags(TrainingFlags& flags);

// `base` with the given flags in place of its values. Settings are written "name=value".
Result<TrainingConfig> Apply(const TrainingFlags& flags, TrainingConfig base);

struct Training {
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<Env> env;
  std::unique_ptr<Learner> learner;
};

// threads = 0 takes one per core.
Result<Training> MakeTraining(const TrainingConfig& config, int64_t threads, Profiler* profiler);

}  // namespace tessera

#endif  // TESSERA_CLI_TRAINING_H_
