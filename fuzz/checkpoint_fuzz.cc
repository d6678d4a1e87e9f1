// Checkpoints: any bytes are refused, or training goes on from them. The first byte chooses the
// learner.
#include <cstddef>
#include <cstdint>

#include "input_file.h"
#include "tessera/base/check.h"
#include "tessera/base/tensor_file.h"
#include "tessera/rl/trainer.h"
#include "tessera/training/config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  if (size == 0) return 0;
  const Result<TensorReader> reader = TensorReader::Open(InputFile(data + 1, size - 1));
  if (!reader) return 0;
  const bool on_policy = data[0] % 2 == 1;
  TrainingConfig config{.env = "cooperative_navigation", .env_settings = {{"agents", "2"}}};
  config.algorithm = on_policy ? "mappo" : "maddpg";
  config.settings = on_policy
                        ? Assignments{{"hidden", "4"}, {"layers", "1"}, {"steps", "4"}}
                        : Assignments{{"hidden", "4"},    {"layers", "1"}, {"batch", "4"},
                                      {"capacity", "16"}, {"warmup", "4"}, {"update_every", "4"}};
  Result<Training> training = MakeTraining(config, /*threads=*/1, nullptr);
  TESSERA_CHECK(training.ok());
  Trainer trainer(*training->env, *training->learner, nullptr, {.window = 2});
  trainer.Start(1);
  if (!trainer.Load(*reader)) return 0;
  for (int step = 0; step < 10 && trainer.Step(); ++step) {
  }
  return 0;
}
