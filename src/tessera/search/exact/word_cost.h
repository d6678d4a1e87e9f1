// What words cost at least on the parts of their way that a partial mapping leaves open: in the
// network below a level, on levels further in, and at the MACs. Shared by the bounds of frames and
// of tiles; docs/optimality.md, B4 to B6 and B8.
#ifndef TESSERA_SEARCH_EXACT_WORD_COST_H_
#define TESSERA_SEARCH_EXACT_WORD_COST_H_

#include "tessera/search/exact/model.h"

namespace tessera::exact {

// Under Timeloop's rules read-only fills are cut to whole words, and other counts are rounded: a
// count can be less than its formula by as much. docs/optimality.md, B8.
inline constexpr double kCut = 1, kRounded = 0.5;

// Words of one instance that a level's count of a tensor can be rounded down by, where they pass
// the level below (`closes`: they do not). B8.
inline double RoundedPast(const Model& model, int v, bool closes) {
  return model.exact || closes || model.tensors[v].simple ? 0 : kRounded;
}

// Of the network below a level, for the words of one tensor that pass it.
struct EnterCost {
  double word_pj = 0;
  double fixed_pj = 0;  // whatever the number of words; negative: words that do not pay
};

// `used` instances of the level are in use, `copies` of them hold the same words.
EnterCost EnterCostOf(const Model& model, int v, int level, double used, double copies);

// Of words that pass a level which does not hold them; as the inner_* of Model.
struct InnerCost {
  double word_pj = 0, elided_pj = 0, slack_pj = 0;
};

// Of a word that arrives at level `next`, coming from beyond the level outside it (-1: no level
// further in holds the tensor).
InnerCost InnerCostOf(const Model& model, int v, int next);

// What the MACs' operands cost at least at the innermost level that holds a tensor, if that level
// is further in than `level`. `copies` of that level's parent are known, `idle_extents` bound how
// many more there can be.
double OperandCost(const Model& model, int v, int level, double copies, double idle_extents);

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_WORD_COST_H_
