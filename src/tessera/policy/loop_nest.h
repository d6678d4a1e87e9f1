// The loop nest that a game has decided on so far, and what it would move between memories: the
// numbers that features are made of. Estimates, not prices: words are counted by tiles, by which
// loops leave a tile where it is and by what of a window stays, hops by where children are; ragged
// windows, vectors that are partly empty, neighbours' links and leakage are left out. Nothing here
// asks a cost model.
#ifndef TESSERA_POLICY_LOOP_NEST_H_
#define TESSERA_POLICY_LOOP_NEST_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/policy/loop_facts.h"

namespace tessera::policy {

using Extents = std::array<int64_t, kMaxDims>;  // by loop

// Words fetched into the tiles of a level, without regard to which loops are innermost.
struct Fetches {
  std::array<double, kTensors> words = {};    // of a tile
  std::array<double, kTensors> per_mac = {};  // pJ per MAC; 0: the level does not hold the tensor
  double energy_per_mac = 0;
  double stall = 0;  // cycles that the busiest memory above needs per cycle of the MACs
};

// What a complete nest amounts to.
struct NestEstimate {
  std::array<double, kTensors> outer_per_mac = {}, inner_per_mac = {};  // pJ, by source
  double energy_per_mac = 0;
  double cycles = 0;  // per MAC, times units: 1 is the least
  double stall = 0;   // as above
  double busy = 1;    // units at work
};

struct LoopNest {
  explicit LoopNest(const GameFacts& game);

  const GameFacts& facts;
  std::array<uint8_t, kMaxLevels> keep = {};  // by role
  std::array<Extents, kMaxLevels> temporal = {}, spatial = {};
  std::array<Extents, kMaxLevels> extent = {};  // of the tile of a level
  std::array<uint32_t, kMaxLevels> on_y = {};   // loops spread along Y, bit by bit
  Extents rest = {};                            // of each loop: what is not decided yet
  std::array<std::vector<uint8_t>, kMaxLevels> order =
      {};  // loops of more than one step, innermost first
  // The same of parallel loops; where it is not decided yet, loops come as the layer has them.
  std::array<std::vector<uint8_t>, kMaxLevels> spatial_order = {};

  bool Keeps(size_t level, size_t tensor) const { return (keep[level] >> tensor & 1) != 0; }
  // The level next to `level` outward that holds a tensor.
  size_t Above(size_t tensor, size_t level) const;

  // Multiplies a factor of a loop at a level: into rest and the tiles from there outward.
  void Grow(size_t level, size_t loop, int64_t factor, bool parallel);
  // Takes back a parallel factor.
  void Shrink(size_t level, size_t loop, int64_t factor);
  // What is left goes to the outermost level.
  void Finish();

  double Words(size_t tensor, const Extents& tile) const;
  // Words that a level would hold if the tile of a loop were `factor` times as large.
  double Held(size_t level, size_t loop, int64_t factor) const;
  // Whether all levels from `level` outward have room for that.
  bool Fits(size_t level, size_t loop, int64_t factor) const;

  double BusyUnits() const;
  // Of the tiles of a level, with one loop's tile `factor` times as large.
  Fetches FetchesInto(size_t level, size_t loop, int64_t factor) const;
  // Children between two levels that a tensor's words are sent to at once.
  double Multicast(size_t tensor, size_t below, size_t above) const;
  // Different words that children between two levels ask for at a time: children in a window's two
  // loops can ask for the same.
  double Groups(size_t tensor, size_t below, size_t above) const;
  // pJ for a word on its way through the network below a level.
  double HopPj(size_t tensor, size_t level) const;
  // The same for all networks between two levels, per word that leaves the outer one.
  double WayPj(size_t tensor, size_t below, size_t above) const;

  NestEstimate Estimate() const;

 private:
  // Words that a tile's holder receives while all loops outside it run.
  double Delivered(size_t tensor, size_t holder) const;
  // Different elements of a tensor that one instance of a level ever holds.
  double Distinct(size_t tensor, size_t level) const;
};

}  // namespace tessera::policy

#endif  // TESSERA_POLICY_LOOP_NEST_H_
