// tessera map: the best mapping of every layer of a network.
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/batch.h"
#include "tessera/cli/choices.h"
#include "tessera/cli/command.h"
#include "tessera/cli/map_arguments.h"
#include "tessera/cli/map_budget.h"
#include "tessera/cli/map_fronts.h"
#include "tessera/cli/run_output.h"
#include "tessera/cli/training.h"
#include "tessera/map.h"
#include "tessera/part.h"
#include "tessera/report/advice_report.h"
#include "tessera/report/map_report.h"
#include "tessera/report/space_report.h"
#include "tessera/runs.h"

namespace tessera {
namespace {

struct MapArguments {
  ProblemArguments problem;
  std::optional<std::string> method;
  std::vector<std::string> set;
  std::optional<int64_t> agents;
  std::optional<std::string> assignment;
  MapBudget budget;
  std::string factors{NameOf(Factors::kPerfect, kFactorsNames)};
  std::string inter_layer{NameOf(InterLayer::kNone, kInterLayerNames)};
  std::string within;  // a percentage or a part
  std::string batch;   // a file of rows
  int64_t audit = 0;
  bool dry_run = false, explain_method = false;
  std::string device = "cpu";
};

// Fronts are for this command alone.
constexpr std::string_view kPareto = "pareto";

std::vector<std::string> MapObjectives() {
  std::vector<std::string> names(kObjectiveNames.begin(), kObjectiveNames.end());
  names.emplace_back(kPareto);
  return names;
}

// Names of objectives, or pareto alone.
Result<void> CheckObjectives(const std::string& text) {
  const std::vector<std::string> objectives = MapObjectives();
  const std::vector<std::string_view> names(objectives.begin(), objectives.end());
  for (const std::string_view name : Split(text, ',')) {
    if (const auto known = FindPosition("objective", name, names); !known) return known.error();
    if (name == kPareto && text != kPareto) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = "pareto is an objective of its own",
                   .hint = "leave out the others"};
    }
  }
  return {};
}

Flag DeviceFlag(std::string& device) {
  Flag flag = MakeDeviceFlag(device);
  flag.help = "what prices the mappings that a search tries: cpu or cuda, to the same result";
  return flag;
}

std::vector<Flag> Flags(MapArguments& arguments) {
  MapSettings& settings = arguments.problem.settings;
  std::vector<Flag> flags = ProblemFlags(arguments.problem);
  // A file of rows names its own problems and machines.
  for (Flag& flag : flags) {
    if (flag.name == "NETWORK" || flag.name == "--accelerator") flag.required = false;
    if (flag.name == "--objective") flag.choices = MapObjectives;
  }
  const std::vector<Flag> more = {
      {.name = "--batch",
       .target = &arguments.batch,
       .help = "method exact: a file with one problem per line (docs/optimality.md), instead of "
               "NETWORK and --accelerator",
       .value = "ROWS"},
      PointsFlag(settings),
      {.name = "--audit",
       .target = &arguments.audit,
       .help = "with a file of rows: check so many random mappings per pruning rule",
       .value = "N",
       .least = 0},
      {.name = "--method",
       .target = &arguments.method,
       .help =
           "search method (tessera list methods); auto: search, then proof; exact: proof alone; "
           "default: auto where there are proofs, otherwise marl-table",
       .value = "METHOD",
       .choices = [] { return MapMethods().Names(); }},
      {.name = "--policy",
       .target = &settings.policy,
       .help = "policy that method policy acts by, and that gives methods auto, exact and team "
               "their first mappings: default, none, a name (tessera list policies) or a file "
               "(default: default for methods policy and auto, otherwise none)",
       .value = "POLICY"},
      {.name = "--factors",
       .target = &arguments.factors,
       .help = "methods auto and exact: perfect (factors divide sizes), or any (the last iteration "
               "may have less to do)",
       .value = "WHICH",
       .choices = AsChoices<kFactorsNames>},
      {.name = "--inter-layer",
       .target = &arguments.inter_layer,
       .help = "methods auto and exact, networks with a graph: none (each layer by itself), homes "
               "(tensors may stay on chip), or slices (and chains run slice by slice)",
       .value = "WHICH",
       .choices = AsChoices<kInterLayerNames>},
      {.name = "--within",
       .target = &arguments.within,
       .help = "methods auto and exact: the first objective may be this much above its least value "
               "for the second to be less: 1%",
       .value = "PART"},
      {.name = "--set",
       .target = &arguments.set,
       .help = "a setting of the method",
       .value = "NAME=VALUE"},
      {.name = "--agents",
       .target = &arguments.agents,
       .help = "agents of methods marl and marl-table; decisions are grouped by correlation",
       .value = "B"},
      {.name = "--assignment",
       .target = &arguments.assignment,
       .help = "file of tessera assign that says which agent decides what",
       .value = "FILE"},
      DeviceFlag(arguments.device),
      {.name = "--dry-run",
       .target = &arguments.dry_run,
       .help = "show the spaces: sizes, every decision with its values, what constraints leave of "
               "them; search nothing"},
      {.name = "--explain-method",
       .target = &arguments.explain_method,
       .help = "say which method and budget this problem is worth, and why, from measured curves; "
               "search nothing"}};
  for (const std::vector<Flag>& group : {MapBudgetFlags(arguments.budget, settings), more}) {
    flags.insert(flags.end(), group.begin(), group.end());
  }
  return flags;
}

// The method with everything that flags say about it; none if they say nothing.
Result<std::optional<MapMethod>> MethodOf(const MapArguments& arguments) {
  std::string settings;
  for (const std::string& setting : arguments.set) settings += ":" + setting;
  if (arguments.agents) settings += fmt::format(":agents={}", *arguments.agents);
  if (arguments.assignment) settings += ":assignment=" + *arguments.assignment;
  if (!arguments.method && settings.empty()) return std::optional<MapMethod>();
  // Settings without a method are those of the default search.
  const std::string name = arguments.method ? *arguments.method : DefaultSearch().ToString();
  Result<MapMethod> method = ParseMapMethod(name + settings);
  if (!method) return method.error();
  return std::optional(*std::move(method));
}

// "1%" or "0.01".
Result<double> ParsePart(const std::string& text) {
  const bool percent = text.ends_with('%');
  const Result<double> number =
      ParseDouble(std::string_view(text).substr(0, text.size() - percent));
  if (!number || !(*number >= 0)) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("--within is {}, but must be a part such as 1% or 0.01",
                                        Quoted(text))};
  }
  return percent ? *number / 100 : *number;
}

Result<void> ShowSpaces(const MapJob& job, Context& context) {
  const Result<std::vector<SpaceSize>> sizes =
      SpaceSizes(job, static_cast<int>(context.options.threads));
  if (!sizes) return sizes.error();
  context.output.Set("space", DescribeSpace(job));
  context.output.Set("layers", SpacesJson(job, *sizes));
  return context.output.ShowText(SpacesText(job, *sizes));
}

Result<void> ShowAdvice(const MapJob& job, Context& context) {
  const Result<AdviceView> advice = AdviceFor(job);
  if (!advice) return advice.error();
  context.output.Set("advice", advice->json);
  return context.output.ShowText(advice->text);
}

// --batch.
Result<void> RunRows(const MapArguments& arguments, const std::optional<MapMethod>& method,
                     Context& context) {
  if (!method || method->proof != ProofUse::kAlone) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = "--batch is for --method exact",
                 .hint = "--points says how many points a method is asked for at a time"};
  }
  const Result<CostModelChoice> model =
      arguments.problem.model_settings.Choose(arguments.problem.model, *CostModels().front());
  if (!model) return model.error();
  const MapSettings settings{.model = *model, .method = *method};
  if (Result<void> provable = CheckProvable(settings); !provable) return provable;
  const ExactRowOptions options{.semantics = *(*model)->semantics(),
                                .time_limit_seconds = arguments.budget.seconds.value_or(0),
                                .audit = arguments.audit,
                                .seed = static_cast<uint64_t>(context.options.seed)};
  return AnswerLines(
      arguments.batch,
      [&](std::string_view line, const Where& where) {
        return AnswerExactRow(line, where, options);
      },
      context);
}

Result<void> RequireInputs(const ProblemArguments& problem) {
  for (const auto& [value, name] : {std::pair(&problem.network.name, "NETWORK"),
                                    std::pair(&problem.accelerator, "--accelerator")}) {
    if (!value->empty()) continue;
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("{} is missing", name),
                 .hint = "see 'tessera map --help'"};
  }
  return {};
}

// The job of the arguments; `pareto`: of the points of fronts.
Result<MapJob> MakeJob(const MapArguments& arguments, std::optional<MapMethod> method, bool pareto,
                       Context& context) {
  const auto factors = FindName<Factors>("factors", arguments.factors, kFactorsNames);
  if (!factors) return factors.error();
  ProblemArguments problem = arguments.problem;
  if (pareto) {
    Result<MapMethod> front = FrontMethod(method, *factors);
    if (!front) return front.error();
    method = *std::move(front);
    problem.objective = ToString(Objective::kEnergy);
  }
  Result<MapInputs> inputs = LoadInputs(problem, context);
  if (!inputs) return inputs.error();
  inputs->settings.factors = *factors;
  const auto inter_layer =
      FindName<InterLayer>("inter-layer mapping", arguments.inter_layer, kInterLayerNames);
  if (!inter_layer) return inter_layer.error();
  if (pareto && *inter_layer != InterLayer::kNone) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = "objective pareto is about single layers",
                 .hint = "leave out --inter-layer"};
  }
  inputs->settings.inter_layer = *inter_layer;
  if (!arguments.within.empty()) {
    const Result<double> within = ParsePart(arguments.within);
    if (!within) return within.error();
    inputs->settings.within = *within;
  }
  if (Result<void> set = SetMapBudget(arguments.budget, method, inputs->settings); !set) {
    return set.error();
  }
  return MakeMapJob(inputs->settings, std::move(inputs->network), std::move(inputs->accelerator));
}

Result<void> Run(const MapArguments& arguments, Context& context) {
  Result<std::optional<MapMethod>> method = MethodOf(arguments);
  if (!method) return method.error();
  if (!arguments.batch.empty()) return RunRows(arguments, *method, context);
  if (Result<void> given = RequireInputs(arguments.problem); !given) return given;
  if (const auto known = CheckObjectives(arguments.problem.objective); !known) {
    return known.error();
  }
  const bool pareto = arguments.problem.objective == kPareto;
  const Result<MapJob> job = MakeJob(arguments, *std::move(method), pareto, context);
  if (!job) return job.error();
  const Device device = DeviceOf(arguments.device);
  if (Result<void> can = CheckMapDevice(*job, device); !can) return can;
  if (pareto && !arguments.dry_run && !arguments.explain_method) return MapFronts(*job, context);
  if (arguments.dry_run) return ShowSpaces(*job, context);
  if (arguments.explain_method) return ShowAdvice(*job, context);
  if (context.options.out.empty()) {
    return ShowRun(kMapRun, RunMap(*job, nullptr, RunContextOf(context, device)), context);
  }
  Result<RunDirectory> directory = CreateMapRun(context.options.out, *job, context.origin);
  if (!directory) return directory.error();
  const Result<std::unique_ptr<RunResult>> result = ContinueRun(*directory, context, device);
  return result ? Result<void>() : result.error();
}

}  // namespace

extern const Command kMapCommand = {
    .name = "map",
    .summary = "the best mapping of every layer of a network",
    .examples =
        {{"tessera map resnet18 --accelerator eyeriss-256",
          "all layers, default settings: search and proofs for less than a minute"},
         {"tessera map vgg16 --layer 2 --accelerator nvdla --objective edp --samples 5000",
          "one layer, another objective, fewer evaluations"},
         {"tessera map resnet18-gamma --accelerator maestro-256 --method ga --set population=100",
          "another method with a setting"},
         {"tessera map bert-base --accelerator simba --out runs/bert",
          "a run with journal, mappings and report; continue it with tessera resume"},
         {"tessera map alexnet --accelerator eyeriss-256 --objective edp --explain-method",
          "which method and budget this is worth, and why"},
         {"tessera map alexnet --accelerator eyeriss-256 --dry-run",
          "the spaces: their sizes, and every decision with its values"},
         {"tessera map alexnet --accelerator eyeriss-256 --objective energy --samples 1000",
          "search, then proofs, without a clock: the same result on every machine"},
         {"tessera map alexnet --layer 5 --accelerator simple3 --objective pareto",
          "which mappings trade cycles against energy"},
         {"tessera map resnet18 --accelerator eyeriss-256 --objective energy --inter-layer slices",
          "which tensors stay on chip, and what runs slice by slice"},
         {"tessera map resnet18 --accelerator simple3 --method ga --points 4096 --device cuda",
          "mappings priced on a graphics processor, many at a time"},
         {"tessera map --method exact --batch rows.jsonl --semantics timeloop3",
          "proved optima of many small problems, for scripts"}},
    .bind = Bind<MapArguments, Flags, Run>,
    .details =
        "Equal layers are mapped once. Methods auto and exact end after 55 s unless --samples,\n"
        "--time-limit or a --proof option says otherwise; a limit of seconds makes results depend\n"
        "on the machine. Otherwise they depend on seed and samples, not on threads. With\n"
        "--out every evaluation is journalled; Ctrl-C ends the run with what it has, and\n"
        "'tessera resume' finishes it with the same result as without interruption.\n",
    .writes_out = true};

}  // namespace tessera
