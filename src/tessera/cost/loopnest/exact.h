// Semantics `exact`: what walking the loop nest with explicit sets of elements would count, found
// without walking. docs/cost-loopnest.md states the rules.
#ifndef TESSERA_COST_LOOPNEST_EXACT_H_
#define TESSERA_COST_LOOPNEST_EXACT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tessera/cost/loopnest/exact_residual.h"
#include "tessera/cost/loopnest/fan.h"
#include "tessera/cost/loopnest/first_words.h"
#include "tessera/cost/loopnest/group_cache.h"
#include "tessera/cost/loopnest/machine.h"
#include "tessera/cost/loopnest/nest.h"
#include "tessera/cost/loopnest/problem_data.h"
#include "tessera/cost/loopnest/touched.h"

namespace tessera::loopnest {

// Words that enter a network and reach `multicast` children each, summed over all instances.
struct ExactIngress {
  int64_t multicast = 1;
  int64_t words = 0;
};

// One tensor at one level, summed over the level's instances.
struct ExactTensor {
  int64_t capacity = 0;  // words of the first tile, the largest; 0 where bypassed
  int64_t reads = 0, fills = 0, updates = 0;
  int64_t read_vectors = 0, fill_vectors = 0, update_vectors = 0;  // rounded up per instance
  double energy = 0, address_energy = 0;
};

// One tensor in the network below a level, summed over the level's instances.
struct ExactNetworkTensor {
  std::vector<ExactIngress> ingresses = {};  // by ascending multicast
  int64_t half_hops = 0;                     // of all words
  int64_t down_words = 0, link_transfers = 0, spatial_reductions = 0;
  double avg_hops = 0, energy = 0, link_energy = 0;
};

struct ExactLevel {
  int64_t clusters = 1;
  int64_t busiest_reads = 0, busiest_writes = 0, busiest_both = 0;  // of one instance, in units
  int64_t cycles = 0;
  double energy = 0, network_energy = 0;
  ExactTensor tensors[kMaxTensors];
  ExactNetworkTensor network[kMaxTensors];
};

struct ExactResult {
  enum class Status : uint8_t {
    kOk,
    kOutermostBypass,  // `tensor` is not held by the outermost level
    kFanoutX,          // of `level`: have > limit
    kFanoutY,
    kCapacity,
    kTooLong,  // links or windows that must be walked, and too many visits
  };
  Status status = Status::kOk;
  int level = 0, tensor = 0;
  int64_t have = 0, limit = 0;  // kCapacity: units

  int64_t computes = 0, compute_cycles = 0, cycles = 0;
  double mac_energy = 0, energy = 0, utilization = 0;
  ExactLevel levels[kMaxLevels];
};

// Accesses of one instance to one tensor.
struct InstanceCounts {
  int64_t reads = 0, fills = 0, updates = 0;
};

// Instances of a level that all do the same.
struct InstanceClass {
  int64_t instances = 1;
  InstanceCounts tensors[kMaxTensors] = {};
};

// Scratch of one thread.
struct ExactScratch {
  std::vector<InstanceClass> classes[kMaxLevels];
  std::vector<int64_t> link_reads[kMaxLevels][kMaxTensors];  // by place below the parent
  FanScratch fan = {};
  std::vector<GroupClass> groups = {};
  GroupCache known_groups = {};
  TouchedScratch touched = {};
  std::vector<int64_t> keys = {};
  std::vector<int64_t> places = {};
  std::vector<std::pair<int64_t, bool>> known_links = {};
  ResidualScratch residual = {};
  FirstWordsScratch first_words = {};
};

// Room for so many children of a level, and for `usual` items where there are few.
void Reserve(size_t children, size_t usual, ExactScratch& scratch);

// Evaluates a nest that MakeExactNest accepted.
void EvaluateExact(const ProblemData& data, const Machine& machine, const LoopMapping& mapping,
                   const Nest& nest, ExactScratch& scratch, ExactResult& result);

// "fan-out X 8 > 4", "capacity 130 > 128"; empty if accepted.
std::string DescribeRejection(const ExactResult& result);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_EXACT_H_
