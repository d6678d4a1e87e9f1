// Training that does not leave the device: worlds, acting, replay and updates are there, and the
// host looks in only when a row of the log is due.
#ifndef TESSERA_TRAINING_DEVICE_TRAINER_H_
#define TESSERA_TRAINING_DEVICE_TRAINER_H_

#include <memory>

#include "tessera/rl/trainer.h"
#include "tessera/train.h"

namespace tessera {

// The loop for a training: on the device if learner and worlds are, else step by step on the host.
// The training must outlive it. Errors: whatever the device says.
Result<std::unique_ptr<Trainer>> MakeTrainer(const Training& training,
                                             const TrainerOptions& options);

}  // namespace tessera

#endif  // TESSERA_TRAINING_DEVICE_TRAINER_H_
