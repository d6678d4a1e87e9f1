// Planning of studies.
#include "tessera/study/study_plan.h"

#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tessera/accelerator.h"
#include "tessera/arch/copy.h"
#include "tessera/base/file.h"
#include "tessera/base/sha256.h"
#include "tessera/base/stop.h"
#include "tessera/base/text.h"
#include "tessera/map.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/network.h"
#include "tessera/study/study.h"
#include "tessera/study/study_file.h"
#include "tessera/workload/copy.h"

namespace tessera {
namespace {

// Beyond this a study file is a typing error, and its lists no longer fit into memory.
constexpr int64_t kMostUnits = 1'000'000;

// Reserved for a search beside the open nodes of proofs: marl takes 20 MiB on resnet50 with 500
// samples; methods that learn from all samples take more.
constexpr int64_t kSearchMemoryMib = 256;

// A budget that does not depend on the machine, where the file has none.
constexpr int64_t kDefaultSamples = 20'000;

// An error about a word of the study file. What another file says about itself keeps its place.
Error AtWord(const Word& word, Error error) {
  if (error.kind == ErrorKind::kUsage) error.kind = ErrorKind::kBadValue;
  if (error.where.file.empty()) error.where = word.where;
  return error;
}

template <typename Enum, size_t kCount>
Result<void> SetName(const std::optional<Word>& word, std::string_view what,
                     const std::array<std::string_view, kCount>& names, Enum& value) {
  if (!word) return {};
  const Result<Enum> found = FindName<Enum>(what, word->text, names);
  if (!found) return AtWord(*word, found.error());
  value = *found;
  return {};
}

// As the file has it, with what it binds: "own.onnx:batch=1".
std::string NameOf(const NetworkRequest& request) {
  std::string name = request.name.text;
  char separator = name.find(':') == std::string::npos ? ':' : ',';
  for (const auto& [key, value] : request.bindings) {
    name += fmt::format("{}{}={}", separator, key, ToString(value));
    separator = ',';
  }
  return name;
}

class Planner {
 public:
  explicit Planner(const std::string& file)
      : folder_(std::filesystem::path(file).parent_path().string()) {}

  // The product of the axes, seeds changing first.
  Result<void> AddProduct(const StudyFile& study) {
    for (const NetworkRequest& request : study.networks) {
      const LayersRequest& layers = request.layers ? *request.layers : study.layers;
      const Result<std::vector<std::optional<Word>>> chosen = LayersOf(request, layers);
      if (!chosen) return chosen.error();
      for (const std::optional<Word>& layer : *chosen) {
        for (const Word& accelerator : study.accelerators) {
          if (Result<void> ok = AddFor(study, request, layer, accelerator); !ok) return ok;
        }
      }
    }
    return {};
  }

  Result<void> Add(const UnitRequest& request);

  RunDirectory::Files TakeInputs() {
    inputs_[std::string(kUnitsFile)] = std::move(lines_);
    return std::move(inputs_);
  }

 private:
  template <typename Loaded>
  struct Input {
    std::string file = {};  // in the folder of the run
    std::string hash = {};
    Loaded value = {};
  };

  std::string In(const std::string& path) const {
    return folder_.empty() || path.starts_with("/") ? path : folder_ + "/" + path;
  }
  // A word with a dot or a slash is a file, beside the study; any other is a name.
  std::string Resolved(const std::string& text) const {
    return text.find_first_of("./") == std::string::npos ? text : In(text);
  }

  Result<void> AddFor(const StudyFile& study, const NetworkRequest& network,
                      const std::optional<Word>& layer, const Word& accelerator) {
    UnitRequest unit{.where = network.name.where,
                     .network = network,
                     .layer = layer,
                     .accelerator = accelerator,
                     .settings = study.settings};
    for (const std::optional<Word>& objective : study.objectives) {
      for (const std::optional<Word>& method : study.methods) {
        for (const int64_t seed : study.seeds) {
          unit.objective = objective;
          unit.method = method;
          unit.seed = seed;
          if (Result<void> ok = Add(unit); !ok) return ok;
        }
      }
    }
    return {};
  }

  Result<std::vector<std::optional<Word>>> LayersOf(const NetworkRequest& request,
                                                    const LayersRequest& layers) {
    std::vector<std::optional<Word>> all;
    if (layers.each) {
      const Result<const Input<Network>*> network = NetworkOf(request);
      if (!network) return network.error();
      for (const NetworkLayer& layer : (*network)->value.layers) {
        all.emplace_back(Word{layer.name, request.name.where});
      }
      return all;
    }
    if (layers.chosen.empty()) all.emplace_back();
    for (const Word& word : layers.chosen) all.emplace_back(word);
    return all;
  }

  Result<const Input<Network>*> NetworkOf(const NetworkRequest& request) {
    Input<Network>& input = networks_[NameOf(request)];
    if (!input.file.empty()) return &input;
    const std::string& text = request.name.text;
    Result<Network> network =
        LoadNetwork(IsZooNetwork(text) ? text : Resolved(text), request.bindings);
    if (!network) return AtWord(request.name, network.error());
    const Result<std::string> written = NetworkText(*network);
    if (!written) return AtWord(request.name, written.error());
    input.value = *std::move(network);
    Keep(fmt::format("inputs/network-{}.yaml", networks_.size()), *written, input);
    return &input;
  }

  Result<const Input<Accelerator>*> AcceleratorOf(const Word& word) {
    Input<Accelerator>& input = accelerators_[word.text];
    if (!input.file.empty()) return &input;
    Result<Accelerator> machine =
        LoadAccelerator(IsPreset(word.text) ? word.text : Resolved(word.text));
    if (!machine) return AtWord(word, machine.error());
    const std::string text = AcceleratorText(*machine);
    input.value = *std::move(machine);
    Keep(fmt::format("inputs/accelerator-{}.yaml", accelerators_.size()), text, input);
    return &input;
  }

  template <typename Loaded>
  void Keep(std::string name, const std::string& contents, Input<Loaded>& input) {
    input.hash = Sha256Hex(contents);
    inputs_[name] = contents;
    input.file = std::move(name);
  }

  // A further file that settings name; they name the copy afterwards.
  Result<std::string> Copy(std::string& path) {
    Input<std::monostate>& input = files_[path];
    if (input.file.empty()) {
      const Result<std::string> text = ReadTextFile(path);
      if (!text) return text.error();
      const std::string name = std::filesystem::path(path).filename().string();
      Keep(fmt::format("inputs/file-{}-{}", files_.size(), SafeFileName(name)), *text, input);
    }
    path = input.file;
    return input.hash;
  }

  Result<MapSettings> SettingsOf(const UnitRequest& request, const Accelerator& machine) const;
  Result<void> AddLine(const UnitRequest& request, const StudyUnit& unit, std::string settings);

  const std::string folder_;
  std::map<std::string, Input<Network>> networks_ = {};
  std::map<std::string, Input<Accelerator>> accelerators_ = {};
  std::map<std::string, Input<std::monostate>> files_ = {};
  std::map<std::string, int64_t> numbers_ = {};  // of units, by their id
  RunDirectory::Files inputs_ = {};
  std::string lines_ = {};
};

Result<MapSettings> Planner::SettingsOf(const UnitRequest& request,
                                        const Accelerator& machine) const {
  const UnitSettings& given = request.settings;
  MapSettings settings;
  settings.seed = request.seed;
  const Word model_word = given.model.value_or(Word{{}, request.where});
  Result<CostModelChoice> model =
      given.model ? ChooseCostModel(given.model->text, given.model_settings)
                  : CostModelChoice::Make(DefaultCostModel(machine), given.model_settings);
  if (!model) return AtWord(model_word, model.error());
  settings.model = *std::move(model);
  if (request.objective) {
    const Result<std::vector<Objective>> objectives = ParseObjectives(request.objective->text);
    if (!objectives) return AtWord(*request.objective, objectives.error());
    settings.objective = objectives->front();
    settings.then.assign(objectives->begin() + 1, objectives->end());
  }
  if (auto set = SetName(given.sizes, "tile sizes", kTileSizesNames, settings.sizes); !set) {
    return set.error();
  }
  if (auto set = SetName(given.factors, "factors", kFactorsNames, settings.factors); !set) {
    return set.error();
  }
  settings.decide_pes = given.decide_pes.value_or(settings.decide_pes);
  settings.bypass = given.bypass.value_or(settings.bypass);
  settings.points = given.points.value_or(settings.points);
  settings.target_gap = given.target_gap;
  settings.within = given.within.value_or(settings.within);
  for (const Word& limit : given.limits) {
    if (auto set = ParseLimit(limit.text, settings.limits); !set) return AtWord(limit, set.error());
  }
  for (const Word& file : given.constraints) settings.constraints.push_back(In(file.text));
  if (given.dataflow) settings.dataflow = given.dataflow->text;
  std::optional<MapMethod> method;
  if (request.method) {
    Result<MapMethod> parsed = ParseMapMethod(request.method->text);
    if (!parsed) return AtWord(*request.method, parsed.error());
    method = *std::move(parsed);
    if (method->search) {
      for (std::string* file : method->search->Files()) *file = In(*file);
    }
  }
  MapBudget budget = given.budget;
  const bool limited =
      budget.samples || budget.seconds || budget.proof_seconds || budget.proof_rounds;
  if (!limited) budget.samples = kDefaultSamples;
  if (Result<void> set = SetMapBudget(budget, method, settings); !set) {
    return AtWord({{}, request.where}, set.error());
  }
  return settings;
}

Result<void> Planner::Add(const UnitRequest& request) {
  if (StopRequested()) return Interrupted("planning the study");
  const Result<const Input<Network>*> network = NetworkOf(request.network);
  if (!network) return network.error();
  const Result<const Input<Accelerator>*> machine = AcceleratorOf(request.accelerator);
  if (!machine) return machine.error();
  StudyUnit unit{.network = NameOf(request.network),
                 .accelerator = request.accelerator.text,
                 .seed = request.seed,
                 .cores = request.settings.cores.value_or(1)};
  Network mapped = (*network)->value;
  if (request.layer) {
    const Result<const NetworkLayer*> layer = FindLayer(mapped, request.layer->text);
    if (!layer) return AtWord(*request.layer, layer.error());
    unit.layer = (*layer)->name;
    mapped = OnlyLayer(std::move(mapped), **layer);
  }
  Result<MapSettings> settings = SettingsOf(request, (*machine)->value);
  if (!settings) return settings.error();
  // Fails now if it has to fail: nobody wants to hear of the last unit after a day.
  const Result<MapJob> job = MakeMapJob(*settings, std::move(mapped), (*machine)->value);
  if (!job) return AtWord({{}, request.where}, job.error());
  std::string hashes = (*network)->hash + (*machine)->hash;
  settings->network = (*network)->file;
  settings->accelerator = (*machine)->file;
  unit.model = settings->model.ToString();
  unit.objective = ObjectivesText(*settings);
  unit.method = request.method ? request.method->text : settings->method.ToString();
  std::vector<std::string*> paths;
  for (std::string& file : settings->constraints) paths.push_back(&file);
  if (settings->method.search) {
    for (std::string* file : settings->method.search->Files()) paths.push_back(file);
  }
  for (std::string* path : paths) {
    const Result<std::string> hash = Copy(*path);
    if (!hash) return AtWord({{}, request.where}, hash.error());
    hashes += *hash;
  }
  const bool proves = settings->method.proves();
  unit.memory_mib = request.settings.memory_mib.value_or(kSearchMemoryMib +
                                                         (proves ? settings->proof_memory_mib : 0));
  const std::string text = ToJsonText(*settings);
  unit.id = Sha256Hex(fmt::format("{}\n{}\n{}\n{}", hashes, unit.layer, unit.seed, text))
                .substr(0, kUnitIdDigits);
  return AddLine(request, unit, text);
}

Result<void> Planner::AddLine(const UnitRequest& request, const StudyUnit& unit,
                              std::string settings) {
  StudyUnit numbered = unit;
  numbered.number = std::ssize(numbers_) + 1;
  const auto [known, fresh] = numbers_.emplace(unit.id, numbered.number);
  if (!fresh) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("unit {} ({}) is the same as unit {}", numbered.number,
                                        Printable(unit.Name()), known->second),
                 .where = request.where,
                 .hint = "leave one of them out"};
  }
  if (numbered.number > kMostUnits) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("the study has more than {} units", kMostUnits),
                 .where = request.where,
                 .hint = "split it into several files"};
  }
  lines_ += UnitLine(numbered, settings) + "\n";
  return {};
}

}  // namespace

Result<StudyPlan> PlanStudy(const std::string& file) {
  const Result<std::string> text = ReadTextFile(file);
  if (!text) return text.error();
  const Result<StudyFile> study = ParseStudyFile(*text, file);
  if (!study) return study.error();
  Planner planner(file);
  if (Result<void> added = planner.AddProduct(*study); !added) return added.error();
  for (const UnitRequest& unit : study->units) {
    if (Result<void> added = planner.Add(unit); !added) return added.error();
  }
  StudyPlan plan{.name = study->name, .inputs = planner.TakeInputs()};
  plan.inputs["inputs/study.yaml"] = *text;
  return plan;
}

}  // namespace tessera
