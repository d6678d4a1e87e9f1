// What constraints leave of a mapping space, by level and dimension, in a form that exact search
// can ask quickly.
#ifndef TESSERA_SEARCH_EXACT_RESTRICTIONS_H_
#define TESSERA_SEARCH_EXACT_RESTRICTIONS_H_

#include <cstdint>
#include <optional>
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

  // One factor of a mapping.
  struct Factor {
    int level = 0, dim = 0;
    bool spatial = false;
  };
  // A relation between two factors; a side that is not there is 1.
  struct Pair {
    std::optional<Factor> over = {}, under = {};
    Relation relation = {};

    // The innermost level of the two; below no level: -1.
    int level() const;
  };

  bool none = true;           // nothing is restricted
  double least_parallel = 1;  // product of all parallel factors
  std::vector<Pair> pairs = {};
  std::vector<Level> levels = {};  // one per level, if something is

  bool AllowsTemporal(int level, int dim, int32_t factor) const;
  bool AllowsSpatial(int level, int dim, int32_t factor) const;
  bool AllowsAxis(int level, int dim, bool on_y) const;
  bool AllowsTemporalOrder(int level, std::span<const uint8_t> order) const;
  // Each axis has its own order.
  bool AllowsSpatialOrder(int level, std::span<const uint8_t> x, std::span<const uint8_t> y) const;
};

// Whether the pairs hold whose factors `value(factor)` knows once level `level` is decided, going
// inwards.
template <typename Value>
bool PairsHold(const Restrictions& restrictions, int level, const Value& value) {
  for (const Restrictions::Pair& pair : restrictions.pairs) {
    if (pair.level() != level) continue;
    const double over = pair.over ? static_cast<double>(value(*pair.over)) : 1;
    const double under = pair.under ? static_cast<double>(value(*pair.under)) : 1;
    if (!pair.relation.Holds(over, under)) return false;
  }
  return true;
}

// The same for the product of parallel factors, which is known once level 0 is decided.
template <typename Value>
bool EnoughParallel(const Restrictions& restrictions, int level, int num_levels, int num_dims,
                    const Value& value) {
  if (restrictions.least_parallel <= 1 || level > 0) return true;
  double product = 1;
  for (int i = 0; i < num_levels; ++i) {
    for (int d = 0; d < num_dims; ++d) {
      product *= static_cast<double>(value(Restrictions::Factor{i, d, /*spatial=*/true}));
    }
  }
  return product >= restrictions.least_parallel;
}

// What the decisions of a loop space leave of that problem's mappings.
Restrictions RestrictionsOf(const MappingSpace& space, const LoopProblem& problem,
                            const Hierarchy& hierarchy);

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_RESTRICTIONS_H_
