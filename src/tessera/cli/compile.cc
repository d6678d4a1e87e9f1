// tessera compile: VTA programs for the convolutions and fully connected layers of a network.
#include <optional>
#include <string>

#include <fmt/format.h>

#include "tessera/cli/batch.h"
#include "tessera/cli/command.h"
#include "tessera/cli/network_argument.h"
#include "tessera/cli/vta_arguments.h"
#include "tessera/report/vta_report.h"
#include "tessera/vta.h"

namespace tessera {
namespace {

struct CompileArguments {
  NetworkArgument network;
  std::string vta = "default";
  std::string schedule = "auto";
  std::optional<std::string> generator;
  int64_t shift = 8;
  bool verify = false;
  bool whole = false;
  std::string batch;
  std::string configs;
  vta::TimingParameters timing;
};

std::vector<std::string> Generators() { return {"best", "reference"}; }

std::vector<Flag> Flags(CompileArguments& arguments) {
  std::vector<Flag> flags = NetworkFlags(arguments.network, /*required=*/false);
  const std::vector<Flag> own = {
      VtaFlag(arguments.vta),
      {.name = "--schedule",
       .target = &arguments.schedule,
       .help = "auto, or tile_h=4,tile_w=28,tile_ci=1,tile_co=2,oc_nthread=2,h_nthread=1 for the "
               "reference template, or a schedule as a manifest has it",
       .value = "SCHEDULE"},
      {.name = "--generator",
       .target = &arguments.generator,
       .help = "what auto searches: the improved generator (default), or the reference template; "
               "for rows: the best schedule, or the row's knobs (default)",
       .value = "NAME",
       .choices = Generators,
       .closed = true},
      {.name = "--shift",
       .target = &arguments.shift,
       .help = "right shift of the sums before bias and clipping to 0..127",
       .value = "N",
       .least = 0,
       .most = 31},
      {.name = "--verify",
       .target = &arguments.verify,
       .help = "runs every program and compares its output with a plain convolution"},
      {.name = "--whole",
       .target = &arguments.whole,
       .help = "the network with its graph: also additions, pooling and concatenations; every "
               "step is run on the outputs of the steps before and compared"},
      {.name = "--batch",
       .target = &arguments.batch,
       .help = "times rows of (layer, knobs) (JSON lines, may be gzipped) instead of a network",
       .value = "ROWS"},
      ConfigsFlag(arguments.configs)};
  flags.insert(flags.end(), own.begin(), own.end());
  for (const Flag& flag : TimingFlags(arguments.timing)) flags.push_back(flag);
  return flags;
}

Result<void> CompileBatch(const CompileArguments& arguments, Context& context) {
  const CompileArguments defaults;
  Result<void> fine =
      RefuseWith("--batch", {{arguments.whole, "--whole"},
                             {arguments.verify, "--verify"},
                             {arguments.network.layer.has_value(), "--layer"},
                             {arguments.vta != defaults.vta, "--vta"},
                             {arguments.schedule != defaults.schedule, "--schedule"},
                             {arguments.shift != defaults.shift, "--shift"},
                             {!context.options.out.empty(), "--out"}});
  if (!fine) return fine;
  const Result<vta::RowAnswers> answers =
      vta::RowAnswers::Make(arguments.configs, arguments.timing);
  if (!answers) return answers.error();
  const vta::RowGenerator generator = !arguments.generator ? vta::RowGenerator::kAsAsked
                                      : *arguments.generator == "best"
                                          ? vta::RowGenerator::kBest
                                          : vta::RowGenerator::kReference;
  return AnswerLines(
      arguments.batch,
      [&](std::string_view row, const Where& where) {
        return answers->ToConv(row, generator, where);
      },
      context);
}

Result<vta::NetworkOptions> OptionsOf(const CompileArguments& arguments,
                                      const GlobalOptions& global) {
  Result<vta::Config> config = vta::LoadConfig(arguments.vta);
  if (!config) return config.error();
  vta::NetworkOptions options = {.seed = static_cast<uint64_t>(global.seed),
                                 .verify = arguments.verify,
                                 .threads = static_cast<int>(global.threads),
                                 .folder = global.out};
  options.compile = {.config = *std::move(config),
                     .timing = arguments.timing,
                     .schedule = arguments.schedule,
                     .reference_only = arguments.generator.value_or("best") == "reference"};
  options.compile.epilogue.shift = static_cast<int32_t>(arguments.shift);
  return options;
}

Result<void> CompileLayers(const CompileArguments& arguments, Context& context) {
  const Result<Network> network = Load(arguments.network);
  if (!network) return network.error();
  const Result<vta::NetworkOptions> options = OptionsOf(arguments, context.options);
  if (!options) return options.error();
  const Result<vta::CompiledNetwork> compiled = vta::CompileNetwork(*network, *options);
  if (!compiled) return compiled.error();
  if (network->layers.size() > 1) {
    for (const Error& reason : compiled->skipped) context.remark("skipped: " + ToString(reason));
  }
  if (compiled->layers.empty() && !compiled->skipped.empty()) return compiled->skipped.back();
  const std::string& folder = options->folder;
  return Show(*compiled, options->compile.config.name,
              fmt::format("{}{}", arguments.verify ? ", outputs verified" : "",
                          folder.empty() ? "" : ", written to " + folder),
              context.output);
}

Result<void> CompileConnected(const CompileArguments& arguments, Context& context) {
  Result<void> fine =
      RefuseWith("--whole", {{arguments.network.layer.has_value(), "--layer"},
                             {arguments.schedule != "auto", "--schedule"},
                             {arguments.shift != CompileArguments{}.shift, "--shift"}});
  if (!fine) return fine;
  const Result<vta::NetworkOptions> options = OptionsOf(arguments, context.options);
  if (!options) return options.error();
  const Result<Network> network = Load(arguments.network);
  if (!network) return network.error();
  const Result<vta::NetworkRun> run = vta::CompileWhole(*network, *options);
  if (!run) return run.error();
  const std::string& folder = options->folder;
  return Show(*run, options->compile.config.name,
              folder.empty() ? "" : "; programs written to " + folder, context.output);
}

Result<void> Run(const CompileArguments& arguments, Context& context) {
  if (arguments.network.name.empty() == arguments.batch.empty()) {
    return Error{.kind = ErrorKind::kUsage, .message = "give either a NETWORK or --batch ROWS"};
  }
  if (Result<void> valid = vta::Validate(arguments.timing); !valid) return valid;
  if (!arguments.batch.empty()) return CompileBatch(arguments, context);
  return arguments.whole ? CompileConnected(arguments, context) : CompileLayers(arguments, context);
}

}  // namespace

extern const Command kCompileCommand = {
    .name = "compile",
    .summary = "VTA programs for a network's layers",
    .examples = {{"tessera compile resnet18 --out programs", "one program per layer, a manifest"},
                 {"tessera compile resnet18 --layer 2 --verify", "one layer, result checked"},
                 {"tessera compile resnet18 --whole",
                  "the whole quantised network through the simulators, every value compared"},
                 {"tessera compile resnet18 --layer 2 --schedule "
                  "tile_h=8,tile_w=56,tile_ci=1,tile_co=2,oc_nthread=2,h_nthread=1",
                  "the reference template with given knobs"},
                 {"tessera compile vgg16 --vta b1_32x32", "another configuration"},
                 {"tessera compile --batch rows.jsonl", "cycles of many schedules, for scripts"}},
    .bind = Bind<CompileArguments, Flags, Run>,
    .details =
        "Convolutions (dense, kernels up to 11) and fully connected layers are compiled; layers "
        "of\n"
        "other kinds are listed as skipped; with --whole, a node that VTA has no code for is an "
        "error.\n"
        "Programs hold random data from --seed, laid out as the manifest says (docs/vta.md).",
    .writes_out = true};

}  // namespace tessera
