#include "tessera/search/exact/restrictions.h"

#include <algorithm>

namespace tessera::exact {
namespace {

bool Contains(const std::vector<int32_t>& allowed, int32_t value) {
  return allowed.empty() || std::ranges::find(allowed, value) != allowed.end();
}

}  // namespace

bool Restrictions::Orders::Allows(std::span<const uint8_t> order) const {
  if (any) return true;
  for (const std::vector<uint8_t>& whole : allowed) {
    size_t matched = 0;
    for (const uint8_t dim : whole) {
      if (std::ranges::find(order, dim) == order.end()) continue;
      if (order[matched] != dim) break;
      ++matched;
    }
    if (matched == order.size()) return true;
  }
  return false;
}

bool Restrictions::AllowsTemporal(int level, int dim, int32_t factor) const {
  return none || Contains(levels[static_cast<size_t>(level)].temporal[dim], factor);
}

bool Restrictions::AllowsSpatial(int level, int dim, int32_t factor) const {
  return none || Contains(levels[static_cast<size_t>(level)].spatial[dim], factor);
}

bool Restrictions::AllowsAxis(int level, int dim, bool on_y) const {
  if (none) return true;
  const Level& restricted = levels[static_cast<size_t>(level)];
  return !(on_y ? restricted.no_y[dim] : restricted.no_x[dim]);
}

bool Restrictions::AllowsTemporalOrder(int level, std::span<const uint8_t> order) const {
  return none || levels[static_cast<size_t>(level)].temporal_orders.Allows(order);
}

bool Restrictions::AllowsSpatialOrder(int level, std::span<const uint8_t> x,
                                      std::span<const uint8_t> y) const {
  if (none) return true;
  const Orders& orders = levels[static_cast<size_t>(level)].spatial_orders;
  if (orders.any) return true;
  // One order of all dimensions decides about both axes.
  for (const std::vector<uint8_t>& whole : orders.allowed) {
    const Orders one{.any = false, .allowed = {whole}};
    if (one.Allows(x) && one.Allows(y)) return true;
  }
  return false;
}

}  // namespace tessera::exact
