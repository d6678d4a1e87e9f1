// Sets are compared by what they hold (docs/cost-loopnest.md, C6). Tiles come in few shapes, so
// each pair of a tile and its predecessor is listed once; after that, a set is a number for its
// pattern and a place.
#include "tessera/cost/loopnest/residual_groups.h"

#include <algorithm>
#include <iterator>

namespace tessera::loopnest {
namespace {

// A power of two, as all sizes of the table of pairs.
constexpr size_t kLeastSlots = 64;

// First ids of the two kinds of sets that a child can ask for; pairs are numbered after them.
constexpr int64_t kProduct = 0, kTileAndCommon = 1, kFirstPair = 2;

// Where a pair is looked for first. Odd multipliers (2^64 over the golden ratio, and a prime of
// xxHash) carry every bit into the upper ones, of which the lowest 20 bits are dropped.
size_t FirstPlace(int64_t a, int64_t b) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u, kPrime = 0xc2b2ae3d27d4eb4fu;
  constexpr int kMixed = 20;
  return (static_cast<uint64_t>(a) * kGolden ^ static_cast<uint64_t>(b) * kPrime) >> kMixed;
}

// Doubles the table and puts the pairs of this round in again.
void GrowSlots(JointGroups& groups) {
  std::vector<JointGroups::Slot> old = std::move(groups.slots);
  groups.slots.assign(std::max(kLeastSlots, 2 * old.size()), {});
  const size_t mask = groups.slots.size() - 1;
  for (const JointGroups::Slot& slot : old) {
    if (slot.epoch != groups.epoch) continue;
    size_t place = FirstPlace(slot.a, slot.b);
    while (groups.slots[place & mask].epoch == groups.epoch) ++place;
    groups.slots[place & mask] = slot;
  }
}

// The number of the pair (a, b), equal for equal pairs only.
int64_t PairId(int64_t a, int64_t b, JointGroups& groups) {
  // At most half full, so that searches end soon; with room for the ids that a round begins with.
  constexpr int64_t kSpare = 8;
  if (groups.slots.size() < 2 * static_cast<size_t>(groups.next_id + kSpare)) GrowSlots(groups);
  const size_t mask = groups.slots.size() - 1;
  for (size_t place = FirstPlace(a, b);; ++place) {
    JointGroups::Slot& slot = groups.slots[place & mask];
    if (slot.epoch != groups.epoch) {
      slot = {.a = a, .b = b, .id = groups.next_id++, .epoch = groups.epoch};
      return slot.id;
    }
    if (slot.a == a && slot.b == b) return slot.id;
  }
}

// The number of a set of elements without its place, which is set to its first element.
int64_t PatternId(const std::vector<int64_t>& set, int64_t& start, JointGroups& groups) {
  if (set.empty()) return -1;
  start = set[0];
  for (size_t k = 0; k < groups.patterns.size(); ++k) {
    const JointGroups::Pattern& pattern = groups.patterns[k];
    if (pattern.size != set.size()) continue;
    bool same = true;
    for (size_t e = 0; e < set.size() && same; ++e) {
      same = groups.elements[pattern.first + e] == set[e] - start;
    }
    if (same) return static_cast<int64_t>(k);
  }
  groups.patterns.push_back({.first = groups.elements.size(), .size = set.size()});
  for (const int64_t element : set) groups.elements.push_back(element - start);
  return std::ssize(groups.patterns) - 1;
}

bool SameWidths(const RankShape& shape, const TouchedBox& a, const TouchedBox& b) {
  for (int k = 0; k < shape.num_terms; ++k) {
    if (a.widths[k] != b.widths[k]) return false;
  }
  return true;
}

// What there is to know about a tile and its predecessor, found once per pair of shapes.
size_t FindOverlap(int r, const RankShape& shape, const JointRank& rank, JointGroups& groups) {
  for (size_t k = 0; k < groups.overlaps.size(); ++k) {
    const JointGroups::Overlap& known = groups.overlaps[k];
    if (known.rank == r && known.has_previous == rank.has_previous &&
        SameWidths(shape, known.box, rank.box) &&
        (!rank.has_previous || (known.shift == rank.previous_shift &&
                                SameWidths(shape, known.previous, rank.previous)))) {
      return k;
    }
  }
  JointGroups::Overlap made{.rank = r,
                            .box = rank.box,
                            .previous = rank.previous,
                            .shift = rank.previous_shift,
                            .has_previous = rank.has_previous};
  std::vector<int64_t>&tile = groups.list_a, &old = groups.list_b, &part = groups.list_c;
  ListTouched(shape, rank.box, tile);
  old.clear();
  if (rank.has_previous) ListTouched(shape, rank.previous, old);
  for (int64_t& element : old) element += rank.previous_shift;
  made.tile = std::ssize(tile);
  int64_t zero = 0;
  made.tile_id = PatternId(tile, zero, groups);
  part.clear();
  std::ranges::set_intersection(tile, old, std::back_inserter(part));
  made.common = std::ssize(part);
  made.common_id = PatternId(part, made.common_start, groups);
  part.clear();
  std::ranges::set_difference(tile, old, std::back_inserter(part));
  made.fresh_id = PatternId(part, made.fresh_start, groups);
  groups.overlaps.push_back(made);
  return groups.overlaps.size() - 1;
}

// The number of what a child asks for; -1: nothing.
int64_t IdOf(const JointChild& child, std::span<const RankShape* const> ranks, Sameness sameness,
             JointGroups& groups) {
  const JointGroups::Overlap* overlaps[kMaxRanks];
  int changed = 0, last_changed = 0;
  bool disjoint = false;
  for (size_t r = 0; r < ranks.size(); ++r) {
    overlaps[r] = &groups.overlaps[groups.overlap_of[r]];
    disjoint = disjoint || overlaps[r]->common == 0;
    if (overlaps[r]->common == overlaps[r]->tile) continue;
    ++changed;
    last_changed = static_cast<int>(r);
  }
  if (sameness == Sameness::kNew && changed == 0) return -1;
  // The new elements are a product of ranks if one rank alone changed, or one has nothing in common
  // with before; then only that product counts.
  const bool product =
      sameness == Sameness::kTile || (sameness == Sameness::kNew && (changed == 1 || disjoint));
  int64_t id = product ? kProduct : kTileAndCommon;
  for (size_t r = 0; r < ranks.size(); ++r) {
    const JointGroups::Overlap& overlap = *overlaps[r];
    const bool fresh = sameness == Sameness::kNew && !disjoint && changed == 1 &&
                       static_cast<int>(r) == last_changed;
    const int64_t start = child.ranks[r].start;
    id = PairId(id, fresh ? overlap.fresh_id : overlap.tile_id, groups);
    id = PairId(id, start + (fresh ? overlap.fresh_start : 0), groups);
    if (product) continue;
    id = PairId(id, overlap.common_id, groups);
    id = PairId(id, start + overlap.common_start, groups);
  }
  return id;
}

// Children without cuts are translates of each other: where they start says it all.
int64_t RegularId(const JointChild& child, size_t num_ranks, JointGroups& groups) {
  int64_t id = 0;
  for (size_t r = 0; r < num_ranks; ++r) id = PairId(id, child.ranks[r].start, groups);
  return id;
}

void AddGroup(std::span<const JointChild> children, std::span<const int32_t> members, int64_t tile,
              int64_t common, JointGroups& groups) {
  JointGroup group{.tile = tile, .common = common, .first_column = groups.columns.size()};
  for (size_t k = 0; k < members.size(); ++k) {
    const JointChild& child = children[static_cast<size_t>(members[k])];
    bool repeated = false;  // another tile of the same child of the level
    for (size_t m = 0; m < k && !repeated; ++m) {
      const JointChild& other = children[static_cast<size_t>(members[m])];
      repeated = other.column == child.column && other.row == child.row;
    }
    if (repeated) continue;
    ++group.reached;
    group.last_column = std::max(group.last_column, child.column);
    bool known = false;
    for (size_t c = group.first_column; c < groups.columns.size() && !known; ++c) {
      JointColumn& column = groups.columns[c];
      if (column.column != child.column) continue;
      column.top = std::min(column.top, child.row);
      column.bottom = std::max(column.bottom, child.row);
      known = true;
    }
    if (!known) groups.columns.push_back({child.column, child.row, child.row});
  }
  group.num_columns = groups.columns.size() - group.first_column;
  groups.groups.push_back(group);
}

// Elements of a child's tile, and how many of them it had before.
struct TileSize {
  int64_t tile = 1, common = 1;
};

// Also sets groups.overlap_of, which IdOf reads.
TileSize MeasureTile(const JointChild& child, std::span<const RankShape* const> ranks,
                     JointGroups& groups) {
  TileSize size;
  for (size_t r = 0; r < ranks.size(); ++r) {
    groups.overlap_of[r] = FindOverlap(static_cast<int>(r), *ranks[r], child.ranks[r], groups);
    size.tile *= groups.overlaps[groups.overlap_of[r]].tile;
    size.common *= groups.overlaps[groups.overlap_of[r]].common;
  }
  return size;
}

// Sets groups.ids: what each child asks for, -1: nothing. `regular_size` is that of all children if
// none is cut.
void SetIds(std::span<const JointChild> children, std::span<const RankShape* const> ranks,
            Sameness sameness, const TileSize* regular_size, JointGroups& groups) {
  ++groups.epoch;
  groups.next_id = kFirstPair;
  groups.ids.clear();
  const bool nothing_new = regular_size != nullptr && sameness == Sameness::kNew &&
                           regular_size->tile == regular_size->common;
  for (const JointChild& child : children) {
    if (regular_size != nullptr) {
      groups.ids.push_back(nothing_new ? -1 : RegularId(child, ranks.size(), groups));
    } else {
      MeasureTile(child, ranks, groups);
      groups.ids.push_back(IdOf(child, ranks, sameness, groups));
    }
  }
}

// Numbers ids anew in order of appearance and sorts groups.members by them; group g is those from
// group_start[g] to group_start[g + 1]. Returns the number of groups.
size_t SortByGroup(JointGroups& groups) {
  ++groups.epoch;
  groups.next_id = 0;
  for (int64_t& id : groups.ids) {
    if (id >= 0) id = PairId(id, 0, groups);
  }
  const auto num_groups = static_cast<size_t>(groups.next_id);
  // Counted two places on, then summed, so that placing a member moves its group's start to where
  // the next group begins.
  groups.group_start.assign(num_groups + 2, 0);
  for (const int64_t id : groups.ids) {
    if (id >= 0) ++groups.group_start[static_cast<size_t>(id) + 2];
  }
  for (size_t g = 2; g < groups.group_start.size(); ++g) {
    groups.group_start[g] += groups.group_start[g - 1];
  }
  groups.members.resize(groups.ids.size());
  for (size_t k = 0; k < groups.ids.size(); ++k) {
    if (groups.ids[k] < 0) continue;
    const int32_t place = groups.group_start[static_cast<size_t>(groups.ids[k]) + 1]++;
    groups.members[static_cast<size_t>(place)] = static_cast<int32_t>(k);
  }
  return num_groups;
}

}  // namespace

void Reserve(size_t children, JointGroups& groups) {
  groups.groups.reserve(children);
  groups.columns.reserve(children);
  // Room for common cases, so that evaluations do not allocate; lists that need more grow once.
  constexpr size_t kUsualShapes = 256, kUsualElements = 1 << 14, kUsualTile = 4096;
  groups.overlaps.reserve(kUsualShapes);
  groups.patterns.reserve(kUsualShapes);
  groups.elements.reserve(kUsualElements);
  for (std::vector<int64_t>* list : {&groups.list_a, &groups.list_b, &groups.list_c}) {
    list->reserve(kUsualTile);
  }
  constexpr size_t kPairsPerChild = 8;
  size_t slots = kLeastSlots;
  while (slots < 2 * kPairsPerChild * children) slots *= 2;
  groups.slots.resize(slots);
  groups.ids.reserve(children);
  groups.members.reserve(children);
  groups.group_start.reserve(children + 2);
  groups.overlap_of.reserve(kMaxRanks);
}

void StartGroups(JointGroups& groups) {
  groups.overlaps.clear();
  groups.patterns.clear();
  groups.elements.clear();
}

void GroupChildren(std::span<const JointChild> children, std::span<const RankShape* const> ranks,
                   Sameness sameness, JointGroups& groups) {
  groups.groups.clear();
  groups.columns.clear();
  const bool regular = std::ranges::all_of(children, &JointChild::regular);
  groups.overlap_of.resize(ranks.size());
  TileSize regular_size;
  if (regular && !children.empty()) regular_size = MeasureTile(children[0], ranks, groups);
  SetIds(children, ranks, sameness, regular ? &regular_size : nullptr, groups);
  const size_t num_groups = SortByGroup(groups);
  for (size_t g = 0; g < num_groups; ++g) {
    const std::span<const int32_t> members(
        groups.members.data() + groups.group_start[g],
        static_cast<size_t>(groups.group_start[g + 1] - groups.group_start[g]));
    const JointChild& first = children[static_cast<size_t>(members[0])];
    const TileSize size = regular ? regular_size : MeasureTile(first, ranks, groups);
    AddGroup(children, members, size.tile, size.common, groups);
  }
}

}  // namespace tessera::loopnest
