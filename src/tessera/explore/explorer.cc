// Groups of machines, their bounds, and which of them comes next.
#include "tessera/explore/explorer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/json_text.h"
#include "tessera/explore/proposals.h"
#include "tessera/explore/relax.h"
#include "tessera/mapper/map_network.h"
#include "tessera/record/clock.h"

namespace tessera {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kEqual = 1e-9;  // values within this part of each other count as equal

// Gains that are ruled out, one after the other.
constexpr std::array kPhases = {0.5, 0.2, 0.1, 0.05, 0.02, 0.005};

// Groups that are worked on side by side; a part of the result, like a batch of a search.
constexpr size_t kWidth = 4;

// Rounds of the exact mapper for a bound of a group.
constexpr int64_t kBoundRounds = 6;

// Of layers whose proofs are known to end.
constexpr int64_t kAllRounds = std::numeric_limits<int64_t>::max();

struct Group {
  std::vector<size_t> members = {};  // places among the candidates
  Accelerator machine = {};          // at least as good as each member
  std::vector<LayerLow> lows = {};   // of that machine
  Low low = {};
  double looseness = 0;
  double asked = kInfinity;  // the gain for which bounds were asked last
  bool closed = false;
  bool stuck = false;  // nothing is left to try, though something may be better
};

// A run that is repeated, and how it ended.
struct Replay {
  int64_t turns = 0;
  MapStop stopped_by = MapStop::kProved;
  double seconds = 0;  // for doing things once more
};

class Explorer {
 public:
  // `replay`: only what the journal of the directory holds, as far as the run got.
  Explorer(const ExploreJob& job, int threads, const RunHooks& hooks,
           const Replay* replay = nullptr)
      : job_(job),
        hooks_(hooks),
        replay_(replay),
        pool_(threads),
        objectives_(Objectives(job.settings)),
        deadline_(job.settings.seconds > 0 && replay == nullptr
                      ? SteadySeconds() + job.settings.seconds
                      : kInfinity),
        machines_(job, pool_, table_, [this] { return Over(); }) {}

  const CellTable& table() const { return table_; }

  Result<ExploreResult> Go() {
    Result<void> opened = replay_ != nullptr ? table_.Replay(*hooks_.directory, replay_->seconds)
                                             : table_.Open(hooks_.directory);
    if (!opened) return opened.error();
    if (Result<void> listed = machines_.List(result_.records); !listed) return listed.error();
    result_.machines = std::ssize(result_.records);
    if (machines_.candidates().empty() && !Over()) return NoMachine();
    if (hooks_.progress != nullptr) Tell(ProgressEvent::kStarted);
    Result<void> done = job_.settings.method == "exhaustive" ? Divide() : Propose();
    if (!done) return done.error();
    return Finish();
  }

 private:
  bool Over() const {
    if (replay_ != nullptr) return result_.turns >= replay_->turns;
    return (hooks_.stopped && hooks_.stopped()) || SteadySeconds() >= deadline_;
  }

  Error NoMachine() const {
    Error error{.kind = ErrorKind::kInfeasible,
                .message = "no machine of the template is possible"};
    for (const MachineRecord& record : result_.records) {
      if (record.why.empty()) continue;
      error.message += fmt::format(": machine {}: {}", record.number + 1, record.why);
      break;
    }
    return error;
  }

  // ---- Points ----------------------------------------------------------------------------------

  // Whether a machine may be an answer.
  bool Counts(const Candidate& candidate) const {
    if (!machines_.Mapped(candidate)) return false;
    const std::optional<double>& most = machines_.limits().power_w;
    return !most || machines_.PowerMw(machines_.Costs(candidate)) <= *most * 1e3;
  }

  // Of everything that was mapped, what nothing else that was is better than.
  void FindPoints() {
    points_.clear();
    point_candidates_.clear();
    for (const size_t i : looked_at_) {
      const Candidate& candidate = machines_.candidates()[i];
      if (!Counts(candidate)) continue;
      points_.push_back(machines_.Costs(candidate));
      point_candidates_.push_back(i);
    }
    std::vector<Low> points;
    std::vector<size_t> places;
    for (const size_t k : Front()) {
      points.push_back(points_[k]);
      places.push_back(point_candidates_[k]);
    }
    points_ = std::move(points);
    point_candidates_ = std::move(places);
  }

  double Gain(const Low& low) const { return PossibleGain(objectives_, low, points_); }

  // Of everything that is left.
  double WholeGain() const {
    double most = 0;
    for (const Group& group : groups_) {
      if (!group.closed) most = std::max(most, Gain(group.low));
    }
    return most;
  }

  // ---- Groups ----------------------------------------------------------------------------------

  Group MakeGroup(std::vector<size_t> members, const std::vector<LayerLow>& known) {
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
  std::vector<LayerLow> FirstBounds(const std::vector<size_t>& members) const {
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

  Low FirstLow(const std::vector<size_t>& members) const {
    double area_um2 = kInfinity;
    for (const size_t i : members) {
      area_um2 = std::min(area_um2, machines_.candidates()[i].machine.area_um2);
    }
    return SumOf(machines_.uses(), FirstBounds(members), area_um2);
  }

  // By how much the members' own bounds exceed those of the machine that stands for them.
  double LoosenessOf(const Group& group) const {
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

  void MakeRoots() {
    std::map<std::string, std::vector<size_t>> roots;
    const std::optional<loopnest::Semantics> semantics = job_.base.settings.model->semantics();
    const bool constrained = !job_.base.problem.space.constraints.demands.empty();
    for (size_t i = 0; i < machines_.candidates().size(); ++i) {
      const Accelerator& accelerator = machines_.candidates()[i].machine.accelerator;
      roots[StructureKey(accelerator, *semantics, constrained)].push_back(i);
    }
    for (auto& [key, members] : roots) groups_.push_back(MakeGroup(std::move(members), {}));
  }

  // Halves by the field whose halves differ most in their bounds.
  std::pair<std::vector<size_t>, std::vector<size_t>> Halves(const Group& group) const {
    const MachineTemplate& machines = *job_.machines;
    std::pair<std::vector<size_t>, std::vector<size_t>> best;
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
      std::pair<std::vector<size_t>, std::vector<size_t>> halves;
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

  // One number for all objectives, of what is known without search.
  double Weight(const Candidate& candidate) const {
    const Low low = SumOf(machines_.uses(), candidate.lows, candidate.machine.area_um2);
    double weight = 1;
    for (const Objective objective : objectives_) weight *= std::max(low.Of(objective), 1e-300);
    return weight;
  }

  void Split(size_t g) {
    auto [first, second] = Halves(groups_[g]);
    // Machines that differ in nothing that was chosen: the first stands for all.
    if (first.empty() || second.empty()) {
      second.assign(groups_[g].members.begin() + 1, groups_[g].members.end());
      first.assign(1, groups_[g].members.front());
    }
    const std::vector<LayerLow> known = groups_[g].lows;
    groups_[g].closed = true;
    groups_.push_back(MakeGroup(std::move(first), known));
    groups_.push_back(MakeGroup(std::move(second), known));
    groups_[g] = std::move(groups_.back());
    groups_.pop_back();
  }

  // ---- The way through -------------------------------------------------------------------------

  Result<void> Divide() {
    MakeRoots();
    if (Result<void> begun = Begin(); !begun) return begun;
    std::vector<double> phases;
    for (const double phase : kPhases) {
      if (phase > job_.settings.target_gap) phases.push_back(phase);
    }
    phases.push_back(std::max(job_.settings.target_gap, kEqual));
    for (const double phase : phases) {
      if (Result<void> done = RuleOut(phase); !done) return done;
      if (Over()) break;
    }
    return {};
  }

  // First mappings, of those machines that look best, for something to compare with.
  Result<void> Begin() {
    std::vector<size_t> order(machines_.candidates().size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::vector<double> weights;
    for (const Candidate& candidate : machines_.candidates()) weights.push_back(Weight(candidate));
    std::ranges::stable_sort(order, {}, [&](size_t i) { return weights[i]; });
    // Until there is a first one: of some machines nothing fits.
    for (size_t begin = 0; begin < order.size() && points_.empty() && !Over();
         begin += kWidth / 2) {
      std::vector<CellTable::Task> tasks;
      const size_t end = std::min(order.size(), begin + kWidth / 2);
      for (size_t k = begin; k < end; ++k) LookAt(order[k], 1, false, tasks);
      if (Result<void> done = Do(tasks); !done) return done;
    }
    return {};
  }

  void LookAt(size_t i, int64_t rounds, bool settle, std::vector<CellTable::Task>& tasks) {
    Candidate& candidate = machines_.candidates()[i];
    if (!candidate.looked_at()) looked_at_.push_back(i);
    machines_.AddTasks(candidate, rounds, settle, tasks);
  }

  Result<void> Do(const std::vector<CellTable::Task>& tasks) {
    ++result_.turns;
    const Result<bool> done = table_.Do(tasks, pool_, [this] { return Over(); });
    if (!done) return done.error();
    FindPoints();
    if (hooks_.progress != nullptr) Tell(ProgressEvent::kAdvanced);
    return {};
  }

  // Until no machine can gain more than `gain`.
  Result<void> RuleOut(double gain) {
    while (!Over()) {
      std::vector<std::pair<double, size_t>> urgent;
      for (size_t g = 0; g < groups_.size(); ++g) {
        if (groups_[g].closed || groups_[g].stuck) continue;
        const double possible = Gain(groups_[g].low);
        if (possible > gain) urgent.push_back({possible, g});
      }
      if (urgent.empty()) return {};
      const auto first = [&](const auto& a, const auto& b) {
        if (a.first != b.first) return a.first > b.first;
        const Group &x = groups_[a.second], &y = groups_[b.second];
        if (x.low.area_um2 != y.low.area_um2) return x.low.area_um2 < y.low.area_um2;
        return x.members.front() < y.members.front();
      };
      const size_t width = std::min(kWidth, urgent.size());
      std::partial_sort(urgent.begin(), urgent.begin() + static_cast<ptrdiff_t>(width),
                        urgent.end(), first);
      urgent.resize(width);
      std::vector<size_t> chosen;
      for (const auto& [possible, g] : urgent) chosen.push_back(g);
      if (Result<void> worked = WorkOn(chosen, gain); !worked) return worked;
    }
    return {};
  }

  // Divides, bounds or maps what is in these groups.
  Result<void> WorkOn(const std::vector<size_t>& chosen, double gain) {
    std::vector<CellTable::Task> tasks;
    std::vector<std::vector<MapCell*>> bounds(chosen.size());
    for (size_t k = 0; k < chosen.size(); ++k) {
      Group& group = groups_[chosen[k]];
      const bool one = group.members.size() == 1;
      Candidate& first = machines_.candidates()[group.members.front()];
      if (one && (first.looked_at() || group.asked <= gain || points_.empty() || AreaOnly())) {
        Map(group, first, tasks);
      } else if (!one && (group.asked <= gain || points_.empty() || AreaOnly() ||
                          SplitsWell(group, gain))) {
        Split(chosen[k]);
      } else {
        bounds[k] = AskForBounds(group, gain, tasks);
        group.asked = gain;
      }
    }
    if (Result<void> done = Do(tasks); !done) return done;
    for (size_t k = 0; k < chosen.size(); ++k) {
      Group& group = groups_[chosen[k]];
      if (!bounds[k].empty()) TakeBounds(bounds[k], group);
      if (group.members.size() == 1) TakeMapping(group);
    }
    return {};
  }

  bool AreaOnly() const {
    return objectives_.size() == 1 && objectives_.front() == Objective::kArea;
  }

  // Whether a group is better divided than bounded: a half of it can be discarded at once, or what
  // its relaxed machine promises is far from what its members can.
  bool SplitsWell(const Group& group, double gain) {
    constexpr double kLoose = 0.1;
    if (group.looseness > std::max(kLoose, gain / 2)) return true;
    auto [first, second] = Halves(group);
    if (first.empty() || second.empty()) return true;
    return std::min(Gain(FirstLow(first)), Gain(FirstLow(second))) <= gain;
  }

  void Map(const Group& group, Candidate& candidate, std::vector<CellTable::Task>& tasks) {
    if (machines_.Complete(candidate)) {
      LookAt(group.members.front(), kAllRounds, /*settle=*/true, tasks);
      return;
    }
    // Four times the rounds of those that had the fewest.
    int64_t rounds = 1;
    if (candidate.looked_at()) {
      int64_t fewest = std::numeric_limits<int64_t>::max();
      for (const MapCell* const cell : candidate.cells) {
        if (!cell->facts().complete) fewest = std::min(fewest, cell->facts().rounds);
      }
      constexpr int64_t kMore = 4;
      rounds = std::max<int64_t>(1, fewest * kMore);
    }
    LookAt(group.members.front(), rounds, /*settle=*/false, tasks);
  }

  // What the layers of a group would have to be below for it to gain so much, asked of each.
  std::vector<MapCell*> AskForBounds(const Group& group, double gain,
                                     std::vector<CellTable::Task>& tasks) {
    std::vector<MapCell*> cells;
    const std::vector<LayerUse>& uses = machines_.uses();
    const Candidate& other = machines_.candidates()[Nearest(group.low)];
    const Low point = machines_.Costs(other);
    for (const Objective objective : objectives_) {
      if (objective == Objective::kArea) continue;
      std::vector<double> values;
      double sum = 0;
      const bool edp = objective == Objective::kEdp;
      for (size_t i = 0; i < uses.size(); ++i) {
        const CellFacts& facts = other.cells[i]->facts();
        values.push_back(edp                                ? facts.cycles * facts.energy_pj
                         : objective == Objective::kLatency ? facts.cycles
                                                            : facts.energy_pj);
        sum += uses[i].weight * (edp ? std::sqrt(values[i]) : values[i]);
      }
      if (edp) sum *= sum;
      const double target = point.Of(objective) / (1 + gain);
      for (size_t i = 0; i < uses.size(); ++i) {
        const double threshold = values[i] / sum * target * (1 + kEqual);
        const LayerLow& low = group.lows[i];
        const double known = edp                                ? low.edp
                             : objective == Objective::kLatency ? low.cycles
                                                                : low.energy_pj;
        if (known >= threshold) continue;
        MapCell& cell = table_.At(machines_.base(), {.layer = uses[i].layer,
                                                     .accelerator = group.machine,
                                                     .objective = objective,
                                                     .threshold = threshold});
        cells.push_back(&cell);
        const auto same = [&](const CellTable::Task& task) { return task.cell == &cell; };
        if (cell.done() || std::ranges::any_of(tasks, same)) continue;
        tasks.push_back({.cell = &cell, .rounds = kBoundRounds});
      }
    }
    return cells;
  }

  // The point to which a group with these bounds can gain least.
  size_t Nearest(const Low& low) const {
    size_t nearest = 0;
    double least = kInfinity;
    for (size_t k = 0; k < points_.size(); ++k) {
      const double gain = PossibleGain(objectives_, low, {points_[k]});
      if (gain >= least) continue;
      least = gain;
      nearest = k;
    }
    return point_candidates_[nearest];
  }

  void TakeBounds(const std::vector<MapCell*>& cells, Group& group) {
    const std::vector<LayerUse>& uses = machines_.uses();
    for (MapCell* const cell : cells) {
      cell->Rest();
      const auto found = std::ranges::find(uses, cell->question().layer, &LayerUse::layer);
      const auto use = static_cast<size_t>(found - uses.begin());
      LayerLow& low = group.lows[use];
      const CellFacts& facts = cell->facts();
      if (!facts.possible) {
        Close(group, MachineFate::kImpossible,
              fmt::format("layer '{}': {}", uses[use].name, facts.why));
        return;
      }
      switch (cell->question().objective) {
        case Objective::kLatency: low.cycles = std::max(low.cycles, facts.bound); break;
        case Objective::kEnergy: low.energy_pj = std::max(low.energy_pj, facts.bound); break;
        default: low.edp = std::max(low.edp, facts.bound);
      }
    }
    group.low = SumOf(uses, group.lows, group.low.area_um2);
  }

  // A group of one machine whose layers were mapped.
  void TakeMapping(Group& group) {
    const Candidate& candidate = machines_.candidates()[group.members.front()];
    if (!candidate.looked_at() || group.closed) return;
    std::string why;
    if (!machines_.Possible(candidate, &why)) {
      Close(group, MachineFate::kImpossible, why);
      return;
    }
    const Low bounds = machines_.Bounds(candidate);
    group.low.cycles = std::max(group.low.cycles, bounds.cycles);
    group.low.energy_pj = std::max(group.low.energy_pj, bounds.energy_pj);
    group.low.edp = std::max(group.low.edp, bounds.edp);
    const bool area = AreaOnly() && Counts(candidate);
    group.closed = area || (machines_.Settled(candidate) && machines_.Proved(candidate));
    group.stuck = !group.closed && machines_.Settled(candidate);
  }

  void Close(Group& group, MachineFate fate, const std::string& why) {
    group.closed = true;
    for (const size_t i : group.members) {
      MachineRecord& record = RecordOf(machines_.candidates()[i].number);
      record.fate = fate;
      record.why = why;
    }
  }

  MachineRecord& RecordOf(int64_t number) {
    return *std::ranges::lower_bound(result_.records, number, {}, &MachineRecord::number);
  }

  // ---- Machines that a method proposes ---------------------------------------------------------

  Result<void> Propose() {
    MakeRoots();
    const auto evaluate = [&](const std::vector<int64_t>& numbers) { return Evaluate(numbers); };
    std::vector<int64_t> numbers;
    for (const Candidate& candidate : machines_.candidates()) numbers.push_back(candidate.number);
    return ProposeMachines(job_, numbers, evaluate, [this] { return Over(); });
  }

  // Maps those of the machines that may be better than what is known, and says what all cost: at
  // least its bound, if one was not mapped.
  Result<std::vector<Outcome>> Evaluate(const std::vector<int64_t>& numbers) {
    constexpr int64_t kRounds = 4;
    std::vector<CellTable::Task> tasks;
    std::vector<std::optional<size_t>> places;
    for (const int64_t number : numbers) {
      const auto found =
          std::ranges::lower_bound(machines_.candidates(), number, {}, &Candidate::number);
      if (found == machines_.candidates().end() || found->number != number) {
        places.push_back(std::nullopt);
        continue;
      }
      const auto i = static_cast<size_t>(found - machines_.candidates().begin());
      places.push_back(i);
      if (!points_.empty() && Gain(machines_.Bounds(*found)) <= kEqual) continue;
      LookAt(i, kRounds, false, tasks);
    }
    if (Result<void> done = Do(tasks); !done) return done.error();
    std::vector<Outcome> outcomes;
    for (size_t k = 0; k < numbers.size(); ++k) {
      if (!places[k]) {
        outcomes.push_back(Outcome::Infeasible(RecordOf(numbers[k]).why));
        continue;
      }
      const Candidate& candidate = machines_.candidates()[*places[k]];
      std::string why;
      if (!machines_.Possible(candidate, &why)) {
        MachineRecord& record = RecordOf(numbers[k]);
        record.fate = MachineFate::kImpossible;
        record.why = why;
        outcomes.push_back(Outcome::Infeasible(why));
        continue;
      }
      const Low low =
          machines_.Mapped(candidate) ? machines_.Costs(candidate) : machines_.Bounds(candidate);
      double value = 1;
      for (const Objective objective : objectives_) value *= low.Of(objective);
      outcomes.push_back({.kind = OutcomeKind::kFeasible,
                          .value = value,
                          .cycles = low.cycles,
                          .energy_pj = low.energy_pj,
                          .area_um2 = low.area_um2});
    }
    return outcomes;
  }

  // ---- The answer ------------------------------------------------------------------------------

  void Tell(ProgressEvent event) {
    ProgressRow row{.name = job_.machines->name()};
    int64_t closed = 0;
    for (const Group& group : groups_) {
      if (group.closed || (!points_.empty() && Gain(group.low) <= kEqual)) {
        closed += std::ssize(group.members);
      }
    }
    row.samples = closed;
    row.budget = std::ssize(machines_.candidates());
    if (!points_.empty()) {
      double best = kInfinity;
      for (const Low& point : points_) best = std::min(best, point.Of(objectives_.front()));
      if (best < told_) event = ProgressEvent::kImproved;
      told_ = best;
      row.best = best;
      const double gain = WholeGain();
      if (std::isfinite(gain)) {
        row.gap = gain;
        if (objectives_.size() == 1) row.bound = best / (1 + gain);
      }
    }
    hooks_.progress->OnProgress(event, row);
  }

  // Places of machines that no other is better than, by the first objective.
  std::vector<size_t> Front() const {
    std::vector<size_t> front;
    for (size_t k = 0; k < points_.size(); ++k) {
      const auto beats = [&](size_t other) {
        bool less = false;
        for (const Objective objective : objectives_) {
          const double a = points_[other].Of(objective), b = points_[k].Of(objective);
          if (a > b) return false;
          less |= a < b;
        }
        // Of equal machines the smaller one counts, then the first.
        const auto order = [&](size_t p) {
          return std::pair(points_[p].area_um2,
                           machines_.candidates()[point_candidates_[p]].number);
        };
        return less || order(other) < order(k);
      };
      bool beaten = false;
      for (size_t other = 0; other < points_.size() && !beaten; ++other) {
        beaten = other != k && beats(other);
      }
      if (!beaten) front.push_back(k);
    }
    std::ranges::sort(front, {}, [&](size_t k) { return points_[k].Of(objectives_.front()); });
    return front;
  }

  // What is reported is what `map` would report, also where only the objective was needed so far.
  Result<void> SettleFront() {
    std::vector<CellTable::Task> tasks;
    for (const size_t k : Front()) {
      Candidate& candidate = machines_.candidates()[point_candidates_[k]];
      if (machines_.Complete(candidate)) LookAt(point_candidates_[k], kAllRounds, true, tasks);
    }
    return tasks.empty() || Over() ? Result<void>() : Do(tasks);
  }

  Result<ExploreResult> Finish() {
    if (Result<void> settled = SettleFront(); !settled) return settled.error();
    result_.job = job_;
    result_.interrupted = hooks_.stopped && hooks_.stopped();
    const double gain = points_.empty() ? kInfinity : WholeGain();
    if (std::isfinite(gain)) result_.gap = gain <= kEqual ? 0 : gain;
    const bool proved = result_.gap && *result_.gap <= std::max(job_.settings.target_gap, kEqual);
    result_.stopped_by = result_.interrupted            ? MapStop::kInterrupted
                         : proved                       ? MapStop::kProved
                         : SteadySeconds() >= deadline_ ? MapStop::kTime
                                                        : MapStop::kSamples;
    if (replay_ != nullptr) {
      result_.stopped_by = replay_->stopped_by;
      result_.interrupted = replay_->stopped_by == MapStop::kInterrupted;
    }
    result_.recorded = table_.recorded();
    SetRecords(gain);
    const std::vector<size_t> front = Front();
    if (front.empty() && !Over()) return NoMachine();
    double least = kInfinity;
    for (const size_t k : front) {
      Result<ExploredMachine> shown = machines_.Show(machines_.candidates()[point_candidates_[k]]);
      if (!shown) return shown.error();
      if (shown->value < least) {
        least = shown->value;
        result_.best = *shown;
      }
      result_.front.push_back(*std::move(shown));
    }
    result_.seconds = SteadySeconds() - start_;
    return std::move(result_);
  }

  void SetRecords(double gain) {
    const Objective objective = job_.settings.objective;
    for (const Group& group : groups_) {
      for (const size_t i : group.members) {
        const Candidate& candidate = machines_.candidates()[i];
        MachineRecord& record = RecordOf(candidate.number);
        record.bound = group.low.Of(objective);
        if (record.fate != MachineFate::kOpen) continue;
        if (candidate.looked_at()) {
          record.fate = MachineFate::kMapped;
          const bool counts = Counts(candidate);
          if (machines_.Mapped(candidate) && !counts) {
            record.fate = MachineFate::kLimit;
            record.why = fmt::format("power_w {:.6g} > {:.6g}",
                                     machines_.PowerMw(machines_.Costs(candidate)) / 1e3,
                                     *machines_.limits().power_w);
          } else if (counts) {
            record.bound = std::max(record.bound, machines_.Bounds(candidate).Of(objective));
            record.why = machines_.Settled(candidate) ? "every layer is proved" : "";
          }
          continue;
        }
        if (points_.empty()) continue;
        const double own = std::max(0.0, Gain(group.low));
        if (own > std::max(gain, kEqual)) continue;
        record.fate = MachineFate::kBound;
        record.why = own <= kEqual
                         ? "not better than what is known"
                         : fmt::format("at most {:.2f} % better than what is known", 100 * own);
      }
    }
  }

  const ExploreJob& job_;
  const RunHooks& hooks_;
  const Replay* const replay_;
  ThreadPool pool_;
  const std::vector<Objective> objectives_;
  const double start_ = SteadySeconds();
  const double deadline_;
  CellTable table_;
  Machines machines_;
  std::vector<Group> groups_;
  std::vector<size_t> looked_at_;         // places of candidates
  std::vector<Low> points_;               // of those that count
  std::vector<size_t> point_candidates_;  // whose points they are
  double told_ = kInfinity;
  ExploreResult result_;
};

// How a run ended, by its result.
Result<Replay> ReplayOf(const RunDirectory& directory) {
  const std::string file = directory.File("result.json");
  const Result<std::string> text = ReadTextFile(file);
  if (!text) return text.error();
  const nlohmann::ordered_json json = FromText(*text);
  Replay replay;
  if (json.is_object() && json.contains("turns") && json["turns"].is_number_integer() &&
      json.contains("stopped_by") && json["stopped_by"].is_string()) {
    replay.turns = json["turns"].get<int64_t>();
    const Result<MapStop> stop =
        FindName<MapStop>("stop", json["stopped_by"].get<std::string>(), kMapStopNames);
    if (stop) {
      replay.stopped_by = *stop;
      return replay;
    }
  }
  return Error{.kind = ErrorKind::kSyntax,
               .message = "this is not the result of an exploration",
               .where = {.file = file}};
}

}  // namespace

int64_t ExploreResult::Count(MachineFate fate) const {
  return std::ranges::count(records, fate, &MachineRecord::fate);
}

Result<ExploreResult> ExploreAgain(const RunDirectory& directory, const VerifyOptions& options,
                                   Verification& found) {
  const Result<ExploreJob> job = LoadExploreJob(directory);
  if (!job) return job.error();
  Result<Replay> replay = ReplayOf(directory);
  if (!replay) return replay.error();
  replay->seconds = options.seconds;
  const RunHooks hooks{.directory = &directory};
  Explorer explorer(*job, options.threads, hooks, &*replay);
  Result<ExploreResult> again = explorer.Go();
  AddVerification(explorer.table(), found);
  return again;
}

Result<ExploreResult> Explore(const ExploreJob& job, int threads, const RunHooks& hooks) {
  return Explorer(job, threads, hooks).Go();
}

}  // namespace tessera
