// tessera compare: search methods against each other on one layer.
#include "tessera/run/compare.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/cli/command.h"
#include "tessera/cli/map_arguments.h"
#include "tessera/report/compare_report.h"

namespace tessera {
namespace {

struct CompareArguments {
  ProblemArguments problem;
  std::vector<std::string> methods;
  int64_t seeds = 5;
  std::optional<double> best_known;
  std::optional<double> stop_within;
};

std::vector<Flag> Flags(CompareArguments& arguments) {
  std::vector<Flag> flags = ProblemFlags(arguments.problem);
  const std::vector<Flag> budget = BudgetFlags(arguments.problem.settings);
  flags.insert(flags.end(), budget.begin(), budget.end());
  const std::vector<Flag> more = {
      {.name = "--methods",
       .target = &arguments.methods,
       .help = "methods, with settings after colons: random,ga:population=50; default: all",
       .value = "A,B",
       .commas = true,
       .choices = MethodNames},
      {.name = "--seeds",
       .target = &arguments.seeds,
       .help = "runs per method; seeds count up from --seed",
       .value = "K",
       .least = 1},
      {.name = "--best-known",
       .target = &arguments.best_known,
       .help = "lowest value known from elsewhere",
       .value = "VALUE"},
      {.name = "--stop-within",
       .target = &arguments.stop_within,
       .help = "end a run this close to --best-known: 0.05 is 5 %",
       .value = "G",
       .least = 0}};
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

Result<void> WriteFiles(const MapJob& job, const Comparison& comparison, const std::string& out) {
  if (Result<void> made = MakeFolder(out); !made) return made;
  Result<void> written =
      WriteFileAtomically(out + "/compare.json", ToText(ToJson(job, comparison)));
  if (!written) return written;
  return WriteFileAtomically(out + "/curves.svg", CurvesSvg(job, comparison));
}

Result<void> Run(const CompareArguments& arguments, Context& context) {
  const Result<MapJob> job = MakeLayerJob(arguments.problem, context);
  if (!job) return job.error();
  CompareOptions options{.seeds = arguments.seeds,
                         .best_known = arguments.best_known,
                         .stop_within = arguments.stop_within};
  if (arguments.stop_within && !arguments.best_known) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = "--stop-within needs --best-known to know what to be close to"};
  }
  const std::vector<std::string> names =
      arguments.methods.empty() ? MethodNames() : arguments.methods;
  for (const std::string& name : names) {
    Result<MethodChoice> method = ParseMethodChoice(name);
    if (!method) return method.error();
    options.methods.push_back(*std::move(method));
  }
  std::shared_ptr<ProgressObserver> progress = context.start_progress({.name_heading = "run"});
  const Result<Comparison> comparison =
      CompareMethods(*job, options, static_cast<int>(context.options.threads),
                     {.progress = progress.get(), .stopped = context.stopped});
  progress.reset();
  if (!comparison) return comparison.error();
  if (!context.options.out.empty()) {
    if (Result<void> written = WriteFiles(*job, *comparison, context.options.out); !written) {
      return written;
    }
  }
  context.output.SetAll(ToJson(*job, *comparison));
  if (context.output.json()) return {};
  if (Result<void> shown = context.output.Show(SummaryTable(*comparison)); !shown) return shown;
  if (!comparison->best_known) return {};
  return context.output.ShowText(fmt::format("best known: {:.6g}; space: 10^{:.1f} points\n",
                                             *comparison->best_known, comparison->log10_size));
}

}  // namespace

extern const Command kCompareCommand = {
    .name = "compare",
    .summary = "search methods against each other on one layer, at equal budget",
    .examples =
        {{"tessera compare resnet18-gamma --layer 2 --accelerator maestro-256 --objective edp",
          "all methods, five seeds each"},
         {"tessera compare vgg16 --layer 3 --accelerator eyeriss-256 --methods random,ga,marl "
          "--seeds 9 --out cmp",
          "three methods; table, JSON and curves go to cmp"},
         {"tessera compare alexnet --layer 2 --accelerator nvdla --methods marl,marl:agents=6",
          "one method with two settings"}},
    .bind = Bind<CompareArguments, Flags, Run>,
    .details =
        "Every evaluation counts, warm-up included. samples_to_5pct is the median over seeds of\n"
        "the samples until a value within 5 % of the best known one was found.\n",
    .writes_out = true};

}  // namespace tessera
