#include "tessera/search/exact/restrictions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include <fmt/format.h>

#include "tessera/base/divisors.h"
#include "tessera/result.h"

namespace tessera::exact {
namespace {

bool Contains(const std::vector<int32_t>& allowed, int32_t value) {
  return allowed.empty() || std::ranges::find(allowed, value) != allowed.end();
}

// The decision of that name, or null.
const Decision* Find(const MappingSpace& space, const std::string& name) {
  const size_t found = space.Find(name);
  if (found < space.size()) return &space.decisions()[found];
  const auto leftover = std::ranges::find_if(
      space.leftovers(), [&](const Decision& decision) { return decision.name() == name; });
  return leftover != space.leftovers().end() ? &*leftover : nullptr;
}

// The factors that a decision still allows; empty if those are all.
std::vector<int32_t> FactorsOf(const Decision* decision, int64_t bound, int64_t most) {
  if (decision == nullptr) return {};
  if (decision->size() == std::ssize(Divisors(bound, most))) return {};
  std::vector<int32_t> factors;
  for (int32_t k = 0; k < decision->size(); ++k) {
    factors.push_back(static_cast<int32_t>(decision->value(k)));
  }
  return factors;
}

Restrictions::Orders OrdersOf(const Decision* decision, const LoopProblem& problem) {
  Restrictions::Orders orders;
  if (decision == nullptr) return orders;
  if (decision->size() == Factorial(decision->labels().size())) return orders;
  orders.any = false;
  for (int32_t k = 0; k < decision->size(); ++k) {
    std::vector<uint8_t> order;
    const Permutation permutation = decision->OrderAt(k);
    for (const uint8_t item : permutation.order()) {
      const std::optional<int> dim = FindDimension(problem, decision->labels()[item]);
      TESSERA_CHECK(dim.has_value());
      order.push_back(static_cast<uint8_t>(*dim));
    }
    std::ranges::reverse(order);  // Decisions name the outermost loop first.
    orders.allowed.push_back(std::move(order));
  }
  return orders;
}

}  // namespace

int Restrictions::Pair::level() const {
  if (!over || !under) return over ? over->level : under ? under->level : -1;
  return std::min(over->level, under->level);
}

Restrictions RestrictionsOf(const MappingSpace& space, const LoopProblem& problem,
                            const Hierarchy& hierarchy) {
  Restrictions restrictions;
  std::map<std::string, Restrictions::Factor> factors;
  for (size_t i = 0; i < hierarchy.levels.size(); ++i) {
    const std::string& name = hierarchy.levels[i].name;
    const int64_t fan = std::max(FanoutX(hierarchy, i), FanoutY(hierarchy, i));
    Restrictions::Level level;
    for (int d = 0; d < problem.num_dimensions; ++d) {
      const LoopDimension& dim = problem.dimensions[static_cast<size_t>(d)];
      const std::string factor = fmt::format("{}_{}", dim.name.view(), name);
      factors[factor] = {.level = static_cast<int>(i), .dim = d};
      factors[factor + "_par"] = {.level = static_cast<int>(i), .dim = d, .spatial = true};
      level.temporal[d] = FactorsOf(Find(space, factor), dim.bound, dim.bound);
      level.spatial[d] = FactorsOf(Find(space, factor + "_par"), dim.bound, fan);
      if (const Decision* axis = Find(space, factor + "_axis")) {
        level.no_x[d] = axis->Find(0) < 0;
        level.no_y[d] = axis->Find(1) < 0;
      }
      restrictions.none = restrictions.none && level.temporal[d].empty() &&
                          level.spatial[d].empty() && !level.no_x[d] && !level.no_y[d];
    }
    level.temporal_orders = OrdersOf(Find(space, "order_" + name), problem);
    level.spatial_orders = OrdersOf(Find(space, "par_order_" + name), problem);
    restrictions.none = restrictions.none && level.temporal_orders.any && level.spatial_orders.any;
    restrictions.levels.push_back(std::move(level));
  }
  const auto find = [&](const std::string& name) {
    const auto found = factors.find(name);
    return found == factors.end() ? std::optional<Restrictions::Factor>() : found->second;
  };
  for (const Relation& relation : space.relations()) {
    if (relation.over == kUtilization) {
      constexpr double kRounding = 1e-9;  // of parts such as 0.1
      const double macs = static_cast<double>(hierarchy.arithmetic.instances()) /
                          static_cast<double>(hierarchy.levels.back().instances());
      restrictions.least_parallel =
          std::max(restrictions.least_parallel, std::ceil(relation.min * macs - kRounding));
      continue;
    }
    restrictions.pairs.push_back({find(relation.over), find(relation.under), relation});
  }
  restrictions.none =
      restrictions.none && restrictions.pairs.empty() && restrictions.least_parallel <= 1;
  return restrictions;
}

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
