// What if: every combination of some values, each mapped to its proof. A machine that another one
// of the sweep is at least as good as cannot have a lower value; if the other's mapping runs on it
// at the same value, that is its best one, and nothing has to be searched.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "tessera/accelerator.h"
#include "tessera/explore/explore_job.h"
#include "tessera/explore/explorer.h"
#include "tessera/explore/known_front.h"
#include "tessera/explore/relax.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/record/clock.h"

namespace tessera {
namespace {

// How the machines of a sweep compare.
struct Comparison {
  // [a][b]: a is at least as good as b in every respect.
  std::vector<std::vector<bool>> good;
  // Machines with equal numbers here differ in entries of levels alone.
  std::vector<size_t> family;

  explicit Comparison(size_t machines)
      : good(machines, std::vector<bool>(machines, false)), family(machines) {
    for (size_t i = 0; i < machines; ++i) family[i] = i;
  }

  // Whether a has to be looked at before b: within a family less comes first, because what is best
  // on it is a start for more; otherwise the better one, because its best may run on the lesser.
  bool Before(size_t a, size_t b) const {
    if (family[a] != family[b]) return good[a][b];
    if (good[a][b] && good[b][a]) return a < b;
    return good[b][a];
  }
};

Comparison Compare(const std::vector<Candidate>& candidates, loopnest::Semantics semantics,
                   bool constrained) {
  Comparison made(candidates.size());
  // Of more points than that, looking at all pairs would take longer than it saves.
  constexpr size_t kMost = 500;
  if (candidates.size() > kMost) return made;
  std::vector<std::string> keys;
  std::vector<Hierarchy> alone, sizeless;
  for (const Candidate& candidate : candidates) {
    const Accelerator* const one[] = {&candidate.machine.accelerator};
    keys.push_back(StructureKey(*one[0], semantics, constrained));
    alone.push_back(*Relaxed(one).hierarchy);
    sizeless.push_back(alone.back());
    for (MemoryLevel& level : sizeless.back().levels) {
      if (level.entries) level.entries = 1;
    }
  }
  for (size_t a = 0; a < candidates.size(); ++a) {
    const Accelerator& first = candidates[a].machine.accelerator;
    for (size_t b = 0; b < candidates.size(); ++b) {
      const Accelerator& second = candidates[b].machine.accelerator;
      if (a == b || keys[a] != keys[b]) continue;
      if (a < b && sizeless[a] == sizeless[b]) made.family[b] = made.family[a];
      if (LeakageMw(*first.hierarchy) > LeakageMw(*second.hierarchy)) continue;
      const Accelerator* const both[] = {&first, &second};
      made.good[a][b] = *Relaxed(both).hierarchy == alone[a];
    }
  }
  return made;
}

// The one level at which a machine has fewer entries than another of its family.
std::optional<size_t> FewerAt(const Accelerator& lesser, const Accelerator& machine) {
  std::optional<size_t> at;
  for (size_t i = 0; i < machine.hierarchy->levels.size(); ++i) {
    const std::optional<int64_t>& few = lesser.hierarchy->levels[i].entries;
    const std::optional<int64_t>& many = machine.hierarchy->levels[i].entries;
    if (few == many) continue;
    if (at || !few || !many || *few > *many) return std::nullopt;
    at = i;
  }
  return at;
}

// How the combinations of a sweep are counted: the last value varies fastest.
struct Combination {
  size_t network = 0;
  MachineTemplate::Choice choice = {};
  std::vector<ChosenValue> values = {};
};

std::vector<Combination> CombinationsOf(const SweepJob& job) {
  const VariedValues& vary = job.settings.vary;
  size_t count = 1;
  for (const auto& [field, values] : vary) count *= values.size();
  std::vector<Combination> all;
  for (size_t k = 0; k < count; ++k) {
    std::vector<size_t> places(vary.size());
    size_t rest = k;
    for (size_t i = vary.size(); i-- > 0;) {
      places[i] = rest % vary[i].second.size();
      rest /= vary[i].second.size();
    }
    Combination combination{.choice = MachineTemplate::Choice(job.machines->fields().size())};
    for (size_t i = 0; i < vary.size(); ++i) {
      const auto& [field, values] = vary[i];
      const std::string& text = values[places[i]];
      const Result<double> number = ParseDouble(text);
      combination.values.push_back(
          {field, text, number ? std::optional<double>(*number) : std::nullopt});
      if (IsOfNetwork(field)) {
        combination.network = combination.network * values.size() + places[i];
        continue;
      }
      const auto found = std::ranges::find(job.machines->fields(), field, &TemplateField::path);
      combination.choice[static_cast<size_t>(found - job.machines->fields().begin())] =
          static_cast<int32_t>(places[i]);
    }
    all.push_back(std::move(combination));
  }
  return all;
}

class Sweeper {
 public:
  // `repeat_seconds`: only what the journal holds, and so long doing it once more.
  Sweeper(const SweepJob& job, int threads, const RunHooks& hooks,
          std::optional<double> repeat_seconds = {})
      : repeat_seconds_(repeat_seconds),
        job_(job),
        hooks_(hooks),
        pool_(threads),
        deadline_(job.settings.seconds > 0 && !repeat_seconds
                      ? SteadySeconds() + job.settings.seconds
                      : std::numeric_limits<double>::infinity()) {}

  const CellTable& table() const { return table_; }

  Result<SweepResult> Go() {
    Result<void> opened = repeat_seconds_ ? table_.Replay(*hooks_.directory, *repeat_seconds_)
                                          : table_.Open(hooks_.directory);
    if (!opened) return opened.error();
    combinations_ = CombinationsOf(job_);
    result_.points.resize(combinations_.size());
    for (size_t network = 0; network < job_.networks.size(); ++network) {
      if (Result<void> mapped = MapAll(network); !mapped) return mapped.error();
    }
    for (size_t i = 0; i < combinations_.size(); ++i) {
      result_.points[i].values = combinations_[i].values;
      std::optional<ExploredMachine>& machine = result_.points[i].machine;
      if (machine) machine->values = combinations_[i].values;
    }
    result_.job = job_;
    result_.recorded = table_.recorded();
    result_.knee = Knee();
    result_.interrupted = hooks_.stopped && hooks_.stopped();
    result_.seconds = SteadySeconds() - start_;
    return std::move(result_);
  }

 private:
  bool Over() const { return (hooks_.stopped && hooks_.stopped()) || SteadySeconds() >= deadline_; }

  // All points of one network.
  Result<void> MapAll(size_t network) {
    // Cells refer to the job for as long as they live.
    jobs_.push_back(std::make_unique<ExploreJob>(
        ExploreJob{.settings = {.map = job_.settings.map, .objective = job_.settings.map.objective},
                   .networks = {job_.networks[network]},
                   .machines = job_.machines,
                   .base = job_.base}));
    const ExploreJob& job = *jobs_.back();
    Machines machines(job, pool_, table_, [this] { return Over(); });
    std::vector<size_t> places;  // of points
    std::vector<Candidate> candidates;
    for (size_t i = 0; i < combinations_.size(); ++i) {
      if (combinations_[i].network != network) continue;
      Result<Candidate> candidate = machines.Make(job_.machines->NumberOf(combinations_[i].choice));
      if (!candidate) {
        result_.points[i].why = candidate.error().message;
        continue;
      }
      places.push_back(i);
      candidates.push_back(*std::move(candidate));
    }
    const Comparison comparison = Compare(candidates, *job_.base.settings.model->semantics(),
                                          !job_.base.problem.space.constraints.demands.empty());
    std::vector<bool> ready(candidates.size(), false);
    while (!Over()) {
      const std::vector<size_t> turn = NextTurn(comparison, ready);
      if (turn.empty()) break;
      if (Result<void> solved = Solve(machines, candidates, comparison, turn, ready); !solved)
        return solved;
    }
    for (size_t k = 0; k < candidates.size(); ++k) {
      if (!machines.Mapped(candidates[k])) {
        std::string why;
        result_.points[places[k]].why =
            machines.Possible(candidates[k], &why) ? "nobody had the time to look" : why;
        continue;
      }
      Result<ExploredMachine> shown = machines.Show(candidates[k]);
      if (!shown) return shown.error();
      result_.points[places[k]].machine = *std::move(shown);
    }
    return {};
  }

  // Those that nothing which is still to come has to come before.
  static std::vector<size_t> NextTurn(const Comparison& comparison,
                                      const std::vector<bool>& ready) {
    std::vector<size_t> turn;
    for (size_t b = 0; b < ready.size(); ++b) {
      bool first = !ready[b];
      for (size_t a = 0; a < ready.size() && first; ++a) {
        first = ready[a] || a == b || !comparison.Before(a, b);
      }
      if (first) turn.push_back(b);
    }
    return turn;
  }

  Result<void> Solve(Machines& machines, std::vector<Candidate>& candidates,
                     const Comparison& comparison, const std::vector<size_t>& turn,
                     std::vector<bool>& ready) {
    for (const size_t b : turn) {
      std::vector<CellTable::Task> none;
      machines.AddTasks(candidates[b], 1, false, none);
      for (size_t a = 0; a < candidates.size(); ++a) {
        if (!ready[a] || !comparison.good[a][b] || !machines.Proved(candidates[a])) continue;
        for (size_t i = 0; i < candidates[b].cells.size(); ++i) {
          if (Result<void> taken = Inherit(*candidates[a].cells[i], *candidates[b].cells[i]);
              !taken) {
            return taken;
          }
        }
      }
      StartFromLesser(candidates, comparison, ready, b);
    }
    // All rounds at once: nothing here depends on how far the others are.
    std::vector<CellTable::Task> tasks;
    for (const size_t b : turn) {
      machines.AddTasks(candidates[b], std::numeric_limits<int64_t>::max(), true, tasks);
      ready[b] = true;
    }
    const Result<bool> done = table_.Do(tasks, pool_, [this] { return Over(); });
    if (!done) return done.error();
    Tell(std::ranges::count(ready, true));
    return {};
  }

  // What is best on machines with fewer entries at one level: the best of all that fits them.
  static void StartFromLesser(std::vector<Candidate>& candidates, const Comparison& comparison,
                              const std::vector<bool>& ready, size_t b) {
    const Accelerator& machine = candidates[b].machine.accelerator;
    for (size_t i = 0; i < candidates[b].cells.size(); ++i) {
      CellStart start{.entries = std::vector<std::optional<int64_t>>(
                          machine.hierarchy->levels.size(), std::nullopt)};
      for (size_t a = 0; a < candidates.size(); ++a) {
        if (!ready[a] || comparison.family[a] != comparison.family[b]) continue;
        const Accelerator& lesser = candidates[a].machine.accelerator;
        const std::optional<size_t> level = FewerAt(lesser, machine);
        const MapCell& cell = *candidates[a].cells[i];
        if (!level || !IsProved(cell)) continue;
        start.entries[*level] =
            std::max(start.entries[*level], lesser.hierarchy->levels[*level].entries);
        if (start.mapping.empty() || cell.facts().value < start.value) {
          start.value = cell.facts().value;
          start.mapping = cell.facts().mapping;
        }
      }
      if (!start.mapping.empty()) candidates[b].cells[i]->StartFrom(std::move(start));
    }
  }

  // What is best on a machine is best on a lesser one, if it runs there at the same value.
  Result<void> Inherit(const MapCell& from, MapCell& to) {
    if (to.done() || !from.facts().mapped) return {};
    const Accelerator& accelerator = to.question().accelerator;
    const Result<Mapping> mapping =
        ParseMappingJson(from.facts().mapping, "mapping", to.question().layer, accelerator);
    if (!mapping) return mapping.error();
    MapJob job = job_.base;
    job.accelerator = accelerator;
    const Result<std::unique_ptr<CostModel>> model = ModelOf(job, to.question().layer);
    if (!model) return model.error();
    const Cost cost = (*model)->Evaluate(*mapping, *(*model)->MakeWorkspace());
    if (!cost.feasible()) return {};
    const double value = ValueOf(cost, to.question().objective);
    if (value > from.facts().value * (1 + kEqual)) return {};
    CellFacts facts = from.facts();
    facts.rounds = 0;
    facts.value = value;
    facts.cycles = static_cast<double>(cost.cycles);
    facts.energy_pj = cost.energy_pj;
    facts.bound = std::min(facts.bound, value);
    to.Take(std::move(facts));
    return {};
  }

  void Tell(int64_t ready) {
    if (hooks_.progress == nullptr) return;
    hooks_.progress->OnProgress(
        ProgressEvent::kAdvanced,
        {.name = job_.machines->name(), .samples = ready, .budget = std::ssize(combinations_)});
  }

  // The point farthest below the line between the ends, both axes logarithmic and as long as the
  // curve: beyond it a step gains less than it does on the whole.
  std::optional<size_t> Knee() const {
    std::vector<std::pair<double, double>> curve;
    std::vector<size_t> places;
    const size_t run = combinations_.empty() ? 0 : job_.settings.vary.front().second.size();
    if (run < 3) return std::nullopt;
    const size_t stride = combinations_.size() / run;
    for (size_t k = 0; k < run; ++k) {
      const SweepPoint& point = result_.points[k * stride];
      if (!point.machine || !combinations_[k * stride].values.front().number) return std::nullopt;
      const double x = *combinations_[k * stride].values.front().number, y = point.machine->value;
      if (x <= 0 || y <= 0) return std::nullopt;
      curve.emplace_back(std::log(x), std::log(y));
      places.push_back(k * stride);
    }
    const auto [x0, y0] = curve.front();
    const auto [x1, y1] = curve.back();
    if (x1 <= x0 || y1 >= y0) return std::nullopt;
    constexpr double kBend = 0.05;
    double most = kBend;
    std::optional<size_t> knee;
    for (size_t k = 1; k + 1 < curve.size(); ++k) {
      const double x = (curve[k].first - x0) / (x1 - x0), y = (curve[k].second - y1) / (y0 - y1);
      const double below = 1 - x - y;
      if (below <= most) continue;
      most = below;
      knee = places[k];
    }
    return knee;
  }

  const std::optional<double> repeat_seconds_;
  const SweepJob& job_;
  const RunHooks& hooks_;
  ThreadPool pool_;
  const double start_ = SteadySeconds();
  const double deadline_;
  std::vector<std::unique_ptr<ExploreJob>> jobs_;  // by network
  CellTable table_;
  std::vector<Combination> combinations_;
  SweepResult result_;
};

}  // namespace

Result<SweepResult> SweepAgain(const RunDirectory& directory, const VerifyOptions& options,
                               Verification& found) {
  const Result<SweepJob> job = LoadSweepJob(directory);
  if (!job) return job.error();
  const RunHooks hooks{.directory = &directory};
  Sweeper sweeper(*job, options.threads, hooks, options.seconds);
  Result<SweepResult> again = sweeper.Go();
  AddVerification(sweeper.table(), found);
  return again;
}

Result<SweepResult> Sweep(const SweepJob& job, int threads, const RunHooks& hooks) {
  return Sweeper(job, threads, hooks).Go();
}

}  // namespace tessera
