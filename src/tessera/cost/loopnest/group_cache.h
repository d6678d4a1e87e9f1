// Groups of children that were counted before. Mappings of one layer differ mostly in tiles and
// orders; how they spread it over an array recurs, and so do the groups of children that share
// words.
#ifndef TESSERA_COST_LOOPNEST_GROUP_CACHE_H_
#define TESSERA_COST_LOOPNEST_GROUP_CACHE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tessera/cost/loopnest/fan.h"

namespace tessera::loopnest {

// All that groups depend on: spatial loops of levels further in, those of the level, and its grid.
// Offsets are in the loops' key steps, so an entry serves every tensor, layer and machine.
struct GroupQuestion {
  std::span<const FanLoop> below;
  std::span<const FanLoop> here;
  FanGrid grid;
};

// Of one thread. Answers are what was kept, to the bit: whether something is found changes no
// result.
class GroupCache {
 public:
  // Room for all that it keeps: half of a megabyte at most. Without it nothing is kept.
  void Reserve() { entries_.resize(kEntries); }

  // The number of groups, with `classes` set, or nothing.
  std::optional<int64_t> Find(const GroupQuestion& question,
                              std::vector<GroupClass>& classes) const;

  // Keeps the answer to the question that Find did not know; answers that are too long are
  // forgotten.
  void Keep(const GroupQuestion& question, int64_t groups, std::span<const GroupClass> classes);

 private:
  // Real arrays have few loops and few classes; room for more would cost everybody memory.
  static constexpr size_t kMostLoops = 10, kMostClasses = 6, kEntries = 512;
  struct Entry {
    int64_t groups = -1;  // none is kept here
    uint8_t num_below = 0, num_here = 0, num_classes = 0;
    FanGrid grid = {};
    std::array<FanLoop, kMostLoops> loops = {};
    std::array<GroupClass, kMostClasses> classes = {};
  };
  static bool Fits(const GroupQuestion& question);
  static size_t PlaceOf(const GroupQuestion& question);

  std::vector<Entry> entries_;
};

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_GROUP_CACHE_H_
