// tessera cooptimize: one accelerator within a budget and a schedule for every layer, found
// together, with programs that run on it.
#include <fmt/format.h>

#include "tessera/cli/choices.h"
#include "tessera/cli/command.h"
#include "tessera/cli/network_argument.h"
#include "tessera/cli/run_output.h"
#include "tessera/cli/vta_arguments.h"
#include "tessera/cooptimize.h"
#include "tessera/part.h"
#include "tessera/runs.h"

namespace tessera {
namespace {

struct CooptimizeArguments {
  std::vector<std::string> networks;
  std::optional<std::string> layer;
  std::vector<std::string> bind;
  std::string objective{NameOf(coopt::CooptObjective::kThroughput, coopt::kCooptObjectiveNames)};
  std::string generator{NameOf(coopt::Generator::kBest, coopt::kGeneratorNames)};
  coopt::CooptimizeSettings settings;
  bool times = false;
};

std::vector<std::string> MethodsToOffer() { return coopt::CooptMethods().Names(); }

std::vector<Flag> BudgetFlags(CooptimizeArguments& arguments) {
  coopt::HardwareLimits& limits = arguments.settings.limits;
  return {
      {.name = "--budget-macs",
       .target = &limits.macs,
       .help = "multipliers that the matrix unit may have, or PEs",
       .value = "N",
       .least = 16,
       .most = coopt::kMostMacs},
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
      {.name = "--limit-penalty",
       .target = &arguments.settings.limit_penalty,
       .help = "limits on SRAM, area and power do not exclude: they raise the objective by this "
               "weight times the relative excess; 0: they exclude",
       .value = "W",
       .least = 0},
      {.name = "--max-batch",
       .target = &limits.max_batch,
       .help = "images that the matrix unit may work on at once; RTL exists for 1",
       .value = "N",
       .least = 1,
       .most = coopt::kMostBatch}};
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
       .target = &arguments.settings.method,
       .help = "with settings as in autotvm:features=knob; exhaustive measures everything",
       .value = "NAME",
       .choices = MethodsToOffer},
      {.name = "--measurements",
       .target = &arguments.settings.measurements,
       .help = "simulated (hardware, layer, schedule) per layer",
       .value = "N",
       .least = 1,
       .most = coopt::kMostMeasurements},
      {.name = "--measurement-seconds",
       .target = &arguments.settings.measurement_seconds,
       .help = "what a measurement would take on a real device; added to the reported time",
       .value = "S",
       .least = 0},
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
       .target = &arguments.settings.hardware,
       .help = "keep this hardware, whatever the budget: default, a preset, an id or a file",
       .value = "CONFIG"},
      {.name = "--clock",
       .target = &arguments.settings.clock_mhz,
       .help = "clock of the accelerator in MHz",
       .value = "MHZ",
       .least = coopt::kLeastClockMhz,
       .most = coopt::kMostClockMhz},
      {.name = "--policy",
       .target = &arguments.settings.policy,
       .help = "method dcoc: a run, or its policies.safetensors, whose agents act here without "
               "learning, with the cost model that they had (dcoc:tune=true: they go on learning)",
       .value = "RUN"},
      {.name = "--as-published",
       .target = &arguments.settings.as_published,
       .help = "points without a program are not filtered out and cost a measurement"},
      {.name = "--target",
       .target = &arguments.settings.target,
       .help = "VTA and its simulator, or PE arrays and model maestro",
       .value = "NAME",
       .choices = coopt::TargetNames,
       .closed = true},
      {.name = "--times",
       .target = &arguments.times,
       .help = "with --json: also 'times', processor seconds of search and of measuring, which "
               "differ from call to call"}};
  for (const Flag& flag : BudgetFlags(arguments)) flags.push_back(flag);
  for (const Flag& flag : TimingFlags(arguments.settings.timing)) flags.push_back(flag);
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

Result<coopt::CooptimizeSettings> SettingsOf(const CooptimizeArguments& arguments) {
  coopt::CooptimizeSettings settings = arguments.settings;
  const Result<coopt::CooptObjective> objective = coopt::FindCooptObjective(arguments.objective);
  if (!objective) return objective.error();
  const Result<coopt::Generator> generator = coopt::FindGenerator(arguments.generator);
  if (!generator) return generator.error();
  settings.objective = *objective;
  settings.generator = *generator;
  return settings;
}

Result<void> Run(const CooptimizeArguments& arguments, Context& context) {
  context.show_times = arguments.times;
  Result<std::vector<Network>> networks = LoadNetworks(arguments);
  if (!networks) return networks.error();
  const Result<coopt::CooptimizeSettings> settings = SettingsOf(arguments);
  if (!settings) return settings.error();
  Result<coopt::CooptimizeJob> job = coopt::MakeCooptimizeJob(
      *settings, static_cast<uint64_t>(context.options.seed), *std::move(networks));
  if (!job) return job.error();
  if (context.options.out.empty()) {
    return ShowRun(coopt::kCooptimizeRun,
                   RunCooptimize(*std::move(job), nullptr, RunContextOf(context)), context);
  }
  Result<RunDirectory> directory =
      coopt::CreateCooptimizeRun(context.options.out, *job, context.origin);
  if (!directory) return directory.error();
  const Result<std::unique_ptr<RunResult>> result = ContinueRun(*directory, context);
  if (!result) return result.error();
  return context.output.ShowText(fmt::format("written to {}\n", directory->path()));
}

}  // namespace

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
         {"tessera cooptimize resnet18 --budget-macs 256 --generator reference --policy run "
          "--measurements 4",
          "agents that were trained on other networks, four measurements per layer"},
         {"tessera cooptimize mobilenet-v2 --target maestro --budget-macs 256 --budget-area 300000",
          "PEs and buffer sizes of an array, with the mapping of every layer"}},
    .bind = Bind<CooptimizeArguments, Flags, Run>,
    .details =
        "Writes vta_config.json, one verified program per layer, result.json and report.html into\n"
        "--out, and a journal from which 'tessera resume' goes on after any interruption. Methods "
        "and\n"
        "their settings are in docs/cooptimize.md. --layer takes the layer out of every network "
        "given.",
    .writes_out = true};

}  // namespace tessera
