// Mappings whose factors need not divide: the last iteration of a loop then has less to do. The
// exact mapper does not search that space. What it proves for sizes rounded up is tried on the true
// ones, and the answer comes with a bound that holds for all factors, so its status is BOUNDED.
#ifndef TESSERA_SEARCH_EXACT_IMPERFECT_H_
#define TESSERA_SEARCH_EXACT_IMPERFECT_H_

#include <cstdint>

#include "tessera/result.h"
#include "tessera/search/exact/mapper.h"

namespace tessera::exact {

struct ImperfectOptions {
  // Semantics must be exact; restrictions and limits must be unset. Default: as MapperOptions.
  MapperOptions mapper = {};

  // Rounds for the true sizes and for each rounding of them. Default: 200.
  int64_t rounds = 200;
};

struct ImperfectResult {
  Progress perfect = {};  // of the true sizes, perfect factors only

  // Never OPTIMAL: `bound` is that of all factors, perfect or not.
  Progress any = {};
  bool divides = true;  // whether the best mapping has perfect factors after all
};

// Errors: as Mapper::Make; other semantics, and constraints, which name perfect factors.
Result<ImperfectResult> MapWithAnyFactors(const LoopProblem& problem, const Hierarchy& hierarchy,
                                          const ImperfectOptions& options, ThreadPool& pool);

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_IMPERFECT_H_
