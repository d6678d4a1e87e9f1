// tessera assign: which decisions belong to which agent (Algorithm 1).
#include "tessera/agents/assignment.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/agents/render.h"
#include "tessera/base/file.h"
#include "tessera/cli/choices.h"
#include "tessera/cli/command.h"
#include "tessera/cli/map_arguments.h"
#include "tessera/search/driver.h"
#include "tessera/search/method.h"

namespace tessera {
namespace {

struct AssignArguments {
  ProblemArguments problem;
  std::optional<int64_t> agents;
  std::optional<double> threshold;
  std::string policy = "random";
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
      {.name = "--policy",
       .target = &arguments.policy,
       .help = "search method that collects the samples",
       .value = "METHOD",
       .choices = MethodNames},
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
       .choices = AsChoices<kLinkageNames>,
       .closed = true},
      {.name = "--distance",
       .target = &arguments.distance,
       .help = "distance between decisions: of rows of the matrix, or 1 - |r|",
       .value = "D",
       .choices = AsChoices<kDistanceNames>,
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

// Keeps everything that a search evaluates.
class Collector final : public SearchObserver {
 public:
  Result<void> OnTrials(std::span<const Trial> trials, const SearchResult& /*result*/) override {
    all.insert(all.end(), trials.begin(), trials.end());
    return {};
  }
  std::vector<Trial> all;
};

Result<std::vector<Trial>> Collect(const MapJob& job, const MappingProblem& problem,
                                   const std::string& policy, const Context& context) {
  const Result<MethodChoice> method = ParseMethodChoice(policy);
  if (!method) return method.error();
  const Result<std::unique_ptr<Searcher>> searcher =
      method->Make({.space = problem.space(),
                    .seed = static_cast<uint64_t>(job.settings.seed),
                    .samples = job.settings.budget.samples});
  if (!searcher) return searcher.error();
  ThreadPool pool(static_cast<int>(context.options.threads));
  Evaluator evaluator(problem, pool);
  Collector collector;
  const Result<SearchResult> result = RunSearch(
      **searcher, evaluator,
      {.budget = job.settings.budget, .batch = job.settings.points, .interrupted = context.stopped},
      &collector);
  if (!result) return result.error();
  return std::move(collector.all);
}

AssignmentOptions Options(const AssignArguments& arguments) {
  AssignmentOptions options{.distance = *FindDistance(arguments.distance),
                            .linkage = *FindLinkage(arguments.linkage),
                            .agents = arguments.agents.value_or(0),
                            .threshold = arguments.threshold.value_or(0)};
  options.correlation = {
      .top = arguments.top_percent / 100,
      .orders = arguments.orders == "lehmer" ? OrderColumns::kLehmer : OrderColumns::kPositions,
      .reward = arguments.reward == "log" ? RewardScale::kLog : RewardScale::kInverse};
  return options;
}

Json ToJson(const AssignmentStudy& study) {
  Json json;
  const CorrelationMatrix& matrix = study.matrix;
  json["decisions"] = matrix.names;
  json["samples"] = matrix.collected;
  json["samples_kept"] = matrix.trials;
  json["constant"] = matrix.constant;
  json["correlation"] = Json::array();
  for (size_t i = 0; i < matrix.width(); ++i) {
    Json row = Json::array();
    for (size_t j = 0; j < matrix.width(); ++j) row.push_back(matrix.at(i, j));
    json["correlation"].push_back(std::move(row));
  }
  json["merges"] = Json::array();
  for (const Merge& merge : study.tree.merges) {
    json["merges"].push_back({{"left", merge.left},
                              {"right", merge.right},
                              {"height", merge.height},
                              {"size", merge.size}});
  }
  json["agents"] = study.assignment.agents;
  return json;
}

Result<void> WriteFiles(const AssignmentStudy& study, const std::string& out) {
  if (Result<void> made = MakeFolder(out); !made) return made;
  const std::pair<std::string, std::string> files[] = {
      {"assignment.json", ToJsonText(study.assignment)},
      {"correlation.svg", MatrixSvg(study.matrix)},
      {"dendrogram.svg", DendrogramSvg(study.tree, study.matrix.names)},
      {"study.json", ToText(ToJson(study))}};
  for (const auto& [name, contents] : files) {
    if (Result<void> written = WriteFileAtomically(out + "/" + name, contents); !written) {
      return written;
    }
  }
  return {};
}

std::string AgentsText(const AssignmentStudy& study) {
  std::string text;
  for (size_t i = 0; i < study.assignment.agents.size(); ++i) {
    text += fmt::format("agent {:>2}: {}\n", i + 1, fmt::join(study.assignment.agents[i], " "));
  }
  if (!study.matrix.constant.empty()) {
    text += fmt::format("constant in the best samples, so without correlation: {}\n",
                        fmt::join(study.matrix.constant, " "));
  }
  return text;
}

Result<void> Run(const AssignArguments& arguments, Context& context) {
  if (arguments.agents.has_value() == arguments.threshold.has_value()) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = "give either --agents or --threshold",
                 .hint = "--agents 6 makes six groups of decisions"};
  }
  const Result<MapJob> job = MakeLayerJob(arguments.problem, context);
  if (!job) return job.error();
  const Result<std::unique_ptr<MappingProblem>> problem = MappingProblem::Make(
      job->network.layers.front().layer, job->accelerator, job->settings.model, job->problem);
  if (!problem) return problem.error();
  const Result<std::vector<Trial>> trials = Collect(*job, **problem, arguments.policy, context);
  if (!trials) return trials.error();
  const Result<AssignmentStudy> study =
      AssignAgents((*problem)->space(), *trials, Options(arguments));
  if (!study) return study.error();
  if (!context.options.out.empty()) {
    if (Result<void> written = WriteFiles(*study, context.options.out); !written) return written;
  }
  context.output.SetAll(ToJson(*study));
  return context.output.ShowText(
      fmt::format("correlation of the best {} of {} samples\n\n{}\n{}\n{}", study->matrix.trials,
                  study->matrix.collected, MatrixText(study->matrix),
                  DendrogramText(study->tree, study->matrix.names), AgentsText(*study)));
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
         {"tessera assign vgg16 --layer 2 --accelerator eyeriss-256 --threshold 1.5 --policy ga",
          "groups by height, samples from a genetic algorithm"}},
    .bind = Bind<AssignArguments, Flags, Run>,
    .writes_out = true};

}  // namespace tessera
