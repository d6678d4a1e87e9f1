// PPO, IPPO and MAPPO on the device: rollouts, networks and optimisers of all units stay there.
// rl/device_on_policy.cc makes a learner of it.
#ifndef TESSERA_CUDA_ON_POLICY_ENGINE_H_
#define TESSERA_CUDA_ON_POLICY_ENGINE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tessera/cuda/device.h"
#include "tessera/cuda/off_policy_engine.h"
#include "tessera/result.h"

namespace tessera::cuda {

class WorldBatch;

// An agent's choice among the outputs of its unit's policy.
struct PolicyHeadSpec {
  int32_t output = 0, choices = 0;  // the first of them, and how many
  int32_t action = 0;               // its first number among the actions of all agents
  bool one_hot = false;             // the action is a vector with a one, else the choice's index
};

struct OnPolicySpec {
  int units = 0, lanes = 1, steps = 128, epochs = 4, minibatches = 4;
  int observed = 0, actions = 0;           // numbers of all agents
  std::vector<int32_t> basis = {};         // what networks read of what is observed: features
  std::vector<NetSpec> nets = {};          // actors, then critics, on those features
  std::vector<PolicyHeadSpec> heads = {};  // of all agents
  std::vector<int32_t> head_first = {};    // [units + 1]: the units' agents
  double gamma = 0.99, lambda = 0.95, clip = 0.2, entropy = 0.01, clip_norm = 0.5, epsilon = 1e-5;
  bool normalize = true;
  double advantage_floor = 1e-8;
  Precision precision = Precision::kFp32;
  uint64_t seed = 1;

  int64_t rows() const { return int64_t{steps} * lanes; }
};

// A rollout as a whole, rows of step * lanes + lane.
struct RolloutImage {
  std::span<float> observations, next_observations;  // [rows x observed]
  std::span<float> chosen, rewards;                  // [rows x agents], [rows x units]
  std::span<uint8_t> ends;                           // [rows], EpisodeEnd
};

// Contract:
//   Threads      used by one thread at a time.
//   Determinism  the same bits for the same calls on the same kind of device; equal to the host's
//                learner up to rounding.
//   Errors       whatever the device reports; after one the engine must not be used again.
class OnPolicyEngine {
 public:
  // Errors: no device; too little memory; sizes that the kernels do not have.
  static Result<std::unique_ptr<OnPolicyEngine>> Make(const OnPolicySpec& spec);
  virtual ~OnPolicyEngine() = default;

  // Networks as in OnPolicySpec::nets; images have no target.
  virtual Result<void> SetNet(int net, const NetImage& from) = 0;
  virtual Result<void> GetNet(int net, const NetImage& to) = 0;
  virtual Result<void> SetRollout(const RolloutImage& from) = 0;
  virtual Result<void> GetRollout(const RolloutImage& to) = 0;
  // Times that all have acted with noise, and steps of the rollout so far.
  virtual Result<void> SetCounters(int64_t acts, int64_t step) = 0;

  // ---- With environments on the host ----------------------------------------------------------

  // With `explore` choices go to the rollout, to the step that Append completes.
  virtual Result<void> Act(int64_t rows, std::span<const float> observations, bool explore,
                           std::span<float> actions) = 0;
  // One step of every lane; rewards are [lanes x units].
  virtual Result<void> Append(std::span<const float> now, std::span<const float> next,
                              std::span<const float> rewards, std::span<const uint8_t> ends) = 0;

  // ---- With worlds on the device --------------------------------------------------------------

  // `steps` steps of all worlds: act, step, store, start anew where an episode ends; then an update
  // if an order of rows is given. Returns as soon as the work is under way.
  virtual Result<void> PlaySteps(WorldBatch& worlds, int64_t steps,
                                 std::span<const int32_t> order) = 0;

  // ---- Updates --------------------------------------------------------------------------------

  // Starts the update of all units with the whole rollout; the next one begins. `order`
  // [epochs x rows] says which rows are in which mini-batch.
  virtual Result<void> StartUpdate(std::span<const int32_t> order) = 0;
  // Waits for everything that was started; losses of the last update.
  virtual Result<RoundLosses> Finish() = 0;
  // Mean seconds of an update of the same rollout over `updates` that follow each other.
  virtual Result<double> MeasureUpdates(int64_t updates, std::span<const int32_t> order) = 0;
};

}  // namespace tessera::cuda

#endif  // TESSERA_CUDA_ON_POLICY_ENGINE_H_
