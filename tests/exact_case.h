// A random problem and machine as the exact mapper sees them, and a random mapping, for tests of
// its bounds.
#ifndef TESSERA_TESTS_EXACT_CASE_H_
#define TESSERA_TESTS_EXACT_CASE_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "loopnest_random.h"
#include "tessera/cost/loopnest/evaluation.h"
#include "tessera/search/exact/bound.h"
#include "tessera/search/exact/model.h"

namespace tessera::exact {

struct ExactCase {
  RandomCase random = {};
  loopnest::Setup setup = {};
  std::vector<uint8_t> keep = {};  // what the mapping's levels hold
  Model model = {};                // semantics exact, factors that divide
  Goal goal = Goal::kEnergy;       // takes turns
};

// Null where there is no such model.
std::unique_ptr<ExactCase> MakeExactCase(uint64_t seed, std::string_view test, uint64_t number,
                                         const RandomCaseOptions& options);

// What the mapping costs; infinity if there is no such mapping.
double CostOfMapping(const ExactCase& made);

}  // namespace tessera::exact

#endif  // TESSERA_TESTS_EXACT_CASE_H_
