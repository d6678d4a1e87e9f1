// Constraints for decisions that have no rules between them, and constraints by layer.
#include <algorithm>

#include "tessera/space.h"
#include "tessera/space/demands.h"

namespace tessera {

Result<std::vector<Relation>> Apply(const Constraints& constraints,
                                    std::vector<Decision>& decisions) {
  const Result<std::vector<ConcreteDemand>> demands =
      MakeConcrete(constraints, decisions, decisions.size(), SpaceNames());
  if (!demands) return demands.error();
  const size_t count = constraints.demands.size();
  std::vector<Decision> left = decisions;
  if (std::optional<std::vector<Relation>> relations =
          Restrict(*demands, std::vector<bool>(count, true), left)) {
    decisions = std::move(left);
    return *std::move(relations);
  }
  const auto feasible = [&](const std::vector<bool>& active) {
    std::vector<Decision> trial = decisions;
    return Restrict(*demands, active, trial).has_value();
  };
  const std::vector<size_t> members = SmallestConflict(count, feasible);
  return Conflict(constraints, members, WhyEmpty(*demands, members, decisions));
}

Constraints ConstraintsOn(const Constraints& constraints, std::string_view type,
                          std::string_view layer) {
  Constraints on{.notes = constraints.notes};
  for (const Constraints::Demand& demand : constraints.demands) {
    if (demand.IsAbout(type, layer)) on.demands.push_back(demand);
  }
  return on;
}

}  // namespace tessera
