// Semantics `exact` of model `loopnest`, by walking: every iteration, every instance, every tile a
// set of elements. Slow and plain on purpose, and built from nothing else of cost/: it is what the
// model is tested against, and what `tessera verify` prices mappings of small layers with.
#ifndef TESSERA_COST_LOOPNEST_INTERPRETER_H_
#define TESSERA_COST_LOOPNEST_INTERPRETER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/mapping.h"

namespace tessera {

// One tensor at one level, summed over the instances.
struct InterpretedTensor {
  int64_t capacity = 0;
  int64_t reads = 0, fills = 0, updates = 0;
  double energy = 0, address_energy = 0;
};

// One tensor in the network below a level, summed over the level's instances.
struct InterpretedNetwork {
  std::map<int64_t, int64_t> ingresses = {};  // by multicast
  double hops = 0;
  int64_t down_words = 0, link_transfers = 0, spatial_reductions = 0;
  double avg_hops = 0, energy = 0, link_energy = 0;
};

struct InterpretedLevel {
  int64_t instances = 1, clusters = 1, fanout = 1;
  int64_t busiest_reads = 0, busiest_writes = 0, busiest_both = 0;
  int64_t cycles = 0;
  double energy = 0, network_energy = 0;
  std::vector<InterpretedTensor> tensors = {};
  std::vector<InterpretedNetwork> network = {};
};

struct Interpreted {
  std::string error = {};      // an input error
  std::string rejection = {};  // "L1: capacity 130 > 128"
  int64_t computes = 0, compute_cycles = 0, cycles = 0;
  double energy = 0, utilization = 0;
  std::vector<InterpretedLevel> levels = {};
  bool idle = false;  // whether some instance had nothing to do in some step
};

// `homes`: by tensor, the level at which it is whole before the layer begins and outside of which
// no level holds it; the hierarchy's entries are what such tensors leave. Empty: the outermost.
Interpreted Interpret(const LoopProblem& problem, const Hierarchy& hierarchy,
                      const LoopMapping& mapping, const std::vector<int>& homes = {});

}  // namespace tessera

#endif  // TESSERA_COST_LOOPNEST_INTERPRETER_H_
