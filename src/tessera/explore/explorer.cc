// The way through the groups: which comes next, and whether it is bounded, divided or mapped.
#include "tessera/explore/explorer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "tessera/explore/groups.h"
#include "tessera/explore/known_front.h"
#include "tessera/explore/proposals.h"
#include "tessera/explore/replay.h"
#include "tessera/mapper/map_network.h"
#include "tessera/record/clock.h"

namespace tessera {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Gains that are ruled out, one after the other.
constexpr std::array kPhases = {0.5, 0.2, 0.1, 0.05, 0.02, 0.005};

// Groups that are worked on side by side; a part of the result, like a batch of a search.
constexpr size_t kWidth = 4;

// Rounds of the exact mapper for a bound of a group: of many machines, which can still be divided,
// and of few.
constexpr int64_t kFirstBoundRounds = 3, kBoundRounds = 6;
constexpr size_t kManyMembers = 8;

// Rounds of the exact mapper that sharpen what is compared with: at first, and at most.
constexpr int64_t kSharpRounds = 4, kMostSharpRounds = 64;

// Of layers whose proofs are known to end.
constexpr int64_t kAllRounds = std::numeric_limits<int64_t>::max();

// A cell that was asked about a layer, by its place among the uses.
struct Asked {
  size_t use = 0;
  MapCell* cell = nullptr;
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
        machines_(job, pool_, table_, [this] { return Over(); }),
        groups_(job, machines_, objectives_),
        known_(machines_, objectives_) {}

  const CellTable& table() const { return table_; }

  Result<ExploreResult> Go() {
    Result<void> opened = replay_ != nullptr ? table_.Replay(*hooks_.directory, replay_->seconds)
                                             : table_.Open(hooks_.directory);
    if (!opened) return opened.error();
    std::function<bool()> over;
    if (replay_ == nullptr) over = [this] { return Over(); };
    if (Result<void> listed = machines_.List(result_.records, over); !listed) return listed.error();
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

  // Of everything that is left.
  double WholeGain() const {
    double most = 0;
    for (const Group& group : groups_.all()) {
      if (!group.closed) most = std::max(most, known_.Gain(group.low));
    }
    return most;
  }

  // ---- The way through -------------------------------------------------------------------------

  Result<void> Divide() {
    groups_.MakeRoots();
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
    for (const Candidate& candidate : machines_.candidates())
      weights.push_back(groups_.Weight(candidate));
    std::ranges::stable_sort(order, {}, [&](size_t i) { return weights[i]; });
    // Until there is a first one: of some machines nothing fits.
    for (size_t begin = 0; begin < order.size() && known_.empty() && !Over(); begin += kWidth / 2) {
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
    known_.Find(looked_at_);
    if (hooks_.progress != nullptr) Tell(ProgressEvent::kAdvanced);
    return {};
  }

  // What groups are asked to beat are the layers of the machines that are known: those are mapped
  // until none of them can be better by much more than the gain in question.
  Result<void> Sharpen(double gain) {
    while (!Over()) {
      std::vector<CellTable::Task> tasks;
      for (const size_t i : known_.places()) {
        for (MapCell* const cell : machines_.candidates()[i].cells) {
          const CellFacts& facts = cell->facts();
          const auto same = [&](const CellTable::Task& task) { return task.cell == cell; };
          if (facts.complete || facts.rounds >= kMostSharpRounds) continue;
          if (facts.value <= facts.bound * (1 + gain / 2) || std::ranges::any_of(tasks, same)) {
            continue;
          }
          tasks.push_back(
              {.cell = cell, .rounds = std::max(kSharpRounds, kSharpRounds * facts.rounds)});
        }
      }
      if (tasks.empty()) return {};
      if (Result<void> done = Do(tasks); !done) return done;
    }
    return {};
  }

  // Until no machine can gain more than `gain`.
  Result<void> RuleOut(double gain) {
    while (!Over()) {
      if (!AreaOnly()) {
        if (Result<void> sharp = Sharpen(gain); !sharp) return sharp;
        // What comes next would be a turn that nobody who repeats the run gets to.
        if (Over()) return {};
      }
      std::vector<std::pair<double, size_t>> urgent;
      for (size_t g = 0; g < groups_.all().size(); ++g) {
        if (groups_[g].closed || groups_[g].stuck) continue;
        const double possible = known_.Gain(groups_[g].low);
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
    std::vector<std::vector<Asked>> bounds(chosen.size());
    for (size_t k = 0; k < chosen.size(); ++k) {
      Group& group = groups_[chosen[k]];
      const bool one = group.members.size() == 1;
      Candidate& first = machines_.candidates()[group.members.front()];
      if (one && (first.looked_at() || group.asked <= gain || known_.empty() || AreaOnly())) {
        Map(group, first, tasks);
      } else if (!one &&
                 (group.asked <= gain || known_.empty() || AreaOnly() || SplitsWell(group, gain))) {
        groups_.Split(chosen[k]);
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
    auto [first, second] = groups_.Halves(group);
    if (first.empty() || second.empty()) return true;
    return std::min(known_.Gain(groups_.FirstLow(first)), known_.Gain(groups_.FirstLow(second))) <=
           gain;
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
  std::vector<Asked> AskForBounds(const Group& group, double gain,
                                  std::vector<CellTable::Task>& tasks) {
    std::vector<Asked> cells;
    const std::vector<LayerUse>& uses = machines_.uses();
    const Candidate& other = machines_.candidates()[known_.Nearest(group.low)];
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
        CellQuestion question = machines_.Question(uses[i], group.machine);
        question.objective = objective;
        question.threshold = threshold;
        MapCell& cell = table_.At(machines_.base(), std::move(question));
        cells.push_back({i, &cell});
        const auto same = [&](const CellTable::Task& task) { return task.cell == &cell; };
        if (cell.done() || std::ranges::any_of(tasks, same)) continue;
        const bool many = group.members.size() > kManyMembers;
        tasks.push_back({.cell = &cell, .rounds = many ? kFirstBoundRounds : kBoundRounds});
      }
    }
    return cells;
  }

  void TakeBounds(const std::vector<Asked>& cells, Group& group) {
    const std::vector<LayerUse>& uses = machines_.uses();
    for (const auto& [use, cell] : cells) {
      cell->Rest();
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
    const bool area = AreaOnly() && known_.Counts(candidate);
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
    groups_.MakeRoots();
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
      if (!known_.empty() && known_.Gain(machines_.Bounds(*found)) <= kEqual) continue;
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
    for (const Group& group : groups_.all()) {
      if (group.closed || (!known_.empty() && known_.Gain(group.low) <= kEqual)) {
        closed += std::ssize(group.members);
      }
    }
    row.samples = closed;
    row.budget = std::ssize(machines_.candidates());
    if (!known_.empty()) {
      double best = kInfinity;
      for (const Low& point : known_.points()) best = std::min(best, point.Of(objectives_.front()));
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

  // What is reported is what `map` would report, also where only the objective was needed so far.
  Result<void> SettleFront() {
    std::vector<CellTable::Task> tasks;
    for (const size_t i : known_.places()) {
      if (machines_.Complete(machines_.candidates()[i])) LookAt(i, kAllRounds, true, tasks);
    }
    return tasks.empty() || Over() ? Result<void>() : Do(tasks);
  }

  Result<ExploreResult> Finish() {
    if (Result<void> settled = SettleFront(); !settled) return settled.error();
    result_.job = job_;
    result_.interrupted = hooks_.stopped && hooks_.stopped();
    const double gain = known_.empty() ? kInfinity : WholeGain();
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
    if (known_.empty() && !Over()) return NoMachine();
    double least = kInfinity;
    for (const size_t i : known_.places()) {
      Result<ExploredMachine> shown = machines_.Show(machines_.candidates()[i]);
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
    for (const Group& group : groups_.all()) {
      for (const size_t i : group.members) {
        const Candidate& candidate = machines_.candidates()[i];
        MachineRecord& record = RecordOf(candidate.number);
        record.bound = group.low.Of(objective);
        if (record.fate != MachineFate::kOpen) continue;
        if (candidate.looked_at()) {
          record.fate = MachineFate::kMapped;
          const bool counts = known_.Counts(candidate);
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
        if (known_.empty()) continue;
        const double own = std::max(0.0, known_.Gain(group.low));
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
  Groups groups_;
  std::vector<size_t> looked_at_;  // places of candidates
  KnownFront known_;
  double told_ = kInfinity;
  ExploreResult result_;
};

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
