// tessera evaluate: what given mappings cost.
#include "tessera/cli/evaluate.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/text.h"
#include "tessera/cli/choices.h"
#include "tessera/cost/models.h"

namespace tessera {
namespace {

constexpr std::string_view kExternalPrefix = "exec:";

std::vector<std::string> ModelNames() {
  std::vector<std::string> names = NamesOf(CostModels());
  names.emplace_back(kExternalPrefix);
  return names;
}

std::vector<Flag> Flags(EvaluateArguments& arguments) {
  std::vector<Flag> flags = {
      {.name = "--Mapping_file,--mapping",
       .target = &arguments.mapping,
       .help = "mappings to evaluate: a MAESTRO mapping file (.m), or a Timeloop mapping (.yaml)",
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
       .choices = ModelNames},
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
       .help = "show for one layer how every number came about"}};
  for (const Flag& flag : MaestroFlags(arguments.maestro)) flags.push_back(flag);
  ExternalOptions& external = arguments.external;
  for (const Flag& flag :
       ExternalFlags(external.timeout_seconds, external.memory_mib, external.batch_rows)) {
    flags.push_back(flag);
  }
  for (const Flag& flag : LoopnestFlags(arguments.loopnest)) flags.push_back(flag);
  return flags;
}

std::string ModelOf(const EvaluateArguments& arguments) {
  if (arguments.model) return *arguments.model;
  return arguments.mapping.ends_with(".m") ? "maestro" : "loopnest";
}

Result<void> CheckInputs(const EvaluateArguments& arguments) {
  const auto usage = [](std::string message, std::string hint = "") {
    return Error{.kind = ErrorKind::kUsage, .message = std::move(message), .hint = std::move(hint)};
  };
  const bool file = !arguments.mapping.empty() || !arguments.loopnest.network.empty();
  if (file == !arguments.batch.empty()) {
    return usage(file ? "--mapping and --batch exclude each other" : "nothing to evaluate",
                 "give either --mapping FILE or --batch ROWS");
  }
  if (!arguments.batch.empty() && (arguments.explain || arguments.layer || arguments.maestro.csv)) {
    return usage("--batch excludes --explain, --layer and --csv");
  }
  return {};
}

Result<void> Run(const EvaluateArguments& arguments, Context& context) {
  if (Result<void> ok = CheckInputs(arguments); !ok) return ok;
  const std::string model = ModelOf(arguments);
  if (model != "loopnest" && !arguments.loopnest.network.empty()) {
    return Error{
        .kind = ErrorKind::kUsage,
        .message = fmt::format("{} names a layer for model 'loopnest', but the model is {}",
                               Quoted(arguments.loopnest.network), Quoted(model)),
        .hint = "mapping files of MAESTRO bring their layers along"};
  }
  if (model.starts_with(kExternalPrefix)) {
    return EvaluateExternal(model.substr(kExternalPrefix.size()), arguments, context);
  }
  if (model == "maestro") return EvaluateMaestro(arguments, context);
  if (model == "loopnest") return EvaluateLoopnest(arguments, context);
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown model {}", Quoted(model)),
               .hint = DidYouMean(model, ModelNames())};
}

}  // namespace

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
                 {"tessera evaluate --model maestro --batch rows.jsonl.gz > answers.jsonl",
                  "many problems, for scripts"},
                 {"tessera evaluate --model 'exec:./my_model' --batch rows.jsonl",
                  "the same problems for a program of yours"}},
    .bind = Bind<EvaluateArguments, Flags, Run>,
    .details =
        "Model 'maestro' gives MAESTRO's numbers exactly and flags those that cannot be true\n"
        "(docs/cost-maestro.md). Model 'loopnest' takes any memory hierarchy and counts exactly, "
        "or\n"
        "as Timeloop does (docs/cost-loopnest.md); semantics timeloop4 is v4's stride rule on "
        "3.0.3,\n"
        "not checked against a v4 binary. exec:COMMAND runs a program that reads rows and writes "
        "answers\n"
        "(docs/external-evaluator.md); its crashes and time-outs are reported as such."};

}  // namespace tessera
