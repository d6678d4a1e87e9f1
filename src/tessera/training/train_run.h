// A training run from settings to result: log, checkpoints, going on after an interruption, and the
// same once more to check it.
#ifndef TESSERA_TRAINING_TRAIN_RUN_H_
#define TESSERA_TRAINING_TRAIN_RUN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/record/progress.h"
#include "tessera/record/run_directory.h"
#include "tessera/record/verification.h"
#include "tessera/training/config.h"
#include "tessera/training/training_log.h"

namespace tessera {

inline constexpr std::string_view kTrainRun = "train";
inline constexpr std::string_view kCheckpoint = "checkpoint.safetensors";

struct TrainSettings {
  TrainingConfig config = {};

  // To train, those before an interruption included. Default: 60,000.
  int64_t episodes = 60'000;

  // Between checkpoints; one is also due after ten minutes. Default: 5,000.
  int64_t checkpoint_every = 5'000;
};

// A new run, the settings of one, and other lengths for one.
Result<RunDirectory> CreateTrainRun(const std::string& path, const TrainSettings& settings,
                                    const RunOrigin& origin);
Result<TrainSettings> LoadTrainSettings(const RunDirectory& directory);
Result<void> ChangeTrainSettings(const TrainSettings& settings, RunDirectory& directory);

struct TrainHooks {
  ProgressObserver* progress = nullptr;     // may be null
  std::function<bool()> stopped = {};       // may be empty
  const RunDirectory* directory = nullptr;  // for log and checkpoints; may be null
};

struct TrainOutcome {
  TrainSettings settings = {};
  Training training = {};  // with the trained agents
  std::vector<TrainingRow> rows = {};
  int64_t episodes = 0;  // trained
  bool interrupted = false;
};

// With a directory, goes on from its checkpoint; one that was killed before the first checkpoint
// starts again. Contract: without an interruption the result is a function of the settings; with
// one it is the same in the end.
Result<TrainOutcome> Train(const TrainSettings& settings, int threads, const TrainHooks& hooks);

// Trains again from the beginning for as long as options.seconds allow and compares the rows of the
// log bit for bit, and at the end of the run the checkpoint; what was not reached is trusted.
// Returns what the folder holds.
Result<TrainOutcome> TrainAgain(const RunDirectory& directory, const VerifyOptions& options,
                                Verification& found);

}  // namespace tessera

#endif  // TESSERA_TRAINING_TRAIN_RUN_H_
