// The rules of model `loopnest` that a mapping can break, and sentences about them.
#ifndef TESSERA_COST_LOOPNEST_VIOLATION_H_
#define TESSERA_COST_LOOPNEST_VIOLATION_H_

#include "tessera/cost.h"
#include "tessera/cost/loopnest/evaluation.h"
#include "tessera/result.h"

namespace tessera::loopnest {

// Codes of Violation::rule; 0 means none.
enum class Rule : int16_t {
  kNone,
  kLevels,           // the mapping has `have` levels, the machine `limit`
  kOrder,            // an order of `level` is not a permutation, or a factor is negative
  kFactors,          // the factors of dimension `item` give `have`, its bound is `limit`
  kNoFanout,         // `level` has spatial loops, but only one child
  kNowhereHeld,      // no level holds tensor `item`
  kOutermostBypass,  // the outermost level does not hold tensor `item`
  kCapacity,         // `level` needs `have` words and has `limit`
  kFanoutX,
  kFanoutY,  // of `level`
  kMacs,
  kMacsX,
  kMacsY,  // used MACs and those there are
  kInstances,
  kMeshX,
  kMeshY,      // the same for instances of `level`
  kAssertion,  // timeloop-model would stop at an assertion about tensor `item`
  kTooLong,    // `have` visits would have to be walked, at most `limit` are
};

// The rule that the last evaluation in the workspace broke.
Violation ViolationOf(const Setup& setup, const Workspace& workspace);

// A sentence with the numbers. With a mapping it also names tiles and loops.
Error DescribeViolation(const Setup& setup, const Violation& violation,
                        const LoopMapping* mapping = nullptr);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_VIOLATION_H_
