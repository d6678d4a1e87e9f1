// Caches and TLBs as programs of addresses see them: set-associative with the least recently used
// line replaced, without prefetching. For machines whose own counters cannot be read: a trace of
// what a phase touches is counted instead of measured, the same everywhere.
#ifndef TESSERA_RL_CACHE_MODEL_H_
#define TESSERA_RL_CACHE_MODEL_H_

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/result.h"

namespace tessera {

// One cache, or one TLB, whose lines are pages.
struct CacheShape {
  int64_t entries = 0;  // lines in all
  int64_t ways = 0;     // lines of a set; the number of sets is a power of two
  int64_t line_bytes = 0;
};

// A machine: every access asks the first level, and each level that misses asks the next one.
struct CacheModel {
  std::string_view name;
  std::string_view summary;
  CacheShape l1, l2, last, dtlb;
};

// Tessera's models, the default first.
std::span<const CacheModel> CacheModels();
Result<const CacheModel*> FindCacheModel(std::string_view name);

// One level with what it holds. Access takes the number of a line and returns whether it was there.
class SimulatedCache {
 public:
  explicit SimulatedCache(const CacheShape& shape);

  bool Access(uint64_t line);
  uint64_t LineOf(uint64_t address) const { return address / line_bytes_; }

 private:
  const uint64_t line_bytes_, sets_, ways_;
  // Set by set, the most recently used first; 0 is an empty place, and lines count from 1.
  std::vector<uint64_t> lines_;
};

// What a trace came to. A miss of a level is an access that it did not hold; `accesses` counts the
// lines of L1 that were touched.
struct CacheCounts {
  int64_t accesses = 0;
  int64_t l1_misses = 0, l2_misses = 0, last_misses = 0, dtlb_misses = 0;
};

// Contract:
//   Threads      used by one thread.
//   Determinism  addresses are offsets in numbered regions of memory, which lie far apart, so that
//                counts do not depend on where an allocator put anything.
class CacheSimulator {
 public:
  // How far regions lie apart: further than any buffer is large, and not by a multiple of a cache's
  // sets. Region r begins at address (r + 1) * kRegionBytes.
  static constexpr uint64_t kRegionBytes = (uint64_t{1} << 40) + 37 * 4096;

  explicit CacheSimulator(const CacheModel& model);

  // Reads or writes bytes of a region, in order.
  void Touch(uint64_t region, int64_t offset, int64_t bytes);

  const CacheCounts& counts() const { return counts_; }
  // What is held stays; counting starts again.
  void ClearCounts() { counts_ = {}; }

  // From now on addresses are also written down, one for every line touched; null: no longer. For
  // checks against other simulators.
  void set_trace(std::vector<uint64_t>* addresses) { trace_ = addresses; }

 private:
  SimulatedCache l1_, l2_, last_, dtlb_;
  CacheCounts counts_;
  std::vector<uint64_t>* trace_ = nullptr;
};

}  // namespace tessera

#endif  // TESSERA_RL_CACHE_MODEL_H_
