// Sets are compared by what they hold. Tiles come in few shapes, so each pair of a tile and its
// predecessor is listed once; after that, a set is a number for its pattern and a place.
#include "tessera/cost/loopnest/residual_groups.h"

#include <algorithm>
#include <iterator>

namespace tessera::loopnest {
namespace {

// The number of the pair (a, b), equal for equal pairs only.
int64_t PairId(int64_t a, int64_t b, JointGroups& groups) {
  if (groups.slots.size() < 2 * static_cast<size_t>(groups.next_id + 8)) {
    // Grow and put the pairs of this round in again.
    std::vector<JointGroups::Slot> old = std::move(groups.slots);
    groups.slots.assign(std::max<size_t>(64, 2 * old.size()), {});
    for (const JointGroups::Slot& slot : old) {
      if (slot.epoch != groups.epoch) continue;
      size_t place = (static_cast<uint64_t>(slot.a) * 0x9e3779b97f4a7c15u ^
                      static_cast<uint64_t>(slot.b) * 0xc2b2ae3d27d4eb4fu) >>
                     20;
      while (groups.slots[place & (groups.slots.size() - 1)].epoch == groups.epoch) ++place;
      groups.slots[place & (groups.slots.size() - 1)] = slot;
    }
  }
  const size_t mask = groups.slots.size() - 1;
  size_t place = (static_cast<uint64_t>(a) * 0x9e3779b97f4a7c15u ^
                  static_cast<uint64_t>(b) * 0xc2b2ae3d27d4eb4fu) >>
                 20;
  for (;; ++place) {
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
  int64_t id = product ? 0 : 1;
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

}  // namespace

void Reserve(size_t children, JointGroups& groups) {
  groups.groups.reserve(children);
  groups.columns.reserve(children);
  groups.overlaps.reserve(256);
  groups.patterns.reserve(256);
  groups.elements.reserve(1 << 14);
  for (std::vector<int64_t>* list : {&groups.list_a, &groups.list_b, &groups.list_c}) {
    list->reserve(4096);
  }
  size_t slots = 64;
  while (slots < 16 * children) slots *= 2;
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
  ++groups.epoch;
  groups.next_id = 2;
  const bool regular = std::ranges::all_of(children, &JointChild::regular);
  groups.ids.clear();
  groups.overlap_of.resize(ranks.size());
  struct Size {
    int64_t tile = 1, common = 1;
  };
  const auto size_of = [&](const JointChild& child) {
    Size size;
    for (size_t r = 0; r < ranks.size(); ++r) {
      groups.overlap_of[r] = FindOverlap(static_cast<int>(r), *ranks[r], child.ranks[r], groups);
      size.tile *= groups.overlaps[groups.overlap_of[r]].tile;
      size.common *= groups.overlaps[groups.overlap_of[r]].common;
    }
    return size;
  };
  // Sort by group: ids are numbered anew in order of appearance, then counted.
  std::vector<int64_t>& ids = groups.ids;
  Size regular_size;
  if (regular && !children.empty()) regular_size = size_of(children[0]);
  const bool nothing_new = sameness == Sameness::kNew && regular_size.tile == regular_size.common;
  for (const JointChild& child : children) {
    if (regular) {
      ids.push_back(nothing_new ? -1 : RegularId(child, ranks.size(), groups));
    } else {
      size_of(child);
      ids.push_back(IdOf(child, ranks, sameness, groups));
    }
  }
  int64_t num_groups = 0;
  ++groups.epoch;
  groups.next_id = 0;
  for (int64_t& id : ids) {
    if (id >= 0) id = PairId(id, 0, groups);
  }
  num_groups = groups.next_id;
  groups.group_start.assign(static_cast<size_t>(num_groups) + 2, 0);
  for (const int64_t id : ids) {
    if (id >= 0) ++groups.group_start[static_cast<size_t>(id) + 2];
  }
  for (size_t g = 2; g < groups.group_start.size(); ++g) {
    groups.group_start[g] += groups.group_start[g - 1];
  }
  groups.members.resize(children.size());
  for (size_t k = 0; k < ids.size(); ++k) {
    if (ids[k] < 0) continue;
    const int32_t place = groups.group_start[static_cast<size_t>(ids[k]) + 1]++;
    groups.members[static_cast<size_t>(place)] = static_cast<int32_t>(k);
  }
  for (size_t g = 0; g < static_cast<size_t>(num_groups); ++g) {
    const std::span<const int32_t> members(
        groups.members.data() + groups.group_start[g],
        static_cast<size_t>(groups.group_start[g + 1] - groups.group_start[g]));
    const Size size = regular ? regular_size : size_of(children[static_cast<size_t>(members[0])]);
    AddGroup(children, members, size.tile, size.common, groups);
  }
}

}  // namespace tessera::loopnest
