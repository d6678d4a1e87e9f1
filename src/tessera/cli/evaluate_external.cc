// tessera evaluate --model exec:COMMAND: a user's program evaluates batch rows, or the layers of a
// MAESTRO mapping file as such rows.
#include "tessera/cli/evaluate.h"
#include "tessera/report/evaluation.h"

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
  return MaestroRows({.file = arguments.mapping,
                      .layer = arguments.layer,
                      .array = *array,
                      .choices = arguments.maestro.choices});
}

Result<void> Run(const EvaluateArguments& arguments, const CostModelChoice& model,
                 Context& context) {
  if (arguments.explain || arguments.maestro.csv) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = "--explain and --csv are not for --model exec:"};
  }
  const Result<std::vector<std::string>> rows = RowsOf(arguments, context);
  if (!rows) return rows.error();
  const Result<RowAnswers> answers =
      AnswerExternalRows(model, *rows, static_cast<int>(context.options.threads));
  if (!answers) return answers.error();
  return ShowAnswers(*answers, context);
}

}  // namespace

extern const ModelEvaluator kExternalEvaluator = {.model = "exec", .run = Run};

}  // namespace tessera
