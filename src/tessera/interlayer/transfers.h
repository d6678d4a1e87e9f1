// What moving whole tensors costs, without a mapping: vector nodes, and weights that come on chip
// once for all slices of a group. docs/graphs.md, "Homes" and "Pinned weights".
#ifndef TESSERA_INTERLAYER_TRANSFERS_H_
#define TESSERA_INTERLAYER_TRANSFERS_H_

#include <cstdint>
#include <span>

#include "tessera/accelerator.h"

namespace tessera::interlayer {

struct Spent {
  double cycles = 0;
  double energy_pj = 0;

  Spent& operator+=(const Spent& other) {
    cycles += other.cycles;
    energy_pj += other.energy_pj;
    return *this;
  }
  friend bool operator==(const Spent&, const Spent&) = default;
};
inline Spent operator+(Spent a, const Spent& b) { return a += b; }
inline Spent operator*(double times, const Spent& spent) {
  return {times * spent.cycles, times * spent.energy_pj};
}

// Words of one tensor that a node moves at the tensor's home.
struct Moved {
  int level = 0;
  int64_t words = 0;
  bool written = false;
};

// A vector node: each word once, and `elements` operations on the machine's lanes.
Spent VectorCost(const Hierarchy& hierarchy, std::span<const Moved> moved, int64_t elements);

// Weights on their way to `home`: read at the outermost level and at those in between, written at
// their home.
Spent PinCost(const Hierarchy& hierarchy, int64_t words, int home);

}  // namespace tessera::interlayer

#endif  // TESSERA_INTERLAYER_TRANSFERS_H_
