// Children whose tiles can coincide although their indices differ: windows that two spatial loops
// move. At one visit, finds which of them ask for the same words.
#ifndef TESSERA_COST_LOOPNEST_RESIDUAL_GROUPS_H_
#define TESSERA_COST_LOOPNEST_RESIDUAL_GROUPS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/cost/loopnest/residual_dims.h"
#include "tessera/cost/loopnest/touched.h"

namespace tessera::loopnest {

// One rank of a child's tile: where it starts, and the boxes of this tile and of the one before.
struct JointRank {
  int64_t start = 0;
  TouchedBox box, previous;
  int64_t previous_shift = 0;
  bool has_previous = false;
};

struct JointChild {
  int64_t column = 0, row = 0;  // below its parent
  bool regular = true;          // nothing cut, now or before
  JointRank ranks[kMaxRanks] = {};
};

// When two children count as asking for the same; which one applies depends on the tensor's other
// components.
enum class Sameness {
  kTile,        // equal tiles: another component has nothing in common with before
  kNew,         // equal sets of new elements: all other components stayed as they were
  kTileAndOld,  // equal tiles and equal overlaps with before: neither
};

struct JointColumn {
  int64_t column = 0, top = 0, bottom = 0;
};

struct JointGroup {
  int64_t tile = 0, common = 0;  // elements, and how many of them the children had before
  int64_t reached = 0;           // different children of the level
  int64_t last_column = 0;
  size_t first_column = 0, num_columns = 0;  // in JointGroups::columns
};

// Scratch and result. Nothing is allocated once the vectors have grown.
struct JointGroups {
  std::vector<JointGroup> groups = {};
  std::vector<JointColumn> columns = {};

  // A set of elements that starts at 0, and what is known of pairs of boxes.
  struct Pattern {
    size_t first = 0, size = 0;
  };
  struct Overlap {
    int rank = 0;
    TouchedBox box, previous;
    int64_t shift = 0;
    bool has_previous = false;
    int64_t tile = 0, common = 0;
    int64_t tile_id = 0, common_id = 0, fresh_id = 0;  // of patterns; -1: empty
    int64_t common_start = 0, fresh_start = 0;
  };
  std::vector<Overlap> overlaps = {};
  std::vector<Pattern> patterns = {};
  std::vector<int64_t> elements = {}, list_a = {}, list_b = {}, list_c = {};
  TouchedScratch touched = {};

  struct Slot {
    int64_t a = 0, b = 0, id = 0;
    uint64_t epoch = 0;
  };
  std::vector<Slot> slots = {};
  uint64_t epoch = 0;
  int64_t next_id = 0;
  std::vector<int64_t> ids = {};
  std::vector<int32_t> members = {}, group_start = {};
  std::vector<size_t> overlap_of = {};
};

// Room for so many children.
void Reserve(size_t children, JointGroups& groups);

// Forgets the overlaps of another tensor or level.
void StartGroups(JointGroups& groups);

// Groups the children, all of which are active, of one parent at one visit. Children that get
// nothing new are in no group under kNew. `ranks` are the shapes of the ranks in JointChild::ranks.
void GroupChildren(std::span<const JointChild> children, std::span<const RankShape* const> ranks,
                   Sameness sameness, JointGroups& groups);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_RESIDUAL_GROUPS_H_
