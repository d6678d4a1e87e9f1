// The list of samplers, and the draws that several of them share.
#include "tessera/rl/replay/sampler.h"

#include <algorithm>

#include <fmt/format.h>

#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

#define TESSERA_SAMPLERS(PART)                   \
  PART(SamplerInfo, kUniformSampler)             \
  PART(SamplerInfo, kNeighborSampler)            \
  PART(SamplerInfo, kRunsSampler)                \
  PART(SamplerInfo, kPrioritizedSampler)         \
  PART(SamplerInfo, kPrioritizedNeighborSampler) \
  PART(SamplerInfo, kReuseSampler)

TESSERA_SAMPLERS(TESSERA_DECLARE_PART)

namespace {

constexpr const SamplerInfo* kSamplers[] = {TESSERA_SAMPLERS(TESSERA_PART_ADDRESS)};

bool IsTransition(SlotKind kind) { return kind != SlotKind::kEmpty; }
bool EndsEpisode(SlotKind kind) {
  return kind == SlotKind::kTerminated || kind == SlotKind::kTruncated;
}

}  // namespace

std::span<const SamplerInfo* const> Samplers() { return kSamplers; }

Result<const SamplerInfo*> FindSampler(std::string_view name) {
  std::vector<std::string_view> names;
  for (const SamplerInfo* sampler : kSamplers) {
    if (sampler->name == name) return sampler;
    names.push_back(sampler->name);
  }
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown sampler '{}'", name),
               .hint = DidYouMean(name, std::span<const std::string_view>(names))};
}

UniformDraws::UniformDraws(const ReplayBuffer& buffer, bool skip_newest)
    : buffer_(buffer),
      kinds_(buffer.kinds()),
      lanes_(buffer.lanes()),
      lane_slots_(buffer.lane_slots()),
      skip_newest_(skip_newest) {
  for (int64_t l = 0; l < lanes_; ++l) longest_ = std::max(longest_, buffer.used_slots(l));
  TESSERA_CHECK(longest_ > 0);
}

bool UniformDraws::IsNewest(int64_t slot) const {
  const int64_t lane = slot / lane_slots_;
  return slot == buffer_.newest(lane) && buffer_.used_slots(lane) < lane_slots_;
}

int64_t UniformDraws::Draw(CounterRng& rng) const {
  // Rejection keeps all transitions equally likely, whatever lies between them.
  while (true) {
    const int64_t at = rng.UniformInt(lanes_ * longest_);
    const int64_t slot =
        lanes_ == 1 ? at : at / longest_ * lane_slots_ + at % longest_;  // divisions are slow
    if (!IsTransition(kinds_[static_cast<size_t>(slot)])) continue;
    if (skip_newest_ && IsNewest(slot)) continue;
    return slot;
  }
}

void AppendNeighbors(const ReplayBuffer& buffer, int64_t slot, const NeighborRules& rules,
                     std::vector<int64_t>& slots) {
  const std::span<const SlotKind> kinds = buffer.kinds();
  const int64_t lane_slots = buffer.lane_slots(), lane = slot / lane_slots;
  const int64_t first = lane * lane_slots, used = buffer.used_slots(lane);
  // Walks to the next transition on one side, or returns -1 at the end of the lane or episode.
  const auto walk = [&](int64_t at, int64_t direction) -> int64_t {
    int64_t offset = at - first;
    for (int64_t steps = 0; steps < used; ++steps) {
      const SlotKind from = kinds[static_cast<size_t>(first + offset)];
      if (rules.same_episode && direction > 0 && EndsEpisode(from)) return -1;
      offset += direction;
      if (offset < 0 || offset >= used) {
        if (!rules.wrap) return -1;
        offset = offset < 0 ? used - 1 : 0;
      }
      const SlotKind kind = kinds[static_cast<size_t>(first + offset)];
      if (!IsTransition(kind)) continue;
      if (rules.same_episode && direction < 0 && EndsEpisode(kind)) return -1;
      return first + offset;
    }
    return -1;
  };
  int64_t before[64];
  int64_t count = 0;
  for (int64_t at = slot; count < rules.radius;) {
    at = walk(at, -1);
    if (at < 0 || at == slot) break;
    before[count++] = at;
  }
  while (count > 0) slots.push_back(before[--count]);
  if (rules.include_center) slots.push_back(slot);
  int64_t at = slot;
  for (int64_t taken = 0; taken < rules.radius; ++taken) {
    at = walk(at, +1);
    if (at < 0 || at == slot) break;
    slots.push_back(at);
  }
}

}  // namespace tessera
