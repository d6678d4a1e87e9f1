// Semantics `timeloop3` and `timeloop4`: the numbers of timeloop-model 3.0.3, bit for bit, and the
// same with the stride rule of Timeloop v4. docs/cost-loopnest.md tells the rules and their quirks.
#ifndef TESSERA_COST_LOOPNEST_TIMELOOP_H_
#define TESSERA_COST_LOOPNEST_TIMELOOP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/cost/loopnest/fan.h"
#include "tessera/cost/loopnest/machine.h"
#include "tessera/cost/loopnest/nest.h"
#include "tessera/cost/loopnest/problem_data.h"
#include "tessera/cost/loopnest/timeloop_walk.h"

namespace tessera::loopnest {

// Words that enter a network and reach `multicast` children each; `scatter` groups of that size.
struct Ingress {
  int64_t multicast = 1, scatter = 1;
  double words = 0;
  double hops = 0;  // of all these words
};

// One tensor at one level; counts are per instance.
struct TimeloopTensor {
  int64_t partition_size = 0, utilized_capacity = 0;
  uint64_t reads = 0, fills = 0, updates = 0, temporal_reductions = 0, address_generations = 0;
  double energy_per_instance = 0, address_energy_per_cluster = 0;
  double reads_per_cycle = 0, writes_per_cycle = 0;  // before throttling
};

// One tensor in the network below a level; energies are per instance of the level.
struct TimeloopNetworkTensor {
  int64_t fanout = 0;
  int32_t first_ingress = 0, num_ingresses = 0;  // in TimeloopResult::ingresses
  int64_t link_transfers = 0, spatial_reductions = 0;
  double avg_hops = 0;
  double energy_per_instance = 0, link_energy_per_instance = 0;
};

struct TimeloopLevel {
  int64_t clusters = 1;
  double slowdown = 1;
  int64_t cycles = 0;
  double energy = 0, network_energy = 0;
  TimeloopTensor tensors[kMaxTensors];
  TimeloopNetworkTensor network[kMaxTensors];
};

struct TimeloopResult {
  enum class Status : uint8_t {
    kOk,
    kBypassedEverywhere,  // `tensor` is held by no level
    kTooManyMacs,         // of the arithmetic: have > limit
    kTooManyMacsX,
    kTooManyMacsY,
    kLevel,      // `level` breaks its capacity, its instances or both
    kAssertion,  // timeloop-model stops at an assertion: content < partition
  };
  Status status = Status::kOk;
  int level = 0, tensor = 0;
  int64_t have = 0, limit = 0;
  // kLevel: words needed beyond `limit`, and the mesh that is exceeded (0 none, 1 instances, 2 X,
  // 3 Y).
  bool over_capacity = false;
  int over_mesh = 0;
  int64_t mesh_have = 0, mesh_limit = 0;

  int64_t computes = 0, compute_cycles = 0, cycles = 0;
  double mac_energy = 0, energy = 0, utilization = 0;
  TimeloopLevel levels[kMaxLevels];
  std::vector<Ingress> ingresses = {};
};

// Scratch of one thread.
struct TimeloopScratch {
  FanScratch fan = {};
  std::vector<GroupClass> classes = {};
  std::vector<int64_t> places = {};
  TileWalk walk = {};
};

// Evaluates a nest that MakeTimeloopNest accepted.
void EvaluateTimeloop(const ProblemData& data, const Machine& machine, const LoopMapping& mapping,
                      const Nest& nest, const WalkRules& rules, TimeloopScratch& scratch,
                      TimeloopResult& result);

// Why a mapping is rejected, in timeloop-model's own words, and the level that says so.
struct TimeloopRejection {
  std::string level = {}, reason = {};
};
TimeloopRejection Describe(const TimeloopResult& result, const Machine& machine);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_TIMELOOP_H_
