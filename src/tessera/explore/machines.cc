// Machines of a template, their layers and what these cost.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/explore/explorer.h"
#include "tessera/mapper/map_network.h"

namespace tessera {
namespace {

constexpr int64_t kMostMachines = 1'000'000;

// What is demanded of layers by their names.
std::vector<Constraints::Demand> DemandsByName(const ExploreJob& job) {
  std::vector<Constraints::Demand> demands;
  for (const Constraints* const constraints :
       {&job.base.problem.space.constraints, &job.base.accelerator.constraints}) {
    for (const Constraints::Demand& demand : constraints->demands) {
      if (!demand.layer.empty()) demands.push_back(demand);
    }
  }
  return demands;
}

// Whether machines of a template differ in what they demand of layers by their names.
bool ChoosesByName(const MachineTemplate& machines) {
  return std::ranges::any_of(machines.fields(), [](const TemplateField& field) {
    return field.path.starts_with("constraints.layers");
  });
}

}  // namespace

bool IsProved(const MapCell& cell) {
  const CellFacts& facts = cell.facts();
  return facts.mapped && StatusOf(facts.value, facts.bound) == MapStatus::kOptimal;
}

std::vector<std::string_view> MachineLimitNames() { return MachineLimits::Names(); }

std::vector<LayerUse> UsesOf(const ExploreJob& job) {
  const std::vector<Constraints::Demand> demands = DemandsByName(job);
  const bool chosen = ChoosesByName(*job.machines), by_name = chosen || !demands.empty();
  const auto alike = [&](const LayerUse& use, const Layer& layer, const std::string& name) {
    if (use.layer != layer) return false;
    if (chosen && use.name != name) return false;
    const std::string_view type = TypeName(layer);
    return std::ranges::all_of(demands, [&](const Constraints::Demand& demand) {
      return demand.IsAbout(type, use.name) == demand.IsAbout(type, name);
    });
  };
  std::vector<LayerUse> uses;
  for (size_t n = 0; n < job.networks.size(); ++n) {
    const double weight = job.settings.weights.empty() ? 1 : job.settings.weights[n];
    const auto add = [&](const Layer& layer, const std::string& name, int64_t count) {
      auto use = std::ranges::find_if(
          uses, [&](const LayerUse& other) { return alike(other, layer, name); });
      if (use == uses.end()) {
        uses.push_back({.layer = layer,
                        .name = name,
                        .by_name = by_name,
                        .weights = std::vector<double>(job.networks.size(), 0)});
        use = uses.end() - 1;
      }
      const double times = weight * static_cast<double>(count);
      use->weights[n] += times;
      use->weight += times;
    };
    for (const NetworkLayer& entry : job.networks[n].layers) {
      const int64_t others = by_name ? std::ssize(entry.also) : 0;
      add(entry.layer, entry.name, entry.count - others);
      for (int64_t k = 0; k < others; ++k) {
        add(entry.layer, entry.also[static_cast<size_t>(k)], 1);
      }
    }
  }
  return uses;
}

double Low::Of(Objective objective) const {
  switch (objective) {
    case Objective::kLatency: return cycles;
    case Objective::kEnergy: return energy_pj;
    case Objective::kEdp: return edp;
    case Objective::kArea: return area_um2;
    case Objective::kPower: break;
  }
  return 0;
}

Low SumOf(const std::vector<LayerUse>& uses, const std::vector<LayerLow>& layers, double area_um2) {
  Low sum{.area_um2 = area_um2};
  double roots = 0;
  for (size_t i = 0; i < uses.size(); ++i) {
    sum.cycles += uses[i].weight * layers[i].cycles;
    sum.energy_pj += uses[i].weight * layers[i].energy_pj;
    roots += uses[i].weight * std::sqrt(layers[i].edp);
  }
  sum.edp = std::max(sum.cycles * sum.energy_pj, roots * roots);
  return sum;
}

std::vector<Objective> Objectives(const ExploreSettings& settings) {
  return settings.pareto.empty() ? std::vector{settings.objective} : settings.pareto;
}

double PossibleGain(const std::vector<Objective>& objectives, const Low& bounds,
                    const std::vector<Low>& points) {
  double least = std::numeric_limits<double>::infinity();
  for (const Low& point : points) {
    double most = 0;
    for (const Objective objective : objectives) {
      const double bound = bounds.Of(objective), value = point.Of(objective);
      if (value <= bound) continue;
      most =
          bound > 0 ? std::max(most, value / bound - 1) : std::numeric_limits<double>::infinity();
    }
    least = std::min(least, most);
  }
  return least;
}

Result<MachineLimits> LimitsOf(const ExploreJob& job) {
  MachineLimits limits = job.machines->limits();
  for (const auto& [name, most] : job.settings.limits) {
    if (!limits.Set(name, most)) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = fmt::format("no limit of machines is called {}", Quoted(name)),
                   .hint = fmt::format("limits are {}", fmt::join(MachineLimits::Names(), ", "))};
    }
  }
  return limits;
}

Machines::Machines(const ExploreJob& job, ThreadPool& pool, CellTable& table,
                   std::function<bool()> stopped)
    : job_(job),
      pool_(pool),
      table_(table),
      stopped_(std::move(stopped)),
      uses_(UsesOf(job)),
      limits_(*LimitsOf(job)) {}

Result<std::vector<LayerLow>> Machines::FirstBounds(const Accelerator& accelerator) const {
  std::vector<LayerLow> lows;
  const bool any_keep = job_.base.settings.bypass && accelerator.hierarchy->bypass;
  for (const LayerUse& use : uses_) {
    const Result<CostBounds> bounds =
        job_.base.settings.model->BoundsFor(use.layer, accelerator, any_keep);
    if (!bounds) return InLayer(use.name, bounds.error());
    LayerLow low{.cycles = bounds->cycles.value_or(0), .energy_pj = bounds->energy_pj.value_or(0)};
    low.edp = low.cycles * low.energy_pj;
    lows.push_back(low);
  }
  return lows;
}

Result<Candidate> Machines::Make(int64_t number) const {
  Result<TemplateMachine> machine = job_.machines->Machine(job_.machines->At(number));
  if (!machine) return machine.error();
  Result<std::vector<LayerLow>> lows = FirstBounds(machine->accelerator);
  if (!lows) return lows.error();
  return Candidate{.number = number, .machine = *std::move(machine), .lows = *std::move(lows)};
}

Result<void> Machines::List(std::vector<MachineRecord>& records,
                            const std::function<bool()>& over) {
  const MachineTemplate& machines = *job_.machines;
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < machines.combinations(); ++i) {
    constexpr int64_t kBetweenLooks = 1 << 12;
    if (i % kBetweenLooks == kBetweenLooks - 1 && over && over()) {
      return Error{.kind = ErrorKind::kBudget,
                   .message = fmt::format("the time was over when {} of {} combinations of the "
                                          "template had been looked at",
                                          i, machines.combinations()),
                   .hint = "leave out choices, or let numbers move together with as"};
    }
    if (!machines.Has(machines.At(i))) continue;
    if (std::ssize(numbers) == kMostMachines) {
      return Error{.kind = ErrorKind::kUnsupported,
                   .message = fmt::format("the template has more than {} machines", kMostMachines),
                   .hint = "leave out choices, or let numbers move together with as"};
    }
    numbers.push_back(i);
  }
  records.resize(numbers.size());
  std::vector<std::optional<Candidate>> made(numbers.size());
  pool_.ParallelFor(std::ssize(numbers), 16, [&](int64_t begin, int64_t end, int /*worker*/) {
    for (int64_t k = begin; k < end; ++k) {
      const auto i = static_cast<size_t>(k);
      records[i].number = numbers[i];
      if (stopped_ && stopped_()) continue;
      Result<Candidate> candidate = Make(numbers[i]);
      if (!candidate) {
        records[i].fate = MachineFate::kImpossible;
        records[i].why = candidate.error().message;
        continue;
      }
      records[i].why = limits_.Broken(candidate->machine);
      if (!records[i].why.empty()) {
        records[i].fate = MachineFate::kLimit;
        continue;
      }
      made[i] = *std::move(candidate);
    }
  });
  for (std::optional<Candidate>& candidate : made) {
    if (candidate) candidates_.push_back(*std::move(candidate));
  }
  return {};
}

CellQuestion Machines::Question(const LayerUse& use, const Accelerator& accelerator) const {
  return {.layer = use.layer,
          .name = use.by_name ? use.name : "",
          .accelerator = accelerator,
          .objective = job_.base.problem.objective};
}

void Machines::AddTasks(Candidate& candidate, int64_t rounds, bool settle,
                        std::vector<CellTable::Task>& tasks) {
  if (!candidate.looked_at()) {
    for (const LayerUse& use : uses_) {
      candidate.cells.push_back(
          &table_.At(job_.base, Question(use, candidate.machine.accelerator)));
    }
  }
  for (MapCell* const cell : candidate.cells) {
    if (cell->done() || (cell->facts().complete && !settle)) continue;
    if (!settle && cell->facts().rounds >= rounds) continue;
    const auto same = [&](const CellTable::Task& task) { return task.cell == cell; };
    if (std::ranges::any_of(tasks, same)) continue;
    tasks.push_back({.cell = cell, .rounds = rounds, .settle = settle});
  }
}

bool Machines::Possible(const Candidate& candidate, std::string* why) const {
  for (size_t i = 0; i < candidate.cells.size(); ++i) {
    if (candidate.cells[i]->facts().possible) continue;
    if (why != nullptr) {
      *why = fmt::format("layer '{}': {}", uses_[i].name, candidate.cells[i]->facts().why);
    }
    return false;
  }
  return true;
}

bool Machines::Mapped(const Candidate& candidate) const {
  return candidate.looked_at() && std::ranges::all_of(candidate.cells, [](const MapCell* cell) {
           return cell->facts().mapped;
         });
}

bool Machines::Settled(const Candidate& candidate) const {
  return candidate.looked_at() &&
         std::ranges::all_of(candidate.cells, [](const MapCell* cell) { return cell->done(); });
}

bool Machines::Complete(const Candidate& candidate) const {
  return candidate.looked_at() && std::ranges::all_of(candidate.cells, [](const MapCell* cell) {
           return cell->facts().complete;
         });
}

bool Machines::Proved(const Candidate& candidate) const {
  return Mapped(candidate) &&
         std::ranges::all_of(candidate.cells, [](const MapCell* cell) { return IsProved(*cell); });
}

Low Machines::Costs(const Candidate& candidate) const {
  Low costs{.area_um2 = candidate.machine.area_um2};
  for (size_t i = 0; i < uses_.size(); ++i) {
    costs.cycles += uses_[i].weight * candidate.cells[i]->facts().cycles;
    costs.energy_pj += uses_[i].weight * candidate.cells[i]->facts().energy_pj;
  }
  costs.edp = costs.cycles * costs.energy_pj;
  return costs;
}

// Layers that are settled have their costs; with C and E of those and the roots of the EDP of the
// others, (C + c)(E + e) is at least (sqrt(C E) + sum of roots)^2.
Low Machines::Bounds(const Candidate& candidate) const {
  const Objective objective = job_.base.problem.objective;
  std::vector<LayerLow> lows = candidate.lows;
  double settled_cycles = 0, settled_pj = 0, roots = 0;
  for (size_t i = 0; i < uses_.size(); ++i) {
    const CellFacts* const facts = candidate.looked_at() ? &candidate.cells[i]->facts() : nullptr;
    LayerLow& low = lows[i];
    if (facts != nullptr && facts->settled && IsProved(*candidate.cells[i])) {
      low = {.cycles = facts->cycles, .energy_pj = facts->energy_pj};
      low.edp = low.cycles * low.energy_pj;
      settled_cycles += uses_[i].weight * low.cycles;
      settled_pj += uses_[i].weight * low.energy_pj;
      continue;
    }
    if (facts != nullptr) {
      if (objective == Objective::kLatency) low.cycles = std::max(low.cycles, facts->bound);
      if (objective == Objective::kEnergy) low.energy_pj = std::max(low.energy_pj, facts->bound);
      if (objective == Objective::kEdp) low.edp = std::max(low.edp, facts->bound);
    }
    roots += uses_[i].weight * std::sqrt(low.edp);
  }
  Low sum = SumOf(uses_, lows, candidate.machine.area_um2);
  const double root = std::sqrt(settled_cycles * settled_pj) + roots;
  sum.edp = std::max(sum.edp, root * root);
  return sum;
}

double Machines::PowerMw(const Low& costs) const {
  return costs.cycles > 0 ? costs.energy_pj / costs.cycles * job_.base.settings.model->clock_ghz()
                          : 0;
}

Result<ExploredMachine> Machines::Show(const Candidate& candidate) const {
  const MachineTemplate& machines = *job_.machines;
  const MachineTemplate::Choice choice = machines.At(candidate.number);
  const Low costs = Costs(candidate), bounds = Bounds(candidate);
  ExploredMachine shown{.number = candidate.number + 1,
                        .file = machines.FileOf(choice),
                        .cycles = costs.cycles,
                        .energy_pj = costs.energy_pj,
                        .area_um2 = costs.area_um2,
                        .power_mw = PowerMw(costs),
                        .value = costs.Of(job_.settings.objective)};
  const bool proved = Proved(candidate);
  shown.bound = proved ? shown.value : std::min(shown.value, bounds.Of(job_.settings.objective));
  // The area needs no proof.
  const bool area = job_.settings.objective == Objective::kArea;
  shown.status = proved || area ? MapStatus::kOptimal : MapStatus::kBounded;
  for (size_t i = 0; i < choice.size(); ++i) {
    const TemplateField& field = machines.fields()[i];
    const auto value = static_cast<size_t>(choice[i]);
    shown.values.push_back({field.path, field.Text(value), field.Number(value)});
  }
  for (size_t n = 0; n < job_.networks.size(); ++n) {
    ExploredNetwork network{.name = job_.networks[n].name};
    for (size_t i = 0; i < uses_.size(); ++i) {
      network.cycles += uses_[i].weights[n] * candidate.cells[i]->facts().cycles;
      network.energy_pj += uses_[i].weights[n] * candidate.cells[i]->facts().energy_pj;
    }
    shown.networks.push_back(std::move(network));
  }
  // What limits the layers, by their cycles.
  std::vector<std::pair<std::string, double>> limits;
  MapJob job = job_.base;
  job.accelerator = candidate.machine.accelerator;
  for (size_t i = 0; i < uses_.size(); ++i) {
    const CellFacts& facts = candidate.cells[i]->facts();
    const Result<Mapping> mapping =
        ParseMappingJson(facts.mapping, "mapping", uses_[i].layer, job.accelerator);
    if (!mapping) return mapping.error();
    // Priced again: a journal is no reason to believe a number.
    const Result<CostBreakdown> parts = job.settings.model->BreakDown(
        uses_[i].layer, job.accelerator, *mapping, job.problem.space.decide_keep);
    if (!parts) return parts.error();
    if (static_cast<double>(parts->cost.cycles) != facts.cycles ||
        parts->cost.energy_pj != facts.energy_pj) {
      return Error{.kind = ErrorKind::kBadValue,
                   .message = fmt::format("layer '{}' on machine {}: the journal's numbers are not "
                                          "those of its mapping",
                                          uses_[i].name, shown.number)};
    }
    const std::string by = parts->limited_by.empty() ? "compute" : parts->limited_by;
    auto limit = std::ranges::find(limits, by, &std::pair<std::string, double>::first);
    if (limit == limits.end()) limit = limits.insert(limits.end(), {by, 0});
    limit->second += uses_[i].weight * facts.cycles;
  }
  const auto most = std::ranges::max_element(limits, {}, &std::pair<std::string, double>::second);
  if (most != limits.end()) shown.limited_by = most->first;
  return shown;
}

}  // namespace tessera
