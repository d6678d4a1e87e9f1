// The same training once more, to check a run.
#ifndef TESSERA_TRAINING_TRAIN_RUN_H_
#define TESSERA_TRAINING_TRAIN_RUN_H_

#include "tessera/result.h"
#include "tessera/run.h"
#include "tessera/train.h"

namespace tessera {

// Trains again from the beginning for as long as options.seconds allow and compares the rows of the
// log bit for bit, and at the end of the run the checkpoint; what was not reached is trusted.
// Returns what the folder holds.
Result<TrainOutcome> TrainAgain(const RunDirectory& directory, const VerifyOptions& options,
                                Verification& found);

}  // namespace tessera

#endif  // TESSERA_TRAINING_TRAIN_RUN_H_
