// Names of flags and objectives, the number that an objective is about, and limits on it.
#include "tessera/cost.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

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

std::vector<Objective> InOrder(std::vector<Objective> objectives) {
  std::vector<Objective> order;
  objectives.insert(objectives.end(), {Objective::kLatency, Objective::kEnergy});
  for (const Objective objective : objectives) {
    if (std::ranges::find(order, objective) == order.end()) order.push_back(objective);
  }
  return order;
}

std::optional<Objective> CostLimits::Broken(const Cost& cost) const {
  for (size_t i = 0; i < most.size(); ++i) {
    const auto objective = static_cast<Objective>(i);
    if (most[i] != kNone && ValueOf(cost, objective) > most[i]) return objective;
  }
  return std::nullopt;
}

std::string CostLimits::ToString() const {
  std::string text;
  for (size_t i = 0; i < most.size(); ++i) {
    if (most[i] == kNone) continue;
    text += fmt::format("{}{} <= {}", text.empty() ? "" : ", ", kObjectiveKeys[i], most[i]);
  }
  return text;
}

Result<void> ParseLimit(std::string_view text, CostLimits& limits) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("limit '{}' is not KEY=VALUE", text),
                 .hint = "for example cycles=1e6"};
  }
  const Result<Objective> objective =
      FindName<Objective>("limit", text.substr(0, equals), kObjectiveKeys);
  if (!objective) return objective.error();
  const Result<double> most = ParseDouble(text.substr(equals + 1));
  if (!most || !(*most > 0) || std::isinf(*most)) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("limit '{}' is not a number above 0", text)};
  }
  double& limit = limits.Of(*objective);
  limit = std::min(limit, *most);
  return {};
}

}  // namespace tessera
