// tessera evaluate --model maestro: mapping files of MAESTRO, or batch rows.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/evaluate.h"
#include "tessera/cost/maestro/batch.h"
#include "tessera/cost/maestro/explain.h"
#include "tessera/cost/maestro/maestro.h"
#include "tessera/cost/maestro/network.h"
#include "tessera/cost/maestro/report.h"
#include "tessera/part.h"
#include "tessera/report/maestro_report.h"

namespace tessera {
namespace {

using maestro::LayerOutcome;
using maestro::MappedLayer;

// Strict legality turns a flag into a failure.
void ApplyLegality(const MaestroArguments& arguments, const PeArray& array,
                   std::vector<LayerOutcome>& outcomes) {
  if (LegalityOf(arguments) != MaestroLegality::kStrict) return;
  for (LayerOutcome& outcome : outcomes) {
    if (outcome.failure) continue;
    const Violation broken =
        maestro::CheckStrict(outcome.workload, array, outcome.analysis, outcome.flags);
    if (broken.rule != 0) outcome.failure = {.error = maestro::Describe(broken)};
  }
}

Result<void> ShowCsv(const MaestroMappingFile& file, const std::vector<LayerOutcome>& outcomes,
                     const PeArray& array, Output& output) {
  std::string text = fmt::format("{}\n", maestro::CsvHeader());
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const LayerOutcome& o = outcomes[i];
    if (o.failure) continue;
    text += maestro::CsvRow(file.network, file.layers[i].name,
                            maestro::ColumnsOf(o.workload, array, o.analysis, o.csv_energy_nj)) +
            "\n";
  }
  output.Set("csv", text);
  return output.ShowText(text);
}

Result<void> ShowExplanation(const MaestroMappingFile& file, const EvaluateArguments& arguments,
                             const PeArray& array, Context& context) {
  if (file.layers.size() != 1) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("--explain is about one layer, and the file has {}",
                                        file.layers.size()),
                 .hint = "choose one with --layer"};
  }
  const MappedLayer& layer = file.layers[0];
  const MaestroVersion version = VersionOf(arguments.maestro);
  maestro::Analyser analyser;
  const LayerOutcome outcome = maestro::EvaluateNetwork(file.layers, array, version, analyser)[0];
  if (outcome.failure) return file.ErrorOf(0, *outcome.failure);
  const Result<std::string> text =
      maestro::Explain(outcome.workload, array, version, layer.name, layer.dataflow);
  if (!text) return text.error();
  context.output.Set("explanation", *text);
  return context.output.ShowText(*text);
}

Result<void> EvaluateFile(const EvaluateArguments& arguments, const PeArray& array,
                          Context& context) {
  Result<MaestroMappingFile> file = LoadMaestroMapping(arguments.mapping, arguments.layer);
  if (!file) return file.error();
  if (arguments.explain) return ShowExplanation(*file, arguments, array, context);

  maestro::Analyser analyser;
  std::vector<LayerOutcome> outcomes =
      maestro::EvaluateNetwork(file->layers, array, VersionOf(arguments.maestro), analyser);
  ApplyLegality(arguments.maestro, array, outcomes);
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i].failure) continue;
    context.complain(file->ErrorOf(i, *outcomes[i].failure));
  }
  if (arguments.maestro.csv) return ShowCsv(*file, outcomes, array, context.output);
  const MaestroReport report{.network = file->network,
                             .version = VersionOf(arguments.maestro),
                             .array = array,
                             .area = AreaOf(arguments.maestro),
                             .layers = file->layers,
                             .outcomes = outcomes};
  context.output.SetAll(ToJson(report));
  if (context.output.json()) return {};
  const bool any = std::any_of(outcomes.begin(), outcomes.end(),
                               [](const LayerOutcome& outcome) { return !outcome.failure; });
  if (any) {
    if (Result<void> shown = context.output.Show(LayerTable(report)); !shown) return shown;
  }
  return context.output.ShowText(Summary(report));
}

// Choices that the asked-for output has no place for.
Result<void> CheckChoices(const EvaluateArguments& arguments) {
  const MaestroArguments& maestro = arguments.maestro;
  const auto usage = [](std::string message, std::string hint) {
    return Error{.kind = ErrorKind::kUsage, .message = std::move(message), .hint = std::move(hint)};
  };
  if (arguments.explain && maestro.csv) {
    return usage("--explain and --csv exclude each other", "ask twice");
  }
  if (maestro.csv && AreaOf(maestro) != MaestroArea::kMaestro) {
    return usage("--csv has MAESTRO's area", "leave --area out, or use --json");
  }
  if (!arguments.batch.empty() && LegalityOf(maestro) == MaestroLegality::kStrict) {
    return usage("--batch answers as MAESTRO does", "leave --legality out and read 'flags'");
  }
  if (!arguments.batch.empty() && AreaOf(maestro) != MaestroArea::kMaestro) {
    return usage("--batch answers with MAESTRO's columns", "leave --area out");
  }
  return {};
}

Result<void> EvaluateBatchFile(const EvaluateArguments& arguments, const PeArray& array,
                               Context& context) {
  const Result<std::vector<BatchLine>> lines = ReadBatch(arguments.batch);
  if (!lines) return lines.error();
  const maestro::BatchDefaults defaults{.array = array, .version = VersionOf(arguments.maestro)};
  ThreadPool pool(static_cast<int>(context.options.threads));
  std::vector<maestro::Analyser> analysers(static_cast<size_t>(pool.threads()));
  std::vector<std::string> answers(lines->size());
  std::vector<std::optional<Error>> errors(lines->size());
  pool.ParallelFor(static_cast<int64_t>(lines->size()), /*chunk=*/16,
                   [&](int64_t begin, int64_t end, int worker) {
                     for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
                       Result<std::string> answer = maestro::AnswerRow(
                           (*lines)[i].text, defaults, analysers[static_cast<size_t>(worker)]);
                       if (answer) {
                         answers[i] = std::move(*answer);
                       } else {
                         errors[i] = answer.error();
                         errors[i]->where.file = arguments.batch;
                         errors[i]->where.line = (*lines)[i].number;
                       }
                     }
                   });
  for (const std::optional<Error>& error : errors) {
    if (error) context.complain(*error);
  }
  std::erase_if(answers, [](const std::string& answer) { return answer.empty(); });
  return ShowAnswers(answers, context);
}

std::vector<Flag> Flags(EvaluateArguments& arguments) { return MaestroFlags(arguments.maestro); }

Result<void> Run(const EvaluateArguments& arguments, const CostModelChoice& /*model*/,
                 Context& context) {
  const Result<PeArray> array = MaestroHardware(arguments.hardware, arguments.maestro, context);
  if (!array) return array.error();
  if (Result<void> ok = CheckChoices(arguments); !ok) return ok;
  if (!arguments.batch.empty()) return EvaluateBatchFile(arguments, *array, context);
  return EvaluateFile(arguments, *array, context);
}

}  // namespace

extern const ModelEvaluator kMaestroEvaluator = {.model = &kMaestroModel,
                                                 .mapping_extension = ".m",
                                                 .flags = Flags,
                                                 .declares_settings = true,
                                                 .run = Run};

}  // namespace tessera
