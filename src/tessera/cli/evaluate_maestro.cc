// tessera evaluate --model maestro: mapping files of MAESTRO, or batch rows.
#include "tessera/cli/evaluate.h"
#include "tessera/report/evaluation.h"

namespace tessera {
namespace {

Result<void> EvaluateFile(const EvaluateArguments& arguments, const PeArray& array,
                          Context& context) {
  const MaestroEvaluation evaluation{.file = arguments.mapping,
                                     .layer = arguments.layer,
                                     .array = array,
                                     .choices = arguments.maestro.choices};
  Result<EvaluationView> view = arguments.explain       ? ExplainMaestro(evaluation)
                                : arguments.maestro.csv ? MaestroCsv(evaluation)
                                                        : ViewOfMaestro(evaluation);
  if (!view) return view.error();
  return Show(*std::move(view), context);
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
  if (maestro.csv && maestro.choices.area != MaestroChoices().area) {
    return usage("--csv has MAESTRO's area", "leave --area out, or use --json");
  }
  if (!arguments.batch.empty() && maestro.choices.legality != MaestroChoices().legality) {
    return usage("--batch answers as MAESTRO does", "leave --legality out and read 'flags'");
  }
  if (!arguments.batch.empty() && maestro.choices.area != MaestroChoices().area) {
    return usage("--batch answers with MAESTRO's columns", "leave --area out");
  }
  return {};
}

Result<void> EvaluateBatchFile(const EvaluateArguments& arguments, const PeArray& array,
                               Context& context) {
  const Result<std::vector<BatchLine>> lines = ReadBatch(arguments.batch);
  if (!lines) return lines.error();
  return ShowAnswers(
      AnswerMaestroRows(*lines, arguments.batch, array, arguments.maestro.choices.version,
                        static_cast<int>(context.options.threads)),
      context);
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

extern const ModelEvaluator kMaestroEvaluator = {.model = "maestro",
                                                 .mapping_extension = ".m",
                                                 .flags = Flags,
                                                 .declares_settings = true,
                                                 .run = Run};

}  // namespace tessera
