#include "tessera/explore/explore_job.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/json_text.h"
#include "tessera/explore/explorer.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/record/run_inputs.h"
#include "tessera/workload/copy.h"

namespace tessera {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view kTemplateFile = "inputs/template.yaml";

Result<void> CheckSettings(const ExploreSettings& settings, size_t networks) {
  const auto wrong = [](std::string message, std::string hint = "") {
    return Error{.kind = ErrorKind::kUsage, .message = std::move(message), .hint = std::move(hint)};
  };
  if (networks == 0) return wrong("there is no network");
  if (!settings.weights.empty() && settings.weights.size() != networks) {
    return wrong(fmt::format("{} weights for {} networks", settings.weights.size(), networks));
  }
  for (const double weight : settings.weights) {
    if (!(weight > 0)) return wrong("weights of networks are above 0");
  }
  std::vector<Objective> objectives = settings.pareto;
  objectives.push_back(settings.objective);
  for (const Objective objective : objectives) {
    if (objective != Objective::kPower) continue;
    return wrong("power has no bounds, so it cannot be explored", "limit it: --limit power_w=1");
  }
  for (size_t i = 0; i < settings.pareto.size(); ++i) {
    if (std::ranges::count(settings.pareto, settings.pareto[i]) == 1) continue;
    return wrong(fmt::format("the front names {} twice", ToString(settings.pareto[i])));
  }
  if (settings.pareto.size() == 1) {
    return wrong("a front has two objectives or more", "for example --pareto latency,energy");
  }
  if (!(settings.target_gap >= 0)) return wrong("the target gap must not be negative");
  if (!(settings.seconds >= 0)) return wrong("the time must not be negative");
  if (settings.samples < 1) return wrong("the budget must be one sample or more");
  const Result<MethodChoice> method = ParseMethodChoice(settings.method, ExploreMethods());
  return method ? Result<void>() : method.error();
}

}  // namespace

Result<MapJob> BaseJob(const MapSettings& given, const std::vector<Network>& networks,
                       const MachineTemplate& machines, const std::string& folder) {
  // One network of all layers, so that constraints may name those of any network.
  Network network{.name = networks.front().name};
  for (const Network& one : networks)
    std::ranges::copy(one.layers, std::back_inserter(network.layers));
  MapSettings settings = given;
  settings.method = ProofMethod(ProofUse::kAlone);
  settings.budget = {};
  settings.proof_seconds = 0;
  settings.proof_rounds = 0;
  std::optional<Error> error;
  constexpr int64_t kTries = 100'000;
  for (int64_t i = 0; i < machines.combinations() && i < kTries; ++i) {
    const MachineTemplate::Choice choice = machines.At(i);
    if (!machines.Has(choice)) continue;
    Result<TemplateMachine> machine = machines.Machine(choice);
    if (!machine) {
      if (!error) error = machine.error();
      continue;
    }
    Result<MapJob> job = MakeMapJob(settings, network, machine->accelerator, folder);
    if (!job) return job.error();
    job->network = {};
    return job;
  }
  if (error) return *error;
  return Error{.kind = ErrorKind::kInfeasible,
               .message = "the template's constraints leave no machine"};
}

Result<ExploreJob> MakeExploreJob(const ExploreSettings& settings, std::vector<Network> networks,
                                  std::string_view template_text, const std::string& file,
                                  const std::string& folder) {
  if (Result<void> checked = CheckSettings(settings, networks.size()); !checked) {
    return checked.error();
  }
  Result<MachineTemplate> machines = MachineTemplate::Parse(template_text, file);
  if (!machines) return machines.error();
  ExploreJob job{.settings = settings,
                 .networks = std::move(networks),
                 .template_text = std::string(template_text),
                 .machines = std::make_shared<const MachineTemplate>(*std::move(machines))};
  // The least area is that of a machine on which everything can be mapped, however slowly.
  if (settings.objective != Objective::kArea) job.settings.map.objective = settings.objective;
  Result<MapJob> base = BaseJob(job.settings.map, job.networks, *job.machines, folder);
  if (!base) return base.error();
  job.base = *std::move(base);
  const Result<MachineLimits> limits = LimitsOf(job);
  if (!limits) return limits.error();
  const std::vector<Objective> objectives = Objectives(settings);
  const bool area = std::ranges::find(objectives, Objective::kArea) != objectives.end();
  if ((area || limits->area_um2) && KnownAreaUm2(*job.base.accelerator.hierarchy) == 0) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = "the template says nothing about areas",
                 .where = {.file = file},
                 .hint = "name a component (component: sram, node_nm: 22) or give area_um2"};
  }
  return job;
}

MachineCount CountMachines(const ExploreJob& job, int64_t most) {
  const MachineTemplate& machines = *job.machines;
  MachineCount count;
  for (int64_t i = 0; i < machines.combinations(); ++i) {
    if (machines.combinations() > most || StopRequested()) {
      return {.machines = machines.combinations(), .counted = false};
    }
    count.machines += machines.Has(machines.At(i));
  }
  return count;
}

Result<std::vector<std::string>> SaveNetworks(const std::vector<Network>& networks,
                                              RunDirectory::Files& inputs) {
  std::vector<std::string> names;
  for (const Network& network : networks) {
    Result<std::string> text = NetworkText(network);
    if (!text) return text.error();
    names.push_back(fmt::format("inputs/network-{}.yaml", names.size() + 1));
    inputs[names.back()] = *std::move(text);
  }
  return names;
}

Result<MapSettings> SaveMapSettings(const MapJob& base, RunDirectory::Files& inputs) {
  MapSettings settings = base.settings;
  settings.network = settings.accelerator = "";
  for (size_t i = 0; i < settings.constraints.size(); ++i) {
    const Result<std::string> text = ReadTextFile(settings.constraints[i]);
    if (!text) return text.error();
    settings.constraints[i] = fmt::format("inputs/constraints-{}.yaml", i + 1);
    inputs[settings.constraints[i]] = *text;
  }
  return settings;
}

Result<SavedSettings> SavedSettings::Read(const RunDirectory& directory) {
  SavedSettings saved;
  saved.file_ = directory.File("run.json");
  saved.json_ = FromText(directory.header().settings);
  if (!saved.json_.is_object()) saved.Damaged("settings");
  if (!saved.status_) return saved.status_.error();
  return saved;
}

OrderedJson SavedSettings::At(const char* key) {
  if (json_.contains(key)) return json_[key];
  Damaged(key);
  return {};
}

void SavedSettings::Damaged(std::string_view key) {
  if (!status_) return;
  status_ = Error{.kind = ErrorKind::kSyntax,
                  .message = fmt::format("setting {} is missing or no such value", Quoted(key)),
                  .where = {.file = file_}};
}

Result<RunDirectory> CreateExploreRun(const std::string& path, const ExploreJob& job,
                                      const RunOrigin& origin) {
  RunDirectory::Files inputs;
  const Result<MapSettings> map = SaveMapSettings(job.base, inputs);
  if (!map) return map.error();
  inputs[std::string(kTemplateFile)] = job.template_text;
  const Result<std::vector<std::string>> networks = SaveNetworks(job.networks, inputs);
  if (!networks) return networks.error();
  OrderedJson pareto = OrderedJson::array(), limits = OrderedJson::object();
  for (const Objective objective : job.settings.pareto) pareto.push_back(ToString(objective));
  for (const auto& [name, most] : job.settings.limits) limits[name] = most;
  const OrderedJson settings = {{"networks", *networks},
                                {"machine", kTemplateFile},
                                {"map", FromText(ToJsonText(*map))},
                                {"objective", ToString(job.settings.objective)},
                                {"pareto", std::move(pareto)},
                                {"weights", job.settings.weights},
                                {"limits", std::move(limits)},
                                {"method", job.settings.method},
                                {"samples", job.settings.samples},
                                {"target_gap", job.settings.target_gap},
                                {"seconds", job.settings.seconds}};
  return RunDirectory::Create(path,
                              {.kind = std::string(kExploreRun),
                               .origin = origin,
                               .settings = ToLine(settings),
                               .seed = job.settings.seed},
                              inputs);
}

Result<ExploreJob> LoadExploreJob(const RunDirectory& directory) {
  Result<SavedSettings> saved = SavedSettings::Read(directory);
  if (!saved) return saved.error();
  ExploreSettings settings;
  settings.networks = saved->Get<std::vector<std::string>>("networks");
  settings.machine = saved->Get<std::string>("machine");
  const auto objective = FindObjective(saved->Get<std::string>("objective"));
  if (objective) {
    settings.objective = *objective;
  } else {
    saved->Damaged("objective");
  }
  for (const std::string& name : saved->Get<std::vector<std::string>>("pareto")) {
    const Result<Objective> found = FindObjective(name);
    if (!found) return found.error();
    settings.pareto.push_back(*found);
  }
  settings.weights = saved->Get<std::vector<double>>("weights");
  const OrderedJson limits = saved->At("limits");
  for (const auto& [name, most] : limits.items()) {
    if (!most.is_number()) saved->Damaged("limits");
    if (saved->status()) settings.limits.emplace_back(name, most.get<double>());
  }
  settings.method = saved->Get<std::string>("method");
  settings.samples = saved->Get<int64_t>("samples");
  settings.target_gap = saved->Get<double>("target_gap");
  settings.seconds = saved->Get<double>("seconds");
  const OrderedJson map = saved->At("map");
  if (!saved->status()) return saved->status().error();
  Result<MapSettings> parsed = ParseMapSettings(ToLine(map), saved->file());
  if (!parsed) return parsed.error();
  settings.map = *std::move(parsed);
  settings.seed = settings.map.seed = directory.header().seed;
  std::vector<Network> networks;
  for (const std::string& name : settings.networks) {
    const Result<std::string> file = InputFile(directory.path(), name);
    if (!file) return file.error();
    Result<Network> network = LoadNetwork(*file);
    if (!network) return network.error();
    networks.push_back(*std::move(network));
  }
  const Result<std::string> machine = InputFile(directory.path(), settings.machine);
  if (!machine) return machine.error();
  const Result<std::string> text = ReadTextFile(*machine);
  if (!text) return text.error();
  return MakeExploreJob(settings, std::move(networks), *text, *machine, directory.path());
}

}  // namespace tessera
