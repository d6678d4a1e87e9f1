// The layout that the efficient-MARL papers measure: every agent has buffers of its own, one array
// per field (observation, action, reward, next observation), and a row of a joint mini-batch is
// collected from all of them. Kept as a baseline for the joint layouts.
#include <algorithm>
#include <string>

#include "tessera/base/aligned_buffer.h"
#include "tessera/nn/kernels.h"
#include "tessera/rl/replay/layouts.h"

namespace tessera {
namespace {

class PerAgentBuffer final : public ReplayBuffer {
 public:
  PerAgentBuffer(const EnvSpec& spec, int64_t capacity, int64_t lanes)
      : layout_(FeatureLayout::Dense(spec)), capacity_(capacity / lanes) {
    const int64_t slots = capacity_ * lanes;
    for (int64_t a = 0; a < spec.num_agents(); ++a) {
      const AgentSpec& agent = spec.agents[static_cast<size_t>(a)];
      agents_.push_back({.observation_size = agent.observation_size,
                         .action_size = agent.action.width(),
                         .offset = spec.observation_offset(a),
                         .action_offset = spec.action_offset(a)});
      AgentArrays& arrays = agents_.back();
      arrays.observations = AlignedBuffer<float>(slots * arrays.observation_size);
      arrays.next_observations = AlignedBuffer<float>(slots * arrays.observation_size);
      arrays.actions = AlignedBuffer<float>(slots * arrays.action_size);
      arrays.rewards = AlignedBuffer<float>(slots);
    }
    kinds_.resize(static_cast<size_t>(slots));
    heads_.resize(static_cast<size_t>(lanes));
    counts_.resize(static_cast<size_t>(lanes));
  }

  const FeatureLayout& layout() const override { return layout_; }
  std::span<const SlotKind> kinds() const override { return kinds_; }
  int64_t lane_slots() const override { return capacity_; }
  int64_t used_slots(int64_t lane) const override { return counts_[static_cast<size_t>(lane)]; }
  int64_t newest(int64_t lane) const override {
    const size_t at = static_cast<size_t>(lane);
    return counts_[at] == 0 ? -1 : lane * capacity_ + (heads_[at] + capacity_ - 1) % capacity_;
  }
  int64_t size() const override {
    int64_t total = 0;
    for (const int64_t count : counts_) total += count;
    return total;
  }
  int64_t bytes_per_row() const override {
    return static_cast<int64_t>(sizeof(float)) * 2 * (layout_.features() + layout_.base);
  }
  int64_t bytes_per_transition() const override {
    return static_cast<int64_t>(sizeof(float)) *
           (2 * layout_.base + layout_.actions + layout_.num_agents());
  }

  int64_t Append(int64_t lane, const StepView& step, std::vector<int64_t>* dropped) override {
    int64_t& head = heads_[static_cast<size_t>(lane)];
    const int64_t slot = lane * capacity_ + head;
    SlotKind& kind = kinds_[static_cast<size_t>(slot)];
    if (kind != SlotKind::kEmpty && dropped != nullptr) dropped->push_back(slot);
    for (size_t a = 0; a < agents_.size(); ++a) {
      AgentArrays& to = agents_[a];
      std::copy_n(step.observations.data() + to.offset, to.observation_size,
                  to.observations.data() + slot * to.observation_size);
      std::copy_n(step.next_observations.data() + to.offset, to.observation_size,
                  to.next_observations.data() + slot * to.observation_size);
      std::copy_n(step.actions.data() + to.action_offset, to.action_size,
                  to.actions.data() + slot * to.action_size);
      to.rewards[slot] = step.rewards[a];
    }
    kind = step.end == EpisodeEnd::kTerminated  ? SlotKind::kTerminated
           : step.end == EpisodeEnd::kTruncated ? SlotKind::kTruncated
                                                : SlotKind::kTransition;
    head = (head + 1) % capacity_;
    int64_t& count = counts_[static_cast<size_t>(lane)];
    count = std::min(count + 1, capacity_);
    return slot;
  }

  void GatherBlock(int64_t b, int64_t agent, ReplayBatch& batch) const override {
    const int64_t count = batch.now.RowsIn(b);
    const int64_t* const slots = batch.slots.data() + b * kBlockRows;
    const float* rows[kBlockRows];
    const auto gather = [&](const AlignedBuffer<float>& from, int64_t first, int64_t width,
                            FeatureBatch& to) {
      for (int64_t r = 0; r < count; ++r) rows[r] = from.data() + slots[r] * width;
      CopyRows(b, first, width, std::span(rows, static_cast<size_t>(count)), to);
    };
    for (const AgentArrays& from : agents_) {
      gather(from.observations, from.offset, from.observation_size, batch.now);
      gather(from.actions, layout_.base + from.action_offset, from.action_size, batch.now);
      gather(from.next_observations, from.offset, from.observation_size, batch.next);
    }
    GatherRewards(b, agent, batch);
    for (int64_t r = 0; r < count; ++r) {
      const bool terminal = kinds_[static_cast<size_t>(slots[r])] == SlotKind::kTerminated;
      batch.live.At(b, 0)[r] = terminal ? 0.0f : 1.0f;
    }
  }

  void GatherRewards(int64_t b, int64_t agent, ReplayBatch& batch) const override {
    const int64_t* const slots = batch.slots.data() + b * kBlockRows;
    const AlignedBuffer<float>& rewards = agents_[static_cast<size_t>(agent)].rewards;
    for (int64_t r = 0; r < batch.now.RowsIn(b); ++r) {
      batch.rewards.At(b, 0)[r] = rewards[slots[r]];
    }
  }

  void Save(const std::string& prefix, TensorWriter& writer) const override {
    writer.Add(prefix + "heads", std::span(heads_));
    writer.Add(prefix + "counts", std::span(counts_));
    writer.Add(prefix + "kinds",
               std::span(reinterpret_cast<const uint8_t*>(kinds_.data()), kinds_.size()));
    for (size_t a = 0; a < agents_.size(); ++a) {
      const std::string name = prefix + "agent" + std::to_string(a) + ".";
      writer.Add(name + "observations", agents_[a].observations.span());
      writer.Add(name + "next_observations", agents_[a].next_observations.span());
      writer.Add(name + "actions", agents_[a].actions.span());
      writer.Add(name + "rewards", agents_[a].rewards.span());
    }
  }

  Result<void> Load(const std::string& prefix, const TensorReader& reader) override {
    if (Result<void> read = reader.Read(prefix + "heads", std::span(heads_)); !read) return read;
    if (Result<void> read = reader.Read(prefix + "counts", std::span(counts_)); !read) return read;
    if (Result<void> read = reader.Read(
            prefix + "kinds", std::span(reinterpret_cast<uint8_t*>(kinds_.data()), kinds_.size()));
        !read) {
      return read;
    }
    for (size_t a = 0; a < agents_.size(); ++a) {
      const std::string name = prefix + "agent" + std::to_string(a) + ".";
      const std::pair<const char*, AlignedBuffer<float>*> arrays[] = {
          {"observations", &agents_[a].observations},
          {"next_observations", &agents_[a].next_observations},
          {"actions", &agents_[a].actions},
          {"rewards", &agents_[a].rewards}};
      for (const auto& [key, array] : arrays) {
        if (Result<void> read = reader.Read(name + key, array->span()); !read) return read;
      }
    }
    return {};
  }

 private:
  struct AgentArrays {
    int64_t observation_size, action_size, offset, action_offset;
    AlignedBuffer<float> observations = {}, next_observations = {}, actions = {}, rewards = {};
  };

  const FeatureLayout layout_;
  const int64_t capacity_;  // transitions of a lane
  std::vector<AgentArrays> agents_;
  std::vector<SlotKind> kinds_;
  std::vector<int64_t> heads_, counts_;
};

}  // namespace

std::unique_ptr<ReplayBuffer> MakePerAgentBuffer(ReplayLayout /*layout*/, const EnvSpec& spec,
                                                 int64_t capacity, int64_t lanes) {
  return std::make_unique<PerAgentBuffer>(spec, capacity, lanes);
}

}  // namespace tessera
