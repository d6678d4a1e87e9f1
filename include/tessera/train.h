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
#include <optional>
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
// The returns of so many episodes are kept for the means of the log.
inline constexpr int64_t kMostReportEvery = 10'000'000;

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
Result<Training> MakeTraining(const TrainingConfig& config, int64_t threads, Profiler* profiler,
                              Device device = Device::kCpu);

// ---- Training ----------------------------------------------------------------------------------

struct TrainingRow {
  TrainProgress progress = {};
  // Of wall clock since this sitting began; none for rows of earlier ones.
  std::optional<double> seconds = std::nullopt;
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

// A new run, the settings of one, and other lengths for one. Files of the environment are copied
// into the folder, and its settings name the copies.
Result<RunDirectory> CreateTrainRun(const std::string& path, const TrainSettings& settings,
                                    const RunOrigin& origin);
Result<TrainSettings> LoadTrainSettings(const RunDirectory& directory);
Result<void> ChangeTrainSettings(const TrainSettings& settings, RunDirectory& directory);

// The config of a run as MakeTraining takes it, with the copies where the folder is now. Errors:
// files that are none of the run's inputs.
Result<TrainingConfig> ConfigInFolder(const RunDirectory& directory, const TrainingConfig& config);

struct TrainOutcome {
  TrainSettings settings = {};
  std::shared_ptr<Profiler> profiler = {};  // of this sitting, on the processor; the learner's
  Training training = {};                   // with the trained agents
  std::vector<TrainingRow> rows = {};
  int64_t episodes = 0;  // trained
  bool interrupted = false;
};

// With a directory, goes on from its checkpoint; one that was killed before the first checkpoint
// starts again. Contract: without an interruption the result is a function of the settings; with
// one it is the same in the end. A run may go on on another device: its result is then the same up
// to rounding.
Result<TrainOutcome> Train(const TrainSettings& settings, int threads = 0,
                           const RunHooks& hooks = {}, Device device = Device::kCpu);

// ---- Where training time goes ------------------------------------------------------------------

// How a batch is drawn from replay; a setting `sampler` of algorithms that have replay.
struct ReplaySampler {
  std::string_view name;
  std::string_view summary;
  std::string_view distribution;  // of the rows of a batch, in a sentence
  bool changes_distribution = false;
  std::vector<ParameterInfo> parameters = {};
};
std::vector<ReplaySampler> ReplaySamplers();

// What this machine can do at most, on one thread: the yardstick of profiles. Takes about a tenth
// of a second and 256 MiB.
struct MachineSpeed {
  double memcpy_gb_per_s = 0;  // copied, from memory to memory
  double fma_gflop_per_s = 0;  // single precision
};
MachineSpeed MeasureMachine();

// Whether profiles have cache and TLB misses; the error says why not (a virtual machine, a
// setting).
Result<void> HasHardwareCounters();

struct ProfileOptions {
  // Transitions in replay before the first measured round. Default: 100'000.
  int64_t fill = 100'000;

  // Update rounds that are measured, after one that is not. Default: 5.
  int64_t rounds = 5;

  // Default: 1.
  uint64_t seed = 1;

  // Whether seconds are those of the processor, of all threads, not of the clock on the wall: what
  // other programs take in between does not count. Not with a device. Default: false.
  bool processor_time = false;

  // A model of caches and TLB, of SimulatedMachines, that counts what sampling misses: the same on
  // every machine. Default: empty, nothing is simulated.
  std::string caches = {};
};

// Models of caches by name, the default first.
struct SimulatedMachine {
  std::string_view name;
  std::string_view summary;
};
std::vector<SimulatedMachine> SimulatedMachines();

// What the sampling of one update round touches, and misses at each level.
struct SimulatedMisses {
  int64_t accesses = 0;  // lines of L1
  int64_t l1 = 0, l2 = 0, last_level = 0, dtlb = 0;
};
inline constexpr int64_t kProfileStepsPerRound = 100;  // of the environment

struct PhaseTotals {
  double seconds = 0;
  int64_t bytes = 0;  // read and written by copies of replay data
  int64_t flops = 0;
  int64_t cache_misses = 0, dtlb_misses = 0;  // if there are hardware counters
};

// Each phase in the round in which it was fastest, because whatever else a machine does can only
// make a phase slower.
struct TrainingProfile {
  PhaseTotals environment, acting, sampling, target_q, q_loss, p_loss, other;
  std::optional<SimulatedMisses> simulated = {};
  double update_seconds = 0;    // update all trainers
  double training_seconds = 0;  // everything but the environment
};

// Measures the phases of an algorithm that has replay; random play fills it first.
Result<TrainingProfile> ProfileTraining(const TrainingConfig& config,
                                        const ProfileOptions& options = {}, int threads = 1,
                                        Device device = Device::kCpu);

}  // namespace tessera

#endif  // TESSERA_TRAIN_H_
