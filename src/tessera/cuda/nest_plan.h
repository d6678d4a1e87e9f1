// A layer and a machine as plain numbers, and mappings as a few words each: what pricing loop nests
// on a device needs. Everything here is copied there as it is.
#ifndef TESSERA_CUDA_NEST_PLAN_H_
#define TESSERA_CUDA_NEST_PLAN_H_

#include <cstdint>

// Functions that run on either side; without nvcc they are plain ones.
#ifdef __CUDACC__
#define TESSERA_HOST_DEVICE __host__ __device__
#else
#define TESSERA_HOST_DEVICE
#endif

namespace tessera::cuda {

inline constexpr int kNestLevels = 12, kNestDims = 12, kNestTensors = 6, kNestRanks = 6;
inline constexpr int kNestTerms = 2;       // of a rank; ranks with more are priced by the host
inline constexpr int kMostNestLoops = 40;  // of one kind in one mapping; likewise

// ceil(count * scale / divisor) cycles for `count` words.
struct NestRate {
  bool limited = false;
  double value = 0;  // words per cycle
  uint64_t scale = 1, divisor = 1;
  uint64_t most = 0;  // counts above it would overflow
};

struct NestLevel {
  int64_t fan_x = 1, fan_y = 1;
  int64_t entries = 0;  // usable words; only if limited
  int64_t block = 1;    // words per vector access
  int64_t clusters = 1;
  double read_pj = 0, fill_pj = 0, update_pj = 0, address_pj = 0;
  double hop_pj = 0, router_pj = 0, ingress_pj = 0;  // of the network below
  NestRate read = {}, write = {}, shared = {};
  int32_t block_shift = 0;  // log2 of block, or -1
  bool limited = false;
  bool reduces = true;
  bool hops = false;  // whether words pay for the way
};

// Terms by falling coefficient, divided by their common divisor.
struct NestRank {
  int32_t num_terms = 0;
  int32_t dims[kNestTerms] = {};
  int64_t coefficients[kNestTerms] = {};
};

struct NestTensor {
  uint32_t dims = 0;   // bit d: the tensor uses dimension d
  bool simple = true;  // each rank is a single dimension
  bool read_write = false;
  int32_t num_ranks = 0;
  NestRank ranks[kNestRanks] = {};
};

struct NestPlan {
  int32_t num_levels = 0, num_dims = 0, num_tensors = 0;
  int64_t latency_cycles = 0;
  double mac_energy_pj = 0;  // of all MACs
  NestTensor tensors[kNestTensors] = {};
  NestLevel levels[kNestLevels] = {};
};

// A mapping: for each level, from the MACs outwards, a head and its loops, parallel ones first and
// each kind from the innermost. Loops of count 1 are left out.
inline constexpr uint32_t kMostLoopCount = (1u << 28) - 1;
constexpr uint32_t PackLevel(uint32_t spatial, uint32_t on_x, uint32_t temporal, uint32_t keep) {
  return spatial | on_x << 8 | temporal << 16 | keep << 24;
}
constexpr uint32_t PackLoop(uint32_t dim, uint32_t count) { return dim << 28 | count; }

// Accesses of one instance of a level to one tensor.
struct NestCounts {
  int64_t reads = 0, fills = 0, updates = 0;

  friend bool operator==(const NestCounts&, const NestCounts&) = default;
};

enum class NestStatus : int32_t {
  kPriced = 0,
  kRefused,  // it breaks a rule; the host says which
  kForHost,  // priced by the host only: what it needs has no bounded memory
};

struct NestPrice {
  int64_t cycles = 0;
  double energy_pj = 0;
  NestStatus status = NestStatus::kForHost;
};

}  // namespace tessera::cuda

#endif  // TESSERA_CUDA_NEST_PLAN_H_
