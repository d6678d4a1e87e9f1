// Jobs of what-if questions, and their folders.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/accelerator.h"
#include "tessera/arch/template_values.h"
#include "tessera/base/file.h"
#include "tessera/base/json_text.h"
#include "tessera/explore/explore_job.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/record/run_inputs.h"

namespace tessera {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view kNetworkPrefix = "network.";
constexpr std::string_view kAcceleratorFile = "inputs/accelerator.yaml";

// The networks of all combinations of parameters, the last one fastest.
Result<std::vector<Network>> NetworksOf(const SweepSettings& settings, const NetworkWith& make) {
  std::vector<std::vector<std::pair<std::string, std::string>>> combinations(1);
  for (const auto& [field, values] : settings.vary) {
    if (!IsOfNetwork(field)) continue;
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

}  // namespace

bool IsOfNetwork(const std::string& field) { return field.starts_with(kNetworkPrefix); }

Result<SweepJob> MakeSweepJob(const SweepSettings& settings, const NetworkWith& network,
                              std::string_view accelerator_text, const std::string& file,
                              const std::string& folder) {
  constexpr size_t kMostPoints = 100'000;
  VariedValues fields;
  size_t count = 1;
  for (const auto& [field, values] : settings.vary) {
    count *= std::max<size_t>(1, values.size());
    if (count > kMostPoints) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = fmt::format("more than {} points", kMostPoints),
                   .hint = "use tessera explore, which maps only what may be best"};
    }
    if (!IsOfNetwork(field)) fields.emplace_back(field, values);
    const auto twice = [&](const auto& other) { return other.first == field; };
    if (std::ranges::count_if(settings.vary, twice) > 1) {
      return Error{.kind = ErrorKind::kUsage, .message = fmt::format("{} is varied twice", field)};
    }
  }
  if (!(settings.seconds >= 0)) {
    return Error{.kind = ErrorKind::kUsage, .message = "the time must not be negative"};
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
  Result<MapJob> base = BaseJob(settings.map, job.networks, *job.machines, folder);
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
  const Result<std::vector<std::string>> networks = SaveNetworks(job.networks, inputs);
  if (!networks) return networks.error();
  OrderedJson vary = OrderedJson::array();
  for (const auto& [field, values] : job.settings.vary) {
    vary.push_back({{"field", field}, {"values", values}});
  }
  const OrderedJson settings = {{"networks", *networks},
                                {"accelerator", kAcceleratorFile},
                                {"map", FromText(ToJsonText(*map))},
                                {"vary", std::move(vary)},
                                {"seconds", job.settings.seconds}};
  return RunDirectory::Create(path,
                              {.kind = std::string(kSweepRun),
                               .origin = origin,
                               .settings = ToLine(settings),
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
  Result<MapSettings> parsed = ParseMapSettings(ToLine(map), saved->file());
  if (!parsed) return parsed.error();
  settings.map = *std::move(parsed);
  settings.map.seed = directory.header().seed;
  const Result<std::string> machine = InputFile(directory.path(), settings.accelerator);
  if (!machine) return machine.error();
  const Result<std::string> text = ReadTextFile(*machine);
  if (!text) return text.error();
  // The folder has the networks of all combinations, in their order.
  size_t next = 0;
  const NetworkWith load = [&](const auto& /*parameters*/) -> Result<Network> {
    if (next >= networks.size()) {
      return Error{.kind = ErrorKind::kSyntax,
                   .message = "a network is missing",
                   .where = {.file = saved->file()}};
    }
    const Result<std::string> file = InputFile(directory.path(), networks[next++]);
    return file ? LoadNetwork(*file) : file.error();
  };
  return MakeSweepJob(settings, load, *text, *machine, directory.path());
}

Result<std::vector<std::string>> ParseVariedValues(std::string_view text) {
  return ParseValues(text);
}

Result<std::string> AcceleratorFileText(const std::string& name_or_path) {
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

}  // namespace tessera
