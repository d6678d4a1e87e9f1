// tessera evaluate --model exec:COMMAND: a user's program evaluates batch rows, or the layers of a
// MAESTRO mapping file as such rows.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/evaluate.h"
#include "tessera/cost/external/exec_model.h"
#include "tessera/cost/external/external.h"
#include "tessera/cost/maestro/batch.h"
#include "tessera/part.h"

namespace tessera {
namespace {

Result<std::vector<std::string>> RowsOf(const EvaluateArguments& arguments, Context& context) {
  std::vector<std::string> rows;
  if (!arguments.batch.empty()) {
    const Result<std::vector<BatchLine>> lines = ReadBatch(arguments.batch);
    if (!lines) return lines.error();
    for (const BatchLine& line : *lines) rows.push_back(line.text);
    return rows;
  }
  const Result<PeArray> array = MaestroHardware(arguments.hardware, arguments.maestro, context);
  if (!array) return array.error();
  const Result<MaestroMappingFile> file = LoadMaestroMapping(arguments.mapping, arguments.layer);
  if (!file) return file.error();
  for (size_t i = 0; i < file->layers.size(); ++i) {
    const std::string id = fmt::format("{}:{}", i + 1, file->layers[i].name);
    rows.push_back(maestro::RowOf(id, file->layers[i], *array, VersionOf(arguments.maestro)));
  }
  return rows;
}

Result<void> Run(const EvaluateArguments& arguments, const CostModelChoice& model,
                 Context& context) {
  if (arguments.explain || arguments.maestro.csv) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = "--explain and --csv are not for --model exec:"};
  }
  const Result<std::vector<std::string>> rows = RowsOf(arguments, context);
  if (!rows) return rows.error();
  ThreadPool pool(static_cast<int>(context.options.threads));
  const Result<std::vector<ExternalAnswer>> answers =
      RunExternal(ExternalOptionsOf(model), *rows, pool);
  if (!answers) return answers.error();
  std::vector<std::string> lines;
  for (const ExternalAnswer& answer : *answers) {
    lines.push_back(answer.line);
    if (answer.kind == ExternalAnswer::Kind::kAnswered) continue;
    const std::string id = Json::parse(answer.line)["id"].dump();
    context.complain(
        Error{.kind = ErrorKind::kIo, .message = fmt::format("row {}: {}", id, answer.message)});
  }
  return ShowAnswers(lines, context);
}

}  // namespace

extern const ModelEvaluator kExternalEvaluator = {.model = &kExecModel, .run = Run};

}  // namespace tessera
