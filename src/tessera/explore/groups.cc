#include "tessera/explore/groups.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "tessera/explore/relax.h"

namespace tessera {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

Group Groups::Make(std::vector<size_t> members, const std::vector<LayerLow>& known) const {
  Group group{.members = std::move(members)};
  std::vector<const Accelerator*> machines;
  double area_um2 = kInfinity;
  for (const size_t i : group.members) {
    const TemplateMachine& machine = machines_.candidates()[i].machine;
    machines.push_back(&machine.accelerator);
    area_um2 = std::min(area_um2, machine.area_um2);
  }
  const bool one = group.members.size() == 1;
  group.machine = one ? *machines.front() : Relaxed(machines);
  group.lows = FirstBounds(group.members);
  for (size_t i = 0; i < known.size(); ++i) {
    group.lows[i].cycles = std::max(group.lows[i].cycles, known[i].cycles);
    group.lows[i].energy_pj = std::max(group.lows[i].energy_pj, known[i].energy_pj);
    group.lows[i].edp = std::max(group.lows[i].edp, known[i].edp);
  }
  group.low = SumOf(machines_.uses(), FirstBounds(group.members), area_um2);
  if (!one) group.looseness = LoosenessOf(group);
  group.low = SumOf(machines_.uses(), group.lows, area_um2);
  return group;
}

// The least of the members' own, which is at least that of a machine as good as all of them.
std::vector<LayerLow> Groups::FirstBounds(const std::vector<size_t>& members) const {
  std::vector<LayerLow> lows = machines_.candidates()[members.front()].lows;
  for (const size_t member : members) {
    const std::vector<LayerLow>& others = machines_.candidates()[member].lows;
    for (size_t i = 0; i < lows.size(); ++i) {
      lows[i].cycles = std::min(lows[i].cycles, others[i].cycles);
      lows[i].energy_pj = std::min(lows[i].energy_pj, others[i].energy_pj);
      lows[i].edp = std::min(lows[i].edp, others[i].edp);
    }
  }
  return lows;
}

Low Groups::FirstLow(const std::vector<size_t>& members) const {
  double area_um2 = kInfinity;
  for (const size_t i : members) {
    area_um2 = std::min(area_um2, machines_.candidates()[i].machine.area_um2);
  }
  return SumOf(machines_.uses(), FirstBounds(members), area_um2);
}

// By how much the members' own bounds exceed those of the machine that stands for them.
double Groups::LoosenessOf(const Group& group) const {
  const Result<std::vector<LayerLow>> relaxed = machines_.FirstBounds(group.machine);
  if (!relaxed) return kInfinity;
  const Low own = SumOf(machines_.uses(), *relaxed, group.low.area_um2);
  double most = 0;
  for (const Objective objective : objectives_) {
    if (own.Of(objective) <= 0) continue;
    most = std::max(most, group.low.Of(objective) / own.Of(objective) - 1);
  }
  return most;
}

void Groups::MakeRoots() {
  std::map<std::string, std::vector<size_t>> roots;
  const std::optional<loopnest::Semantics> semantics = job_.base.settings.model->semantics();
  const bool constrained = !job_.base.problem.space.constraints.demands.empty();
  for (size_t i = 0; i < machines_.candidates().size(); ++i) {
    const Accelerator& accelerator = machines_.candidates()[i].machine.accelerator;
    roots[StructureKey(accelerator, *semantics, constrained)].push_back(i);
  }
  for (auto& [key, members] : roots) groups_.push_back(Make(std::move(members), {}));
}

Groups::TwoHalves Groups::Halves(const Group& group) const {
  const MachineTemplate& machines = *job_.machines;
  TwoHalves best;
  double best_spread = -1;
  std::vector<MachineTemplate::Choice> choices;
  for (const size_t i : group.members) {
    choices.push_back(machines.At(machines_.candidates()[i].number));
  }
  for (size_t field = 0; field < machines.fields().size(); ++field) {
    std::vector<int32_t> values;
    for (const MachineTemplate::Choice& choice : choices) values.push_back(choice[field]);
    std::vector<int32_t> sorted = values;
    std::ranges::sort(sorted);
    const auto distinct = std::ranges::unique(sorted);
    sorted.erase(distinct.begin(), distinct.end());
    if (sorted.size() < 2) continue;
    const int32_t middle = sorted[sorted.size() / 2];
    TwoHalves halves;
    double low = kInfinity, high = kInfinity;
    for (size_t k = 0; k < values.size(); ++k) {
      const size_t member = group.members[k];
      (values[k] < middle ? halves.first : halves.second).push_back(member);
      double& least = values[k] < middle ? low : high;
      least = std::min(least, Weight(machines_.candidates()[member]));
    }
    const double spread = std::abs(std::log(std::max(low, 1e-300) / std::max(high, 1e-300)));
    if (spread > best_spread) {
      best_spread = spread;
      best = std::move(halves);
    }
  }
  return best;
}

double Groups::Weight(const Candidate& candidate) const {
  const Low low = SumOf(machines_.uses(), candidate.lows, candidate.machine.area_um2);
  double weight = 1;
  for (const Objective objective : objectives_) weight *= std::max(low.Of(objective), 1e-300);
  return weight;
}

void Groups::Split(size_t g) {
  auto [first, second] = Halves(groups_[g]);
  // Machines that differ in nothing that was chosen: the first stands for all.
  if (first.empty() || second.empty()) {
    second.assign(groups_[g].members.begin() + 1, groups_[g].members.end());
    first.assign(1, groups_[g].members.front());
  }
  const std::vector<LayerLow> known = groups_[g].lows;
  groups_[g].closed = true;
  groups_.push_back(Make(std::move(first), known));
  groups_.push_back(Make(std::move(second), known));
  groups_[g] = std::move(groups_.back());
  groups_.pop_back();
}

}  // namespace tessera
