// tessera cooptimize: one accelerator within a budget and a schedule for every layer, found
// together, with programs that run on it.
#include "tessera/cli/cooptimize.h"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/choices.h"
#include "tessera/cli/command.h"
#include "tessera/cli/cooptimize_run.h"
#include "tessera/cli/network_argument.h"
#include "tessera/cli/saved_flags.h"
#include "tessera/cli/vta_arguments.h"
#include "tessera/coopt/exhaustive.h"
#include "tessera/coopt/methods.h"
#include "tessera/coopt/targets.h"

namespace tessera {
namespace {

struct CooptimizeArguments {
  std::vector<std::string> networks;
  std::optional<std::string> layer;
  std::vector<std::string> bind;
  std::string target{coopt::Targets().front()->name};
  std::string method = "dcoc";
  std::string objective = "throughput";
  std::string generator = "best";
  std::optional<std::string> hardware;
  coopt::HardwareLimits limits;
  int64_t measurements = 1'000;
  double clock_mhz = 100;
  vta::TimingParameters timing;
  bool as_published = false;
};

std::vector<std::string> MethodsToOffer() { return coopt::CooptMethods().Names(); }

std::vector<Flag> BudgetFlags(CooptimizeArguments& arguments) {
  coopt::HardwareLimits& limits = arguments.limits;
  return {{.name = "--budget-macs",
           .target = &limits.macs,
           .help = "multipliers that the matrix unit may have, or PEs",
           .value = "N",
           .least = 16,
           .most = 65'536},
          {.name = "--budget-sram",
           .target = &limits.sram_bytes,
           .help = "bytes that all buffers may have; 0: no limit",
           .value = "BYTES",
           .least = 0},
          {.name = "--budget-area",
           .target = &limits.area_um2,
           .help = "area of multipliers (PEs) and buffers; 0: no limit",
           .value = "UM2",
           .least = 0},
          {.name = "--budget-power",
           .target = &limits.sram_power_mw,
           .help = "peak power of the buffers by the table in docs/cooptimize.md; 0: no limit",
           .value = "MW",
           .least = 0},
          {.name = "--max-batch",
           .target = &limits.max_batch,
           .help = "images that the matrix unit may work on at once; RTL exists for 1",
           .value = "N",
           .least = 1,
           .most = 8}};
}

std::vector<Flag> Flags(CooptimizeArguments& arguments) {
  std::vector<Flag> flags = {
      {.name = "NETWORK",
       .target = &arguments.networks,
       .help = "zoo names or network files; several share one accelerator",
       .required = true,
       .choices = ZooNames},
      {.name = "--layer",
       .target = &arguments.layer,
       .help = "only this layer: its name, or its number from 1",
       .value = "L"},
      BindFlag(arguments.bind),
      {.name = "--method",
       .target = &arguments.method,
       .help = "with settings as in autotvm:features=knob; exhaustive measures everything",
       .value = "NAME",
       .choices = MethodsToOffer},
      {.name = "--measurements",
       .target = &arguments.measurements,
       .help = "simulated (hardware, layer, schedule) per layer",
       .value = "N",
       .least = 1,
       .most = 1e9},
      {.name = "--objective",
       .target = &arguments.objective,
       .help = "cycles per image, cycles per batch, or energy times cycles",
       .value = "NAME",
       .choices = AsChoices<coopt::kCooptObjectiveNames>,
       .closed = true},
      {.name = "--generator",
       .target = &arguments.generator,
       .help = "of programs: the improved one, or the reference template",
       .value = "NAME",
       .choices = AsChoices<coopt::kGeneratorNames>,
       .closed = true},
      {.name = "--hardware",
       .target = &arguments.hardware,
       .help = "keep this hardware, whatever the budget: default, a preset, an id or a file",
       .value = "CONFIG"},
      {.name = "--clock",
       .target = &arguments.clock_mhz,
       .help = "clock of the accelerator in MHz",
       .value = "MHZ",
       .least = 1e-3,
       .most = 1e6},
      {.name = "--as-published",
       .target = &arguments.as_published,
       .help = "points without a program are not filtered out and cost a measurement"},
      {.name = "--target",
       .target = &arguments.target,
       .help = "VTA and its simulator, or PE arrays and model maestro",
       .value = "NAME",
       .choices = coopt::TargetNames,
       .closed = true}};
  for (const Flag& flag : BudgetFlags(arguments)) flags.push_back(flag);
  for (const Flag& flag : TimingFlags(arguments.timing)) flags.push_back(flag);
  return flags;
}

Result<std::vector<Network>> LoadNetworks(const CooptimizeArguments& arguments) {
  std::vector<Network> networks;
  for (const std::string& name : arguments.networks) {
    Result<Network> network =
        Load({.name = name, .bind = arguments.bind, .layer = arguments.layer});
    if (!network) return network.error();
    networks.push_back(*std::move(network));
  }
  return networks;
}

// All that the measurements depend on, in one line.
std::string Settings(const CooptimizeArguments& arguments, const coopt::CooptProblem& problem,
                     uint64_t seed) {
  const coopt::HardwareLimits& limits = arguments.limits;
  const vta::TimingParameters& t = arguments.timing;
  std::string text = fmt::format(
      "target={} method={} seed={} measurements={} generator={} objective={} hardware={} macs={} "
      "sram={} area={} power={} batch={} clock={} published={} timing={},{},{},{},{},{}",
      arguments.target, arguments.method, seed, arguments.measurements, arguments.generator,
      arguments.objective, problem.hardware().fixed() ? problem.hardware().Name(0) : "any",
      limits.macs, limits.sram_bytes, limits.area_um2, limits.sram_power_mw, limits.max_batch,
      arguments.clock_mhz, arguments.as_published, t.read_delay_cycles, t.beat_gap_cycles,
      t.write_ack_delay_cycles, t.bus_bytes, t.gemm_startup_cycles, t.alu_startup_cycles);
  for (const coopt::TaskLayer& layer : problem.layers()) {
    text += fmt::format(" {}x{}", layer.count, ToString(layer.layer));
  }
  return text;
}

Result<coopt::CooptOptions> OptionsOf(const CooptimizeArguments& arguments,
                                      const MethodChoice& method, const coopt::TargetInfo& target) {
  if (Result<void> valid = vta::Validate(arguments.timing); !valid) return valid.error();
  const Result<coopt::CooptObjective> objective = coopt::FindCooptObjective(arguments.objective);
  if (!objective) return objective.error();
  const Result<coopt::Generator> generator = coopt::FindGenerator(arguments.generator);
  if (!generator) return generator.error();
  const auto refuse = [&](std::string_view why, std::string_view hint) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("--method {} {}", method.method->name, why),
                 .hint = std::string(hint)};
  };
  if (method.method->proves) {
    if (!target.has_bounds) {
      const std::string names = coopt::TargetsWith(&coopt::TargetInfo::has_bounds);
      return refuse(fmt::format("is for --target {}", names), "");
    }
    if (*objective == coopt::CooptObjective::kEdpProxy) {
      return refuse("has no bound for --objective edp-proxy", "use throughput or latency");
    }
  }
  return coopt::CooptOptions{.generator = *generator,
                             .objective = *objective,
                             .timing = arguments.timing,
                             .clock_mhz = arguments.clock_mhz};
}

// `directory`: of a run that goes on.
Result<void> RunIn(const CooptimizeArguments& arguments, uint64_t seed,
                   std::optional<RunDirectory> directory, Context& context) {
  Result<MethodChoice> method = ParseMethodChoice(arguments.method, coopt::CooptMethods());
  if (!method) return method.error();
  const bool proves = method->method->proves;
  const Result<const coopt::TargetInfo*> info = coopt::FindTarget(arguments.target);
  if (!info) return info.error();
  const Result<coopt::CooptOptions> options = OptionsOf(arguments, *method, **info);
  if (!options) return options.error();
  const Result<std::vector<Network>> networks = LoadNetworks(arguments);
  if (!networks) return networks.error();
  Result<coopt::TaskList> tasks = (*info)->tasks(*networks);
  if (!tasks) return tasks.error();
  coopt::HardwareLimits limits = arguments.limits;
  limits.clock_mhz = arguments.clock_mhz;
  const Result<coopt::TargetPointer> target = coopt::MakeTarget(**info, limits, arguments.hardware);
  if (!target) return target.error();
  coopt::CooptProblem problem(std::move(tasks->layers), *target, *options);
  if (proves) {
    if (Result<void> walks = CheckSize(problem, (*target)->LargestBuffers()); !walks) {
      Error error = walks.error();
      error.hint = "use --generator reference, or a --layer with few schedules and --hardware";
      return error;
    }
  }
  CooptimizeSettings settings = {.network = {},
                                 .method = *std::move(method),
                                 .seed = seed,
                                 .measurements = arguments.measurements,
                                 .validity_filter = !arguments.as_published,
                                 .text = Settings(arguments, problem, seed)};
  for (const Network& network : *networks) {
    settings.network += (settings.network.empty() ? "" : "+") + network.name;
  }
  if (!directory && !context.options.out.empty()) {
    Result<RunDirectory> made = RunDirectory::Create(context.options.out);
    if (!made) return made.error();
    directory.emplace(*std::move(made));
    CooptimizeArguments saved = arguments;
    // Files are found again from anywhere.
    for (std::string& name : saved.networks) {
      if (std::filesystem::exists(name)) name = std::filesystem::absolute(name).string();
    }
    if (saved.hardware && std::filesystem::exists(*saved.hardware)) {
      saved.hardware = std::filesystem::absolute(*saved.hardware).string();
    }
    const Json json = {
        {"command", kCooptimizeRun}, {"seed", seed}, {"flags", SaveFlags(Flags(saved))}};
    if (Result<void> ok = directory->Write("run.json", ToText(json)); !ok) return ok;
  }
  return CooptimizeRun(std::move(settings), std::move(tasks->left_out), std::move(problem),
                       std::move(directory), context)
      .Execute();
}

Result<void> Run(const CooptimizeArguments& arguments, Context& context) {
  return RunIn(arguments, static_cast<uint64_t>(context.options.seed), std::nullopt, context);
}

}  // namespace

Result<void> ResumeCooptimize(const Json& settings, RunDirectory directory, Context& context) {
  const std::string file = directory.File("run.json");
  CooptimizeArguments arguments;
  const bool whole = settings.contains("seed") && settings["seed"].is_number_unsigned() &&
                     settings.contains("flags") && settings["flags"].is_object();
  Result<void> restored =
      whole ? RestoreFlags(settings["flags"], Flags(arguments))
            : Error{.kind = ErrorKind::kBadValue, .message = "no seed and flags of a run"};
  if (!restored) {
    Error error = restored.error();
    error.where = {file, 0, 0};
    return error;
  }
  return RunIn(arguments, settings["seed"].get<uint64_t>(), std::move(directory), context);
}

extern const Command kCooptimizeCommand = {
    .name = "cooptimize",
    .summary = "hardware within a budget and schedules, found together",
    .examples =
        {{"tessera cooptimize resnet18 --budget-macs 256 --measurements 100 --out run",
          "an accelerator, programs for all layers, a report"},
         {"tessera cooptimize resnet18 --hardware default --generator reference --measurements 60",
          "schedules only, on the published design"},
         {"tessera cooptimize resnet18 vgg11 --budget-macs 1024 --budget-sram 2097152",
          "one accelerator for two networks"},
         {"tessera cooptimize resnet18 --layer 3 --hardware default --generator reference --method "
          "exhaustive",
          "the best schedule of a layer"},
         {"tessera cooptimize resnet18 --method autotvm:features=knob --as-published",
          "a baseline without the validity filter"},
         {"tessera cooptimize mobilenet-v2 --target maestro --budget-macs 256 --budget-area 300000",
          "PEs and buffer sizes of an array, with the mapping of every layer"}},
    .bind = Bind<CooptimizeArguments, Flags, Run>,
    .details =
        "Writes vta_config.json, one verified program per layer, manifest.json and report.html "
        "into\n"
        "--out, and a journal from which 'tessera resume' goes on after any interruption. Methods "
        "and\n"
        "their settings are in docs/cooptimize.md. --layer takes the layer out of every network "
        "given.",
    .writes_out = true};

}  // namespace tessera
