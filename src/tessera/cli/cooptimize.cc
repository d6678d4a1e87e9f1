// tessera cooptimize: one accelerator within a budget and a schedule for every layer, found
// together, with programs that run on it.
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/base/thread_pool.h"
#include "tessera/cli/command.h"
#include "tessera/cli/network_argument.h"
#include "tessera/cli/vta_arguments.h"
#include "tessera/coopt/emit.h"
#include "tessera/coopt/exhaustive.h"
#include "tessera/coopt/journal.h"
#include "tessera/coopt/session.h"
#include "tessera/report/coopt_report.h"

namespace tessera {
namespace {

constexpr std::string_view kExhaustive = "exhaustive";

struct CooptimizeArguments {
  std::vector<std::string> networks;
  std::optional<std::string> layer;
  std::vector<std::string> bind;
  std::string method = "dcoc";
  std::string objective = "throughput";
  std::string generator = "best";
  std::optional<std::string> hardware;
  coopt::HardwareLimits limits;
  int64_t measurements = 1'000;
  double clock_mhz = 100;
  vta::TimingParameters timing;
  bool as_published = false;
  bool resume = false;
};

template <size_t kCount>
std::vector<std::string> Names(const std::array<std::string_view, kCount>& names) {
  return {names.begin(), names.end()};
}
std::vector<std::string> Objectives() { return Names(coopt::kObjectiveNames); }
std::vector<std::string> Generators() { return Names(coopt::kGeneratorNames); }
std::vector<std::string> MethodsToOffer() {
  std::vector<std::string> names = coopt::MethodNames();
  names.emplace_back(kExhaustive);
  return names;
}

std::vector<Flag> BudgetFlags(CooptimizeArguments& arguments) {
  coopt::HardwareLimits& limits = arguments.limits;
  return {{.name = "--budget-macs",
           .target = &limits.macs,
           .help = "multipliers that the matrix unit may have",
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
           .help = "area of multipliers and buffers; 0: no limit",
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
       .choices = Objectives,
       .closed = true},
      {.name = "--generator",
       .target = &arguments.generator,
       .help = "of programs: the improved one, or the reference template",
       .value = "NAME",
       .choices = Generators,
       .closed = true},
      {.name = "--hardware",
       .target = &arguments.hardware,
       .help = "keep this hardware: default, a preset, an id, or a vta_config.json",
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
      {.name = "--resume",
       .target = &arguments.resume,
       .help = "go on with the run in --out, started by the same command line"}};
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

Result<coopt::HardwareSpace> Hardware(const CooptimizeArguments& arguments) {
  if (!arguments.hardware) {
    coopt::HardwareLimits limits = arguments.limits;
    limits.clock_mhz = arguments.clock_mhz;
    return coopt::HardwareSpace::Make(limits);
  }
  const Result<vta::Config> config =
      *arguments.hardware == "default" ? vta::Config{} : vta::LoadConfig(*arguments.hardware);
  if (!config) return config.error();
  return coopt::HardwareSpace::Fixed(*config);
}

// All that the measurements depend on, in one line.
std::string Settings(const CooptimizeArguments& arguments, const coopt::Problem& problem,
                     int64_t seed) {
  const coopt::HardwareLimits& limits = arguments.limits;
  const vta::TimingParameters& t = arguments.timing;
  std::string text = fmt::format(
      "method={} seed={} measurements={} generator={} objective={} hardware={} macs={} sram={} "
      "area={} power={} batch={} clock={} published={} timing={},{},{},{},{},{}",
      arguments.method, seed, arguments.measurements, arguments.generator, arguments.objective,
      problem.hardware().fixed() ? vta::ConfigId(problem.hardware().config(0)) : "any", limits.macs,
      limits.sram_bytes, limits.area_um2, limits.sram_power_mw, limits.max_batch,
      arguments.clock_mhz, arguments.as_published, t.read_delay_cycles, t.beat_gap_cycles,
      t.write_ack_delay_cycles, t.bus_bytes, t.gemm_startup_cycles, t.alu_startup_cycles);
  for (const coopt::TaskLayer& layer : problem.layers()) {
    text += fmt::format(" {}x{}", layer.count, ToString(layer.layer));
  }
  return text;
}

class CooptimizeRun {
 public:
  CooptimizeRun(const CooptimizeArguments& arguments, const coopt::TaskList& tasks,
                coopt::HardwareSpace hardware, const coopt::ProblemOptions& options,
                std::string name, Context& context)
      : arguments_(arguments),
        context_(context),
        name_(std::move(name)),
        left_out_(tasks.left_out),
        folder_(context.options.out),
        problem_(tasks.layers, std::move(hardware), options),
        pool_(static_cast<int>(context.options.threads)),
        simulator_(problem_, pool_) {}

  Result<void> Execute() {
    if (Result<void> prepared = Prepare(); !prepared) return prepared;
    Result<coopt::SessionResult> result =
        arguments_.method == kExhaustive ? Exhaustive() : Search();
    if (!result) return result.error();
    if (result->best() == nullptr) {
      return Error{.kind = ErrorKind::kBudget,
                   .message = fmt::format("no accelerator has a schedule for every layer after {} "
                                          "measurements",
                                          result->measurements),
                   .hint = "allow more --measurements or a larger budget"};
    }
    return Show(*result);
  }

 private:
  std::string Path(std::string_view name) const {
    return (std::filesystem::path(folder_) / name).string();
  }

  // Opens the journal, after taking what an interrupted run left in it.
  Result<void> Prepare() {
    if (folder_.empty()) {
      if (!arguments_.resume) return {};
      return Error{.kind = ErrorKind::kUsage,
                   .message = "--resume needs the folder of the run",
                   .hint = "add --out DIR"};
    }
    if (Result<void> made = MakeFolder(folder_); !made) return made;
    const std::string path = Path("journal.txt");
    const std::string settings = Settings(arguments_, problem_, context_.options.seed);
    if (!arguments_.resume) {
      if (std::filesystem::exists(path)) {
        return Error{.kind = ErrorKind::kUsage,
                     .message = fmt::format("{} holds a run already", folder_),
                     .hint = "add --resume to go on with it, or choose another folder"};
      }
      Result<std::unique_ptr<coopt::Journal>> journal = coopt::Journal::Create(path, settings);
      if (!journal) return journal.error();
      journal_ = *std::move(journal);
      return {};
    }
    Result<coopt::JournalContents> contents = coopt::ReadJournal(path, settings, problem_);
    if (!contents) return contents.error();
    Result<std::unique_ptr<coopt::Journal>> journal = coopt::Journal::Open(path, contents->bytes);
    if (!journal) return journal.error();
    journal_ = *std::move(journal);
    recorded_ = std::move(contents->outcomes);
    context_.remark(fmt::format("resumed: {} measurements are there", recorded_.size()));
    return {};
  }

  Result<coopt::SessionResult> Search() {
    const Result<coopt::MethodChoice> method = coopt::ParseMethod(arguments_.method);
    if (!method) return method.error();
    const bool filter = !arguments_.as_published;
    Result<std::unique_ptr<coopt::Searcher>> searcher =
        method->Make({.problem = problem_,
                      .seed = static_cast<uint64_t>(context_.options.seed),
                      .measurements = arguments_.measurements,
                      .validity_filter = filter});
    if (!searcher) return searcher.error();
    const std::shared_ptr<ProgressObserver> progress =
        context_.start_progress({.name_heading = "layer", .samples_heading = "measurements"});
    coopt::SessionOptions options = {.measurements = arguments_.measurements,
                                     .validity_filter = filter,
                                     .recorded = &recorded_,
                                     .interrupted = context_.stopped};
    options.observe = [&](std::span<const coopt::Measured> fresh,
                          const coopt::SessionResult& result) -> Result<void> {
      Report(result, *progress);
      return journal_ ? journal_->Append(fresh) : Result<void>{};
    };
    Result<coopt::SessionResult> result = RunSession(**searcher, problem_, simulator_, options);
    if (result && result->interrupted) {
      context_.remark("interrupted: this is what was found so far");
    }
    return result;
  }

  // One row per layer and one for the network.
  void Report(const coopt::SessionResult& result, ProgressObserver& progress) const {
    const auto show = [&](ProgressRow row, bool done) {
      progress.OnProgress(done ? ProgressEvent::kDone : ProgressEvent::kAdvanced, row);
    };
    for (size_t i = 0; i < problem_.layers().size(); ++i) {
      ProgressRow row = {.name = problem_.layers()[i].name,
                         .samples = result.layer_measurements[i],
                         .budget = arguments_.measurements};
      if (!result.layer_curves[i].empty()) row.best = result.layer_curves[i].back().cycles;
      show(row, row.samples >= row.budget);
    }
    const int64_t budget = arguments_.measurements * std::ssize(problem_.layers());
    ProgressRow row = {.name = name_, .samples = result.measurements, .budget = budget};
    if (const coopt::HardwareScore* best = result.best()) {
      row.best = best->cycles;
      row.gap = best->value / problem_.FloorCycles(*result.hardware) - 1;
    }
    if (problem_.options().objective == coopt::Objective::kEdpProxy) row.gap.reset();
    show(row, row.samples >= budget);
  }

  Result<coopt::SessionResult> Exhaustive() {
    const Result<coopt::NetworkOptimum> optimum =
        BestOfNetwork(problem_, simulator_, problem_.hardware().LargestBuffers());
    if (!optimum) return optimum.error();
    coopt::SessionResult result;
    coopt::HardwareScore score;
    score.value = optimum->value;
    score.measured_layers = optimum->layers.size();
    for (size_t i = 0; i < optimum->layers.size(); ++i) {
      score.layers.push_back(optimum->layers[i]);
      score.cycles += static_cast<double>(problem_.layers()[i].count) *
                      static_cast<double>(optimum->layers[i].outcome.cycles) /
                      static_cast<double>(problem_.images(optimum->hardware));
    }
    result.hardware = optimum->hardware;
    result.measurements = optimum->measured;
    result.layer_measurements = optimum->layer_measured;
    result.curve.push_back({optimum->measured, score.value, score.cycles});
    result.scores.emplace(optimum->hardware, std::move(score));
    return result;
  }

  Result<void> Show(const coopt::SessionResult& result) {
    Json json = CooptJson({.network = name_,
                           .method = arguments_.method,
                           .seed = static_cast<uint64_t>(context_.options.seed),
                           .validity_filter = !arguments_.as_published},
                          problem_, simulator_, result, left_out_);
    for (const coopt::LeftOut& layer : left_out_) {
      context_.remark(fmt::format("not on VTA: {}: {}", layer.name, layer.why));
    }
    std::string text = ToText(CooptTable(problem_, simulator_, result));
    if (!problem_.hardware().fixed()) {
      text += "\n" + ToText(ParetoTable(problem_, result));
    }
    text += "\n" + CooptSummary(problem_, result);
    if (!folder_.empty()) {
      if (Result<void> written = WriteRun(result, text, json); !written) return written;
      text += fmt::format("written to {}\n", folder_);
    }
    context_.output.SetAll(std::move(json));
    return context_.output.ShowText(text);
  }

  Result<void> WriteRun(const coopt::SessionResult& result, const std::string& text, Json& json) {
    const vta::Config& config = problem_.hardware().config(*result.hardware);
    if (Result<void> ok = WriteFileAtomically(Path("vta_config.json"), vta::WriteConfig(config));
        !ok) {
      return ok;
    }
    for (size_t i = 0; i < problem_.layers().size(); ++i) {
      const coopt::Measured& best = *result.best()->layers[i];
      const Result<vta::Program> program = coopt::EmitProgram(
          problem_, simulator_, best, static_cast<uint64_t>(context_.options.seed));
      if (!program) return program.error();
      const std::string name =
          fmt::format("{:02}-{}.vta", i + 1, SafeFileName(problem_.layers()[i].name));
      if (Result<void> ok = WriteFileAtomically(Path(name), vta::WriteContainer(*program)); !ok) {
        return ok;
      }
      json["layers"][i]["program"] = name;
    }
    json["data_seed"] = context_.options.seed;
    json["verified"] = true;
    if (Result<void> ok = WriteFileAtomically(Path("report.txt"), text); !ok) return ok;
    return WriteFileAtomically(Path("manifest.json"), ToText(json));
  }

  const CooptimizeArguments& arguments_;
  Context& context_;
  const std::string name_;
  const std::vector<coopt::LeftOut> left_out_;
  const std::string folder_;
  coopt::Problem problem_;
  ThreadPool pool_;
  coopt::Simulator simulator_;
  std::unique_ptr<coopt::Journal> journal_;
  coopt::Outcomes recorded_;
};

Result<void> Run(const CooptimizeArguments& arguments, Context& context) {
  if (Result<void> valid = vta::Validate(arguments.timing); !valid) return valid;
  if (arguments.method != kExhaustive) {
    if (const Result<coopt::MethodChoice> method = coopt::ParseMethod(arguments.method); !method) {
      return method.error();
    }
  }
  const Result<coopt::Objective> objective = coopt::FindObjective(arguments.objective);
  if (!objective) return objective.error();
  const Result<coopt::Generator> generator = coopt::FindGenerator(arguments.generator);
  if (!generator) return generator.error();
  if (arguments.method == kExhaustive && *objective == coopt::Objective::kEdpProxy) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = "--method exhaustive has no bound for --objective edp-proxy",
                 .hint = "use throughput or latency"};
  }
  if (arguments.method == kExhaustive && *generator == coopt::Generator::kBest) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = "--method exhaustive cannot walk all schedules of --generator best",
                 .hint = "add --generator reference"};
  }
  const Result<std::vector<Network>> networks = LoadNetworks(arguments);
  if (!networks) return networks.error();
  const Result<coopt::TaskList> tasks = coopt::TasksOf(*networks);
  if (!tasks) return tasks.error();
  Result<coopt::HardwareSpace> hardware = Hardware(arguments);
  if (!hardware) return hardware.error();
  std::string name;
  for (const Network& network : *networks) name += (name.empty() ? "" : "+") + network.name;
  return CooptimizeRun(arguments, *tasks, *std::move(hardware),
                       {.generator = *generator,
                        .objective = *objective,
                        .timing = arguments.timing,
                        .clock_mhz = arguments.clock_mhz},
                       name, context)
      .Execute();
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
          "a baseline without the validity filter"}},
    .bind = Bind<CooptimizeArguments, Flags, Run>,
    .details =
        "Writes vta_config.json, one verified program per layer, manifest.json and report.txt "
        "into\n"
        "--out, and a journal from which --resume goes on after any interruption. Methods and "
        "their\n"
        "settings are in docs/cooptimize.md. --layer takes the layer out of every network given.",
    .writes_out = true};

}  // namespace tessera
