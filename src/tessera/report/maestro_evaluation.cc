// Mapping files and rows of MAESTRO, evaluated and shown.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cost/maestro/batch.h"
#include "tessera/cost/maestro/explain.h"
#include "tessera/cost/maestro/maestro.h"
#include "tessera/cost/maestro/network.h"
#include "tessera/cost/maestro/options.h"
#include "tessera/cost/maestro/report.h"
#include "tessera/part.h"
#include "tessera/report/evaluation.h"
#include "tessera/report/maestro_report.h"
#include "tessera/workload/maestro_file.h"

namespace tessera {
namespace {

using maestro::LayerOutcome;
using maestro::MappedLayer;

// The choices, looked up.
struct TypedChoices {
  MaestroVersion version = MaestroVersion::kHead;
  MaestroLegality legality = MaestroLegality::kCompat;
  MaestroArea area = MaestroArea::kMaestro;
};

Result<TypedChoices> Typed(const MaestroChoices& choices) {
  const auto version = FindName<MaestroVersion>("version", choices.version, kMaestroVersionNames);
  if (!version) return version.error();
  const auto legality =
      FindName<MaestroLegality>("legality", choices.legality, kMaestroLegalityNames);
  if (!legality) return legality.error();
  const auto area = FindName<MaestroArea>("area", choices.area, kMaestroAreaNames);
  if (!area) return area.error();
  return TypedChoices{*version, *legality, *area};
}

// A MAESTRO mapping file, ready to evaluate.
struct MaestroMappingFile {
  // Where a layer and its directives stand.
  struct Places {
    Where layer = {};
    std::vector<MaestroPlace> directives = {};
  };

  std::string network = {};  // the name for the CSV file
  std::vector<maestro::MappedLayer> layers = {};
  std::vector<Places> places = {};  // by layer

  // The failure of a layer as an error about the directive to blame, or about the layer.
  Error ErrorOf(size_t layer, const maestro::Failure& failure) const;
};

Error MaestroMappingFile::ErrorOf(size_t layer, const maestro::Failure& failure) const {
  Error error = failure.error;
  error.message = fmt::format("layer {}: {}", Quoted(layers[layer].name), error.message);
  error.where = places[layer].layer;
  if (const auto directive = maestro::DirectiveOf(failure.broken, layers[layer].dataflow)) {
    const MaestroPlace& place = places[layer].directives[*directive];
    error.where.line = place.line;
    error.where.column = place.column;
  }
  return error;
}

Result<Dataflow> DataflowOf(const MaestroLayer& layer, const MaestroFile& file) {
  using Kind = MaestroDirective::Kind;
  const auto refuse = [&](const MaestroPlace& place, std::string message, std::string hint) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = fmt::format("layer {}: {}", Quoted(layer.name), message),
                 .where = file.At(place),
                 .hint = std::move(hint)};
  };
  if (!layer.dataflow) {
    return refuse(layer.place, "no Dataflow",
                  "this is a network without mappings; add a Dataflow to every layer");
  }
  Dataflow dataflow;
  for (const MaestroDirective& d : *layer.dataflow) {
    if (dataflow.full()) {
      return refuse(d.place, fmt::format("more than {} directives", Dataflow::kCapacity), "");
    }
    const auto size = static_cast<int32_t>(d.size), offset = static_cast<int32_t>(d.offset);
    if (d.kind == Kind::kCluster) {
      dataflow.Add(Cluster(size));
      continue;
    }
    const DataflowDim dim = FindDataflowDim(d.dimension).value_or(DataflowDim::kOther);
    dataflow.Add(d.kind == Kind::kSpatialMap ? Spatial(size, offset, dim)
                                             : Temporal(size, offset, dim));
  }
  return dataflow;
}

Result<void> SelectLayer(const std::string& selector, MaestroMappingFile& file) {
  const Result<int64_t> index = ParseInt(selector);
  std::vector<std::string> names;
  for (size_t i = 0; i < file.layers.size(); ++i) {
    names.push_back(file.layers[i].name);
    if (names.back() != selector && !(index && *index == static_cast<int64_t>(i) + 1)) continue;
    file.layers = {file.layers[i]};
    file.places = {file.places[i]};
    return {};
  }
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown layer {}; the file has {}", Quoted(selector),
                                      file.layers.size()),
               .hint = DidYouMean(selector, names)};
}

// Reads one; only the layer with this name or 1-based index, if one is given.
Result<MaestroMappingFile> LoadMaestroMapping(const std::string& path,
                                              const std::optional<std::string>& layer_selector) {
  const Result<std::string> text = ReadTextFile(path);
  if (!text) return text.error();
  const Result<MaestroFile> file = ParseMaestroFile(*text, path);
  if (!file) return file.error();
  MaestroMappingFile loaded;
  for (const MaestroNetwork& network : file->networks) {
    if (loaded.network.empty()) loaded.network = network.name;
    for (const MaestroLayer& layer : network.layers) {
      const Result<Dataflow> dataflow = DataflowOf(layer, *file);
      if (!dataflow) return dataflow.error();
      loaded.layers.push_back(
          {.name = layer.name, .declaration = maestro::Declare(layer), .dataflow = *dataflow});
      MaestroMappingFile::Places& places =
          loaded.places.emplace_back(MaestroMappingFile::Places{.layer = file->At(layer.place)});
      for (const MaestroDirective& d : *layer.dataflow) places.directives.push_back(d.place);
    }
  }
  if (loaded.network.empty()) loaded.network = std::filesystem::path(path).stem().string();
  if (layer_selector) {
    if (Result<void> ok = SelectLayer(*layer_selector, loaded); !ok) return ok.error();
  }
  return loaded;
}

// Strict legality turns a flag into a failure.
void ApplyLegality(const TypedChoices& options, const PeArray& array,
                   std::vector<LayerOutcome>& outcomes) {
  if (options.legality != MaestroLegality::kStrict) return;
  for (LayerOutcome& outcome : outcomes) {
    if (outcome.failure) continue;
    const Violation broken =
        maestro::CheckStrict(outcome.workload, array, outcome.analysis, outcome.flags);
    if (broken.rule != 0) outcome.failure = {.error = maestro::Describe(broken)};
  }
}

// A mapping file with what its layers came to.
struct Evaluated {
  MaestroMappingFile file = {};
  TypedChoices options = {};
  std::vector<LayerOutcome> outcomes = {};

  std::vector<Error> Complaints() const {
    std::vector<Error> complaints;
    for (size_t i = 0; i < outcomes.size(); ++i) {
      if (outcomes[i].failure) complaints.push_back(file.ErrorOf(i, *outcomes[i].failure));
    }
    return complaints;
  }
};

Result<Evaluated> Evaluate(const MaestroEvaluation& evaluation) {
  const Result<TypedChoices> options = Typed(evaluation.choices);
  if (!options) return options.error();
  Result<MaestroMappingFile> file = LoadMaestroMapping(evaluation.file, evaluation.layer);
  if (!file) return file.error();
  Evaluated evaluated{.file = *std::move(file), .options = *options};
  maestro::Analyser analyser;
  evaluated.outcomes =
      maestro::EvaluateNetwork(evaluated.file.layers, evaluation.array, options->version, analyser);
  return evaluated;
}

}  // namespace

std::vector<std::string> MaestroVersionNames() {
  return {kMaestroVersionNames.begin(), kMaestroVersionNames.end()};
}
std::vector<std::string> MaestroLegalityNames() {
  return {kMaestroLegalityNames.begin(), kMaestroLegalityNames.end()};
}
std::vector<std::string> MaestroAreaNames() {
  return {kMaestroAreaNames.begin(), kMaestroAreaNames.end()};
}

Result<EvaluationView> ViewOfMaestro(const MaestroEvaluation& evaluation) {
  Result<Evaluated> evaluated = Evaluate(evaluation);
  if (!evaluated) return evaluated.error();
  ApplyLegality(evaluated->options, evaluation.array, evaluated->outcomes);
  const std::vector<LayerOutcome>& outcomes = evaluated->outcomes;
  const MaestroReport report{.network = evaluated->file.network,
                             .version = evaluated->options.version,
                             .array = evaluation.array,
                             .area = evaluated->options.area,
                             .layers = evaluated->file.layers,
                             .outcomes = outcomes};
  EvaluationView view{.json = ToJson(report), .complaints = evaluated->Complaints()};
  const bool any = std::any_of(outcomes.begin(), outcomes.end(),
                               [](const LayerOutcome& outcome) { return !outcome.failure; });
  if (any) view.text = ToText(LayerTable(report));
  view.text += Summary(report);
  return view;
}

Result<EvaluationView> MaestroCsv(const MaestroEvaluation& evaluation) {
  Result<Evaluated> evaluated = Evaluate(evaluation);
  if (!evaluated) return evaluated.error();
  ApplyLegality(evaluated->options, evaluation.array, evaluated->outcomes);
  const MaestroMappingFile& file = evaluated->file;
  EvaluationView view{.text = fmt::format("{}\n", maestro::CsvHeader()),
                      .complaints = evaluated->Complaints()};
  for (size_t i = 0; i < evaluated->outcomes.size(); ++i) {
    const LayerOutcome& o = evaluated->outcomes[i];
    if (o.failure) continue;
    view.text += maestro::CsvRow(file.network, file.layers[i].name,
                                 maestro::ColumnsOf(o.workload, evaluation.array, o.analysis,
                                                    o.csv_energy_nj)) +
                 "\n";
  }
  view.json["csv"] = view.text;
  return view;
}

Result<EvaluationView> ExplainMaestro(const MaestroEvaluation& evaluation) {
  const Result<Evaluated> evaluated = Evaluate(evaluation);
  if (!evaluated) return evaluated.error();
  const MaestroMappingFile& file = evaluated->file;
  if (file.layers.size() != 1) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("--explain is about one layer, and the file has {}",
                                        file.layers.size()),
                 .hint = "choose one with --layer"};
  }
  const LayerOutcome& outcome = evaluated->outcomes.front();
  if (outcome.failure) return file.ErrorOf(0, *outcome.failure);
  const MappedLayer& layer = file.layers.front();
  Result<std::string> text = maestro::Explain(
      outcome.workload, evaluation.array, evaluated->options.version, layer.name, layer.dataflow);
  if (!text) return text.error();
  EvaluationView view{.text = *std::move(text)};
  view.json["explanation"] = view.text;
  return view;
}

Result<std::vector<std::string>> MaestroRows(const MaestroEvaluation& evaluation) {
  const Result<TypedChoices> options = Typed(evaluation.choices);
  if (!options) return options.error();
  const Result<MaestroMappingFile> file = LoadMaestroMapping(evaluation.file, evaluation.layer);
  if (!file) return file.error();
  std::vector<std::string> rows;
  for (size_t i = 0; i < file->layers.size(); ++i) {
    const std::string id = fmt::format("{}:{}", i + 1, file->layers[i].name);
    rows.push_back(maestro::RowOf(id, file->layers[i], evaluation.array, options->version));
  }
  return rows;
}

RowAnswers AnswerMaestroRows(const std::vector<BatchLine>& rows, const std::string& file,
                             const PeArray& array, const std::string& version, int threads) {
  RowAnswers all;
  const Result<TypedChoices> options = Typed({.version = version});
  if (!options) {
    all.complaints.push_back(options.error());
    return all;
  }
  const maestro::BatchDefaults defaults{.array = array, .version = options->version};
  ThreadPool pool(threads);
  std::vector<maestro::Analyser> analysers(static_cast<size_t>(pool.threads()));
  std::vector<std::optional<Result<std::string>>> answers(rows.size());
  pool.ParallelFor(std::ssize(rows), /*chunk=*/16, [&](int64_t begin, int64_t end, int worker) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      answers[i] =
          maestro::AnswerRow(rows[i].text, defaults, analysers[static_cast<size_t>(worker)]);
    }
  });
  for (size_t i = 0; i < answers.size(); ++i) {
    if (*answers[i]) {
      all.lines.push_back(std::move(**answers[i]));
      continue;
    }
    Error error = answers[i]->error();
    error.where.file = file;
    error.where.line = rows[i].number;
    all.complaints.push_back(std::move(error));
  }
  return all;
}

}  // namespace tessera
