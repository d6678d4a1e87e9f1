// The layout that the efficient-MARL papers measure: every agent has buffers of its own, one array
// per field (observation, action, reward, next observation), and a row of a joint mini-batch is
// collected from all of them. Kept as a baseline for the joint layouts.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "tessera/base/aligned_buffer.h"
#include "tessera/nn/kernels.h"
#include "tessera/rl/cache_model.h"
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
    if (batch.now.by_row()) {
      CopyRows(b, batch);
    } else {
      TransposeRows(b, batch);
    }
    GatherRewards(b, agent, batch);
    const int64_t* const slots = batch.slots.data() + b * kBlockRows;
    for (int64_t r = 0; r < batch.now.RowsIn(b); ++r) {
      const bool terminal = kinds_[static_cast<size_t>(slots[r])] == SlotKind::kTerminated;
      batch.live.At(b, 0)[r] = terminal ? 0.0f : 1.0f;
    }
  }

  void Trace(const ReplayBatch& batch, int64_t agent, CacheSimulator& caches) const override {
    constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
    constexpr uint64_t kArrays = 4;  // of an agent: observations, actions, next ones, rewards
    const int64_t features = layout_.features();
    for (int64_t row = 0; row < batch.rows(); ++row) {
      const int64_t slot = batch.slots[static_cast<size_t>(row)];
      for (size_t a = 0; a < agents_.size(); ++a) {
        const AgentArrays& from = agents_[a];
        const uint64_t own = kFirstRegion + kArrays * a;
        const int64_t seen = from.observation_size * kFloat, acted = from.action_size * kFloat;
        caches.Touch(own, slot * seen, seen);
        caches.Touch(kNowRegion, (row * features + from.offset) * kFloat, seen);
        caches.Touch(own + 1, slot * acted, acted);
        caches.Touch(kNowRegion, (row * features + layout_.base + from.action_offset) * kFloat,
                     acted);
        caches.Touch(own + 2, slot * seen, seen);
        caches.Touch(kNextRegion, (row * features + from.offset) * kFloat, seen);
      }
      const auto rewards = kFirstRegion + kArrays * static_cast<uint64_t>(agent) + 3;
      caches.Touch(rewards, slot * kFloat, kFloat);
      caches.Touch(kRewardRegion, row * kFloat, kFloat);
      caches.Touch(kKindRegion, slot, 1);
      caches.Touch(kLiveRegion, row * kFloat, kFloat);
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
    writer.AddInt(prefix + "lanes", lanes());
    writer.AddInt(prefix + "lane_slots", capacity_);
    for (int64_t lane = 0; lane < lanes(); ++lane) {
      const std::string name = LaneName(prefix, lane);
      writer.AddInt(name + "head", heads_[static_cast<size_t>(lane)]);
      writer.AddInt(name + "count", used_slots(lane));
      writer.Add(name + "kinds",
                 std::span(reinterpret_cast<const uint8_t*>(kinds_.data()) + lane * capacity_,
                           static_cast<size_t>(used_slots(lane))));
      for (size_t a = 0; a < agents_.size(); ++a) {
        for (const Field& field : Fields(agents_[a])) {
          writer.Add(FieldName(name, a, field),
                     UsedRows((agents_[a].*field.values).span(), field.width, lane),
                     {used_slots(lane), field.width});
        }
      }
    }
  }

  Result<void> Load(const std::string& prefix, const TensorReader& reader) override {
    for (const auto& [key, value] :
         {std::pair("lanes", lanes()), std::pair("lane_slots", capacity_)}) {
      const Result<int64_t> same = reader.ReadIntWithin(prefix + key, value, value);
      if (!same) return same.error();
    }
    std::fill(kinds_.begin(), kinds_.end(), SlotKind::kEmpty);
    for (int64_t lane = 0; lane < lanes(); ++lane) {
      const std::string name = LaneName(prefix, lane);
      const Result<int64_t> count = reader.ReadIntWithin(name + "count", 0, capacity_);
      if (!count) return count.error();
      // A ring that is not full yet is filled from its start.
      const bool full = *count == capacity_;
      const Result<int64_t> head =
          reader.ReadIntWithin(name + "head", full ? 0 : *count, full ? capacity_ - 1 : *count);
      if (!head) return head.error();
      heads_[static_cast<size_t>(lane)] = *head;
      counts_[static_cast<size_t>(lane)] = *count;
      if (Result<void> read = reader.ReadWithin(
              name + "kinds",
              std::span(reinterpret_cast<uint8_t*>(kinds_.data()) + lane * capacity_,
                        static_cast<size_t>(*count)),
              static_cast<uint8_t>(SlotKind::kTransition),
              static_cast<uint8_t>(SlotKind::kTruncated));
          !read) {
        return read;
      }
      for (size_t a = 0; a < agents_.size(); ++a) {
        for (const Field& field : Fields(agents_[a])) {
          if (Result<void> read =
                  reader.Read(FieldName(name, a, field),
                              UsedRows((agents_[a].*field.values).span(), field.width, lane));
              !read) {
            return read;
          }
        }
      }
    }
    return {};
  }

 private:
  struct AgentArrays {
    int64_t observation_size, action_size, offset, action_offset;
    AlignedBuffer<float> observations = {}, next_observations = {}, actions = {}, rewards = {};
  };

  // An array of an agent, as checkpoints name it.
  struct Field {
    const char* name;
    AlignedBuffer<float> AgentArrays::*values;
    int64_t width;  // of a transition
  };

  static std::array<Field, 4> Fields(const AgentArrays& arrays) {
    return {{{"observations", &AgentArrays::observations, arrays.observation_size},
             {"next_observations", &AgentArrays::next_observations, arrays.observation_size},
             {"actions", &AgentArrays::actions, arrays.action_size},
             {"rewards", &AgentArrays::rewards, 1}}};
  }
  static std::string LaneName(const std::string& prefix, int64_t lane) {
    return prefix + "lane" + std::to_string(lane) + ".";
  }
  static std::string FieldName(const std::string& lane_name, size_t agent, const Field& field) {
    return lane_name + "agent" + std::to_string(agent) + "." + field.name;
  }
  template <typename Value>  // float or const float
  std::span<Value> UsedRows(std::span<Value> values, int64_t width, int64_t lane) const {
    return values.subspan(static_cast<size_t>(lane * capacity_ * width),
                          static_cast<size_t>(used_slots(lane) * width));
  }

  void CopyRows(int64_t b, ReplayBatch& batch) const {
    for (int64_t r = 0; r < batch.now.RowsIn(b); ++r) {
      const int64_t row = b * kBlockRows + r, slot = batch.slots[static_cast<size_t>(row)];
      float* const now = batch.now.Row(row);
      float* const next = batch.next.Row(row);
      for (const AgentArrays& from : agents_) {
        const int64_t width = from.observation_size, choices = from.action_size;
        std::copy_n(from.observations.data() + slot * width, width, now + from.offset);
        std::copy_n(from.actions.data() + slot * choices, choices,
                    now + layout_.base + from.action_offset);
        std::copy_n(from.next_observations.data() + slot * width, width, next + from.offset);
      }
    }
  }

  void TransposeRows(int64_t b, ReplayBatch& batch) const {
    const Kernels& kernels = BestKernels();
    const int64_t count = batch.now.RowsIn(b);
    const int64_t* const slots = batch.slots.data() + b * kBlockRows;
    const float* rows[kBlockRows];
    const auto gather = [&](const AlignedBuffer<float>& from, int64_t width, float* to) {
      for (int64_t r = 0; r < count; ++r) rows[r] = from.data() + slots[r] * width;
      kernels.gather(count, width, rows, to, kBlockRows);
    };
    for (const AgentArrays& from : agents_) {
      gather(from.observations, from.observation_size, batch.now.At(b, from.offset));
      gather(from.actions, from.action_size, batch.now.At(b, layout_.base + from.action_offset));
      gather(from.next_observations, from.observation_size, batch.next.At(b, from.offset));
    }
  }

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
