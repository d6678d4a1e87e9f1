// Names of flags and objectives, and the number that an objective is about.
#include "tessera/cost.h"

#include "tessera/part.h"

namespace tessera {

std::vector<std::string_view> CostFlags::Names() const {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < kCostFlagNames.size(); ++i) {
    if (Has(static_cast<CostFlag>(i))) names.push_back(kCostFlagNames[i]);
  }
  return names;
}

Result<Objective> FindObjective(std::string_view name) {
  return FindName<Objective>("objective", name, kObjectiveNames);
}

std::string_view ToString(Objective objective) {
  return kObjectiveNames[static_cast<size_t>(objective)];
}

double ValueOf(const Cost& cost, Objective objective) {
  switch (objective) {
    case Objective::kLatency: return static_cast<double>(cost.cycles);
    case Objective::kEnergy: return cost.energy_pj;
    case Objective::kEdp: return cost.edp();
    case Objective::kPower: return cost.power_mw;
    case Objective::kArea: return cost.area_um2;
  }
  return 0;
}

}  // namespace tessera
