// Which decisions belong to which agent: samples of a search on one layer, their correlations, and
// the groups that these give (Algorithm 1 of the MARL mapper), in one call.
#ifndef TESSERA_MAPPER_ASSIGN_H_
#define TESSERA_MAPPER_ASSIGN_H_

#include <functional>

#include "tessera/agents/assignment.h"
#include "tessera/map.h"
#include "tessera/result.h"
#include "tessera/search.h"

namespace tessera {

struct AssignOptions {
  // Correlation, clustering and where the tree is cut.
  AssignmentOptions assignment = {};

  // Threads that evaluate; results do not depend on it. Default: 0 (one per core).
  int threads = 0;

  // Polled while samples are collected; true ends that, and what there is counts. Default: none.
  std::function<bool()> stopped = nullptr;
};

// Collects samples of the job's first layer with `policy`, within the job's budget and from its
// seed, and assigns the decisions of its space. The errors are those of problem, method and search,
// and of too few feasible samples or more agents than decisions.
Result<AssignmentStudy> AssignAgents(const MapJob& job, const MethodChoice& policy,
                                     const AssignOptions& options);

}  // namespace tessera

#endif  // TESSERA_MAPPER_ASSIGN_H_
