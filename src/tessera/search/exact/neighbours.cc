// Moves of factors and loops.
#include "tessera/search/exact/neighbours.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera::exact {
namespace {

// Where a factor stands: a level, in time or in space.
struct Slot {
  int level = 0;
  bool spatial = false;
};

int32_t& At(LoopMapping& mapping, const Slot& slot, size_t dim) {
  LoopLevel& level = mapping.levels[static_cast<size_t>(slot.level)];
  return slot.spatial ? level.spatial[dim] : level.temporal[dim];
}

class Mover {
 public:
  Mover(const Model& model, const LoopMapping& mapping,
        const std::function<bool(const LoopMapping&)>& use)
      : dims_(static_cast<size_t>(model.num_dims)), mapping_(mapping), use_(use) {
    for (int i = 0; i < model.num_levels; ++i) {
      slots_.push_back({i, false});
      if (model.levels[i].fan > 1) slots_.push_back({i, true});
    }
  }

  void Go() {
    for (size_t d = 0; d < dims_; ++d) {
      for (const Slot& from : slots_) {
        for (const int32_t prime : PrimesOf(At(mapping_, from, d))) {
          for (const Slot& to : slots_) {
            if (!MoveFactor(d, prime, from, to)) return;
          }
        }
      }
    }
    for (const Slot& slot : slots_) {
      if (slot.spatial) continue;
      for (size_t k = 1; k < dims_; ++k) {
        if (!MakeInnermost(slot.level, k)) return;
      }
    }
  }

 private:
  bool MoveFactor(size_t dim, int32_t prime, const Slot& from, const Slot& to) {
    if (from.level == to.level && from.spatial == to.spatial) return true;
    LoopMapping moved = mapping_;
    At(moved, from, dim) /= prime;
    int32_t& target = At(moved, to, dim);
    const bool fresh = target == 1;
    target *= prime;
    if (!to.spatial || !fresh) return use_(moved);
    // A new parallel loop may lie on either axis.
    for (const bool on_y : {false, true}) {
      LoopMapping placed = moved;
      PlaceParallel(placed.levels[static_cast<size_t>(to.level)], static_cast<int>(dims_),
                    static_cast<int>(dim), on_y);
      if (!use_(placed)) return false;
    }
    return true;
  }

  // The loop at place `k`, if it is one, goes inside all others of the level.
  bool MakeInnermost(int level, size_t k) {
    LoopMapping moved = mapping_;
    LoopLevel& loops = moved.levels[static_cast<size_t>(level)];
    if (loops.temporal[loops.temporal_order[k]] == 1) return true;
    const auto begin = loops.temporal_order.begin();
    std::rotate(begin, begin + static_cast<std::ptrdiff_t>(k),
                begin + static_cast<std::ptrdiff_t>(k) + 1);
    return use_(moved);
  }

  const size_t dims_;
  LoopMapping mapping_;
  const std::function<bool(const LoopMapping&)>& use_;
  std::vector<Slot> slots_;
};

}  // namespace

std::vector<int32_t> PrimesOf(int32_t number) {
  std::vector<int32_t> primes;
  for (int32_t p = 2; p <= number / p; ++p) {
    if (number % p != 0) continue;
    primes.push_back(p);
    while (number % p == 0) number /= p;
  }
  if (number > 1) primes.push_back(number);
  return primes;
}

void PlaceParallel(LoopLevel& level, int num_dims, int dim, bool on_y) {
  uint8_t x[kMaxDims], y[kMaxDims], idle[kMaxDims];
  size_t count_x = 0, count_y = 0, count_idle = 0;
  for (size_t k = 0; k < static_cast<size_t>(num_dims); ++k) {
    const uint8_t d = level.spatial_order[k];
    if (d == dim) continue;
    if (level.spatial[d] == 1) {
      idle[count_idle++] = d;
    } else if (k < level.split) {
      x[count_x++] = d;
    } else {
      y[count_y++] = d;
    }
  }
  (on_y ? y[count_y++] : x[count_x++]) = static_cast<uint8_t>(dim);
  level.split = static_cast<uint8_t>(count_x);
  uint8_t* end = std::copy_n(x, count_x, level.spatial_order.data());
  end = std::copy_n(y, count_y, end);
  std::copy_n(idle, count_idle, end);
}

void ForEachNeighbour(const Model& model, const LoopMapping& mapping,
                      const std::function<bool(const LoopMapping&)>& use) {
  Mover(model, mapping, use).Go();
}

}  // namespace tessera::exact
