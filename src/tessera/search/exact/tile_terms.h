// What a tile costs before the level above it has parallel factors, tensor by tensor: prepared
// once, then asked for every choice of some of these factors. docs/optimality.md, B7 and B14.
#ifndef TESSERA_SEARCH_EXACT_TILE_TERMS_H_
#define TESSERA_SEARCH_EXACT_TILE_TERMS_H_

#include <optional>
#include <vector>

#include "tessera/search/exact/model.h"
#include "tessera/search/exact/parallel.h"
#include "tessera/search/exact/word_cost.h"

namespace tessera::exact {

// Energy that does not depend on the number of words, in the two cases that a tile tells apart.
struct FixedEnergy {
  double moving_pj = 0;   // the tensor moves at every visit
  double staying_pj = 0;  // it stays while the innermost loop advances

  void Add(double pj) { Add(pj, pj); }
  void Add(double if_moving_pj, double if_staying_pj) {
    moving_pj += if_moving_pj;
    staying_pj += if_staying_pj;
  }
};

// One tensor: cost = words delivered * (child_pj + parent_pj / multicast) + fixed.
struct TileTerms {
  bool shared = false;     // takes part in the competition for the fan-out
  bool passes = false;     // the level below does not hold the tensor
  bool delivers = true;    // whether words are counted at all
  double words = 0;        // delivered to all children together, if nothing stays
  double least_words = 0;  // if it stays as long as it can, whatever outer loops do
  double idle_ratio = 1;   // of extents above and below, over dimensions that leave it alone
  double most_multicast = 1;
  double child_pj = 0, parent_pj = 0;
  double inner_pj = 0;  // with any factors: per word that is handed further in
  // Of all children together: visits, and what goes further in at one for which the tile stays; and
  // whether that comes from the parent. B19.
  double visits = 0, stay_words = 0, stay_pj = 0;
  double further_in_pj = 0;  // of child_pj, what is not paid at the child itself
  FixedEnergy fixed = {};
  double passing_pj = 0;  // of it, that of a window's words that pass the level below
  // Of child_pj, inner_pj, parent_pj and what follows them, what a Floor does not count.
  double outside_child_pj = 0, outside_inner_pj = 0, outside_parent_pj = 0;
  double outside_stay_words = 0, outside_stay_pj = 0, outside_further_in_pj = 0;
  double elided_pj = 0;  // of fixed.moving_pj, per child that one word can serve
  // Windows.
  bool one_per_rank = true;         // no rank is moved by two dimensions
  bool own_network = true;          // words pass only one network
  double step_part[kMaxDims] = {};  // new, at least, when a loop over the dimension advances
  double served_part = 1;           // of that, what surely comes from the parent
  double least_part = 1;            // and when anything advances that is not idle
};

// One choice of parallel factors for everything that they serve: operands, and words that go to a
// level inside. B20.
struct JointPoint {
  const LevelSplit* split = nullptr;
  double operands_pj = 0, cycles = 0;
};

// All tensors of a tile.
struct TileCosts {
  int level = 0;  // above the tile
  TileTerms tensors[kMaxTensors] = {};
  double ratios[kMaxDims] = {};  // how often the tile fits into that of the level outside, at most
  double least_ratio = 1;        // product of the least of them
  uint32_t innermost = 0;        // dimensions that may have the innermost loop above the tile: B18
  // Part of a dimension that its loop may pass in one iteration, and further in. R3.
  double once[kMaxDims] = {}, once_below[kMaxDims] = {};
  double operations = 1;  // MACs below the level, or below the child that works longest
  double operands_pj = 0;
  OperandFront front = {};  // what parallel factors add to that, and to the cycles
  double inside = 1;        // MACs below one child that can work at a time
  // What `joint` is made of, and the extents that parallel factors divide.
  std::optional<OperandCosts> operands = {};
  int16_t dealt_out[kMaxDims] = {};
  bool joint_set = false;  // found when it is asked for
  std::vector<JointPoint> joint = {};
  bool outside_set = false;  // as well
  TileTerms outside[kMaxTensors] = {};
};

// The factors of one dimension above a tile.
struct SplitFactors {
  int32_t spatial = 1, temporal = 1;
  double cut = 1;                   // by which the operations of one child become fewer
  double once = 0, once_below = 0;  // as in TileCosts
  double copies = 1;  // children that work, on the average over the tiles of the level outside
};

// Parallel factors of the first dimensions, and what they leave to the others.
struct PartialSplit {
  int decided = 0;                 // dimensions
  int32_t factors[kMaxDims] = {};  // of these
  double left = 1;                 // children that the others can have
  double cut = 1;                  // by which the operations of one child become fewer
  uint32_t in_time = 0;            // decided dimensions that have a loop in time
  double once[kMaxDims] = {}, once_below[kMaxDims] = {};  // of decided dimensions
  double multicast[kMaxTensors] = {};  // children that a word can serve by decided factors
  double copies[kMaxTensors] = {};     // and children that have to be filled with it, at least
};

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_TILE_TERMS_H_
