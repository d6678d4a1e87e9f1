// Brute force over plans of small networks: every choice of homes, groups, levels, slices and
// pinned weights, every mapping of every node. Written from docs/graphs.md; shares the cost model
// with the optimizer and nothing else of it.
#ifndef TESSERA_TESTS_GRAPH_ORACLE_H_
#define TESSERA_TESTS_GRAPH_ORACLE_H_

#include <cstdint>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/network.h"

namespace tessera {

struct GraphOptima {
  double cycles = 0, energy_pj = 0, edp = 0;
  int64_t plans = 0;
  bool found = false;
};

struct GraphOracleOptions {
  bool homes = true;
  bool slices = true;
  bool bypass = false;  // every choice of kept tensors
};

// What plans cost at least, by each objective.
GraphOptima SearchEveryPlan(const Network& network, const Hierarchy& machine,
                            const GraphOracleOptions& options);

// Mappings that the search above would look at for the largest layer.
double MappingsOf(const Network& network, const Hierarchy& machine);

}  // namespace tessera

#endif  // TESSERA_TESTS_GRAPH_ORACLE_H_
