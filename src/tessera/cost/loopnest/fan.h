// The children of one instance of a level, as a network sees them: which of them ask for the same
// words (those with equal offsets), how far those words travel, and who can get them from a
// neighbour.
#ifndef TESSERA_COST_LOOPNEST_FAN_H_
#define TESSERA_COST_LOOPNEST_FAN_H_

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::loopnest {

// Groups of one size: how many there are, and the hops of all of them together, in half hops.
struct GroupClass {
  int64_t size = 0;  // children that one word reaches
  int64_t groups = 0;
  int64_t half_hops = 0;
};

// A spatial loop as one tensor sees it.
struct FanLoop {
  int64_t count = 1;
  int64_t key_step = 0;  // by how much one iteration moves the tensor's offset key; 0: not at all

  friend bool operator==(const FanLoop&, const FanLoop&) = default;
};

// Scratch of one thread. Nothing is allocated once the vectors have grown to the largest fan-out.
struct FanScratch {
  int64_t num_children = 1;
  std::vector<int64_t> keys = {};      // offset of each child, or of each of its own children
  std::vector<int32_t> group_of = {};  // of each child
  std::vector<int32_t> members = {};   // children, group by group
  std::vector<int32_t> group_start = {};
  std::vector<int32_t> top = {}, bottom = {};        // first and last row of a group in a column
  std::vector<int32_t> column_of = {}, row_of = {};  // of each child, for a grid of grid_width
  int64_t grid_width = 0;
  std::vector<int32_t> columns = {};   // in use
  std::vector<int64_t> slot_key = {};  // hash table: key, group, and whose turn it was
  std::vector<int32_t> slot_group = {};
  std::vector<uint32_t> slot_epoch = {};
  uint32_t epoch = 0;
  std::vector<uint8_t> linked = {};
};

// Room for so many children.
void Reserve(size_t children, FanScratch& scratch);

// The grid that children are placed on: child e is in column e mod width and row e div width.
struct FanGrid {
  int64_t width = 1, height = 1;

  friend bool operator==(const FanGrid&, const FanGrid&) = default;
};

// Offset keys of all children; loops from the innermost, whose index runs fastest.
void SetKeys(std::span<const FanLoop> loops, FanScratch& scratch);

// Gives each child several keys, its own plus each of `below`, which are different: those of what
// lies below it.
void ExpandKeys(std::span<const int64_t> below, FanScratch& scratch);

// Groups of children with equal keys, without those marked in scratch.linked if `skip_linked`.
// Appends to `classes` in ascending order of size and returns the number of groups. A child with
// several keys is in as many groups.
int64_t GroupByKey(const FanGrid& grid, bool skip_linked, FanScratch& scratch,
                   std::vector<GroupClass>& classes);

// The same without keys, for a tensor in which children have equal offsets exactly if they agree in
// the loops with key_step != 0: all groups have one size.
GroupClass GroupByRelevance(std::span<const FanLoop> loops, const FanGrid& grid,
                            FanScratch& scratch);

// Marks in scratch.linked the children that have a grid neighbour whose key is theirs plus `delta`,
// and returns how many there are.
int64_t MarkLinked(const FanGrid& grid, int64_t delta, FanScratch& scratch);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_FAN_H_
