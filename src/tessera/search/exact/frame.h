// A partial mapping as the exact mapper sees it: decided levels (Frame), the tile inside the last
// of them (Tile) and the order of their loops (Chain). bound.h turns these into lower bounds.
#ifndef TESSERA_SEARCH_EXACT_FRAME_H_
#define TESSERA_SEARCH_EXACT_FRAME_H_

#include <cstdint>

#include "tessera/search/exact/model.h"
#include "tessera/search/exact/parallel.h"

namespace tessera::exact {

inline bool Has(uint32_t set, int item) { return (set >> item & 1) != 0; }

// The tile of a level, known before its parallel factors above are.
struct Tile {
  int16_t positions[kMaxDims] = {};  // of the extents in the divisor tables
  int32_t extents[kMaxDims] = {};
  double words[kMaxTensors] = {};
  double plain_words[kMaxTensors] = {};  // product of the extents that move a plain rank
  double product = 1;                    // of all extents

  // With any factors: iterations of the outermost loop of a dimension, where nothing else of the
  // extent is decided but that it lies between `least` and `extents`; 0 where it is decided.
  int32_t open[kMaxDims] = {};
  int32_t least[kMaxDims] = {};

  // Factors of the level above it, where those of the first dimensions are decided. B14.
  int decided = 0;
  int32_t spatial[kMaxDims] = {}, temporal[kMaxDims] = {};
};

// One dimension at a decided level whose factors need not divide. docs/optimality.md, R1 to R3.
struct RaggedDim {
  double instances = 1;  // product of the parallel factors of this and all outer levels
  double tiles = 1;      // of the level below, in the whole dimension
  double full = 0;       // of those that the first MAC sees, without the last one
  double last = 0;       // iterations in that one
  // The part of the dimension in which the loop of this level has one iteration for some instance
  // of the level below, and for one further in.
  double once_here = 0, once_below = 0;
};

// One tensor at such a level.
struct RaggedTensor {
  double stays = 1;        // visits of a tile, on the average, while only idle loops here advance
  double asked = 1;        // requests of a child by words that it gets, if the tensor moves
  double asked_stays = 1;  // and if it stays
  double least = 1;        // words of one delivery of every element, by those of all visits
};

// One tensor at a decided level. The levels that hold it form pairs: a parent and the next level
// further in that holds it too, or the MACs. A pair opens at its parent, stays open at levels that
// do not hold the tensor, and closes at the level right above the child.
struct TensorFrame {
  bool closes = false;         // the pair's child is the level below, or the MACs
  bool all_idle = false;       // no temporal loop of this level moves the tensor
  bool link_risk = false;      // neighbours may pass words on
  bool resend_risk = false;    // even a tile that is sent again as it was, to all who hold it
  double idle = 0;             // product of this level's temporal factors that leave it alone
  double copies = 0;           // instances of the level below that hold the same words
  double copies_here = 0;      // the same of this level
  double plain_visits = 0;     // of the visits, those that surely begin with another plain index
  double groups = 0;           // requests at the pair's parent per request of one child
  double pending_pj = 0;       // of the pair so far: per request of one child
  double parent_pj = 0;        // of that, what is handed out by the pair's parent
  double words = 0;            // tile below times visits
  double close_pj = 0;         // per word, if the pair closes here
  double later_pj = 0;         // per word, at least, of what is not decided yet
  double outside_pj = 0;       // of later_pj, outside a Floor
  double stay_words = 0;       // that go further in at a visit for which the tile stays, at least
  double stay_pj = 0;          // and what they cost
  double outside_stay_pj = 0;  // of stay_pj, outside a Floor
  double fill_part = 0;        // of the words that surely arrive at the child, if it closes
  double open_words = 0;       // if it stays open: words for a child, whatever the order
  RaggedTensor ragged = {};    // with any factors only
};

// One level with its factors decided.
struct Frame {
  int level = 0;
  int16_t positions[kMaxDims] = {};  // of the tile extents of level - 1
  int32_t extents[kMaxDims] = {};
  int32_t temporal[kMaxDims] = {}, spatial[kMaxDims] = {};

  uint32_t loops = 0;                                 // dimensions with a temporal loop here
  uint32_t innermost = 0;                             // of those, which may be innermost: B18
  uint32_t loops_above = 0;                           // and at this or an outer level
  uint32_t parallel = 0;                              // dimensions with a spatial loop here
  int32_t open[kMaxDims] = {}, least[kMaxDims] = {};  // as in Tile; extents are the largest ones
  RaggedDim ragged[kMaxDims] = {};                    // with any factors only

  double visits = 1;      // product of temporal factors of this and all outer levels
  double used = 1;        // instances of this level in use
  double used_below = 1;  // and of the level below
  double cycles = 0;      // fewest, from the parallelism still possible

  TensorFrame tensors[kMaxTensors] = {};

  double fixed_pj = 0;          // of this and all outer levels: MACs, less what is elided
  double later_fixed_pj = 0;    // of the levels inside, at least, seen from this one
  double outside_fixed_pj = 0;  // of later_fixed_pj, outside a Floor
  OperandFront front = {};      // what parallel factors further in add to that, and to the cycles
};

// Whether a level's network is the only one that a window's words pass on which children can differ
// in the window's dimensions: of those further in nothing is known but that they have one child.
// `frames` of the levels outside are set. B4.
inline bool OnlyNetwork(const Model& model, const Frame* frames, int level, int v) {
  const int child = level == 0 ? -1 : model.next_kept[level - 1][v];
  for (int i = child + 1; i <= model.parent[level][v]; ++i) {
    if (i < level && model.levels[i].fan > 1) return false;
    if (i > level && (frames[i].parallel & model.tensors[v].window) != 0) return false;
  }
  return true;
}

// Innermost loops of this and all outer levels, and what follows from them.
struct Chain {
  double closed_pj = 0;               // of the pairs that have closed
  double idle_run[kMaxTensors] = {};  // product of the innermost loops that leave the tensor alone
  int8_t first_dim = -1;              // innermost loop of all these levels; -1: none
  int8_t first_level = -1;
  int8_t dims[kMaxLevels] = {};                            // innermost loop by level; -1: none
  double reads[kMaxLevels] = {}, writes[kMaxLevels] = {};  // of one instance, in units
  double cycles = 0;  // that the busiest level needs, without latency
  // Visits of a window's tile at which an index of a plain dimension changes, at least. B3.
  double plain_visits[kMaxTensors] = {};
  // Words of a window that all instances of the last level which holds it got together, at least;
  // 0 where that is not known. B3.
  double delivered[kMaxTensors] = {};
};

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_FRAME_H_
