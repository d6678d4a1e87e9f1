// Brute force over the space of the exact mapper: every mapping is built and evaluated, and nothing
// is left out by an argument. Shares no code with the search.
#ifndef TESSERA_TESTS_EXACT_ORACLE_H_
#define TESSERA_TESTS_EXACT_ORACLE_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/cost.h"
#include "tessera/mapping.h"

namespace tessera {

struct OracleResult {
  int64_t mappings = 0, valid = 0;
  double cycles = std::numeric_limits<double>::infinity();
  double energy = std::numeric_limits<double>::infinity();
  double edp = std::numeric_limits<double>::infinity();
  std::map<double, double> least_energy = {};  // by cycles
};

// `allowed` says which mappings of the space count; none given: all. `homes`: as in
// MapperOptions.
OracleResult SearchEverything(const LoopProblem& problem, const Hierarchy& machine,
                              loopnest::Semantics semantics, const std::vector<uint8_t>& keep,
                              const std::function<bool(const LoopMapping&)>& allowed = nullptr,
                              const std::vector<int>& homes = {});

// The same over all factors that semantics exact accepts, whether they divide or not.
OracleResult SearchAnyFactors(const LoopProblem& problem, const Hierarchy& machine,
                              const std::vector<uint8_t>& keep);

}  // namespace tessera

#endif  // TESSERA_TESTS_EXACT_ORACLE_H_
