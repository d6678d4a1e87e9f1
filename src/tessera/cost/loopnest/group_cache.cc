// One place per question: a newer answer replaces an older one that stands there.
#include "tessera/cost/loopnest/group_cache.h"

#include <algorithm>

namespace tessera::loopnest {

bool GroupCache::Fits(const GroupQuestion& question) {
  return question.below.size() + question.here.size() <= kMostLoops;
}

size_t GroupCache::PlaceOf(const GroupQuestion& question) {
  uint64_t hash = static_cast<uint64_t>(question.grid.width) * 31 +
                  static_cast<uint64_t>(question.grid.height) + (question.below.size() << 32);
  const auto mix = [&](const FanLoop& loop) {
    // An odd constant near 2^64 / golden ratio spreads neighbouring numbers over the upper bits.
    constexpr uint64_t kSpread = 0x9E3779B97F4A7C15;
    hash = (hash ^ static_cast<uint64_t>(loop.count) ^ static_cast<uint64_t>(loop.key_step) << 20) *
           kSpread;
    hash ^= hash >> 29;
  };
  for (const FanLoop& loop : question.below) mix(loop);
  for (const FanLoop& loop : question.here) mix(loop);
  return static_cast<size_t>(hash % kEntries);
}

std::optional<int64_t> GroupCache::Find(const GroupQuestion& question,
                                        std::vector<GroupClass>& classes) const {
  if (entries_.empty() || !Fits(question)) return std::nullopt;
  const Entry& entry = entries_[PlaceOf(question)];
  if (entry.groups < 0 || entry.num_below != question.below.size() ||
      entry.num_here != question.here.size() || entry.grid != question.grid ||
      !std::equal(question.below.begin(), question.below.end(), entry.loops.begin()) ||
      !std::equal(question.here.begin(), question.here.end(),
                  entry.loops.begin() + entry.num_below)) {
    return std::nullopt;
  }
  classes.assign(entry.classes.begin(), entry.classes.begin() + entry.num_classes);
  return entry.groups;
}

void GroupCache::Keep(const GroupQuestion& question, int64_t groups,
                      std::span<const GroupClass> classes) {
  if (entries_.empty() || !Fits(question) || classes.size() > kMostClasses) return;
  Entry& entry = entries_[PlaceOf(question)];
  entry.groups = groups;
  entry.num_below = static_cast<uint8_t>(question.below.size());
  entry.num_here = static_cast<uint8_t>(question.here.size());
  entry.num_classes = static_cast<uint8_t>(classes.size());
  entry.grid = question.grid;
  std::ranges::copy(question.here, std::ranges::copy(question.below, entry.loops.begin()).out);
  std::ranges::copy(classes, entry.classes.begin());
}

}  // namespace tessera::loopnest
