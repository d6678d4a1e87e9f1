// MADDPG's and MASAC's update rounds on the device: replay, sampling, networks and optimisers of
// all agents stay there. rl/device_off_policy.cc makes a learner of it.
#ifndef TESSERA_CUDA_OFF_POLICY_ENGINE_H_
#define TESSERA_CUDA_OFF_POLICY_ENGINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tessera/cuda/device.h"
#include "tessera/cuda/replay_ring.h"
#include "tessera/result.h"

namespace tessera::cuda {

class WorldBatch;

// A sampler of rl/replay/ as data: how a slot is drawn, which rows it stands for, and for how many
// rounds.
struct SamplerSettings {
  bool prioritized = false;  // by temporal-difference error; else uniformly
  double alpha = 0.6, beta = 0.5, epsilon = 1e-6;

  enum class Window { kNone, kNeighbors, kRun };
  Window window = Window::kNone;
  int radius = 3;  // of neighbours
  bool include_center = false, wrap = false, same_episode = false;
  int length = 8;  // of a run

  int rounds = 1;  // that share a batch
};

// A network in-64-64-out, whose inputs are sums of features of a replay record: the observations or
// the compact state, then the actions.
struct NetSpec {
  struct Term {
    int32_t input, feature;
    float factor;

    friend bool operator==(const Term&, const Term&) = default;
  };
  int32_t inputs = 0, outputs = 0;
  std::vector<Term> terms = {};
  double rate = 0.01;  // of learning
};

struct EngineSpec {
  int agents = 0, critics = 1, lanes = 1;
  std::vector<int> observation_size = {}, choices = {};
  std::vector<NetSpec> actors = {};
  NetSpec critic = {};
  int base = 0, actions = 0, record = 0;  // floats of a record: before the actions, of them, of all
  RingShape ring = {};

  int batch = 1024, surplus = 0;  // rows of a mini-batch, and how many more there may be
  SamplerSettings sampler = {};
  bool skip_newest = false, ignore_done = false, act_with_target = false;
  double gamma = 0.95, tau = 0.01, epsilon = 1e-8;
  bool tensorflow = true;
  int clip = 1;  // 0: none, 1: each tensor, 2: all of a network
  double clip_norm = 0.5;
  bool entropy = false;  // MASAC: the term of the actor is entropy, else squared logits
  double term_weight = 0;
  bool together = false;  // all trainers see the targets of the round before
  Precision precision = Precision::kFp32;
  uint64_t seed = 1;
};

// Parameters of a network in the order of MlpLayout; each span has that size. Networks without a
// slow copy have no target.
struct NetImage {
  std::span<float> parameters, target, mean, variance;
  int64_t* steps;
};

struct RoundLosses {
  double q_loss = 0, p_loss = 0, entropy = 0;
};

// Replay that stays on the host, as in programs whose lists do.
struct HostReplay {
  std::span<const float> records = {};  // of all slots of all lanes
  std::span<const SlotKind> kinds = {};
  std::function<void(int trainer, std::vector<int64_t>& slots)> draw = {};  // a mini-batch
};

// Contract:
//   Threads      used by one thread at a time.
//   Determinism  the same bits for the same calls on the same kind of device; equal to the host's
//                learner up to rounding.
//   Errors       whatever the device reports; after one the engine must not be used again.
class OffPolicyEngine {
 public:
  // Errors: no device; too little memory; sizes that the kernels do not have.
  static Result<std::unique_ptr<OffPolicyEngine>> Make(const EngineSpec& spec);
  virtual ~OffPolicyEngine() = default;

  // Nets of an agent: 0 is the actor, then critics.
  virtual Result<void> SetNet(int agent, int net, const NetImage& from) = 0;
  virtual Result<void> GetNet(int agent, int net, const NetImage& to) = 0;

  // Replay as a whole; `records` has all slots of all lanes.
  virtual Result<void> SetReplay(std::span<const ReplayLane> lanes, std::span<const SlotKind> kinds,
                                 std::span<const float> records) = 0;
  virtual Result<void> GetRecords(int64_t first_slot, std::span<float> records) = 0;
  // Prioritised sampling: the leaves of its tree, and the largest priority so far.
  virtual Result<void> SetPriorities(std::span<const double> leaves, double top) = 0;
  virtual Result<void> GetPriorities(std::span<double> leaves, double* top) = 0;

  // With sampler.rounds > 1: the batch of a trainer, and which rounds it is for (-1: none yet).
  virtual Result<void> SetBatch(int trainer, int64_t part, std::span<const int64_t> slots,
                                std::span<const float> weights) = 0;
  virtual Result<void> GetBatch(int trainer, int64_t* part, std::vector<int64_t>& slots,
                                std::vector<float>& weights) = 0;

  virtual Result<void> SetCounters(int64_t round, int64_t acts) = 0;

  // ---- With environments on the host ----------------------------------------------------------

  virtual Result<void> Act(int64_t rows, std::span<const float> observations, bool explore,
                           std::span<float> actions) = 0;
  // One step of every lane; `now` and `next` are what a record holds before the actions.
  virtual Result<void> Append(std::span<const float> now, std::span<const float> actions,
                              std::span<const float> rewards, std::span<const float> next,
                              std::span<const SlotKind> kinds) = 0;

  // ---- With worlds on the device --------------------------------------------------------------

  // `steps` steps of all worlds: act, step, store, start anew where an episode ends; then an update
  // round if asked. Returns as soon as the work is under way.
  virtual Result<void> PlaySteps(WorldBatch& worlds, int64_t steps, bool update) = 0;

  // ---- Updates --------------------------------------------------------------------------------

  // Starts one round of all trainers.
  virtual Result<void> StartRound() = 0;
  // Waits for everything that was started; losses of the last round.
  virtual Result<RoundLosses> Finish() = 0;

  // Measured with events on the device, each part of a round as a launch of its own, in seconds.
  // Trains as StartRound does. Targets are computed twice, once to measure them: `critics` is what
  // the rest of their kernel takes, and `all` the sum of what a round needs.
  struct Phases {
    double sampling = 0, targets = 0, critics = 0, critic_steps = 0, actors = 0, actor_steps = 0;
    double copies = 0;  // of mini-batches to the device
    double all = 0;
  };
  virtual Result<Phases> MeasureRound() = 0;
  // The same with mini-batches that the host draws, gathers and copies.
  virtual Result<Phases> MeasureHostRound(const HostReplay& replay) = 0;
  // Mean seconds of a round over `rounds` that follow each other without a word to the host.
  virtual Result<double> MeasureRounds(int64_t rounds) = 0;
};

}  // namespace tessera::cuda

#endif  // TESSERA_CUDA_OFF_POLICY_ENGINE_H_
