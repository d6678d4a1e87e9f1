// The trainings that checkpoint_fuzz loads into, and that its seeds are from: as small as they get.
#ifndef TESSERA_FUZZ_SMALL_TRAINING_H_
#define TESSERA_FUZZ_SMALL_TRAINING_H_

#include "tessera/training/config.h"

namespace tessera {

inline TrainingConfig SmallTraining(bool on_policy) {
  TrainingConfig config{.env = "cooperative_navigation", .env_settings = {{"agents", "2"}}};
  config.algorithm = on_policy ? "mappo" : "maddpg";
  config.settings = on_policy
                        ? Assignments{{"hidden", "4"}, {"layers", "1"}, {"steps", "4"}}
                        : Assignments{{"hidden", "4"},    {"layers", "1"}, {"batch", "4"},
                                      {"capacity", "16"}, {"warmup", "4"}, {"update_every", "4"}};
  return config;
}

}  // namespace tessera

#endif  // TESSERA_FUZZ_SMALL_TRAINING_H_
