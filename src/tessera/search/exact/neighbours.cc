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

// Puts a dimension at the end of the parallel loops of an axis.
void Place(LoopLevel& level, size_t num_dims, size_t dim, bool on_y) {
  std::vector<uint8_t> x, y, idle;
  for (size_t k = 0; k < num_dims; ++k) {
    const uint8_t d = level.spatial_order[k];
    if (d == dim) continue;
    (level.spatial[d] == 1 ? idle : k < level.split ? x : y).push_back(d);
  }
  (on_y ? y : x).push_back(static_cast<uint8_t>(dim));
  level.split = static_cast<uint8_t>(x.size());
  auto end = std::ranges::copy(x, level.spatial_order.begin()).out;
  end = std::ranges::copy(y, end).out;
  std::ranges::copy(idle, end);
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
      Place(placed.levels[static_cast<size_t>(to.level)], dims_, dim, on_y);
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

void ForEachNeighbour(const Model& model, const LoopMapping& mapping,
                      const std::function<bool(const LoopMapping&)>& use) {
  Mover(model, mapping, use).Go();
}

}  // namespace tessera::exact
