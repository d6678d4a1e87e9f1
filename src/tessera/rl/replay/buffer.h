// Experience: transitions of all agents, kept in one of several memory layouts, and gathered into
// batches that networks read (nn/batch.h).
#ifndef TESSERA_RL_REPLAY_BUFFER_H_
#define TESSERA_RL_REPLAY_BUFFER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/cuda/replay_ring.h"
#include "tessera/env.h"
#include "tessera/nn/batch.h"
#include "tessera/nn/input_map.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

// Where the inputs of actors and critics lie among the features of a replay batch: first the base
// (all observations, or the compact state), then the actions of all agents.
struct FeatureLayout {
  int64_t base = 0, actions = 0;
  std::vector<InputMap> observations = {};  // of each agent, from the features
  std::vector<int64_t> action_first = {};   // feature where each agent's action starts
  std::vector<int64_t> action_width = {};

  int64_t features() const { return base + actions; }
  int64_t num_agents() const { return std::ssize(observations); }
  // Input of a centralised critic: all observations in agent order, then all actions.
  InputMap CriticInputs() const;

  static FeatureLayout Dense(const EnvSpec& spec);
  // The environment must have a compact state.
  static FeatureLayout Compact(const EnvSpec& spec);
};

// The kind of a transition that an episode's end, if any, makes it.
inline SlotKind KindOf(EpisodeEnd end) {
  return end == EpisodeEnd::kTerminated  ? SlotKind::kTerminated
         : end == EpisodeEnd::kTruncated ? SlotKind::kTruncated
                                         : SlotKind::kTransition;
}

// One step of one environment.
struct StepView {
  std::span<const float> observations, states, actions, rewards, next_observations, next_states;
  EpisodeEnd end = EpisodeEnd::kNone;
};

// A mini-batch, `now` and `next` by features or by rows. `next` has room for the next actions,
// which target actors fill in.
struct ReplayBatch {
  std::vector<int64_t> slots;
  std::vector<float> weights;  // importance of each row in the loss, mean about 1
  FeatureBatch now, next;      // [features]
  FeatureBatch rewards;        // [1], of one agent
  FeatureBatch live;           // [1], 0 where a transition is terminal, else 1

  ReplayBatch() = default;
  ReplayBatch(const FeatureLayout& layout, int64_t max_rows, FeatureBatch::Order order);
  int64_t rows() const { return std::ssize(slots); }
  // Prepares the batches for the rows of `slots`.
  void SetRows();
};

// Regions of ReplayBuffer::Trace; a layout's own ones follow.
enum : uint64_t { kNowRegion, kNextRegion, kRewardRegion, kLiveRegion, kKindRegion, kFirstRegion };

// A ring of joint records as it lies in memory, for engines that keep a copy of it elsewhere.
struct RingImage {
  bool compact = false;
  RingShape shape = {};
  int64_t record = 0;  // floats
  std::span<ReplayLane> lanes = {};
  std::span<SlotKind> kinds = {};
  std::span<float> records = {};
};

// Contract, checked for every layout by replay_test.cc:
//   Threads      one thread appends; several may gather disjoint blocks at once.
//   Order        a lane (one per environment) keeps its transitions in time order; the oldest go
//                first. Slots of a lane are adjacent.
//   Capacity     at most `capacity` transitions over all lanes, the newest of each lane.
//   Memory       all of it is reserved at construction; pages are touched as they are first used.
class CacheSimulator;  // rl/cache_model.h

class ReplayBuffer {
 public:
  virtual ~ReplayBuffer() = default;

  virtual const FeatureLayout& layout() const = 0;

  // Adds one step of environment `lane`. Returns the slot of the new transition. Slots that were
  // transitions and are not any longer are appended to `dropped` unless that is null.
  virtual int64_t Append(int64_t lane, const StepView& step, std::vector<int64_t>* dropped) = 0;

  // One kind per slot; slots of lane l are l * lane_slots() and following.
  virtual std::span<const SlotKind> kinds() const = 0;
  virtual int64_t lane_slots() const = 0;
  // Slots of one lane that may hold transitions now: the first `used` ones.
  virtual int64_t used_slots(int64_t lane) const = 0;
  virtual int64_t newest(int64_t lane) const = 0;  // slot of the last transition, or -1
  virtual int64_t size() const = 0;                // transitions

  // Copies block b of the rows `batch.slots`, with the rewards of `agent`.
  virtual void GatherBlock(int64_t b, int64_t agent, ReplayBatch& batch) const = 0;

  // The rewards of another agent for the same rows.
  virtual void GatherRewards(int64_t b, int64_t agent, ReplayBatch& batch) const = 0;

  // The memory that gathering a batch reads and writes, row by row, as a trace. Regions are
  // numbered from 0; those of the batch itself come first.
  virtual void Trace(const ReplayBatch& batch, int64_t agent, CacheSimulator& caches) const = 0;

  // Bytes that one row of a batch reads and writes.
  virtual int64_t bytes_per_row() const = 0;
  // Memory reserved for one transition.
  virtual int64_t bytes_per_transition() const = 0;

  // None for layouts that are no ring of joint records.
  virtual std::optional<RingImage> image() { return std::nullopt; }

  virtual void Save(const std::string& prefix, TensorWriter& writer) const = 0;
  virtual Result<void> Load(const std::string& prefix, const TensorReader& reader) = 0;

  int64_t lanes() const { return std::ssize(kinds()) / lane_slots(); }
};

enum class ReplayLayout {
  kJoint,     // all agents of a time step in one record, each observation stored once
  kCompact,   // the same with the compact state instead of observations
  kPerAgent,  // arrays per agent and field: the layout that the papers measure
};

inline constexpr std::string_view kReplayLayoutNames[] = {"joint", "compact", "per_agent"};
Result<ReplayLayout> ParseReplayLayout(std::string_view name);

// Errors: no capacity, a compact layout without a compact state, more memory than the machine has.
Result<std::unique_ptr<ReplayBuffer>> MakeReplayBuffer(ReplayLayout layout, const EnvSpec& spec,
                                                       int64_t capacity, int64_t lanes);

}  // namespace tessera

#endif  // TESSERA_RL_REPLAY_BUFFER_H_
