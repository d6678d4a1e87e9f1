// tessera evaluate --model loopnest: a mapping of one layer, or batch rows.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "tessera/arch/timeloop_write.h"
#include "tessera/cli/evaluate.h"
#include "tessera/cli/loopnest_arguments.h"
#include "tessera/cost.h"
#include "tessera/cost/loopnest/batch.h"
#include "tessera/cost/loopnest/explain.h"
#include "tessera/cost/loopnest/loopnest.h"
#include "tessera/cost/loopnest/violation.h"
#include "tessera/mapping/loop_shape.h"
#include "tessera/mapping/timeloop_mapping.h"
#include "tessera/part.h"
#include "tessera/report/loopnest_report.h"

namespace tessera {
namespace {

using loopnest::Semantics;

std::vector<std::string> TimeloopVersions() { return {"0.3", "0.4"}; }

Error Usage(std::string message, std::string hint) {
  return {.kind = ErrorKind::kUsage, .message = std::move(message), .hint = std::move(hint)};
}

Result<void> EvaluateBatchFile(const EvaluateArguments& arguments, Context& context) {
  const Result<std::vector<BatchLine>> lines = ReadBatch(arguments.batch);
  if (!lines) return lines.error();
  const std::optional<Semantics> semantics = SemanticsOf(arguments.semantics);
  ThreadPool pool(static_cast<int>(context.options.threads));
  std::vector<loopnest::Workspace> workspaces(static_cast<size_t>(pool.threads()));
  std::vector<loopnest::BatchAnswer> answers(lines->size());
  pool.ParallelFor(std::ssize(*lines), /*chunk=*/16, [&](int64_t begin, int64_t end, int worker) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const Where where{.file = arguments.batch, .line = (*lines)[i].number};
      answers[i] = loopnest::AnswerRow((*lines)[i].text, where, semantics,
                                       workspaces[static_cast<size_t>(worker)]);
    }
  });
  std::vector<std::string> texts;
  for (loopnest::BatchAnswer& answer : answers) {
    if (answer.error) context.complain(*answer.error);
    texts.push_back(std::move(answer.text));
  }
  return ShowAnswers(texts, context);
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

// A mapping with all that it is about.
struct Case {
  LoopLayer layer;
  Accelerator machine;
  LoopMapping mapping;
  std::string mapping_file;
};

Result<Case> LoadCase(const EvaluateArguments& arguments, Context& context) {
  const Result<Inputs> inputs = FindInputs(arguments);
  if (!inputs) return inputs.error();
  const Result<std::vector<LoopLayer>> layers =
      LoadLoopLayers({.name = inputs->network, .bind = arguments.bind, .layer = arguments.layer});
  if (!layers) return layers.error();
  if (layers->size() != 1) {
    return Usage(fmt::format("a mapping is for one layer, and {} has {}", Quoted(inputs->network),
                             layers->size()),
                 "choose one with --layer");
  }
  Result<Accelerator> machine = LoadLoopMachine(inputs->machine, arguments.energy, context);
  if (!machine) return machine.error();
  const Result<Node> document = LoadDocument(inputs->mapping);
  if (!document) return document.error();
  const Result<LoopMapping> mapping =
      ReadTimeloopMapping(*document, layers->front().problem, *machine->hierarchy);
  if (!mapping) return mapping.error();
  return Case{layers->front(), *std::move(machine), *mapping, inputs->mapping};
}

// Writes problem, architecture and mapping for Timeloop into the folder.
Result<void> WriteTimeloopFiles(const Case& item, TimeloopVersion version, Context& context) {
  const std::string& folder = context.options.out;
  const Result<TimeloopArchitecture> architecture =
      WriteTimeloopArchitecture(item.machine, version);
  if (!architecture) return architecture.error();
  if (Result<void> made = MakeFolder(folder); !made) return made;
  const struct {
    std::string_view name;
    std::string text;
  } files[] = {{"arch.yaml", architecture->text},
               {"ert.yaml", architecture->ert},
               {"problem.yaml", WriteLoopProblem(item.layer.problem, version)},
               {"mapping.yaml",
                WriteTimeloopMapping(item.mapping, item.layer.problem, *item.machine.hierarchy)}};
  for (const auto& [name, text] : files) {
    if (text.empty()) continue;
    const std::string path = (std::filesystem::path(folder) / name).string();
    if (Result<void> ok = WriteFileAtomically(path, text); !ok) return ok;
    context.remark(fmt::format("wrote {}", path));
  }
  for (const std::string& line : architecture->lost) context.remark(fmt::format("lost: {}", line));
  return {};
}

Result<void> Show(const LoopnestReport& report, bool explain, Output& output) {
  if (explain) {
    const std::string text = loopnest::Explain(report.setup, report.mapping, report.workspace);
    output.Set("explanation", text);
    if (Result<void> shown = output.ShowText(NestText(report) + "\n" + text); !shown) return shown;
  }
  output.SetAll(ToJson(report));
  if (output.json() || explain) return {};
  if (Result<void> shown = output.ShowText(NestText(report) + "\n"); !shown) return shown;
  for (const Table& table : {TensorTable(report), LevelTable(report), NetworkTable(report)}) {
    if (Result<void> shown = output.ShowText(ToText(table) + "\n"); !shown) return shown;
  }
  return output.ShowText(Summary(report));
}

Result<void> EvaluateMapping(const EvaluateArguments& arguments, Context& context) {
  const Result<Case> item = LoadCase(arguments, context);
  if (!item) return item.error();
  const Semantics semantics = SemanticsOf(arguments.semantics).value_or(Semantics::kExact);
  const Hierarchy& hierarchy = *item->machine.hierarchy;
  const Result<loopnest::Setup> setup =
      loopnest::Prepare(item->layer.problem, hierarchy, semantics);
  if (!setup) return setup.error();
  loopnest::Workspace workspace;
  loopnest::Evaluate(*setup, item->mapping, workspace);
  const Violation violation = loopnest::ViolationOf(*setup, workspace);
  if (violation.rule != 0) {
    Error error = loopnest::DescribeViolation(*setup, violation, &item->mapping);
    error.where = {.file = item->mapping_file};
    return error;
  }
  if (!arguments.timeloop.empty()) {
    const TimeloopVersion version = *FindTimeloopVersion(arguments.timeloop);
    if (Result<void> ok = WriteTimeloopFiles(*item, version, context); !ok) return ok;
  }
  const Result<LoopBounds> bounds = LowerBounds(
      item->layer.problem, hierarchy, {.semantics = semantics, .keep = KeepSets(item->mapping)});
  if (!bounds) return bounds.error();
  const LoopnestReport report{.layer = item->layer.name,
                              .accelerator = item->machine.name,
                              .setup = *setup,
                              .mapping = item->mapping,
                              .workspace = workspace,
                              .bounds = *bounds};
  return Show(report, arguments.explain, context.output);
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

extern const ModelEvaluator kLoopnestEvaluator = {.model = &kLoopnestModel,
                                                  .takes_network = true,
                                                  .flags = Flags,
                                                  .declares_settings = true,
                                                  .run = Run};

}  // namespace tessera
