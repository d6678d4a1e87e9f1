// Neighbours that hand words on, under semantics `exact` and with perfect factors: a group of
// children is served by its neighbours, and not by the parent, if each member has one whose last
// tile contains what the member needs.
#ifndef TESSERA_COST_LOOPNEST_EXACT_LINKS_H_
#define TESSERA_COST_LOOPNEST_EXACT_LINKS_H_

#include <cstdint>

#include "tessera/cost/loopnest/exact_count.h"

namespace tessera::loopnest {

// Whether links can matter between a level and the next inner one that holds tensor v.
bool HasLinks(const ExactInput& input, int v, int child, int parent);

// Counts the network below level child + 1 for tensor v. Adds what each child hands on to
// `reads_by_place`, one entry per place below the parent, and returns the words that one instance
// of the parent hands out.
int64_t CountLinked(const ExactInput& input, int v, int child, ExactScratch& scratch,
                    ExactNetworkTensor& network, std::vector<int64_t>& reads_by_place);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_EXACT_LINKS_H_
