// Which transitions an update learns from. A sampler picks slots of a replay buffer; where it picks
// them changes speed (neighbouring records are close in memory) and, for some, what is learned. A
// sampler that changes the learning distribution says so in its SamplerInfo.
#ifndef TESSERA_RL_REPLAY_SAMPLER_H_
#define TESSERA_RL_REPLAY_SAMPLER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/cuda/off_policy_engine.h"
#include "tessera/part.h"
#include "tessera/result.h"
#include "tessera/rl/replay/buffer.h"

namespace tessera {

struct SampleRequest {
  int64_t rows = 1024;
  uint64_t seed = 0;
  uint64_t round = 0;    // of updates
  uint64_t trainer = 0;  // who asks; every trainer has a stream of its own
  // The newest transition of a lane is left out until the lane is full (tf2marl does so).
  bool skip_newest = false;
};

// A batch that serves several rounds.
struct KeptBatch {
  int64_t part = -1;  // which rounds: their number / how many share a batch; -1: none yet
  std::vector<int64_t> slots = {};
  std::vector<float> weights = {};
};

// Contract, checked for every registered sampler by replay_test.cc:
//   Threads      used by one thread at a time.
//   Determinism  slots are a function of (buffer contents, calls so far, request).
//   Validity     every slot is a transition of the buffer.
//   Memory       nothing is allocated once a first batch has been drawn.
class Sampler {
 public:
  virtual ~Sampler() = default;

  // Fills slots and weights with request.rows rows, or at most `surplus()` more. The buffer holds
  // at least one transition that may be picked.
  virtual void Sample(const ReplayBuffer& buffer, const SampleRequest& request,
                      std::vector<int64_t>& slots, std::vector<float>& weights) = 0;

  // Rows that a batch may have above the request.
  virtual int64_t surplus() const { return 0; }

  // New and dropped transitions, and errors of the rows of the last batch, for priorities.
  virtual void Added(int64_t /*slot*/) {}
  virtual void Dropped(std::span<const int64_t> /*slots*/) {}
  virtual bool wants_errors() const { return false; }
  virtual void Observe(std::span<const int64_t> /*slots*/, std::span<const float> /*errors*/) {}

  // The sampler as data, for engines that draw by themselves.
  virtual cuda::SamplerSettings settings() const = 0;
  // Priorities of all slots and the largest so far, for the same; none without priorities.
  // ChangedPriorities must be called once they were written to.
  virtual std::span<double> priorities() { return {}; }
  virtual double* top_priority() { return nullptr; }
  virtual void ChangedPriorities() {}
  // The batch of a trainer, for the same; none where every round draws its own.
  virtual KeptBatch* kept(uint64_t /*trainer*/) { return nullptr; }

  virtual void Save(const std::string& /*prefix*/, TensorWriter& /*writer*/) const {}
  virtual Result<void> Load(const std::string& /*prefix*/, const TensorReader& /*reader*/) {
    return {};
  }
};

struct SamplerInfo {
  std::string_view name;
  std::string_view summary;
  // What the rows of a batch are distributed like, in a sentence.
  std::string_view distribution;
  bool changes_distribution;
  std::vector<ParameterInfo> (*parameters)();
  // `slots` is the number of slots of the buffer.
  Result<std::unique_ptr<Sampler>> (*make)(const Assignments& assignments, int64_t slots);
};

std::span<const SamplerInfo* const> Samplers();
Result<const SamplerInfo*> FindSampler(std::string_view name);

// ---- For implementations ---------------------------------------------------------------------

// Draws transitions of a buffer, all with equal probability, while nothing is added to it.
class UniformDraws {
 public:
  UniformDraws(const ReplayBuffer& buffer, bool skip_newest);
  int64_t Draw(CounterRng& rng) const;  // a slot

 private:
  bool IsNewest(int64_t slot) const;

  const ReplayBuffer& buffer_;
  const std::span<const SlotKind> kinds_;
  const int64_t lanes_, lane_slots_;
  const bool skip_newest_;
  int64_t longest_ = 0;  // used slots of the fullest lane
};

// How neighbours of a slot are found.
struct NeighborRules {
  int64_t radius = 3;           // on either side
  bool include_center = false;  // whether the slot itself is taken, too
  bool wrap = false;            // whether a lane's end and start are neighbours
  bool same_episode = false;    // whether neighbours must belong to the episode of the slot
};

// Appends the transitions around `slot` in ascending order. Slots without a transition are passed
// over; neighbours are those of the slot's lane.
void AppendNeighbors(const ReplayBuffer& buffer, int64_t slot, const NeighborRules& rules,
                     std::vector<int64_t>& slots);

}  // namespace tessera

#endif  // TESSERA_RL_REPLAY_SAMPLER_H_
