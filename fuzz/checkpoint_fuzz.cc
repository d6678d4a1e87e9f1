// Checkpoints: any bytes are refused, or training goes on from them. The first byte chooses the
// learner.
#include <cstddef>
#include <cstdint>

#include "input_file.h"
#include "small_training.h"
#include "tessera/part.h"
#include "tessera/result.h"
#include "tessera/rl/trainer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  if (size == 0) return 0;
  const Result<TensorReader> reader = TensorReader::Open(InputFile(data + 1, size - 1));
  if (!reader) return 0;
  Result<Training> training = MakeTraining(SmallTraining(data[0] % 2 == 1), /*threads=*/1, nullptr);
  TESSERA_CHECK(training.ok());
  Trainer trainer(*training->env, *training->learner, nullptr, {.window = 2});
  trainer.Start(1);
  if (!trainer.Load(*reader)) return 0;
  for (int step = 0; step < 10 && trainer.Step(); ++step) {
  }
  return 0;
}
