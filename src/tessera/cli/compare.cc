// tessera compare: search methods against each other on one layer.
#include <algorithm>

#include <fmt/format.h>

#include "tessera/cli/command.h"
#include "tessera/cli/map_arguments.h"
#include "tessera/cli/run_output.h"
#include "tessera/part.h"
#include "tessera/runs.h"

namespace tessera {
namespace {

struct CompareArguments {
  ProblemArguments problem;
  std::vector<std::string> methods;
  int64_t seeds = 5;
  std::optional<double> best_known;
  std::optional<double> stop_within;
  std::vector<std::string> extend;
  double within = 0.05;
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
       .least = 1,
       .most = static_cast<double>(kMostSeeds)},
      {.name = "--best-known",
       .target = &arguments.best_known,
       .help = "lowest value known from elsewhere",
       .value = "VALUE"},
      {.name = "--stop-within",
       .target = &arguments.stop_within,
       .help = "end a run this close to --best-known: 0.05 is 5 %",
       .value = "G",
       .least = 0},
      {.name = "--extend",
       .target = &arguments.extend,
       .help = "a method's runs go on to N samples, or until --within is reached: ppo=600000",
       .value = "METHOD=N",
       .commas = true},
      {.name = "--within",
       .target = &arguments.within,
       .help = "how close to the best value of all runs --extend goes: 0.05 is 5 %",
       .value = "G",
       .least = 0}};
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

// "ppo=600000", where the method is one of those compared.
Result<std::pair<std::string, int64_t>> ParseExtension(const std::string& text,
                                                       const CompareOptions& options) {
  const size_t equals = text.rfind('=');
  const Result<int64_t> samples = ParseInt(text.substr(equals + 1));
  if (equals == std::string::npos || !samples || *samples < 1) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("--extend is {}, but must be METHOD=SAMPLES", Quoted(text)),
                 .hint = "write --extend ga=100000"};
  }
  const std::string method = text.substr(0, equals);
  std::vector<std::string> names;
  for (const MethodChoice& choice : options.methods) names.push_back(choice.ToString());
  if (std::find(names.begin(), names.end(), method) != names.end()) {
    return std::pair(method, *samples);
  }
  return Error{.kind = ErrorKind::kUsage,
               .message = fmt::format("--extend: {} is not compared", Quoted(method)),
               .hint = DidYouMean(method, names)};
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
  options.extend_within = arguments.within;
  for (const std::string& text : arguments.extend) {
    Result<std::pair<std::string, int64_t>> extension = ParseExtension(text, options);
    if (!extension) return extension.error();
    options.extend.push_back(*std::move(extension));
  }
  CompareJob compare{.problem = *job, .options = std::move(options)};
  if (context.options.out.empty()) {
    return ShowRun(kCompareRun, RunCompare(std::move(compare), nullptr, RunContextOf(context)),
                   context);
  }
  Result<RunDirectory> directory = CreateCompareRun(context.options.out, compare, context.origin);
  if (!directory) return directory.error();
  const Result<std::unique_ptr<RunResult>> result = ContinueRun(*directory, context);
  return result ? Result<void>() : result.error();
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
          "one method with two settings"},
         {"tessera compare resnet18-gamma --layer 2 --accelerator maestro-256 --methods marl,ga "
          "--extend ga=100000 --within 0.01",
          "a method that needs longer may go on until it is within 1 % of the best"}},
    .bind = Bind<CompareArguments, Flags, Run>,
    .details =
        "Every evaluation counts, warm-up included. samples_to_5pct is the median over seeds of\n"
        "the samples until a value within 5 % of the best known one was found. With --extend,\n"
        "medians and quartiles are still those at --samples. With --out every evaluation is\n"
        "journalled, and 'tessera resume' finishes a comparison that was interrupted.\n",
    .writes_out = true};

}  // namespace tessera
