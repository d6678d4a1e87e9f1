// Settings of mapping runs to and from files.
#include "tessera/mapper/map_settings.h"
#include "tessera/map.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/accelerator.h"
#include "tessera/base/document.h"
#include "tessera/base/file.h"
#include "tessera/base/json_text.h"
#include "tessera/base/text.h"
#include "tessera/mapper/any_factors.h"
#include "tessera/network.h"
#include "tessera/part.h"
#include "tessera/policy/game.h"
#include "tessera/policy/shipped.h"
#include "tessera/record/run_inputs.h"
#include "tessera/workload/copy.h"

namespace tessera {
namespace {

constexpr std::string_view kPolicyMethod = "policy";
// Methods that act by a policy or begin with it, beside those that take hints and those that prove.
constexpr std::array<std::string_view, 2> kPolicyMethods = {kPolicyMethod, "marl"};

// Reads the keys of run.json one after another; after the first error the others are left alone.
class SettingsReader {
 public:
  explicit SettingsReader(const Node& root) : reader_(root, "run"), status_(reader_.Check()) {}

  void Read(std::string_view key, std::string& value) {
    Take(key, value, [](const Node& node) { return node.AsString(); });
  }
  void ReadIfThere(std::string_view key, std::string& value) {
    if (status_ && reader_.Find(key) != nullptr) Read(key, value);
  }
  void Read(std::string_view key, bool& value) {
    Take(key, value, [](const Node& node) { return node.AsBool(); });
  }
  // Numbers as the flags of `tessera map` take them.
  void Read(std::string_view key, int64_t& value, int64_t least) {
    Take(key, value, [&](const Node& node) { return node.AsInt(least, INT64_MAX); });
  }
  void Read(std::string_view key, double& value) { Take(key, value, NotBelowZero); }
  void Read(std::string_view key, std::optional<double>& value) {
    Take(key, value, [](const Node& node) -> Result<std::optional<double>> {
      if (node.kind == Node::Kind::kNull) return std::optional<double>();
      const Result<double> number = NotBelowZero(node);
      if (!number) return number.error();
      return std::optional(*number);
    });
  }
  // A list, or a word alone, which earlier versions wrote; an empty word is none.
  void Read(std::string_view key, std::vector<std::string>& words) {
    Take(key, words, [](const Node& node) -> Result<std::vector<std::string>> {
      std::vector<std::string> read;
      const bool list = node.kind == Node::Kind::kSequence;
      for (const Node& item : list ? std::span(node.items) : std::span(&node, 1)) {
        Result<std::string> word = item.AsString();
        if (!word) return word.error();
        if (list || !word->empty()) read.push_back(*std::move(word));
      }
      return read;
    });
  }
  void Read(std::string_view key, Assignments& values) {
    Take(key, values, [](const Node& node) -> Result<Assignments> {
      Assignments read;
      for (const Node::Entry& entry : node.entries) {
        const Result<std::string> text = entry.value.AsString();
        if (!text) return text.error();
        read.emplace_back(entry.key, *text);
      }
      return read;
    });
  }

  void Read(std::string_view key, CostLimits& limits) {
    Take(key, limits, [](const Node& node) -> Result<CostLimits> {
      CostLimits read;
      for (const Node::Entry& entry : node.entries) {
        const Result<Objective> objective = FindName<Objective>("limit", entry.key, kObjectiveKeys);
        if (!objective) return objective.error();
        const Result<double> most = entry.value.AsDouble();
        if (!most) return most.error();
        read.Of(*objective) = *most;
      }
      return read;
    });
  }

  // A word that has to be looked up; an error gets the word's place.
  template <typename Value, typename Look>
  void Parse(std::string_view key, Value& value, Look look) {
    Take(key, value, [&](const Node& node) -> Result<Value> {
      const Result<std::string> word = node.AsString();
      if (!word) return word.error();
      Result<Value> found = look(*word);
      if (found) return found;
      Error error = found.error();
      error.where = node.where();
      return error;
    });
  }

  Result<void> Finish() { return status_ ? reader_.Finish() : status_; }

 private:
  static Result<double> NotBelowZero(const Node& node) {
    const Result<double> number = node.AsDouble();
    if (!number || *number >= 0) return number;
    return node.ErrorHere(ErrorKind::kBadValue, fmt::format("{} is below 0", node.scalar));
  }

  // Keys that runs of earlier versions do not have.
  static bool Added(std::string_view key) { return key == "dataflow"; }

  template <typename Value, typename Convert>
  void Take(std::string_view key, Value& value, Convert convert) {
    if (!status_ || (Added(key) && reader_.Find(key) == nullptr)) return;
    const Result<const Node*> node = reader_.Require(key);
    if (!node) {
      status_ = node.error();
      return;
    }
    Result<Value> converted = convert(**node);
    if (converted) {
      value = *std::move(converted);
    } else {
      status_ = converted.error();
    }
  }

  MapReader reader_;
  Result<void> status_;
};

Result<Constraints> ConstraintsOf(const MapSettings& settings, const std::string& folder) {
  Constraints all;
  for (const std::string& file : settings.constraints) {
    const Result<std::string> path = InputFile(folder, file);
    if (!path) return path.error();
    Result<Constraints> read = ReadConstraints(*path);
    if (!read) return read.error();
    std::ranges::move(read->demands, std::back_inserter(all.demands));
    std::ranges::move(read->notes, std::back_inserter(all.notes));
  }
  if (settings.dataflow.empty()) return all;
  const std::vector<std::string> known = DataflowNames();
  if (std::ranges::find(known, settings.dataflow) == known.end()) {
    return Error{.kind = ErrorKind::kUnknownName,
                 .message = fmt::format("unknown dataflow {}", Quoted(settings.dataflow)),
                 .hint = DidYouMean(settings.dataflow, known)};
  }
  all.demands.push_back({.rule = Constraints::Rule::kDataflow, .values = {settings.dataflow}});
  return all;
}

std::vector<std::string_view> OccurrencesOf(const NetworkLayer& entry) {
  std::vector<std::string_view> names = {entry.name};
  names.insert(names.end(), entry.also.begin(), entry.also.end());
  return names;
}

// A misspelt name would leave a constraint without effect. Of a single layer nothing is known about
// the network that it may be part of.
Result<void> CheckLayersMeant(const MapJob& job) {
  const std::vector<NetworkLayer>& layers = job.network.layers;
  if (layers.size() < 2) return {};
  for (const Constraints::Demand& demand : job.problem.space.constraints.demands) {
    if (demand.layer.empty()) continue;
    std::vector<std::string_view> names;
    for (const NetworkLayer& entry : layers) {
      std::ranges::copy(OccurrencesOf(entry), std::back_inserter(names));
    }
    Constraints::Demand by_name = demand;
    by_name.type.clear();
    const bool any = std::ranges::any_of(
        names, [&](std::string_view name) { return by_name.IsAbout("", name); });
    if (any) continue;
    return Error{.kind = ErrorKind::kUnknownName,
                 .message = fmt::format("no layer of the network fits {}", Quoted(demand.layer)),
                 .where = demand.where,
                 .hint = DidYouMean(demand.layer, names)};
  }
  return {};
}

// Plans are made of proofs for nodes in semantics exact, whose spaces nothing else restricts.
Result<void> CheckInterLayer(const MapJob& job) {
  const MapSettings& settings = job.settings;
  const auto refused = [&](std::string message, std::string hint) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("--inter-layer {} {}",
                                        NameOf(settings.inter_layer, kInterLayerNames), message),
                 .hint = std::move(hint)};
  };
  if (settings.model->semantics() != loopnest::Semantics::kExact) {
    return refused("needs model loopnest with semantics exact",
                   "leave --model and --semantics out");
  }
  if (!job.prove) {
    return refused(
        fmt::format("needs proofs, which method {} does not make", settings.method.ToString()),
        "use --method auto or exact");
  }
  if (!job.problem.space.constraints.demands.empty() ||
      !job.accelerator.constraints.demands.empty()) {
    return refused("does not go with constraints", "leave one of them out");
  }
  if (settings.limits.any()) {
    return refused("does not go with limits, which are of single layers", "leave one of them out");
  }
  if (job.any_factors) {
    return refused("searches perfect factors only", "leave --factors any out");
  }
  if (!settings.then.empty()) {
    return refused("has one objective", "leave the others out");
  }
  if (job.network.graph.empty()) {
    return Error{
        .kind = ErrorKind::kUnsupported,
        .message = fmt::format("network '{}' is a list of layers without edges, so nothing "
                               "is known about what stays between them",
                               job.network.name),
        .hint =
            "use an ONNX file, a native YAML file with a graph, or a network of the "
            "zoo; or --inter-layer none"};
  }
  return {};
}

// Occurrences of a layer with other constraints than the first get entries of their own, behind it.
void SplitEntries(MapJob& job) {
  const auto same = [&](const NetworkLayer& entry, std::string_view a, std::string_view b) {
    const std::string_view type = TypeName(entry.layer);
    const auto alike = [&](const Constraints::Demand& demand) {
      return demand.IsAbout(type, a) == demand.IsAbout(type, b);
    };
    return std::ranges::all_of(job.problem.space.constraints.demands, alike) &&
           std::ranges::all_of(job.accelerator.constraints.demands, alike);
  };
  std::vector<NetworkLayer> layers;
  std::vector<size_t> first_of;  // of each entry as it was
  for (NetworkLayer& entry : job.network.layers) {
    const size_t first = layers.size();
    first_of.push_back(first);
    std::vector<std::string> also = std::exchange(entry.also, {});
    layers.push_back(std::move(entry));
    for (std::string& name : also) {
      size_t at = first;
      while (at < layers.size() && !same(layers[at], layers[at].name, name)) ++at;
      if (at == first) {
        layers[first].also.push_back(std::move(name));
        continue;
      }
      --layers[first].count;
      if (at == layers.size()) {
        layers.push_back(
            {.name = std::move(name), .layer = layers[first].layer, .types = layers[first].types});
      } else {
        ++layers[at].count;
        layers[at].also.push_back(std::move(name));
      }
    }
  }
  // Nodes of the graph are occurrences, by their names.
  for (GraphNode& node : job.network.graph.nodes) {
    if (!node.macs()) continue;
    const size_t first = first_of[static_cast<size_t>(node.layer)];
    size_t at = first;
    while (at < layers.size() && layers[at].layer == layers[first].layer &&
           std::ranges::count(OccurrencesOf(layers[at]), node.name) == 0) {
      ++at;
    }
    const bool found = at < layers.size() && layers[at].layer == layers[first].layer;
    node.layer = static_cast<int32_t>(found ? at : first);
  }
  job.network.layers = std::move(layers);
}

}  // namespace

MappingProblemOptions ProblemOptionsOf(const MapJob& job, const std::string& layer_name) {
  MappingProblemOptions options = job.problem;
  options.space.layer = layer_name;
  return options;
}

Result<std::unique_ptr<MappingProblem>> ProblemOf(const MapJob& job, const Layer& layer,
                                                  const std::string& name) {
  return MappingProblem::Make(layer, job.accelerator, job.settings.model,
                              ProblemOptionsOf(job, name));
}

std::string ToJsonText(const MapSettings& settings) {
  Json json;
  json["network"] = settings.network;
  json["accelerator"] = settings.accelerator;
  json["constraints"] = settings.constraints;
  json["dataflow"] = settings.dataflow;
  json["model"] = settings.model.ToString();
  json["model_settings"] = Json::object();
  for (const auto& [name, value] : settings.model.settings()) json["model_settings"][name] = value;
  json["objective"] = ObjectivesText(settings);
  json["method"] = settings.method.ToString();
  // Only where somebody chose one, so that folders of earlier versions read the same.
  if (!settings.policy.empty()) json["policy"] = settings.policy;
  json["sizes"] = NameOf(settings.sizes, kTileSizesNames);
  json["factors"] = NameOf(settings.factors, kFactorsNames);
  if (settings.inter_layer != InterLayer::kNone) {
    json["inter_layer"] = NameOf(settings.inter_layer, kInterLayerNames);
  }
  json["decide_pes"] = settings.decide_pes;
  json["bypass"] = settings.bypass;
  json["samples"] = settings.budget.samples;
  json["seconds"] = settings.budget.seconds;
  json["points"] = settings.points;
  json["proof_seconds"] = settings.proof_seconds;
  json["proof_rounds"] = settings.proof_rounds;
  json["proof_memory_mib"] = settings.proof_memory_mib;
  json["target_gap"] = settings.target_gap ? Json(*settings.target_gap) : nullptr;
  json["within"] = settings.within;
  json["limits"] = Json::object();
  for (size_t i = 0; i < kObjectiveKeys.size(); ++i) {
    const double most = settings.limits.most[i];
    if (most != CostLimits::kNone) json["limits"][kObjectiveKeys[i]] = most;
  }
  return ToLine(json);
}

Result<MapSettings> ParseMapSettings(std::string_view text, const std::string& file) {
  const Result<Node> root = ParseDocument(text, file);
  if (!root) return root.error();
  SettingsReader reader(*root);
  MapSettings settings;
  reader.Read("network", settings.network);
  reader.Read("accelerator", settings.accelerator);
  reader.Read("constraints", settings.constraints);
  reader.Read("dataflow", settings.dataflow);
  Assignments model_settings;
  reader.Read("model_settings", model_settings);
  reader.Parse("model", settings.model,
               [&](const std::string& word) { return ChooseCostModel(word, model_settings); });
  std::vector<Objective> objectives = {settings.objective};
  reader.Parse("objective", objectives, ParseObjectives);
  settings.objective = objectives.front();
  settings.then.assign(objectives.begin() + 1, objectives.end());
  reader.Read("within", settings.within);
  reader.Read("limits", settings.limits);
  reader.Parse("method", settings.method, ParseMapMethod);
  reader.ReadIfThere("policy", settings.policy);
  reader.Parse("sizes", settings.sizes, [](std::string_view word) {
    return FindName<TileSizes>("tile sizes", word, kTileSizesNames);
  });
  reader.Parse("factors", settings.factors, [](std::string_view word) {
    return FindName<Factors>("factors", word, kFactorsNames);
  });
  if (root->Find("inter_layer") != nullptr) {
    reader.Parse("inter_layer", settings.inter_layer, [](std::string_view word) {
      return FindName<InterLayer>("inter-layer mapping", word, kInterLayerNames);
    });
  }
  reader.Read("decide_pes", settings.decide_pes);
  reader.Read("bypass", settings.bypass);
  reader.Read("samples", settings.budget.samples, 0);
  reader.Read("seconds", settings.budget.seconds);
  reader.Read("points", settings.points, 1);
  reader.Read("proof_seconds", settings.proof_seconds);
  reader.Read("proof_rounds", settings.proof_rounds, 0);
  reader.Read("proof_memory_mib", settings.proof_memory_mib, 1);
  reader.Read("target_gap", settings.target_gap);
  if (Result<void> done = reader.Finish(); !done) return done.error();
  return settings;
}

std::string ObjectivesText(const MapSettings& settings) {
  std::string text(ToString(settings.objective));
  for (const Objective objective : settings.then) text += fmt::format(",{}", ToString(objective));
  return text;
}

Result<std::vector<Objective>> ParseObjectives(std::string_view text) {
  std::vector<Objective> objectives;
  for (const std::string_view name : Split(text, ',')) {
    const Result<Objective> objective = FindObjective(name);
    if (!objective) return objective.error();
    if (std::ranges::find(objectives, *objective) != objectives.end()) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = fmt::format("objective {} is named twice", name)};
    }
    objectives.push_back(*objective);
  }
  return objectives;
}

Result<std::unique_ptr<CostModel>> ModelOf(const MapJob& job, const Layer& layer) {
  return job.settings.model->Make(layer, job.accelerator);
}

// A word instead of a file: one that ships, or what stands for one or none.
static bool IsPolicyName(const std::string& policy) {
  return policy == "default" || policy == "none" || policy::FindShipped(policy) != nullptr;
}

static Error OfAnotherModel(const std::string& policy) {
  return Error{.kind = ErrorKind::kUsage,
               .message = fmt::format("policy {} was trained for another cost model", policy),
               .hint = "'tessera list policies' names those that ship with the program"};
}

// A policy that somebody names for a new search: one that would not be asked for anything is an
// error.
static Result<void> CheckPolicyWanted(const MapJob& job, const std::string& name) {
  if (!job.prove && job.method) {
    const MethodInfo& method = *job.method->method;
    const bool begins = std::ranges::find(kPolicyMethods, method.name) != kPolicyMethods.end();
    if (!method.takes_hints && !begins) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = fmt::format("method {} takes no policy", method.name),
                   .hint = "methods auto, exact, policy, marl and team do"};
    }
  }
  const policy::ShippedPolicy* shipped = policy::FindShipped(name);
  if (shipped != nullptr && shipped->model != job.settings.model.info().name) {
    return OfAnotherModel(name);
  }
  return {};
}

// Whether a policy from a file knows the mappings of this job; those larger than its games aside.
static Result<void> CheckPolicyPlays(const MapJob& job) {
  const NetworkLayer& first = job.network.layers.front();
  const Result<std::unique_ptr<MappingProblem>> problem = ProblemOf(job, first.layer, first.name);
  const std::unique_ptr<policy::Game> game = problem ? policy::MakeGame(**problem) : nullptr;
  if (game == nullptr || game->features() == job.policy->features()) return {};
  return OfAnotherModel(job.settings.policy);
}

// The policy that the settings name, or that their method takes by default. Of runs that do not
// name one, methods with proofs took none when they were begun. What ships is loaded by PolicyOf
// where a proof asks for it: most layers are proved before that.
static Result<void> TakePolicy(const std::string& folder, MapJob& job) {
  const std::string_view model = job.settings.model.info().name;
  const bool acts = job.method && job.method->method->name == kPolicyMethod;
  std::string name = job.settings.policy;
  if (name.empty() && job.prove) {
    if (job.method && !folder.empty()) job.settings.policy = "none";
    return {};
  }
  if (name.empty()) name = acts ? "default" : "none";
  if (name == "none") {
    if (!acts) return {};
    return Error{.kind = ErrorKind::kUsage, .message = "method policy needs a policy"};
  }
  const bool fresh = folder.empty() && !job.settings.policy.empty();
  if (fresh) {
    if (Result<void> wanted = CheckPolicyWanted(job, name); !wanted) return wanted;
  }
  const bool ships = IsPolicyName(name);
  if (ships && job.prove && (name != "default" || policy::DefaultPolicy(model) != nullptr)) {
    return {};
  }
  // Files of a run lie in its folder; shipped policies have names.
  if (!ships) {
    Result<std::string> path = InputFile(folder, name);
    if (!path) return path.error();
    name = *std::move(path);
  }
  auto loaded = policy::LoadPolicy(name, model);
  if (!loaded) return loaded.error();
  job.policy = *std::move(loaded);
  return fresh ? CheckPolicyPlays(job) : Result<void>();
}

Result<MapJob> MakeMapJob(const MapSettings& settings, Network network, Accelerator accelerator,
                          const std::string& folder) {
  const bool may_bypass = !accelerator.hierarchy || accelerator.hierarchy->bypass;
  std::vector<Objective> objectives = {settings.objective};
  objectives.insert(objectives.end(), settings.then.begin(), settings.then.end());
  std::vector<Objective> ties = InOrder(objectives);
  ties.erase(ties.begin());
  MapJob job{.settings = settings,
             .network = std::move(network),
             .accelerator = std::move(accelerator),
             .problem = {.objective = settings.objective,
                         .space = {.sizes = settings.sizes,
                                   .decide_pes = settings.decide_pes,
                                   .decide_keep = settings.bypass && may_bypass},
                         .ties = std::move(ties),
                         .limits = settings.limits},
             .method = settings.method.search,
             .prove = settings.method.proves(),
             .any_factors = settings.factors == Factors::kAny};
  Result<Constraints> constraints = ConstraintsOf(settings, folder);
  if (!constraints) return constraints.error();
  job.problem.space.constraints = *std::move(constraints);
  if (Result<void> meant = CheckLayersMeant(job); !meant) return meant.error();
  SplitEntries(job);
  if (job.method) {
    for (std::string* file : job.method->Files()) {
      Result<std::string> path = InputFile(folder, *file);
      if (!path) return path.error();
      *file = *std::move(path);
    }
  }
  if (settings.within > 0 && (!job.prove || settings.then.empty())) {
    return Error{
        .kind = ErrorKind::kUsage,
        .message = settings.then.empty()
                       ? "--within says what the first objective may give up for a "
                         "second, but there is only one"
                       : fmt::format("--within needs proofs, which method {} does not make",
                                     settings.method.ToString()),
        .hint = settings.then.empty() ? "for example --objective latency,energy"
                                      : "use --method auto or exact"};
  }
  if (job.prove) {
    if (Result<void> provable = CheckProvable(settings); !provable) return provable.error();
  }
  for (const Objective objective : objectives) {
    const Result<void> means = settings.model->CheckObjective(objective, job.accelerator);
    if (!means) return means.error();
  }
  for (size_t i = 0; i < settings.limits.most.size(); ++i) {
    if (settings.limits.most[i] == CostLimits::kNone) continue;
    const Result<void> means =
        settings.model->CheckObjective(static_cast<Objective>(i), job.accelerator);
    if (!means) return means.error();
  }
  if (job.any_factors) {
    if (Result<void> possible = CheckAnyFactors(job); !possible) return possible.error();
  }
  if (settings.inter_layer != InterLayer::kNone) {
    if (Result<void> possible = CheckInterLayer(job); !possible) return possible.error();
  }
  if (Result<void> loaded = TakePolicy(folder, job); !loaded) return loaded.error();
  return job;
}

Result<SavedMapJob> SaveMapJob(const MapJob& job) {
  SavedMapJob saved{.settings = job.settings};
  MapSettings& settings = saved.settings;
  Result<std::string> network = NetworkText(job.network);
  if (!network) return network.error();
  settings.network = "inputs/network.yaml";
  saved.inputs[settings.network] = *std::move(network);
  settings.accelerator = "inputs/accelerator.yaml";
  saved.inputs[settings.accelerator] = AcceleratorText(job.accelerator);
  const auto copy = [&](std::string& file, const std::string& to) -> Result<void> {
    const Result<std::string> text = ReadTextFile(file);
    if (!text) return text.error();
    saved.inputs[to] = *text;
    file = to;
    return {};
  };
  for (size_t i = 0; i < settings.constraints.size(); ++i) {
    // The first has the name that runs with only one have always had.
    const std::string to =
        i == 0 ? "inputs/constraints.yaml" : fmt::format("inputs/constraints-{}.yaml", i + 1);
    if (Result<void> copied = copy(settings.constraints[i], to); !copied) return copied.error();
  }
  if (settings.policy.empty() && job.prove && job.method) {
    const bool ships = policy::DefaultPolicy(settings.model.info().name) != nullptr;
    settings.policy = ships ? "default" : "";
  }
  if (!settings.policy.empty() && !IsPolicyName(settings.policy)) {
    Result<std::string> bytes = ReadFile(settings.policy);
    if (!bytes) return bytes.error();
    settings.policy = "inputs/policy.safetensors";
    saved.inputs[settings.policy] = *std::move(bytes);
  }
  if (!job.prove && job.method) {
    MethodChoice method = *job.method;
    for (std::string* file : method.Files()) {
      Result<void> copied =
          copy(*file, "inputs/method-" + std::filesystem::path(*file).filename().string());
      if (!copied) return copied.error();
    }
    settings.method.search = std::move(method);
  }
  return saved;
}

Result<MapJob> LoadMapJob(const MapSettings& settings, const RunDirectory& directory) {
  const Result<std::string> network_file = InputFile(directory.path(), settings.network);
  if (!network_file) return network_file.error();
  const Result<std::string> machine_file = InputFile(directory.path(), settings.accelerator);
  if (!machine_file) return machine_file.error();
  Result<Network> network = LoadNetwork(*network_file);
  if (!network) return network.error();
  Result<Accelerator> accelerator = LoadAccelerator(*machine_file);
  if (!accelerator) return accelerator.error();
  return MakeMapJob(settings, *std::move(network), *std::move(accelerator), directory.path());
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
  if (allowed || !settings.model.info().takes_command) return {};
  return Error{.kind = ErrorKind::kUsage,
               .message = fmt::format("the run prices mappings with a program, which would run: {}",
                                      Printable(settings.model.command())),
               .hint = "add --allow-exec if it may"};
}

}  // namespace tessera
