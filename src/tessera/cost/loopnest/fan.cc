// Groups and hops of a fan-out by enumeration of its children.
#include "tessera/cost/loopnest/fan.h"

#include <algorithm>
#include <cstdlib>

namespace tessera::loopnest {
namespace {

// Half hops of one group: to its farthest column, and in every column it uses from the centre line
// up to the topmost and down to the lowest member.
int64_t HalfHops(std::span<const int32_t> members, const FanGrid& grid, FanScratch& scratch) {
  scratch.columns.clear();
  int32_t farthest = 0;
  const auto children = static_cast<int32_t>(scratch.num_children);
  for (const int32_t member : members) {
    const auto child = static_cast<size_t>(member < children ? member : member % children);
    const int32_t column = scratch.column_of[child], row = scratch.row_of[child];
    int32_t& top = scratch.top[static_cast<size_t>(column)];
    int32_t& bottom = scratch.bottom[static_cast<size_t>(column)];
    if (top < 0) {
      top = bottom = row;
      scratch.columns.push_back(column);
      farthest = std::max(farthest, column);
    }
    top = std::min(top, row);
    bottom = std::max(bottom, row);
  }
  int64_t half_hops = 2 * int64_t{farthest};
  const int64_t centre = grid.height - 1;  // in half rows
  for (const int32_t column : scratch.columns) {
    int32_t& top = scratch.top[static_cast<size_t>(column)];
    half_hops +=
        std::max<int64_t>(0, centre - 2 * int64_t{top}) +
        std::max<int64_t>(0, 2 * int64_t{scratch.bottom[static_cast<size_t>(column)]} - centre);
    top = -1;
  }
  return half_hops;
}

// Places of all children, without a division for each.
void SetGrid(const FanGrid& grid, FanScratch& scratch) {
  const auto children = static_cast<size_t>(scratch.num_children);
  if (scratch.grid_width != grid.width) {
    scratch.grid_width = grid.width;
    scratch.column_of.clear();
    scratch.row_of.clear();
  }
  int32_t column = 0, row = 0;
  if (!scratch.column_of.empty()) {
    column = scratch.column_of.back() + 1;
    row = scratch.row_of.back();
  }
  while (scratch.column_of.size() < children) {
    if (column == grid.width) {
      column = 0;
      ++row;
    }
    scratch.column_of.push_back(column++);
    scratch.row_of.push_back(row);
  }
}

void GrowColumns(const FanGrid& grid, FanScratch& scratch) {
  SetGrid(grid, scratch);
  if (std::ssize(scratch.top) < grid.width) {
    scratch.top.resize(static_cast<size_t>(grid.width), -1);
    scratch.bottom.resize(static_cast<size_t>(grid.width));
  }
}

void Add(std::vector<GroupClass>& classes, size_t first, int64_t size, int64_t half_hops) {
  auto found = classes.begin() + static_cast<std::ptrdiff_t>(first);
  while (found != classes.end() && found->size < size) ++found;
  if (found == classes.end() || found->size != size) {
    found = classes.insert(found, GroupClass{.size = size});
  }
  found->groups += 1;
  found->half_hops += half_hops;
}

void GrowSlots(size_t keys, FanScratch& scratch) {
  size_t slots = 16;
  while (slots < 2 * keys) slots *= 2;
  if (scratch.slot_key.size() >= slots) return;
  scratch.slot_key.assign(slots, 0);
  scratch.slot_group.assign(slots, 0);
  scratch.slot_epoch.assign(slots, 0);
  scratch.epoch = 0;
}

// Numbers the distinct keys in order of appearance; returns how many there are.
int32_t NumberGroups(bool skip_linked, FanScratch& scratch) {
  const size_t n = scratch.keys.size();
  GrowSlots(n, scratch);
  if (++scratch.epoch == 0) {
    std::ranges::fill(scratch.slot_epoch, 0u);
    scratch.epoch = 1;
  }
  scratch.group_of.resize(n);
  const size_t mask = scratch.slot_key.size() - 1;
  int32_t groups = 0;
  for (size_t e = 0; e < n; ++e) {
    scratch.group_of[e] = -1;
    if (skip_linked && scratch.linked[e] != 0) continue;
    const int64_t key = scratch.keys[e];
    size_t slot = (static_cast<uint64_t>(key) * 0x9e3779b97f4a7c15u >> 32) & mask;
    while (scratch.slot_epoch[slot] == scratch.epoch && scratch.slot_key[slot] != key) {
      slot = (slot + 1) & mask;
    }
    if (scratch.slot_epoch[slot] != scratch.epoch) {
      scratch.slot_epoch[slot] = scratch.epoch;
      scratch.slot_key[slot] = key;
      scratch.slot_group[slot] = groups++;
    }
    scratch.group_of[e] = scratch.slot_group[slot];
  }
  return groups;
}

// Sorts the children by group: scratch.members from group_start[g] to group_start[g + 1].
void CollectMembers(int32_t groups, FanScratch& scratch) {
  scratch.group_start.assign(static_cast<size_t>(groups) + 2, 0);
  for (const int32_t group : scratch.group_of) {
    if (group >= 0) ++scratch.group_start[static_cast<size_t>(group) + 2];
  }
  for (size_t g = 2; g < scratch.group_start.size(); ++g) {
    scratch.group_start[g] += scratch.group_start[g - 1];
  }
  scratch.members.resize(scratch.group_of.size());
  for (size_t e = 0; e < scratch.group_of.size(); ++e) {
    const int32_t group = scratch.group_of[e];
    if (group < 0) continue;
    const int32_t place = scratch.group_start[static_cast<size_t>(group) + 1]++;
    scratch.members[static_cast<size_t>(place)] = static_cast<int32_t>(e);
  }
}

// The sums of index * stride over all index vectors of the loops, in ascending order.
void Enumerate(std::span<const FanLoop> loops, bool relevant, std::vector<int32_t>& sums) {
  sums.assign(1, 0);
  int64_t stride = 1;
  for (const FanLoop& loop : loops) {
    if ((loop.key_step != 0) == relevant) {
      const size_t inner = sums.size();
      for (int64_t i = 1; i < loop.count; ++i) {
        for (size_t k = 0; k < inner; ++k) {
          sums.push_back(sums[k] + static_cast<int32_t>(i * stride));
        }
      }
    }
    stride *= loop.count;
  }
}

}  // namespace

void Reserve(size_t children, FanScratch& scratch) {
  scratch.keys.reserve(children);
  for (std::vector<int32_t>* list : {&scratch.group_of, &scratch.members, &scratch.columns}) {
    list->reserve(children);
  }
  scratch.group_start.reserve(children + 2);
  scratch.linked.reserve(children);
  scratch.column_of.reserve(children);
  scratch.row_of.reserve(children);
  GrowColumns({.width = static_cast<int64_t>(children)}, scratch);
  GrowSlots(children, scratch);
}

void SetKeys(std::span<const FanLoop> loops, FanScratch& scratch) {
  scratch.keys.assign(1, 0);
  for (const FanLoop& loop : loops) {
    const size_t inner = scratch.keys.size();
    for (int64_t i = 1; i < loop.count; ++i) {
      for (size_t k = 0; k < inner; ++k) {
        scratch.keys.push_back(scratch.keys[k] + i * loop.key_step);
      }
    }
  }
  scratch.num_children = std::ssize(scratch.keys);
}

void ExpandKeys(std::span<const int64_t> below, FanScratch& scratch) {
  const size_t children = scratch.keys.size();
  scratch.keys.resize(children * below.size());
  // Backwards, because the keys of the first block are read last.
  for (size_t b = below.size(); b-- > 0;) {
    for (size_t e = 0; e < children; ++e) {
      scratch.keys[b * children + e] = scratch.keys[e] + below[b];
    }
  }
}

int64_t GroupByKey(const FanGrid& grid, bool skip_linked, FanScratch& scratch,
                   std::vector<GroupClass>& classes) {
  GrowColumns(grid, scratch);
  const int32_t groups = NumberGroups(skip_linked, scratch);
  CollectMembers(groups, scratch);
  const size_t first = classes.size();
  for (int32_t g = 0; g < groups; ++g) {
    const int32_t begin = scratch.group_start[static_cast<size_t>(g)];
    const int32_t end = scratch.group_start[static_cast<size_t>(g) + 1];
    const std::span<const int32_t> members(scratch.members.data() + begin,
                                           static_cast<size_t>(end - begin));
    Add(classes, first, end - begin, HalfHops(members, grid, scratch));
  }
  return groups;
}

GroupClass GroupByRelevance(std::span<const FanLoop> loops, const FanGrid& grid,
                            FanScratch& scratch) {
  Enumerate(loops, /*relevant=*/true, scratch.group_start);
  Enumerate(loops, /*relevant=*/false, scratch.group_of);
  scratch.members.resize(scratch.group_of.size());
  scratch.num_children = std::ssize(scratch.group_start) * std::ssize(scratch.group_of);
  GrowColumns(grid, scratch);
  GroupClass result{.size = std::ssize(scratch.group_of),
                    .groups = std::ssize(scratch.group_start)};
  for (const int32_t base : scratch.group_start) {
    for (size_t k = 0; k < scratch.group_of.size(); ++k) {
      scratch.members[k] = base + scratch.group_of[k];
    }
    result.half_hops += HalfHops(scratch.members, grid, scratch);
  }
  return result;
}

int64_t MarkLinked(const FanGrid& grid, int64_t delta, FanScratch& scratch) {
  SetGrid(grid, scratch);
  const auto n = std::ssize(scratch.keys);
  scratch.linked.assign(scratch.keys.size(), 0);
  int64_t linked = 0;
  const auto has = [&](int64_t neighbour, int64_t want) {
    return neighbour >= 0 && neighbour < n && scratch.keys[static_cast<size_t>(neighbour)] == want;
  };
  for (int64_t e = 0; e < n; ++e) {
    const int64_t column = scratch.column_of[static_cast<size_t>(e)];
    const int64_t row = scratch.row_of[static_cast<size_t>(e)];
    const int64_t want = scratch.keys[static_cast<size_t>(e)] + delta;
    if ((row > 0 && has(e - grid.width, want)) ||
        (row + 1 < grid.height && has(e + grid.width, want)) || (column > 0 && has(e - 1, want)) ||
        (column + 1 < grid.width && has(e + 1, want))) {
      scratch.linked[static_cast<size_t>(e)] = 1;
      ++linked;
    }
  }
  return linked;
}

}  // namespace tessera::loopnest
