// Training: agents learn in an environment, one of Tessera's or your own (tessera/env.h).
//
//   TrainSettings settings;
//   settings.config.env = "predator_prey";
//   settings.config.algorithm = "mappo";
//   settings.episodes = 10'000;
//   const Result<TrainOutcome> trained = Train(settings);
//   if (!trained) return trained.error();
//   trained->training.learner->Act(...);
//
// The result is a function of the settings, for any number of threads.
#ifndef TESSERA_TRAIN_H_
#define TESSERA_TRAIN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/env.h"
#include "tessera/part.h"
#include "tessera/result.h"
#include "tessera/run.h"

namespace tessera {

// ---- What to train -----------------------------------------------------------------------------

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

struct Training {
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<Env> env;
  std::unique_ptr<Learner> learner;
};

// Environment and learner as a config asks for them. threads = 0 takes one per core; the profiler
// may be null.
Result<Training> MakeTraining(const TrainingConfig& config, int64_t threads, Profiler* profiler);

// ---- Training ----------------------------------------------------------------------------------

struct TrainingRow {
  TrainProgress progress = {};
  double seconds = 0;  // of wall clock since the run began, pauses left out
};

// Columns of the CSV and keys of the journal, in this order; then the clock's.
std::vector<std::string_view> TrainingColumns();
std::vector<double> TrainingValues(const TrainingRow& row);  // without seconds
inline constexpr std::string_view kSecondsColumn = "seconds";

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
Result<TrainOutcome> Train(const TrainSettings& settings, int threads = 0,
                           const RunHooks& hooks = {});

}  // namespace tessera

#endif  // TESSERA_TRAIN_H_
