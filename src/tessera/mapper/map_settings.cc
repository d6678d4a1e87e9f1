// Settings of mapping runs to and from files.
#include "tessera/mapper/map_settings.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/arch/format.h"
#include "tessera/base/document.h"
#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/mapper/any_factors.h"
#include "tessera/mapper/proof.h"
#include "tessera/workload/format.h"

namespace tessera {
namespace {

// What method auto searches with before it proves.
constexpr std::string_view kIncumbents = "team";

struct TextField {
  std::string_view key;
  std::string MapSettings::*field;
};
constexpr std::array<TextField, 13> kTextFields = {{{"network", &MapSettings::network},
                                                    {"accelerator", &MapSettings::accelerator},
                                                    {"constraints", &MapSettings::constraints},
                                                    {"model", &MapSettings::model},
                                                    {"objective", &MapSettings::objective},
                                                    {"method", &MapSettings::method},
                                                    {"sizes", &MapSettings::sizes},
                                                    {"energy", &MapSettings::energy},
                                                    {"legality", &MapSettings::legality},
                                                    {"area", &MapSettings::area},
                                                    {"version", &MapSettings::version},
                                                    {"semantics", &MapSettings::semantics},
                                                    {"factors", &MapSettings::factors}}};

// The position of a word in a list; the error names the setting.
template <size_t kCount>
Result<size_t> IndexOf(std::string_view what, std::string_view word,
                       const std::array<std::string_view, kCount>& words) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found != words.end()) return static_cast<size_t>(found - words.begin());
  return Error{.kind = ErrorKind::kUsage,
               .message = fmt::format("unknown {} {}", what, Quoted(word)),
               .hint = DidYouMean(word, words)};
}

std::string In(const std::string& folder, const std::string& path) {
  return folder.empty() || path.starts_with("/") ? path : folder + "/" + path;
}

}  // namespace

std::string ToJsonText(const MapSettings& settings) {
  nlohmann::ordered_json json;
  for (const TextField& field : kTextFields) json[field.key] = settings.*field.field;
  json["decide_pes"] = settings.decide_pes;
  json["bypass"] = settings.bypass;
  json["exec_timeout_seconds"] = settings.exec_timeout_seconds;
  json["exec_memory_mib"] = settings.exec_memory_mib;
  json["exec_batch_rows"] = settings.exec_batch_rows;
  json["samples"] = settings.budget.samples;
  json["seconds"] = settings.budget.seconds;
  json["batch"] = settings.batch;
  json["proof_seconds"] = settings.proof_seconds;
  json["proof_rounds"] = settings.proof_rounds;
  json["proof_memory_mib"] = settings.proof_memory_mib;
  json["target_gap"] = settings.target_gap ? nlohmann::ordered_json(*settings.target_gap) : nullptr;
  return json.dump();
}

Result<MapSettings> ParseMapSettings(std::string_view text, const std::string& file) {
  const Result<Node> root = ParseDocument(text, file);
  if (!root) return root.error();
  MapReader reader(*root, "run");
  if (Result<void> map = reader.Check(); !map) return map.error();
  MapSettings settings;
  Result<void> status;
  const auto read = [&](std::string_view key, auto parse) {
    if (!status) return;
    const Result<const Node*> node = reader.Require(key);
    if (!node) {
      status = node.error();
    } else if (Result<void> parsed = parse(**node); !parsed) {
      status = parsed;
    }
  };
  const auto into = [](auto* target, auto parse) {
    return [target, parse](const Node& node) -> Result<void> {
      const auto value = parse(node);
      if (!value) return value.error();
      *target = *value;
      return {};
    };
  };
  for (const TextField& field : kTextFields) {
    read(field.key, into(&(settings.*field.field), [](const Node& n) { return n.AsString(); }));
  }
  read("decide_pes", into(&settings.decide_pes, [](const Node& n) { return n.AsBool(); }));
  read("bypass", into(&settings.bypass, [](const Node& n) { return n.AsBool(); }));
  read("exec_timeout_seconds",
       into(&settings.exec_timeout_seconds, [](const Node& n) { return n.AsDouble(); }));
  read("exec_memory_mib", into(&settings.exec_memory_mib, [](const Node& n) { return n.AsInt(); }));
  read("exec_batch_rows", into(&settings.exec_batch_rows, [](const Node& n) { return n.AsInt(); }));
  read("samples", into(&settings.budget.samples, [](const Node& n) { return n.AsInt(); }));
  read("seconds", into(&settings.budget.seconds, [](const Node& n) { return n.AsDouble(); }));
  read("batch", into(&settings.batch, [](const Node& n) { return n.AsInt(); }));
  read("proof_seconds", into(&settings.proof_seconds, [](const Node& n) { return n.AsDouble(); }));
  read("proof_rounds", into(&settings.proof_rounds, [](const Node& n) { return n.AsInt(); }));
  read("proof_memory_mib",
       into(&settings.proof_memory_mib, [](const Node& n) { return n.AsInt(); }));
  read("target_gap", [&](const Node& node) -> Result<void> {
    if (node.kind == Node::Kind::kNull) return {};
    const Result<double> gap = node.AsDouble();
    if (!gap) return gap.error();
    settings.target_gap = *gap;
    return {};
  });
  if (!status) return status.error();
  if (Result<void> done = reader.Finish(); !done) return done.error();
  return settings;
}

Result<MappingProblemOptions> ProblemOptions(const MapSettings& settings,
                                             const std::string& folder) {
  const Result<Objective> objective = FindObjective(settings.objective);
  if (!objective) return objective.error();
  const auto sizes = IndexOf<2>("tile sizes", settings.sizes, {"divisors", "all"});
  if (!sizes) return sizes.error();
  const auto energy = IndexOf("energy", settings.energy, kMaestroEnergyNames);
  if (!energy) return energy.error();
  const auto factors = IndexOf<2>("factors", settings.factors, {"perfect", "any"});
  if (!factors) return factors.error();
  const auto legality = IndexOf<2>("legality", settings.legality, {"strict", "compat"});
  if (!legality) return legality.error();
  const auto area = IndexOf<3>("area", settings.area, {"maestro", "gamma", "archgym"});
  if (!area) return area.error();
  const auto version = IndexOf<2>("version", settings.version, {"head", "pinned"});
  if (!version) return version.error();
  const auto semantics = IndexOf("semantics", settings.semantics, loopnest::kSemanticsNames);
  if (!semantics) return semantics.error();
  MappingProblemOptions options{.objective = *objective,
                                .sizes = static_cast<TileSizes>(*sizes),
                                .decide_pes = settings.decide_pes,
                                .decide_keep = settings.bypass};
  options.model.maestro = {.version = static_cast<MaestroVersion>(*version),
                           .legality = static_cast<MaestroLegality>(*legality),
                           .energy = static_cast<MaestroEnergy>(*energy),
                           .area = static_cast<MaestroArea>(*area)};
  options.external = {.timeout_seconds = settings.exec_timeout_seconds,
                      .memory_mib = settings.exec_memory_mib,
                      .batch_rows = settings.exec_batch_rows};
  options.model.loopnest.semantics = static_cast<loopnest::Semantics>(*semantics);
  if (!settings.constraints.empty()) {
    Result<Constraints> constraints = ReadConstraints(In(folder, settings.constraints));
    if (!constraints) return constraints.error();
    options.constraints = *std::move(constraints);
  }
  return options;
}

Result<std::unique_ptr<CostModel>> ModelOf(const MapJob& job, const Layer& layer) {
  const Result<const CostModelInfo*> info = FindCostModel(job.settings.model);
  if (!info) return info.error();
  return (*info)->make(layer, job.accelerator, job.problem.model);
}

Result<MapJob> MakeMapJob(const MapSettings& settings, Network network, const std::string& folder) {
  MapJob job{.settings = settings, .network = std::move(network)};
  Result<MappingProblemOptions> problem = ProblemOptions(settings, folder);
  if (!problem) return problem.error();
  job.problem = *std::move(problem);
  job.prove = settings.method == "auto" || settings.method == "exact";
  if (settings.method != "exact") {
    Result<MethodChoice> method = ParseMethodChoice(job.prove ? kIncumbents : settings.method);
    if (!method) return method.error();
    job.method = *std::move(method);
    for (std::string* file : job.method->Files()) *file = In(folder, *file);
  }
  Result<Accelerator> accelerator = LoadAccelerator(In(folder, settings.accelerator));
  if (!accelerator) return accelerator.error();
  job.accelerator = *std::move(accelerator);
  if (job.prove) {
    if (Result<void> provable = CheckProvable(job); !provable) return provable.error();
  }
  job.any_factors = settings.factors == "any";
  if (job.any_factors) {
    if (Result<void> possible = CheckAnyFactors(job); !possible) return possible.error();
  }
  return job;
}

Result<SavedMapJob> SaveMapJob(const MapJob& job) {
  SavedMapJob saved{.settings = job.settings};
  MapSettings& settings = saved.settings;
  const Result<const NetworkFormat*> format = FindNetworkFormat("yaml");
  if (!format) return format.error();
  const Result<Export> network = (*format)->write(job.network);
  if (!network) return network.error();
  settings.network = "inputs/network.yaml";
  saved.inputs[settings.network] = network->files.front().contents;
  settings.accelerator = "inputs/accelerator.yaml";
  saved.inputs[settings.accelerator] = AcceleratorFormats().front()->write(job.accelerator);
  const auto copy = [&](std::string& file, const std::string& to) -> Result<void> {
    const Result<std::string> text = ReadTextFile(file);
    if (!text) return text.error();
    saved.inputs[to] = *text;
    file = to;
    return {};
  };
  if (!settings.constraints.empty()) {
    Result<void> copied = copy(settings.constraints, "inputs/constraints.yaml");
    if (!copied) return copied.error();
  }
  if (!job.prove && job.method) {
    MethodChoice method = *job.method;
    for (std::string* file : method.Files()) {
      Result<void> copied =
          copy(*file, "inputs/method-" + std::filesystem::path(*file).filename().string());
      if (!copied) return copied.error();
    }
    settings.method = method.ToString();
  }
  return saved;
}

Result<MapJob> LoadMapJob(const MapSettings& settings, const RunDirectory& directory) {
  Result<Network> network = LoadNetwork(In(directory.path(), settings.network));
  if (!network) return network.error();
  return MakeMapJob(settings, *std::move(network), directory.path());
}

Result<RunDirectory> CreateMapRun(const std::string& path, const MapJob& job,
                                  const RunOrigin& origin) {
  const Result<SavedMapJob> saved = SaveMapJob(job);
  if (!saved) return saved.error();
  return RunDirectory::Create(path,
                              {.kind = std::string(kMapRun),
                               .origin = origin,
                               .settings = ToJsonText(saved->settings),
                               .seed = job.settings.seed},
                              saved->inputs);
}

Result<MapJob> LoadMapJob(const RunDirectory& directory) {
  Result<MapSettings> settings =
      ParseMapSettings(directory.header().settings, directory.File("run.json"));
  if (!settings) return settings.error();
  settings->seed = directory.header().seed;
  return LoadMapJob(*settings, directory);
}

Result<void> CheckMayExecute(const MapSettings& settings, bool allowed) {
  if (allowed || !settings.model.starts_with(kExternalPrefix)) return {};
  return Error{.kind = ErrorKind::kUsage,
               .message = fmt::format("the run prices mappings with a program, which would run: {}",
                                      Printable(settings.model.substr(kExternalPrefix.size()))),
               .hint = "add --allow-exec if it may"};
}

}  // namespace tessera
