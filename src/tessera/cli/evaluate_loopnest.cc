// tessera evaluate --model loopnest: a mapping of one layer, or batch rows.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/evaluate.h"
#include "tessera/cli/loopnest_arguments.h"
#include "tessera/cost.h"
#include "tessera/mapping.h"
#include "tessera/part.h"
#include "tessera/report/evaluation.h"

namespace tessera {
namespace {

using loopnest::Semantics;

Error Usage(std::string message, std::string hint) {
  return {.kind = ErrorKind::kUsage, .message = std::move(message), .hint = std::move(hint)};
}

Result<void> EvaluateBatchFile(const EvaluateArguments& arguments, Context& context) {
  const Result<std::vector<BatchLine>> lines = ReadBatch(arguments.batch);
  if (!lines) return lines.error();
  return ShowAnswers(AnswerLoopRows(*lines, arguments.batch, SemanticsOf(arguments.semantics),
                                    static_cast<int>(context.options.threads)),
                     context);
}

// Which file has what. Timeloop's files may hold problem, architecture and mapping together, so
// what is not named is looked for in the files that are.
struct Inputs {
  std::string network, machine, mapping;
};

Result<Inputs> FindInputs(const EvaluateArguments& arguments) {
  Inputs inputs{arguments.network, arguments.hardware, arguments.mapping};
  if (inputs.network.empty() && FileHasKey(inputs.mapping, {"problem"})) {
    inputs.network = inputs.mapping;
  }
  if (inputs.network.empty()) {
    return Usage("no layer to map",
                 "name a network or a Timeloop problem: tessera evaluate NETWORK --layer L "
                 "--accelerator A --mapping FILE");
  }
  if (inputs.mapping.empty() && FileHasKey(inputs.network, {"mapping"})) {
    inputs.mapping = inputs.network;
  }
  if (inputs.mapping.empty()) return Usage("no mapping", "give one with --mapping FILE");
  for (const std::string& file : {inputs.network, inputs.mapping}) {
    if (inputs.machine.empty() && FileHasKey(file, {"architecture", "arch"})) inputs.machine = file;
  }
  if (inputs.machine.empty()) {
    return Usage("no accelerator", "give a preset or a file with --accelerator");
  }
  return inputs;
}

Result<LoopEvaluation> LoadCase(const EvaluateArguments& arguments, Context& context) {
  const Result<Inputs> inputs = FindInputs(arguments);
  if (!inputs) return inputs.error();
  const Result<std::vector<LoopLayer>> layers = LoadLoopLayers({.name = inputs->network,
                                                                .bind = arguments.bind,
                                                                .layer = arguments.layer,
                                                                .bits = arguments.bits});
  if (!layers) return layers.error();
  if (layers->size() != 1) {
    return Usage(fmt::format("a mapping is for one layer, and {} has {}", Quoted(inputs->network),
                             layers->size()),
                 "choose one with --layer");
  }
  const LoopLayer& layer = layers->front();
  Result<Accelerator> machine = LoadLoopMachine(inputs->machine, arguments.energy, context);
  if (!machine) return machine.error();
  const Result<LoopMapping> mapping =
      LoadTimeloopMapping(inputs->mapping, layer.problem, *machine->hierarchy);
  if (!mapping) return mapping.error();
  return LoopEvaluation{.layer = layer.name,
                        .problem = layer.problem,
                        .machine = *std::move(machine),
                        .mapping = *mapping,
                        .file = inputs->mapping,
                        .semantics = SemanticsOf(arguments.semantics).value_or(Semantics::kExact)};
}

// Writes problem, architecture and mapping for Timeloop into the folder.
Result<void> WriteTimeloopFiles(const LoopEvaluation& item, const std::string& version,
                                Context& context) {
  const std::string& folder = context.options.out;
  const Result<Export> made = ExportToTimeloop(item.problem, item.machine, item.mapping, version);
  if (!made) return made.error();
  if (Result<void> written = WriteTogether(folder, made->files); !written) return written;
  for (const ExportedFile& file : made->files) {
    context.remark(fmt::format("wrote {}", (std::filesystem::path(folder) / file.name).string()));
  }
  for (const std::string& line : made->lost) context.remark(fmt::format("lost: {}", line));
  return {};
}

Result<void> EvaluateMapping(const EvaluateArguments& arguments, Context& context) {
  const Result<LoopEvaluation> item = LoadCase(arguments, context);
  if (!item) return item.error();
  Result<EvaluationView> view = ViewOfLoops(*item, arguments.explain);
  if (!view) return view.error();
  if (!arguments.timeloop.empty()) {
    Result<void> written = WriteTimeloopFiles(*item, arguments.timeloop, context);
    if (!written) return written;
  }
  return Show(*std::move(view), context);
}

std::vector<Flag> Flags(EvaluateArguments& arguments) {
  return {
      SemanticsFlag(arguments.semantics,
                    "loopnest: exact, timeloop3 (timeloop-model 3.0.3) or timeloop4 (3.0.3 with "
                    "the stride rule of v4, not checked against a v4 binary) (default: exact; "
                    "with --batch what the row says)"),
      EnergyFlag(arguments.energy),
      {.name = "--timeloop",
       .target = &arguments.timeloop,
       .help = "loopnest: write arch, problem and mapping for this version of Timeloop to --out",
       .value = "VERSION",
       .choices = TimeloopVersions,
       .closed = true}};
}

Result<void> Run(const EvaluateArguments& arguments, const CostModelChoice& /*model*/,
                 Context& context) {
  if (arguments.maestro.csv) {
    return Usage("--csv is MAESTRO's file, which model 'loopnest' does not write", "use --json");
  }
  if (!arguments.batch.empty()) return EvaluateBatchFile(arguments, context);
  if (!arguments.timeloop.empty() && context.options.out.empty()) {
    return Usage("--timeloop writes files, but there is no folder", "give one with --out DIR");
  }
  return EvaluateMapping(arguments, context);
}

}  // namespace

extern const ModelEvaluator kLoopnestEvaluator = {.model = "loopnest",
                                                  .takes_network = true,
                                                  .flags = Flags,
                                                  .declares_settings = true,
                                                  .run = Run};

}  // namespace tessera
