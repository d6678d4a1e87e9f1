// How long agents may find nothing better before they start anew.
#ifndef TESSERA_SEARCH_PATIENCE_H_
#define TESSERA_SEARCH_PATIENCE_H_

#include <algorithm>
#include <cstdint>

#include "tessera/search.h"

namespace tessera {

// The settings were tuned in spaces of up to 17 decisions, the paper's. Where more agents have to
// agree, a life needs longer: pairs of decisions, and what can be learned of them, grow with the
// square.
inline int64_t PatienceIn(const DecisionSpace& space, int64_t patience) {
  const double ratio = static_cast<double>(space.size()) / 17;
  return static_cast<int64_t>(static_cast<double>(patience) * std::max(1.0, ratio * ratio));
}

}  // namespace tessera

#endif  // TESSERA_SEARCH_PATIENCE_H_
