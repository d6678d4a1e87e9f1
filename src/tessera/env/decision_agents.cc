// Decisions to agents, and actions back to points.
#include "tessera/env/decision_agents.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace tessera {
namespace {

// The value that an action in 0 .. size stands for.
int32_t ValueAt(double place, int32_t size) {
  const double safe = std::isfinite(place) ? std::floor(place) : std::floor(size / 2.0);
  return static_cast<int32_t>(std::clamp(safe, 0.0, size - 1.0));
}

}  // namespace

DecisionGroups OneAgent(const DecisionSpace& space) {
  return {{space.open().begin(), space.open().end()}};
}

DecisionGroups AgentForEach(const DecisionSpace& space) {
  DecisionGroups groups;
  for (const size_t decision : space.open()) groups.push_back({decision});
  return groups;
}

std::array<double, kObservedCosts> ObservedCosts(const Outcome& outcome) {
  return {outcome.cycles, outcome.power_mw, outcome.energy_pj, outcome.area_um2};
}

DecisionAgents::DecisionAgents(const DecisionSpace& space, const DecisionGroups& groups,
                               ActionForm form, std::string name, int64_t horizon)
    : space_(space), form_(form) {
  spec_.name = std::move(name);
  spec_.horizon = horizon;
  for (const std::vector<size_t>& group : groups) {
    std::string names;
    int64_t decided = 0;
    for (const size_t i : group) {
      const Decision& decision = space.decisions()[i];
      if (decision.size() < 2) continue;
      order_.push_back(i);
      bool first = decided++ == 0;
      names += (names.empty() ? "" : "+") + decision.name();
      if (form == ActionForm::kVector) continue;
      const bool soft = form == ActionForm::kSoft;
      const bool picks =
          (form == ActionForm::kPicks || soft) && decision.kind() == DecisionKind::kPermutation;
      const auto add = [&](int64_t size) {
        const ActionKind kind = soft ? ActionKind::kSoftChoice : ActionKind::kChoice;
        AddAgent(decision.name(), {.kind = kind, .size = size}, !first && !soft);
        ordered_.push_back(decision.kind() == DecisionKind::kOrdinal);
        first = false;
      };
      for (int64_t left = picks ? std::ssize(decision.labels()) : 0; left > 1; --left) add(left);
      if (!picks) add(decision.size());
    }
    if (form != ActionForm::kVector || decided == 0) continue;
    // The only agent is the mapper, as in the papers.
    AddAgent(groups.size() == 1 ? "mapper" : names, {.kind = ActionKind::kBox, .size = decided},
             /*with_previous=*/false);
  }
}

void DecisionAgents::AddAgent(std::string name, ActionSpec action, bool with_previous) {
  spec_.agents.push_back({.name = std::move(name),
                          .observation_size = with_previous ? 0 : kObservedCosts,
                          .action = action,
                          .with_previous = with_previous});
}

Point DecisionAgents::Decode(std::span<const float> actions) const {
  Point point(space_.size());
  std::vector<float> chosen;
  if (form_ == ActionForm::kSoft) {
    chosen = Heaviest(actions);
    actions = chosen;
  }
  const bool picked = form_ == ActionForm::kPicks || form_ == ActionForm::kSoft;
  size_t at = 0;
  for (const size_t i : order_) {
    const Decision& decision = space_.decisions()[i];
    if (picked && decision.kind() == DecisionKind::kPermutation) {
      const size_t picks = decision.labels().size() - 1;
      point[i] = DecodeOrder(decision, actions.subspan(at, picks));
      at += picks;
      continue;
    }
    const auto action = static_cast<double>(actions[at++]);
    const double place =
        form_ == ActionForm::kVector ? (action + 1) / 2 * decision.size() : std::round(action);
    point[i] = ValueAt(place, decision.size());
  }
  return point;
}

std::vector<float> DecisionAgents::Encode(const Point& point) const {
  TESSERA_CHECK(form_ == ActionForm::kChoice || form_ == ActionForm::kPicks);
  std::vector<float> actions;
  for (const size_t i : order_) {
    const Decision& decision = space_.decisions()[i];
    if (form_ == ActionForm::kChoice || decision.kind() != DecisionKind::kPermutation) {
      actions.push_back(static_cast<float>(point[i]));
      continue;
    }
    const Permutation order = decision.OrderAt(point[i]);
    std::vector<uint8_t> left(order.size);
    std::iota(left.begin(), left.end(), uint8_t{0});
    for (size_t place = 0; place + 1 < order.size; ++place) {
      const auto at = std::ranges::find(left, order.items[place]);
      actions.push_back(static_cast<float>(at - left.begin()));
      left.erase(at);
    }
  }
  return actions;
}

std::vector<float> DecisionAgents::Heaviest(std::span<const float> weights) const {
  std::vector<float> chosen;
  for (const AgentSpec& agent : spec_.agents) {
    const auto own = weights.first(static_cast<size_t>(agent.action.size));
    chosen.push_back(static_cast<float>(std::ranges::max_element(own) - own.begin()));
    weights = weights.subspan(own.size());
  }
  return chosen;
}

int32_t DecisionAgents::DecodeOrder(const Decision& decision, std::span<const float> picks) const {
  std::vector<uint8_t> left(decision.labels().size());
  std::iota(left.begin(), left.end(), uint8_t{0});
  Permutation order{.size = left.size()};
  for (size_t place = 0; place < order.size; ++place) {
    const double pick = place < picks.size() ? static_cast<double>(picks[place]) : 0;
    const auto at = ValueAt(std::round(pick), static_cast<int32_t>(left.size()));
    order.items[place] = left[static_cast<size_t>(at)];
    left.erase(left.begin() + at);
  }
  return decision.IndexOfOrder(order);
}

}  // namespace tessera
