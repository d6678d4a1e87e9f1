// tessera evaluate: what given mappings cost.
#include "tessera/cli/evaluate.h"

#include <algorithm>

#include <fmt/format.h>

#include "tessera/cli/network_argument.h"
#include "tessera/cost.h"
#include "tessera/part.h"

namespace tessera {
namespace {

bool HasOwnFlags(const CostModelInfo& model) {
  const ModelEvaluator* evaluator = FindEvaluator(model);
  return evaluator != nullptr && evaluator->declares_settings;
}

std::vector<Flag> EvaluateFlags(EvaluateArguments& arguments) {
  std::vector<Flag> flags = {
      {.name = "--Mapping_file,--mapping",
       .target = &arguments.mapping,
       .help = "mappings to evaluate: a MAESTRO mapping file (.m), a Timeloop mapping (.yaml), or "
               "for other models what map writes (.json)",
       .value = "FILE"},
      {.name = "--HW_file,--hw,--accelerator",
       .target = &arguments.hardware,
       .help = "the machine: a file, or the name of a preset ('tessera list accelerators')",
       .value = "FILE"},
      {.name = "--model",
       .target = &arguments.model,
       .help = "cost model, or exec:COMMAND for a program of yours (default: maestro for .m files, "
               "otherwise loopnest)",
       .value = "NAME",
       .choices = CostModelNames},
      {.name = "--batch",
       .target = &arguments.batch,
       .help =
           "evaluate a file with one problem per line (JSON, may be gzipped) and print one line "
           "of JSON for each",
       .value = "ROWS"},
      {.name = "--layer",
       .target = &arguments.layer,
       .help = "only this layer: its name or its 1-based index",
       .value = "LAYER"},
      {.name = "--explain",
       .target = &arguments.explain,
       .help = "show for one layer how every number came about"},
      {.name = "NETWORK",
       .target = &arguments.network,
       .help = "what is mapped, a network or a Timeloop problem, or the folder of a run with its "
               "mappings; MAESTRO's files bring it along",
       .choices = ZooNames},
      BindFlag(arguments.bind),
      BitsFlag(arguments.bits)};
  for (const ModelEvaluator* evaluator : ModelEvaluators()) {
    if (evaluator->flags == nullptr) continue;
    for (const Flag& flag : evaluator->flags(arguments)) flags.push_back(flag);
  }
  // What an evaluator declares goes before a setting of the same name.
  for (const Flag& setting : arguments.settings.Flags()) {
    const auto same = [&](const Flag& flag) { return flag.name == setting.name; };
    if (std::none_of(flags.begin(), flags.end(), same)) flags.push_back(setting);
  }
  return flags;
}

// The model of a mapping file for which none was named.
const CostModelInfo& DefaultModel(const EvaluateArguments& arguments) {
  for (const ModelEvaluator* evaluator : ModelEvaluators()) {
    const std::string_view extension = evaluator->mapping_extension;
    if (!extension.empty() && arguments.mapping.ends_with(extension)) {
      const Result<const CostModelInfo*> model = FindCostModel(evaluator->model);
      if (model) return **model;
    }
  }
  return *CostModels().front();
}

Result<void> CheckInputs(const EvaluateArguments& arguments) {
  const auto usage = [](std::string message, std::string hint = "") {
    return Error{.kind = ErrorKind::kUsage, .message = std::move(message), .hint = std::move(hint)};
  };
  const bool file = !arguments.mapping.empty() || !arguments.network.empty();
  if (file == !arguments.batch.empty()) {
    return usage(file ? "--mapping and --batch exclude each other" : "nothing to evaluate",
                 "give either --mapping FILE or --batch ROWS");
  }
  if (!arguments.batch.empty() && (arguments.explain || arguments.layer || arguments.maestro.csv)) {
    return usage("--batch excludes --explain, --layer and --csv");
  }
  return {};
}

// A network for a model whose mapping files bring their layers along.
Error NetworkNotTaken(const std::string& network, const CostModelChoice& model) {
  const auto taker = std::ranges::find_if(
      ModelEvaluators(), [](const ModelEvaluator* evaluator) { return evaluator->takes_network; });
  return Error{.kind = ErrorKind::kUsage,
               .message = fmt::format("{} names a layer for model '{}', but the model is {}",
                                      Quoted(network), (*taker)->model, Quoted(model.ToString())),
               .hint = "mapping files of MAESTRO bring their layers along"};
}

Result<void> Run(const EvaluateArguments& arguments, Context& context) {
  if (IsRun(arguments.network)) {
    if (!arguments.bits) return EvaluateRun(arguments, context);
    return Error{.kind = ErrorKind::kUsage,
                 .message = "--bits: the bits of a run are those it was made with"};
  }
  if (Result<void> ok = CheckInputs(arguments); !ok) return ok;
  const Result<CostModelChoice> model =
      arguments.settings.Choose(arguments.model, DefaultModel(arguments));
  if (!model) return model.error();
  const ModelEvaluator* evaluator = FindEvaluator(model->info());
  if (evaluator == nullptr) return EvaluateAny(arguments, *model, context);
  if (!evaluator->takes_network && !arguments.network.empty()) {
    return NetworkNotTaken(arguments.network, *model);
  }
  if (arguments.bits && (!evaluator->takes_network || !arguments.batch.empty())) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = "--bits is for a layer that model loopnest maps"};
  }
  return evaluator->run(arguments, *model, context);
}

}  // namespace

Result<void> Show(EvaluationView view, Context& context) {
  for (const Error& error : view.complaints) context.complain(error);
  context.output.SetAll(std::move(view.json));
  return context.output.ShowText(view.text);
}

EvaluateArguments::EvaluateArguments()
    : settings([](const CostModelInfo& info) { return !HasOwnFlags(info); }) {}

extern const Command kEvaluateCommand = {
    .name = "evaluate",
    .summary = "what given mappings cost",
    .examples = {{"tessera evaluate --mapping vgg16.m --hw maestro-256",
                  "every layer of a MAESTRO mapping file"},
                 {"tessera evaluate --Mapping_file=vgg16.m --num_pes=256 --noc_bw_cstr=64 --csv",
                  "MAESTRO's own flags, and its CSV file on stdout"},
                 {"tessera evaluate --mapping vgg16.m --hw maestro-256 --layer 2 --explain",
                  "how the numbers of one layer come about"},
                 {"tessera evaluate resnet18 --layer 2 --accelerator eyeriss-256 --mapping m.yaml",
                  "a Timeloop mapping of a layer on a machine with any memory hierarchy"},
                 {"tessera evaluate problem.yaml --hw arch.yaml --mapping map.yaml --explain",
                  "Timeloop's files; how every number comes about"},
                 {"tessera evaluate runs/resnet --accelerator larger.yaml",
                  "the mappings of a run, on another machine with as many levels"},
                 {"tessera evaluate --model maestro --batch rows.jsonl.gz > answers.jsonl",
                  "many problems, for scripts"},
                 {"tessera evaluate --model 'exec:./my_model' --batch rows.jsonl",
                  "the same problems for a program of yours"}},
    .bind = Bind<EvaluateArguments, EvaluateFlags, Run>,
    .details =
        "Model 'maestro' gives MAESTRO's numbers exactly and flags those that cannot be true\n"
        "(docs/cost-maestro.md). Model 'loopnest' takes any memory hierarchy and counts exactly, "
        "or\n"
        "as Timeloop does (docs/cost-loopnest.md); semantics timeloop4 is v4's stride rule on "
        "3.0.3,\n"
        "not checked against a v4 binary. exec:COMMAND runs a program that reads rows and writes "
        "answers\n"
        "(docs/external-evaluator.md); its crashes and time-outs are reported as such. Mappings "
        "of\n"
        "other models are read as 'tessera map' writes them (mappings/*.json)."};

}  // namespace tessera
