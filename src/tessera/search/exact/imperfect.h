// Mappings whose factors need not divide: the last iteration of a loop then has less to do. First
// those that do divide are searched, so that the answer says what the others are worth.
#ifndef TESSERA_SEARCH_EXACT_IMPERFECT_H_
#define TESSERA_SEARCH_EXACT_IMPERFECT_H_

#include <cstdint>

#include "tessera/result.h"
#include "tessera/search/exact/mapper.h"

namespace tessera::exact {

struct ImperfectOptions {
  // As MapperOptions::any_factors demands. Default: as MapperOptions.
  MapperOptions mapper = {};

  // Rounds for perfect factors and for all; 0: until both are proved. Default: 200.
  int64_t rounds = 200;
};

struct ImperfectResult {
  Progress perfect = {};  // factors that divide
  Progress any = {};      // all factors; never above the other
  bool divides = true;    // whether the best mapping has perfect factors after all
};

// Errors: as Mapper::Make.
Result<ImperfectResult> MapWithAnyFactors(const LoopProblem& problem, const Hierarchy& hierarchy,
                                          const ImperfectOptions& options, ThreadPool& pool);

// Whether the factors of a mapping multiply to the sizes of all dimensions.
bool Divides(const LoopProblem& problem, const LoopMapping& mapping);

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_IMPERFECT_H_
