// The mappings that trade cycles against energy, no other one having both fewer, by one proof after
// another: a use of the exact mapper under its limit of cycles that brute force can check point by
// point.
#ifndef TESSERA_TESTS_EXACT_FRONT_H_
#define TESSERA_TESTS_EXACT_FRONT_H_

#include <cstdint>
#include <vector>

#include "tessera/search/exact/mapper.h"

namespace tessera::exact {

struct ParetoOptions {
  // goal and limits are set by the front. Default: as MapperOptions.
  MapperOptions mapper = {};

  // Points after which the front is left incomplete, from the side of little energy.
  // Default: 1'000.
  int64_t max_points = 1'000;

  // Rounds for each point; one that needs more ends the front. Default: 100'000.
  int64_t max_rounds = 100'000;
};

struct ParetoFront {
  // From the least energy to the fewest cycles; each is proved: no mapping with at most its cycles
  // has less energy, up to the tolerance.
  std::vector<Candidate> points = {};
  bool complete = false;
};

// Errors: as Mapper::Make.
Result<ParetoFront> FindParetoFront(const LoopProblem& problem, const Hierarchy& hierarchy,
                                    const ParetoOptions& options, ThreadPool& pool);

}  // namespace tessera::exact

#endif  // TESSERA_TESTS_EXACT_FRONT_H_
