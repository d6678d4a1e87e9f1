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
#include <nlohmann/json.hpp>

#include "tessera/accelerator.h"
#include "tessera/arch/template_values.h"
#include "tessera/base/file.h"
#include "tessera/base/json_text.h"
#include "tessera/explore/explore_job.h"
#include "tessera/explore/explorer.h"
#include "tessera/explore/relax.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/record/clock.h"

namespace tessera {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Vary = std::vector<std::pair<std::string, std::vector<std::string>>>;

constexpr std::string_view kNetworkPrefix = "network.";
constexpr std::string_view kAcceleratorFile = "inputs/accelerator.yaml";

bool OfNetwork(const std::string& field) { return field.starts_with(kNetworkPrefix); }

// Which machines are at least as good as which others in every respect: [a][b] if a is.
std::vector<std::vector<bool>> AsGoodAs(const std::vector<Candidate>& candidates,
                                        loopnest::Semantics semantics, bool constrained) {
  std::vector<std::vector<bool>> good(candidates.size(),
                                      std::vector<bool>(candidates.size(), false));
  // Of more points than that, looking at all pairs would take longer than it saves.
  constexpr size_t kMost = 500;
  if (candidates.size() > kMost) return good;
  std::vector<std::string> keys;
  std::vector<Hierarchy> alone;
  for (const Candidate& candidate : candidates) {
    const Accelerator* const one[] = {&candidate.machine.accelerator};
    keys.push_back(StructureKey(*one[0], semantics, constrained));
    alone.push_back(*Relaxed(one).hierarchy);
  }
  for (size_t a = 0; a < candidates.size(); ++a) {
    const Accelerator& first = candidates[a].machine.accelerator;
    for (size_t b = 0; b < candidates.size(); ++b) {
      const Accelerator& second = candidates[b].machine.accelerator;
      if (a == b || keys[a] != keys[b]) continue;
      if (LeakageMw(*first.hierarchy) > LeakageMw(*second.hierarchy)) continue;
      const Accelerator* const both[] = {&first, &second};
      good[a][b] = *Relaxed(both).hierarchy == alone[a];
    }
  }
  return good;
}

// How the combinations of a sweep are counted: the last value varies fastest.
struct Combination {
  size_t network = 0;
  MachineTemplate::Choice choice = {};
  std::vector<ChosenValue> values = {};
};

std::vector<Combination> CombinationsOf(const SweepJob& job) {
  const Vary& vary = job.settings.vary;
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
      if (OfNetwork(field)) {
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

// The networks of all combinations of parameters, in the order of CombinationsOf.
Result<std::vector<Network>> NetworksOf(const SweepSettings& settings, const NetworkWith& make) {
  std::vector<std::vector<std::pair<std::string, std::string>>> combinations(1);
  for (const auto& [field, values] : settings.vary) {
    if (!OfNetwork(field)) continue;
    std::vector<std::vector<std::pair<std::string, std::string>>> more;
    for (const auto& combination : combinations) {
      for (const std::string& value : values) {
        more.push_back(combination);
        more.back().emplace_back(field.substr(kNetworkPrefix.size()), value);
      }
    }
    combinations = std::move(more);
  }
  std::vector<Network> networks;
  for (const auto& combination : combinations) {
    Result<Network> network = make(combination);
    if (!network) return network.error();
    networks.push_back(*std::move(network));
  }
  return networks;
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

  using Good = std::vector<std::vector<bool>>;

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
    const Good good = AsGoodAs(candidates, *job_.base.settings.model->semantics(),
                               !job_.base.problem.space.constraints.demands.empty());
    std::vector<bool> ready(candidates.size(), false);
    while (!Over()) {
      const std::vector<size_t> turn = NextTurn(good, ready);
      if (turn.empty()) break;
      if (Result<void> solved = Solve(machines, candidates, good, turn, ready); !solved)
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

  // Those that no other one which is still to come is as good as.
  static std::vector<size_t> NextTurn(const Good& good, const std::vector<bool>& ready) {
    std::vector<size_t> turn;
    for (size_t b = 0; b < good.size(); ++b) {
      if (ready[b]) continue;
      bool first = true;
      for (size_t a = 0; a < good.size() && first; ++a) {
        if (ready[a] || !good[a][b]) continue;
        // Of equal machines the first is the first.
        first = good[b][a] && b < a;
      }
      if (first) turn.push_back(b);
    }
    return turn;
  }

  Result<void> Solve(Machines& machines, std::vector<Candidate>& candidates, const Good& good,
                     const std::vector<size_t>& turn, std::vector<bool>& ready) {
    for (const size_t b : turn) {
      for (size_t a = 0; a < candidates.size(); ++a) {
        if (!ready[a] || !good[a][b] || !machines.Proved(candidates[a])) {
          continue;
        }
        std::vector<CellTable::Task> none;
        machines.AddTasks(candidates[b], 1, false, none);
        for (size_t i = 0; i < candidates[b].cells.size(); ++i) {
          if (Result<void> taken = Inherit(*candidates[a].cells[i], *candidates[b].cells[i]);
              !taken) {
            return taken;
          }
        }
      }
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
    constexpr double kEqual = 1e-9;
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

Result<SweepJob> MakeSweepJob(const SweepSettings& settings, const NetworkWith& network,
                              std::string_view accelerator_text, const std::string& file,
                              const std::string& folder) {
  constexpr size_t kMostPoints = 100'000;
  Vary fields;
  size_t count = 1;
  for (const auto& [field, values] : settings.vary) {
    count *= std::max<size_t>(1, values.size());
    if (count > kMostPoints) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = fmt::format("more than {} points", kMostPoints),
                   .hint = "use tessera explore, which maps only what may be best"};
    }
    if (!OfNetwork(field)) fields.emplace_back(field, values);
    const auto twice = [&](const auto& other) { return other.first == field; };
    if (std::ranges::count_if(settings.vary, twice) > 1) {
      return Error{.kind = ErrorKind::kUsage, .message = fmt::format("{} is varied twice", field)};
    }
  }
  if (settings.vary.empty()) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = "nothing is varied",
                 .hint = "for example --vary levels.GLB.entries=16K..1M:x2"};
  }
  Result<std::vector<Network>> networks = NetworksOf(settings, network);
  if (!networks) return networks.error();
  Result<MachineTemplate> machines = MachineTemplate::Vary(accelerator_text, file, fields);
  if (!machines) return machines.error();
  SweepJob job{.settings = settings,
               .networks = *std::move(networks),
               .accelerator_text = std::string(accelerator_text),
               .machines = std::make_shared<const MachineTemplate>(*std::move(machines))};
  if (job.machines->fields().size() != fields.size()) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("{} has choices of its own", file),
                 .hint = "use tessera explore"};
  }
  Result<MapJob> base = BaseJob(settings.map, job.networks.front(), *job.machines, folder);
  if (!base) return base.error();
  job.base = *std::move(base);
  return job;
}

Result<RunDirectory> CreateSweepRun(const std::string& path, const SweepJob& job,
                                    const RunOrigin& origin) {
  RunDirectory::Files inputs;
  const Result<MapSettings> map = SaveMapSettings(job.base, inputs);
  if (!map) return map.error();
  inputs[std::string(kAcceleratorFile)] = job.accelerator_text;
  OrderedJson networks = OrderedJson::array(), vary = OrderedJson::array();
  for (size_t i = 0; i < job.networks.size(); ++i) {
    const Result<std::string> text = NetworkText(job.networks[i]);
    if (!text) return text.error();
    const std::string name = fmt::format("inputs/network-{}.yaml", i + 1);
    inputs[name] = *text;
    networks.push_back(name);
  }
  for (const auto& [field, values] : job.settings.vary) {
    vary.push_back({{"field", field}, {"values", values}});
  }
  const OrderedJson settings = {{"networks", std::move(networks)},
                                {"accelerator", kAcceleratorFile},
                                {"map", FromText(ToJsonText(*map))},
                                {"vary", std::move(vary)},
                                {"seconds", job.settings.seconds}};
  return RunDirectory::Create(path,
                              {.kind = std::string(kSweepRun),
                               .origin = origin,
                               .settings = settings.dump(),
                               .seed = job.settings.map.seed},
                              inputs);
}

Result<SweepJob> LoadSweepJob(const RunDirectory& directory) {
  Result<SavedSettings> saved = SavedSettings::Read(directory);
  if (!saved) return saved.error();
  SweepSettings settings;
  const auto networks = saved->Get<std::vector<std::string>>("networks");
  settings.accelerator = saved->Get<std::string>("accelerator");
  settings.seconds = saved->Get<double>("seconds");
  for (const OrderedJson& item : saved->At("vary")) {
    const bool good = item.is_object() && item.contains("field") && item["field"].is_string() &&
                      item.contains("values") && item["values"].is_array();
    if (!good) {
      saved->Damaged("vary");
      break;
    }
    std::vector<std::string> values;
    for (const OrderedJson& value : item["values"]) {
      if (value.is_string()) values.push_back(value.get<std::string>());
    }
    settings.vary.emplace_back(item["field"].get<std::string>(), std::move(values));
  }
  const OrderedJson map = saved->At("map");
  if (!saved->status()) return saved->status().error();
  Result<MapSettings> parsed = ParseMapSettings(map.dump(), saved->file());
  if (!parsed) return parsed.error();
  settings.map = *std::move(parsed);
  settings.map.seed = directory.header().seed;
  const Result<std::string> text = ReadTextFile(directory.File(settings.accelerator));
  if (!text) return text.error();
  // The folder has the networks of all combinations, in their order.
  size_t next = 0;
  const NetworkWith load = [&](const auto& /*parameters*/) -> Result<Network> {
    if (next >= networks.size()) {
      return Error{.kind = ErrorKind::kSyntax,
                   .message = "a network is missing",
                   .where = {.file = saved->file()}};
    }
    return LoadNetwork(directory.File(networks[next++]));
  };
  return MakeSweepJob(settings, load, *text, directory.File(settings.accelerator),
                      directory.path());
}

Result<std::vector<std::string>> ParseVariedValues(std::string_view text) {
  return ParseValues(text);
}

Result<std::string> AcceleratorText(const std::string& name_or_path) {
  for (const EmbeddedFile& preset : AcceleratorPresets()) {
    if (preset.name == name_or_path) return std::string(preset.contents);
  }
  const Result<Accelerator> accelerator = LoadAccelerator(name_or_path);
  if (!accelerator) return accelerator.error();
  const Result<std::string> text = ReadTextFile(name_or_path);
  if (!text) return text.error();
  const AcceleratorFormat* const own = AcceleratorFormats().front();
  return RecogniseAccelerator(*text) == own ? *text : AcceleratorText(*accelerator);
}

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
