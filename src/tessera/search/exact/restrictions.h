// What constraints leave of a mapping space, by level and dimension, in a form that exact search
// can ask quickly.
#ifndef TESSERA_SEARCH_EXACT_RESTRICTIONS_H_
#define TESSERA_SEARCH_EXACT_RESTRICTIONS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/cost/loopnest/nest.h"
#include "tessera/space.h"

namespace tessera::exact {

// Everything is allowed where a list is empty.
struct Restrictions {
  // Orders of the loops of one kind at one level, each a list of dimensions from the innermost.
  // A loop that does not loop has no place, so what is allowed for the others is looked up by what
  // is left of an order without it.
  struct Orders {
    bool any = true;
    std::vector<std::vector<uint8_t>> allowed = {};

    bool Allows(std::span<const uint8_t> order) const;
  };
  struct Level {
    std::vector<int32_t> temporal[loopnest::kMaxDims];
    std::vector<int32_t> spatial[loopnest::kMaxDims];
    bool no_x[loopnest::kMaxDims] = {}, no_y[loopnest::kMaxDims] = {};
    Orders temporal_orders = {}, spatial_orders = {};
  };

  bool none = true;                // nothing is restricted
  std::vector<Level> levels = {};  // one per level, if something is

  bool AllowsTemporal(int level, int dim, int32_t factor) const;
  bool AllowsSpatial(int level, int dim, int32_t factor) const;
  bool AllowsAxis(int level, int dim, bool on_y) const;
  bool AllowsTemporalOrder(int level, std::span<const uint8_t> order) const;
  // Each axis has its own order.
  bool AllowsSpatialOrder(int level, std::span<const uint8_t> x, std::span<const uint8_t> y) const;
};

// What the decisions of a loop space leave of that problem's mappings.
Restrictions RestrictionsOf(const DecisionSpace& space, const LoopProblem& problem,
                            const Hierarchy& hierarchy);

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_RESTRICTIONS_H_
