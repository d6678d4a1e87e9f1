// Checks that every search method must pass, one per line of the contract of Searcher. Run over the
// registry, they cover a new method before it has a test.
#ifndef TESSERA_SEARCH_CONFORMANCE_H_
#define TESSERA_SEARCH_CONFORMANCE_H_

#include <cstdint>

#include "tessera/base/result.h"
#include "tessera/search/method.h"
#include "tessera/space/problem.h"

namespace tessera {

// The error names the method and the line of the contract that it breaks.
Result<void> CheckDeterminism(const MethodInfo& method, const Problem& problem, uint64_t seed);
Result<void> CheckReplay(const MethodInfo& method, const Problem& problem, uint64_t seed);
Result<void> CheckOwnership(const MethodInfo& method, const Problem& problem, uint64_t seed);
Result<void> CheckThreads(const MethodInfo& method, const Problem& problem, uint64_t seed);
Result<void> CheckProposals(const MethodInfo& method, const Problem& problem, uint64_t seed);
Result<void> CheckBadNews(const MethodInfo& method, const Problem& problem, uint64_t seed);
Result<void> CheckParameters(const MethodInfo& method, const Problem& problem, uint64_t seed);

// All of them.
Result<void> CheckMethod(const MethodInfo& method, const Problem& problem, uint64_t seed);

}  // namespace tessera

#endif  // TESSERA_SEARCH_CONFORMANCE_H_
