// tessera assign: which decisions belong to which agent (Algorithm 1).
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tessera/cli/command.h"
#include "tessera/cli/map_arguments.h"
#include "tessera/map.h"
#include "tessera/report/assignment_report.h"

namespace tessera {
namespace {

struct AssignArguments {
  ProblemArguments problem;
  std::optional<int64_t> agents;
  std::optional<double> threshold;
  std::string collect_with = "random";
  std::string policy;  // what --collect-with was called before
  double top_percent = 15;
  std::string linkage = "ward";
  std::string distance = "rows";
  std::string orders = "lehmer";
  std::string reward = "inverse";
};

std::vector<std::string> Orders() { return {"lehmer", "positions"}; }
std::vector<std::string> Rewards() { return {"inverse", "log"}; }

std::vector<Flag> Flags(AssignArguments& arguments) {
  std::vector<Flag> flags = ProblemFlags(arguments.problem);
  const std::vector<Flag> budget = BudgetFlags(arguments.problem.settings);
  flags.insert(flags.end(), budget.begin(), budget.end());
  const std::vector<Flag> more = {
      {.name = "--agents",
       .target = &arguments.agents,
       .help = "number of agents",
       .value = "B",
       .least = 1},
      {.name = "--threshold",
       .target = &arguments.threshold,
       .help = "height at which the dendrogram is cut, instead of --agents",
       .value = "H",
       .least = 0},
      {.name = "--collect-with",
       .target = &arguments.collect_with,
       .help = "search method that collects the samples",
       .value = "METHOD",
       .choices = MethodNames},
      {.name = "--policy",
       .target = &arguments.policy,
       .help = "is called --collect-with now",
       .value = "METHOD"},
      {.name = "--top",
       .target = &arguments.top_percent,
       .help = "percentage of the feasible samples that is kept, the best ones",
       .value = "N",
       .least = 0.001,
       .most = 100},
      {.name = "--linkage",
       .target = &arguments.linkage,
       .help = "distance between groups",
       .value = "L",
       .choices = LinkageNames,
       .closed = true},
      {.name = "--distance",
       .target = &arguments.distance,
       .help = "distance between decisions: of rows of the matrix, or 1 - |r|",
       .value = "D",
       .choices = DistanceNames,
       .closed = true},
      {.name = "--orders",
       .target = &arguments.orders,
       .help = "a loop order enters as its Lehmer index or as places of loops",
       .value = "HOW",
       .choices = Orders,
       .closed = true},
      {.name = "--reward",
       .target = &arguments.reward,
       .help = "1 / objective or -log objective",
       .value = "R",
       .choices = Rewards,
       .closed = true}};
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

AssignOptions Options(const AssignArguments& arguments, const Context& context) {
  return {.agents = arguments.agents.value_or(0),
          .threshold = arguments.threshold.value_or(0),
          .top = arguments.top_percent / 100,
          .linkage = arguments.linkage,
          .distance = arguments.distance,
          .orders = arguments.orders,
          .reward = arguments.reward,
          .threads = static_cast<int>(context.options.threads),
          .stopped = context.stopped};
}

Result<void> Run(const AssignArguments& arguments, Context& context) {
  if (!arguments.policy.empty()) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = "--policy is a trained policy in other commands, and not of assign",
                 .hint = fmt::format("--collect-with {} says which method collects the samples",
                                     arguments.policy)};
  }
  if (arguments.agents.has_value() == arguments.threshold.has_value()) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = "give either --agents or --threshold",
                 .hint = "--agents 6 makes six groups of decisions"};
  }
  const Result<MapJob> job = MakeLayerJob(arguments.problem, context);
  if (!job) return job.error();
  const Result<MethodChoice> policy = ParseMethodChoice(arguments.collect_with);
  if (!policy) return policy.error();
  const Result<AgentAssignment> assigned = AssignAgents(*job, *policy, Options(arguments, context));
  if (!assigned) return assigned.error();
  if (!context.options.out.empty()) {
    if (Result<void> written = WriteFiles(*assigned->study, context.options.out); !written)
      return written;
  }
  return Show(*assigned->study, context.output);
}

}  // namespace

extern const Command kAssignCommand = {
    .name = "assign",
    .summary = "which decisions belong to which agent (Algorithm 1)",
    .examples =
        {{"tessera assign mobilenet-v2-gamma --layer 2 --accelerator maestro-256 --agents 6",
          "correlation matrix, dendrogram and six groups"},
         {"tessera assign resnet18-gamma --layer 2 --accelerator maestro-256 --agents 9 --out a",
          "files that tessera map --assignment a/assignment.json takes"},
         {"tessera assign vgg16 --layer 2 --accelerator eyeriss-256 --threshold 1.5 --collect-with "
          "ga",
          "groups by height, samples from a genetic algorithm"}},
    .bind = Bind<AssignArguments, Flags, Run>,
    .writes_out = true};

}  // namespace tessera
