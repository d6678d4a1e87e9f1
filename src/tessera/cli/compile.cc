// tessera compile: VTA programs for the convolutions and fully connected layers of a network.
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/base/thread_pool.h"
#include "tessera/cli/batch.h"
#include "tessera/cli/compile.h"
#include "tessera/cli/vta_arguments.h"
#include "tessera/vta/batch/rows.h"
#include "tessera/vta/check/check.h"
#include "tessera/vta/codegen/compile.h"

namespace tessera {
namespace {

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
       .help = "the network with its connections (resnet18, resnet34): also additions and max "
               "pooling; every step is run on the outputs of the steps before and compared"},
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
  const Result<vta::ConfigTable> configs = LoadConfigTables(arguments.configs);
  if (!configs) return configs.error();
  vta::BestTable best(arguments.timing);
  const vta::RowGenerator generator = !arguments.generator ? vta::RowGenerator::kAsAsked
                                      : *arguments.generator == "best"
                                          ? vta::RowGenerator::kBest
                                          : vta::RowGenerator::kReference;
  return AnswerLines(
      arguments.batch,
      [&](std::string_view row, const Where& where) {
        return vta::AnswerConv(row, generator, best, *configs, arguments.timing, where);
      },
      context);
}

Json LayerJson(const NetworkLayer& entry, const vta::CompiledLayer& compiled) {
  const vta::Traffic traffic = CountTraffic(compiled.kernel);
  return {{"name", entry.name},
          {"count", entry.count},
          {"layer", ToString(entry.layer)},
          {"schedule", compiled.schedule},
          {"cycles", compiled.report.cycles},
          {"gemm_floor", GemmFloor(compiled.shape, compiled.kernel.config)},
          {"insns", compiled.kernel.instructions.size()},
          {"uops", compiled.kernel.uops.size()},
          {"dram_read_bytes", traffic.read()},
          {"dram_write_bytes", traffic.written},
          {"evaluations", compiled.evaluations},
          {"tensors", TensorsJson(compiled.kernel)}};
}

struct Compiled {
  std::optional<Result<vta::CompiledLayer>> layer;
  std::optional<Result<vta::Program>> program;
  std::optional<Error> wrong;  // of --verify
};

// Runs a copy of the program and compares; nothing if all is well.
std::optional<Error> Verify(vta::Program program, const vta::CompiledLayer& compiled,
                            const vta::ConvData& data, const vta::Epilogue& epilogue) {
  const Result<vta::CheckReport> report = vta::CheckAndRun(program);
  if (!report) return report.error();
  if (!report->diagnostics.empty()) {
    return Error{.kind = ErrorKind::kInternal, .message = ToString(report->diagnostics.front())};
  }
  if (UnpackConvOutput(program, compiled.shape) == ReferenceConv(compiled.shape, data, epilogue)) {
    return std::nullopt;
  }
  return Error{.kind = ErrorKind::kInternal, .message = "the output differs from a convolution's"};
}

void CompileOne(const NetworkLayer& entry, const vta::CompileOptions& options, bool verify,
                bool link, uint64_t seed, Compiled& result) {
  result.layer.emplace(CompileLayer(entry.layer, options));
  if (!*result.layer || !(verify || link)) return;
  const vta::CompiledLayer& compiled = **result.layer;
  const vta::ConvData data = RandomConvData(compiled.shape, options.epilogue.bias, seed);
  result.program.emplace(LinkConv(compiled.kernel, compiled.shape, data));
  if (!*result.program || !verify) return;
  result.wrong = Verify(**result.program, compiled, data, options.epilogue);
}

Error About(const NetworkLayer& entry, Error error) {
  error.message = fmt::format("layer {}: {}", entry.name, error.message);
  return error;
}

Result<void> WritePrograms(const Network& network, const std::vector<Compiled>& results,
                           const std::string& folder, Json& manifest) {
  size_t row = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!*results[i].layer) continue;
    const Result<vta::Program>& program = *results[i].program;
    if (!program) return About(network.layers[i], program.error());
    const std::string file = ProgramFile(i, network.layers[i].name);
    if (Result<void> written = WriteProgram(folder, file, *program); !written) return written;
    manifest["layers"][row++]["program"] = file;
  }
  return WriteManifest(folder, manifest);
}

Result<void> CompileNetwork(const CompileArguments& arguments, Context& context) {
  const Result<Network> network = Load(arguments.network);
  if (!network) return network.error();
  const Result<vta::CompileOptions> options = CompileOptionsOf(arguments);
  if (!options) return options.error();
  const vta::Config& config = options->config;
  const bool link = !context.options.out.empty();
  std::vector<Compiled> results(network->layers.size());
  ThreadPool pool(static_cast<int>(context.options.threads));
  pool.ParallelFor(std::ssize(results), /*chunk=*/1, [&](int64_t begin, int64_t end, int) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      CompileOne(network->layers[i], *options, arguments.verify, link,
                 static_cast<uint64_t>(context.options.seed), results[i]);
    }
  });
  Table table({"layer", "count", "cycles", "floor", "insns", "uops", "schedule"});
  Json layers = Json::array();
  int64_t total = 0;
  std::optional<Error> refused;
  for (size_t i = 0; i < results.size(); ++i) {
    const NetworkLayer& entry = network->layers[i];
    const Result<vta::CompiledLayer>& compiled = *results[i].layer;
    if (!compiled) {
      refused = About(entry, compiled.error());
      if (results.size() > 1) context.remark("skipped: " + ToString(*refused));
      continue;
    }
    if (results[i].wrong) return About(entry, *results[i].wrong);
    total += entry.count * compiled->report.cycles;
    table.Add(entry.name, entry.count, compiled->report.cycles, GemmFloor(compiled->shape, config),
              compiled->kernel.instructions.size(), compiled->kernel.uops.size(),
              compiled->schedule);
    layers.push_back(LayerJson(entry, *compiled));
  }
  if (layers.empty() && refused) return *refused;
  Json manifest = {{"network", network->name},      {"config", config.name},
                   {"config_id", ConfigId(config)}, {"data_seed", context.options.seed},
                   {"shift", arguments.shift},      {"extrapolated", !config.IsDefaultSize()},
                   {"verified", arguments.verify},  {"total_cycles", total},
                   {"layers", std::move(layers)}};
  if (link) {
    Result<void> written = WritePrograms(*network, results, context.options.out, manifest);
    if (!written) return written;
  }
  context.output.SetAll(manifest);
  if (context.output.json()) return {};
  if (Result<void> shown = context.output.Show(table); !shown) return shown;
  return context.output.ShowText(fmt::format("\ntotal {} cycles on {}{}{}\n", WithThousands(total),
                                             config.name,
                                             arguments.verify ? ", outputs verified" : "",
                                             link ? ", written to " + context.options.out : ""));
}

Result<void> Run(const CompileArguments& arguments, Context& context) {
  if (arguments.network.name.empty() == arguments.batch.empty()) {
    return Error{.kind = ErrorKind::kUsage, .message = "give either a NETWORK or --batch ROWS"};
  }
  if (Result<void> valid = vta::Validate(arguments.timing); !valid) return valid;
  if (!arguments.batch.empty()) return CompileBatch(arguments, context);
  if (!context.options.out.empty()) {
    // Before the work: a folder that cannot be made should not cost a search.
    if (Result<void> made = MakeFolder(context.options.out); !made) return made;
  }
  return arguments.whole ? CompileWhole(arguments, context) : CompileNetwork(arguments, context);
}

}  // namespace

Result<vta::CompileOptions> CompileOptionsOf(const CompileArguments& arguments) {
  const Result<vta::Config> config = vta::LoadConfig(arguments.vta);
  if (!config) return config.error();
  vta::CompileOptions options = {
      .config = *config,
      .timing = arguments.timing,
      .schedule = arguments.schedule,
      .reference_only = arguments.generator.value_or("best") == "reference"};
  options.epilogue.shift = static_cast<int32_t>(arguments.shift);
  return options;
}

std::string ProgramFile(size_t index, const std::string& name) {
  std::string file = fmt::format("{:02}-", index + 1);
  for (const char c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '.' || c == '-';
    file += plain ? c : '_';
  }
  return file + ".vta";
}

Json TensorsJson(const vta::Kernel& kernel) {
  Json tensors = Json::array();
  for (const vta::Tensor& tensor : kernel.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"layout", tensor.layout},
                       {"address", tensor.address},
                       {"bytes", tensor.bytes}});
  }
  return tensors;
}

Result<void> WriteProgram(const std::string& folder, const std::string& file,
                          const vta::Program& program) {
  const std::string path = (std::filesystem::path(folder) / file).string();
  return WriteFileAtomically(path, vta::WriteContainer(program));
}

Result<void> WriteManifest(const std::string& folder, const Json& manifest) {
  const std::string path = (std::filesystem::path(folder) / "manifest.json").string();
  return WriteFileAtomically(path, ToText(manifest));
}

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
        "other kinds are listed as skipped. Programs hold random data from --seed, laid out as "
        "the\n"
        "manifest says (docs/vta.md).",
    .writes_out = true};

}  // namespace tessera
