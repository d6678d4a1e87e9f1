// What `tessera train` and `tessera profile` have in common: the flags that choose environment,
// algorithm and settings.
#ifndef TESSERA_CLI_TRAINING_H_
#define TESSERA_CLI_TRAINING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/cli/command.h"
#include "tessera/result.h"
#include "tessera/train.h"

namespace tessera {

// The flags that make a config. An empty optional was not given.
struct TrainingFlags {
  std::optional<std::string> env, algorithm, preset, compat, sampler, replay;
  std::optional<int64_t> agents, envs;
  std::vector<std::string> settings, env_settings;
};

std::vector<Flag> MakeTrainingFlags(TrainingFlags& flags);

// --device, for commands that train. Not part of a config: a run may move between devices.
Flag MakeDeviceFlag(std::string& device);
Device DeviceOf(const std::string& name);

// `base` with the given flags in place of its values. Settings are written "name=value". An empty
// algorithm becomes one that can learn in the environment.
Result<TrainingConfig> Apply(const TrainingFlags& flags, TrainingConfig base);

}  // namespace tessera

#endif  // TESSERA_CLI_TRAINING_H_
