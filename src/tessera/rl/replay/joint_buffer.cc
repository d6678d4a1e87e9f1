// Joint records in a ring: [observations or compact state | actions | rewards], padded to cache
// lines. The next observation is that of the following record, so each is stored once; an episode
// is closed by a record that has an observation only. A row of a batch is two adjacent records.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "tessera/base/aligned_buffer.h"
#include "tessera/base/checked.h"
#include "tessera/nn/kernels.h"
#include "tessera/result.h"
#include "tessera/rl/cache_model.h"
#include "tessera/rl/replay/layouts.h"

namespace tessera {
namespace {

constexpr int64_t kLineFloats = 16;
// Asked for before they are copied: this many rows ahead, this much of each.
constexpr int64_t kRowsAhead = 8, kLinesAhead = 8;

class JointBuffer final : public ReplayBuffer {
 public:
  JointBuffer(ReplayLayout layout, const EnvSpec& spec, int64_t capacity, int64_t lanes)
      : compact_(layout == ReplayLayout::kCompact),
        layout_(compact_ ? FeatureLayout::Compact(spec) : FeatureLayout::Dense(spec)),
        agents_(spec.num_agents()),
        lane_capacity_(capacity / lanes),
        record_(CeilDiv(layout_.features() + agents_, kLineFloats) * kLineFloats) {
    // Room for the closing record of every episode: exact for episodes of the horizon's length. If
    // they are shorter, a few transitions less are held.
    const int64_t shortest = std::max<int64_t>(1, spec.horizon > 0 ? spec.horizon : 25);
    lane_slots_ = lane_capacity_ + CeilDiv(lane_capacity_, shortest) + 2;
    lanes_.resize(static_cast<size_t>(lanes));
    kinds_.resize(static_cast<size_t>(lanes * lane_slots_));
    records_ = AlignedBuffer<float>(lanes * lane_slots_ * record_);
  }

  const FeatureLayout& layout() const override { return layout_; }
  std::span<const SlotKind> kinds() const override { return kinds_; }
  int64_t lane_slots() const override { return lane_slots_; }
  int64_t used_slots(int64_t lane) const override {
    const Lane& l = lanes_[static_cast<size_t>(lane)];
    return l.wrapped ? lane_slots_ : l.head;
  }
  int64_t newest(int64_t lane) const override { return lanes_[static_cast<size_t>(lane)].newest; }
  int64_t size() const override {
    int64_t total = 0;
    for (const Lane& lane : lanes_) total += lane.transitions;
    return total;
  }
  int64_t bytes_per_row() const override {
    return static_cast<int64_t>(sizeof(float)) * 2 * (layout_.features() + layout_.base);
  }
  int64_t bytes_per_transition() const override {
    return record_ * static_cast<int64_t>(sizeof(float));
  }

  int64_t Append(int64_t lane, const StepView& step, std::vector<int64_t>* dropped) override {
    const std::span<const float> now = compact_ ? step.states : step.observations;
    const std::span<const float> next = compact_ ? step.next_states : step.next_observations;
    const RingStep at =
        AppendStep(shape(), lane, KindOf(step.end), lanes_[static_cast<size_t>(lane)],
                   kinds_.data(), [&](int64_t slot) {
                     if (dropped != nullptr) dropped->push_back(slot);
                   });
    if (at.start >= 0) std::copy(now.begin(), now.end(), Record(at.start));
    float* const record = Record(at.slot);
    std::copy(step.actions.begin(), step.actions.end(), record + layout_.base);
    std::copy(step.rewards.begin(), step.rewards.end(), record + layout_.features());
    std::copy(next.begin(), next.end(), Record(at.next));
    return at.slot;
  }

  std::optional<RingImage> image() override {
    return RingImage{.compact = compact_,
                     .shape = shape(),
                     .record = record_,
                     .lanes = lanes_,
                     .kinds = kinds_,
                     .records = records_.span()};
  }

  void GatherBlock(int64_t b, int64_t agent, ReplayBatch& batch) const override {
    const float* rows[kBlockRows];
    const float* next[kBlockRows];
    const int64_t count = batch.now.RowsIn(b);
    float* const live = batch.live.At(b, 0);
    for (int64_t r = 0; r < count; ++r) {
      const int64_t slot = batch.slots[static_cast<size_t>(b * kBlockRows + r)];
      rows[r] = records_.data() + slot * record_;
      const bool last = slot % lane_slots_ == lane_slots_ - 1;
      next[r] = rows[r] + (last ? 1 - lane_slots_ : 1) * record_;
      live[r] = kinds_[static_cast<size_t>(slot)] == SlotKind::kTerminated ? 0.0f : 1.0f;
    }
    if (!batch.now.by_row()) {
      GatherRewards(b, agent, batch);
      const Kernels& kernels = BestKernels();
      kernels.gather(count, layout_.features(), rows, batch.now.At(b, 0), kBlockRows);
      kernels.gather(count, layout_.base, next, batch.next.At(b, 0), kBlockRows);
      return;
    }
    // Both records of a row at once: they are one stretch of memory, which the processor goes on
    // reading by itself once its start has been asked for.
    for (int64_t r = 0; r < count; ++r) {
      const float* const ahead = rows[std::min(r + kRowsAhead, count - 1)];
      for (int64_t i = 0; i < kLinesAhead; ++i) __builtin_prefetch(ahead + i * kLineFloats);
      const int64_t row = b * kBlockRows + r;
      std::copy_n(rows[r], layout_.features(), batch.now.Row(row));
      std::copy_n(next[r], layout_.base, batch.next.Row(row));
      batch.rewards.At(b, 0)[r] = rows[r][layout_.features() + agent];
    }
  }

  void Trace(const ReplayBatch& batch, int64_t agent, CacheSimulator& caches) const override {
    constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
    const int64_t features = layout_.features();
    for (int64_t row = 0; row < batch.rows(); ++row) {
      const int64_t slot = batch.slots[static_cast<size_t>(row)];
      const bool last = slot % lane_slots_ == lane_slots_ - 1;
      const int64_t next = slot + (last ? 1 - lane_slots_ : 1);
      caches.Touch(kFirstRegion, slot * record_ * kFloat, features * kFloat);
      caches.Touch(kNowRegion, row * features * kFloat, features * kFloat);
      caches.Touch(kFirstRegion, next * record_ * kFloat, layout_.base * kFloat);
      caches.Touch(kNextRegion, row * features * kFloat, layout_.base * kFloat);
      caches.Touch(kFirstRegion, (slot * record_ + features + agent) * kFloat, kFloat);
      caches.Touch(kRewardRegion, row * kFloat, kFloat);
      caches.Touch(kKindRegion, slot, 1);
      caches.Touch(kLiveRegion, row * kFloat, kFloat);
    }
  }

  void GatherRewards(int64_t b, int64_t agent, ReplayBatch& batch) const override {
    const int64_t* const slots = batch.slots.data() + b * kBlockRows;
    float* const rewards = batch.rewards.At(b, 0);
    for (int64_t r = 0; r < batch.now.RowsIn(b); ++r) {
      rewards[r] = records_[slots[r] * record_ + layout_.features() + agent];
    }
  }

  void Save(const std::string& prefix, TensorWriter& writer) const override {
    for (size_t i = 0; i < lanes_.size(); ++i) {
      const Lane& lane = lanes_[i];
      const std::string name = prefix + "lane" + std::to_string(i) + ".";
      writer.AddInt(name + "head", lane.head);
      writer.AddInt(name + "first", lane.first);
      writer.AddInt(name + "used", lane.used);
      writer.AddInt(name + "transitions", lane.transitions);
      writer.AddInt(name + "newest", lane.newest);
      writer.AddInt(name + "wrapped", lane.wrapped);
      writer.AddInt(name + "open", lane.open);
      const int64_t slots = StoredSlots(lane), from = static_cast<int64_t>(i) * lane_slots_;
      writer.Add(name + "kinds", std::span(reinterpret_cast<const uint8_t*>(kinds_.data()) + from,
                                           static_cast<size_t>(slots)));
      writer.Add(name + "records",
                 records_.span().subspan(static_cast<size_t>(from * record_),
                                         static_cast<size_t>(slots * record_)),
                 {slots, record_});
    }
  }

  Result<void> Load(const std::string& prefix, const TensorReader& reader) override {
    for (size_t i = 0; i < lanes_.size(); ++i) {
      Lane& lane = lanes_[i];
      const std::string name = prefix + "lane" + std::to_string(i) + ".";
      Lane loaded;
      int64_t wrapped = 0, open = 0;
      struct Field {
        const char* key;
        int64_t* value;
        int64_t least, most;
      };
      const int64_t last = lane_slots_ - 1, slots_end = std::ssize(kinds_);
      const int64_t from = static_cast<int64_t>(i) * lane_slots_;
      const Field fields[] = {{"head", &loaded.head, 0, last},
                              {"first", &loaded.first, 0, last},
                              {"used", &loaded.used, 0, last},
                              {"transitions", &loaded.transitions, 0, lane_capacity_},
                              {"newest", &loaded.newest, -1, slots_end - 1},
                              {"wrapped", &wrapped, 0, 1},
                              {"open", &open, 0, 1}};
      for (const Field& field : fields) {
        const Result<int64_t> value =
            reader.ReadIntWithin(name + field.key, field.least, field.most);
        if (!value) return value.error();
        *field.value = *value;
      }
      loaded.wrapped = wrapped != 0;
      loaded.open = open != 0;
      lane = loaded;
      std::fill_n(kinds_.begin() + from, lane_slots_, SlotKind::kEmpty);
      const int64_t slots = StoredSlots(lane);
      if (Result<void> done =
              reader.ReadWithin(name + "kinds",
                                std::span(reinterpret_cast<uint8_t*>(kinds_.data()) + from,
                                          static_cast<size_t>(slots)),
                                uint8_t{0}, static_cast<uint8_t>(SlotKind::kTruncated));
          !done) {
        return done;
      }
      if (!IsRing(lane, from)) {
        return Error{.kind = ErrorKind::kBadValue,
                     .message = fmt::format("the numbers of '{}' contradict each other", name),
                     .hint = "the file is damaged"};
      }
      if (Result<void> done = reader.Read(
              name + "records", records_.span().subspan(static_cast<size_t>(from * record_),
                                                        static_cast<size_t>(slots * record_)));
          !done) {
        return done;
      }
    }
    return {};
  }

 private:
  using Lane = ReplayLane;

  RingShape shape() const { return {.lane_slots = lane_slots_, .lane_capacity = lane_capacity_}; }
  float* Record(int64_t slot) { return records_.data() + slot * record_; }
  // Slots of a lane whose contents matter; the one after the head may hold an open observation.
  int64_t StoredSlots(const Lane& lane) const {
    return lane.wrapped ? lane_slots_ : std::min(lane.head + 1, lane_slots_);
  }

  // Whether a lane's numbers are those of a ring whose slots are kinds_ from `from` on: all its
  // transitions lie between the first slot and the head.
  bool IsRing(const Lane& lane, int64_t from) const {
    if ((lane.first + lane.used) % lane_slots_ != lane.head) return false;
    if (lane.newest >= 0 && (lane.newest < from || lane.newest >= from + lane_slots_)) return false;
    int64_t inside = 0;
    for (int64_t i = 0; i < lane.used; ++i) {
      const int64_t slot = from + (lane.first + i) % lane_slots_;
      inside += kinds_[static_cast<size_t>(slot)] != SlotKind::kEmpty;
    }
    const auto begin = kinds_.begin() + from;
    const int64_t everywhere =
        lane_slots_ - std::count(begin, begin + lane_slots_, SlotKind::kEmpty);
    return inside == lane.transitions && everywhere == inside;
  }

  const bool compact_;
  const FeatureLayout layout_;
  const int64_t agents_, lane_capacity_, record_;  // record_: floats of a record
  int64_t lane_slots_ = 0;
  std::vector<Lane> lanes_;
  std::vector<SlotKind> kinds_;
  AlignedBuffer<float> records_;
};

}  // namespace

std::unique_ptr<ReplayBuffer> MakeJointBuffer(ReplayLayout layout, const EnvSpec& spec,
                                              int64_t capacity, int64_t lanes) {
  return std::make_unique<JointBuffer>(layout, spec, capacity, lanes);
}

}  // namespace tessera
