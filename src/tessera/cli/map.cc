// tessera map: the best mapping of every layer of a network.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/text.h"
#include "tessera/base/thread_pool.h"
#include "tessera/cli/command.h"
#include "tessera/cli/map_arguments.h"
#include "tessera/cli/map_budget.h"
#include "tessera/cli/map_exact_batch.h"
#include "tessera/cli/map_fronts.h"
#include "tessera/cli/run_output.h"
#include "tessera/mapper/map_network.h"
#include "tessera/mapper/methods.h"
#include "tessera/report/map_report.h"
#include "tessera/search/method.h"
#include "tessera/study/runs.h"

namespace tessera {
namespace {

struct MapArguments {
  ProblemArguments problem;
  std::optional<std::string> method;
  std::vector<std::string> set;
  std::optional<int64_t> agents;
  std::optional<std::string> assignment;
  MapBudget budget;
  std::string batch = "64";
  int64_t audit = 0;
  bool dry_run = false;
};

// Fronts are for this command alone.
std::vector<std::string> MapObjectives() {
  std::vector<std::string> names(kObjectiveNames.begin(), kObjectiveNames.end());
  names.push_back("pareto");
  return names;
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
       .help =
           "points that a method is asked for at a time; or, with method exact, a file with one "
           "problem per line (docs/optimality.md)",
       .value = "N|ROWS"},
      {.name = "--audit",
       .target = &arguments.audit,
       .help = "with a file of rows: check so many random mappings per pruning rule",
       .value = "N",
       .least = 0},
      {.name = "--method",
       .target = &arguments.method,
       .help =
           "search method (tessera list methods); auto: search, then proof; exact: proof alone; "
           "default: auto where there are proofs, otherwise marl",
       .value = "METHOD",
       .choices = [] { return MapMethods().Names(); }},
      {.name = "--factors",
       .target = &settings.factors,
       .help = "methods auto and exact: perfect (factors divide sizes), or any (the last iteration "
               "may have less to do; BOUNDED, never OPTIMAL)",
       .value = "WHICH",
       .choices =
           [] {
             return std::vector<std::string>{"perfect", "any"};
           }},
      {.name = "--set",
       .target = &arguments.set,
       .help = "a setting of the method; may be repeated",
       .value = "NAME=VALUE"},
      {.name = "--agents",
       .target = &arguments.agents,
       .help = "agents of method marl; decisions are grouped by correlation",
       .value = "B"},
      {.name = "--assignment",
       .target = &arguments.assignment,
       .help = "file of tessera assign that says which agent decides what",
       .value = "FILE"},
      {.name = "--dry-run",
       .target = &arguments.dry_run,
       .help = "show the spaces and their sizes, search nothing"}};
  for (const std::vector<Flag>& group : {MapBudgetFlags(arguments.budget, settings), more}) {
    flags.insert(flags.end(), group.begin(), group.end());
  }
  return flags;
}

// The method with everything that flags say about it; empty if they say nothing.
Result<std::string> MethodText(const MapArguments& arguments) {
  const bool settings = !arguments.set.empty() || arguments.agents || arguments.assignment;
  // Settings without a method are those of marl, as ever.
  std::string text = arguments.method.value_or(settings ? "marl" : "");
  if (settings && (text == "auto" || text == "exact")) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("method {} has no settings", text),
                 .hint = "--set, --agents and --assignment need a search method"};
  }
  for (const std::string& setting : arguments.set) text += ":" + setting;
  if (arguments.agents) text += fmt::format(":agents={}", *arguments.agents);
  if (arguments.assignment) text += ":assignment=" + *arguments.assignment;
  return text;
}

Result<void> ShowSpaces(const MapJob& job, Context& context) {
  const std::vector<NetworkLayer>& layers = job.network.layers;
  std::vector<SpaceSize> sizes(layers.size());
  std::vector<Result<void>> outcomes(layers.size());
  const auto measure = [&](size_t i) -> Result<void> {
    const Result<std::unique_ptr<MappingProblem>> problem =
        MappingProblem::Make(layers[i].layer, job.accelerator, job.settings.model, job.problem);
    if (!problem) return InLayer(layers[i].name, problem.error());
    const MappingSpace& space = (*problem)->space();
    sizes[i] = {.decisions = static_cast<int64_t>(space.open().size()),
                .log10_size = space.Log10Size()};
    return {};
  };
  ThreadPool pool(static_cast<int>(context.options.threads));
  pool.ParallelFor(std::ssize(layers), 1, [&](int64_t begin, int64_t /*end*/, int /*worker*/) {
    outcomes[static_cast<size_t>(begin)] = measure(static_cast<size_t>(begin));
  });
  for (const Result<void>& outcome : outcomes) {
    if (!outcome) return outcome;
  }
  return context.output.Show(SpaceTable(job, sizes), "layers");
}

// --batch with a file.
Result<void> RunRows(const MapArguments& arguments, Context& context) {
  if (arguments.method != "exact") {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("--batch is {}, but must be a number of points, at least 1",
                                        Quoted(arguments.batch)),
                 .hint = "files of problems need --method exact"};
  }
  const MapSettings& settings = arguments.problem.settings;
  const std::optional<loopnest::Semantics> semantics = loopnest::FindSemantics(settings.semantics);
  if (!semantics) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("unknown semantics {}", Quoted(settings.semantics)),
                 .hint = DidYouMean(settings.semantics, loopnest::kSemanticsNames)};
  }
  return MapExactBatch(arguments.batch,
                       {.semantics = *semantics,
                        .time_limit_seconds = arguments.budget.seconds.value_or(0),
                        .audit = arguments.audit},
                       context);
}

// Names that only this command has are among those that misspelt ones are compared with.
Result<void> CheckNames(const MapSettings& settings) {
  const std::string method = settings.method.substr(0, settings.method.find(':'));
  if (!method.empty()) {
    if (const auto found = MapMethods().Find(method); !found) return found.error();
  }
  const std::vector<std::string> objectives = MapObjectives();
  const std::string& objective = settings.objective;
  if (std::find(objectives.begin(), objectives.end(), objective) == objectives.end()) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("unknown objective {}", Quoted(objective)),
                 .hint = DidYouMean(objective, objectives)};
  }
  return {};
}

Result<void> Run(const MapArguments& arguments, Context& context) {
  ProblemArguments problem = arguments.problem;
  Result<std::string> method = MethodText(arguments);
  if (!method) return method.error();
  problem.settings.method = *std::move(method);
  if (const Result<int64_t> points = ParseInt(arguments.batch); points && *points >= 1) {
    problem.settings.batch = *points;
  } else {
    return RunRows(arguments, context);
  }
  for (const auto& [value, name] : {std::pair(&problem.network.name, "NETWORK"),
                                    std::pair(&problem.settings.accelerator, "--accelerator")}) {
    if (!value->empty()) continue;
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("{} is missing", name),
                 .hint = "see 'tessera map --help'"};
  }
  if (Result<void> known = CheckNames(problem.settings); !known) return known;
  const bool pareto = problem.settings.objective == "pareto";
  if (pareto) {
    if (Result<void> ready = PrepareFronts(problem.settings); !ready) return ready;
  }
  const Result<MapJob> job = MakeJob(problem, context, &arguments.budget);
  if (!job) return job.error();
  if (pareto && !arguments.dry_run) return MapFronts(*job, context);
  if (arguments.dry_run) return ShowSpaces(*job, context);
  if (context.options.out.empty()) {
    return ShowRun(kMapRun, RunMap(*job, nullptr, RunContextOf(context)), context);
  }
  Result<RunDirectory> directory = CreateMapRun(context.options.out, *job, context.origin);
  if (!directory) return directory.error();
  const Result<std::unique_ptr<RunResult>> result = ContinueRun(*directory, context);
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
         {"tessera map alexnet --accelerator eyeriss-256 --dry-run", "sizes of the spaces"},
         {"tessera map alexnet --accelerator eyeriss-256 --objective energy --samples 1000",
          "search, then proofs, without a clock: the same result on every machine"},
         {"tessera map alexnet --layer 5 --accelerator simple3 --objective pareto",
          "which mappings trade cycles against energy"},
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
