// Simulated annealing over the mappings of a problem: what the exact mapper compares its bounds
// with comes from here, before and between its rounds. It needs no bounds, so its first answer is
// there after some milliseconds however large the space is, and it can be stopped at any time.
#ifndef TESSERA_SEARCH_EXACT_ANNEAL_H_
#define TESSERA_SEARCH_EXACT_ANNEAL_H_

#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tessera/mapping.h"
#include "tessera/part.h"
#include "tessera/search/exact/model.h"
#include "tessera/search/exact/tree.h"

namespace tessera::exact {

// What a chain of mappings may become.
struct AnnealSpace {
  Goal goal = Goal::kEnergy;
  Limits limits = {};
  // Tensors that levels may pass by, bit by bit, levels[0] first.
  std::array<uint8_t, kMaxLevels> open = {};
};

struct AnnealSchedule {
  uint64_t seed = 0;
  int64_t evaluations = 1000;
  // Temperatures of the logarithm of the value: a change that makes it worse by the factor 1 + t is
  // taken about every third time.
  double hot = 0.5, cold = 0.005;
  // Levels hold what they hold at the start. Default: false.
  bool same_keep = false;
};

// Contract:
//   Threads      used by one thread at a time.
//   Determinism  a chain is a function of (model, space, start, schedule), unless it is stopped.
//   Ownership    the model outlives it.
//   Cost         nothing is allocated after the first evaluations.
class Annealer {
 public:
  // `stopped` is asked every few evaluations; empty: never.
  Annealer(const Model& model, const AnnealSpace& space, std::function<bool()> stopped);

  // Walks from `start`, a mapping of the space, and returns the best mapping on the way that the
  // limits allow; its value is infinite if there was none.
  Candidate Walk(const LoopMapping& start, const AnnealSchedule& schedule);

  // Evaluations of all walks so far.
  int64_t evaluations() const { return evaluations_; }

 private:
  // Where a factor stands: a level, in time or in space.
  struct Slot {
    uint8_t level = 0;
    bool spatial = false;
  };

  int32_t& At(Slot slot, int dim) {
    LoopLevel& level = next_.levels[slot.level];
    const auto d = static_cast<size_t>(dim);
    return slot.spatial ? level.spatial[d] : level.temporal[d];
  }
  int Draw(size_t count) { return static_cast<int>(rng_.UniformInt(static_cast<int64_t>(count))); }

  // Each changes next_; false if nothing came of it.
  bool Change(bool same_keep);
  bool MoveFactor();
  bool ChangeFactor();
  void CutLoops(int dim);
  bool SwapFactors();
  bool MoveLoop();
  bool MoveAxis();
  bool ToggleKeep();

  bool Shift(int dim, int32_t factor, Slot from, Slot to);
  int32_t DrawFactor(int dim, int32_t of);
  bool FitsAxes(int level) const;
  bool Price();

  const Model& model_;
  const AnnealSpace space_;
  const std::function<bool()> stopped_;
  std::vector<Slot> slots_;
  std::vector<int> dims_;  // of more than one iteration
  std::vector<int32_t> primes_[kMaxDims];
  std::vector<std::pair<int, int>> open_;  // level and tensor that it may pass by

  CounterRng rng_;
  LoopMapping at_, next_;
  Candidate priced_;  // next_, where Price() is true
  int64_t evaluations_ = 0;
};

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_ANNEAL_H_
