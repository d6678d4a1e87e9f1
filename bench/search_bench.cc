// Search methods against each other on many layers at once: what they reach with equal budgets, and
// how many samples they need to come close to the best value known. `tessera compare` shows one
// layer with all details; this shows whether a method holds on layers of other kinds, and is how
// settings were tuned (docs/results/tuning.md).
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tessera/accelerator.h"
#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/cost/maestro/options.h"
#include "tessera/network.h"
#include "tessera/part.h"
#include "tessera/result.h"
#include "tessera/search.h"
#include "tessera/search/driver.h"
#include "tessera/space.h"

namespace tessera::bench {
namespace {

// Named sets of layers, so that tables, tuning and the check on strange layers never mix.
const std::map<std::string, std::string> kLayerSets = {
    {"tables", "mobilenet-v2-gamma:l4,resnet18-gamma:l2,vgg16-gamma:l2,alexnet-gamma:l3"},
    {"tuning", "resnet50-gamma:l4,mobilenet-v2-gamma:l12,vgg16-gamma:l4"},
    // Every seventh distinct row of all GAMMA tables in alphabetical order, from the fifth on.
    {"untuned",
     "albert-gamma:l5,bert-gamma:l2,dlrm-rmc1-gamma:l5,mobilenet-v2-gamma:l6,mobilenet-v2-gamma:"
     "l15,"
     "mobilenet-v2-gamma:l35,mobilenet-v2-gamma:l52,ncf-gamma:l11,resnet18-gamma:l12,"
     "resnet50-gamma:l3,resnet50-gamma:l17,resnet50-gamma:l44,t5-gamma:l1,vgg16-gamma:l3"},
};

struct Arguments {
  std::string layers = "tables", objectives = "edp", methods = "random,ga,sa,marl";
  std::string accelerator = "maestro-256", model = "maestro", energy = "maestro-csv", json, best;
  int64_t samples = 2000, seeds = 3, first_seed = 1;
  double within = 0.05;
  bool stop = false;
  int threads = 1;
};

struct Task {
  std::string name;  // "resnet18-gamma:l2 edp"
  std::unique_ptr<MappingProblem> problem;
  double best_known = INFINITY;
};

struct Run {
  size_t task, method;
  uint64_t seed;
  SearchResult result = {};

  double Best() const { return result.best ? result.best->outcome.value : INFINITY; }
  // Samples to a value of at most `value`; infinite if it never came.
  double SamplesTo(double value) const {
    for (const Improvement& step : result.curve) {
      if (step.value <= value) return static_cast<double>(step.samples);
    }
    return INFINITY;
  }
};

template <typename T>
T OrExit(Result<T> result) {
  if (result) return *std::move(result);
  fmt::print(stderr, "{}\n", result.error().message);
  std::exit(2);
}

std::vector<Task> MakeTasks(const Arguments& arguments) {
  const auto set = kLayerSets.find(arguments.layers);
  const std::string& layers = set == kLayerSets.end() ? arguments.layers : set->second;
  const Accelerator accelerator = OrExit(LoadAccelerator(arguments.accelerator));
  Assignments settings;
  if (arguments.energy == "layer") settings = {{"energy", arguments.energy}};
  const CostModelChoice model = OrExit(ChooseCostModel(arguments.model, settings));
  std::vector<Task> tasks;
  for (const std::string_view place : Split(layers, ',')) {
    const size_t colon = place.find(':');
    const Network network = OrExit(LoadZooNetwork(place.substr(0, colon)));
    const std::string_view layer = colon == place.npos ? "1" : place.substr(colon + 1);
    const NetworkLayer* found = OrExit(FindLayer(network, layer));
    for (const std::string_view objective : Split(arguments.objectives, ',')) {
      const MappingProblemOptions options{.objective = OrExit(FindObjective(objective))};
      tasks.push_back({fmt::format("{} {}", place, objective),
                       OrExit(MappingProblem::Make(found->layer, accelerator, model, options))});
    }
  }
  return tasks;
}

// The lowest values of earlier runs: lines of "value<tab>task". Which energy counts is a part of
// the task only where energy counts at all.
std::string KeyOf(const Arguments& arguments, const Task& task) {
  const bool energy = task.name.ends_with(" edp") || task.name.ends_with(" energy");
  return fmt::format("{} {} {}{}", arguments.accelerator, arguments.model,
                     energy ? arguments.energy + " " : "", task.name);
}
std::map<std::string, double> ReadBest(const std::string& path) {
  std::map<std::string, double> best;
  const Result<std::string> text = ReadFile(path);
  if (!text) return best;
  for (const std::string_view line : Split(*text, '\n')) {
    const size_t tab = line.find('\t');
    if (tab == line.npos) continue;
    if (const Result<double> value = ParseDouble(line.substr(0, tab))) {
      best[std::string(line.substr(tab + 1))] = *value;
    }
  }
  return best;
}
void WriteBest(const std::string& path, const std::map<std::string, double>& best) {
  std::string text;
  for (const auto& [key, value] : best) text += fmt::format("{:.17g}\t{}\n", value, key);
  if (!WriteFileAtomically(path, text)) fmt::print(stderr, "cannot write {}\n", path);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  if (values.size() % 2 == 1) return values[half];
  return (values[half - 1] + values[half]) / 2;
}

std::string SamplesText(double samples) {
  return std::isfinite(samples) ? fmt::format("{:.0f}", samples) : "-";
}

// The medians over seeds of one method on one task, and their means over tasks.
struct Summary {
  double ratio = 0, to_10 = 0, to_within = 0, to_1 = 0, seconds = 0;
};

Summary Summarize(const std::vector<Run>& runs, const std::vector<Task>& tasks, size_t task,
                  size_t method, double within) {
  std::vector<double> best, to_10, to_within, to_1;
  double seconds = 0;
  for (const Run& run : runs) {
    if (run.task != task || run.method != method) continue;
    const double known = tasks[task].best_known;
    best.push_back(run.Best());
    to_10.push_back(run.SamplesTo(1.1 * known));
    to_within.push_back(run.SamplesTo((1 + within) * known));
    to_1.push_back(run.SamplesTo(1.01 * known));
    seconds += run.result.seconds;
  }
  return {.ratio = Median(best) / tasks[task].best_known,
          .to_10 = Median(to_10),
          .to_within = Median(to_within),
          .to_1 = Median(to_1),
          .seconds = seconds / static_cast<double>(best.size())};
}

void PrintRow(std::string_view name, const Summary& summary) {
  fmt::print("  {:<44} {:>9.4f} {:>9} {:>9} {:>9} {:>8.2f}\n", name, summary.ratio,
             SamplesText(summary.to_10), SamplesText(summary.to_within), SamplesText(summary.to_1),
             summary.seconds);
}

void PrintHead(std::string_view title, double within) {
  fmt::print("{}\n  {:<44} {:>9} {:>9} {:>9} {:>9} {:>8}\n", title, "method", "x best", "to 10%",
             fmt::format("to {:g}%", 100 * within), "to 1%", "seconds");
}

nlohmann::json ToJson(const std::vector<Run>& runs, const std::vector<Task>& tasks,
                      const std::vector<MethodChoice>& methods) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Run& run : runs) {
    nlohmann::json curve = nlohmann::json::array();
    for (const Improvement& step : run.result.curve) curve.push_back({step.samples, step.value});
    nlohmann::json point;
    const DecisionSpace& space = tasks[run.task].problem->space();
    for (size_t i = 0; run.result.best && i < space.size(); ++i) {
      const Decision& decision = space.decisions()[i];
      point[decision.name()] = decision.Label(run.result.best->point[i]);
    }
    rows.push_back({{"task", tasks[run.task].name},
                    {"method", methods[run.method].ToString()},
                    {"seed", run.seed},
                    {"log10_size", space.Log10Size()},
                    {"best", run.Best()},
                    {"best_known", tasks[run.task].best_known},
                    {"samples", run.result.samples},
                    {"infeasible", run.result.infeasible},
                    {"seconds", run.result.seconds},
                    {"point", std::move(point)},
                    {"curve", std::move(curve)}});
  }
  return rows;
}

void PrintTables(const Arguments& arguments, const std::vector<Run>& runs,
                 const std::vector<Task>& tasks, const std::vector<MethodChoice>& methods) {
  std::vector<std::vector<Summary>> all(methods.size());
  for (size_t task = 0; task < tasks.size(); ++task) {
    PrintHead(fmt::format("{}  best known {:.6g}", tasks[task].name, tasks[task].best_known),
              arguments.within);
    for (size_t method = 0; method < methods.size(); ++method) {
      all[method].push_back(Summarize(runs, tasks, task, method, arguments.within));
      PrintRow(methods[method].ToString(), all[method].back());
    }
  }
  if (tasks.size() < 2) return;
  PrintHead("geometric means over all; what never arrives counts as the budget", arguments.within);
  const auto mean = [&](const std::vector<Summary>& rows, double Summary::*field, double most) {
    double sum = 0;
    for (const Summary& row : rows) sum += std::log(std::min(row.*field, most));
    return std::exp(sum / static_cast<double>(rows.size()));
  };
  for (size_t method = 0; method < methods.size(); ++method) {
    const double budget = static_cast<double>(arguments.samples);
    PrintRow(methods[method].ToString(),
             {.ratio = mean(all[method], &Summary::ratio, 1e9),
              .to_10 = mean(all[method], &Summary::to_10, budget),
              .to_within = mean(all[method], &Summary::to_within, budget),
              .to_1 = mean(all[method], &Summary::to_1, budget),
              .seconds = mean(all[method], &Summary::seconds, 1e9)});
  }
}

int Main(const Arguments& arguments) {
  std::vector<Task> tasks = MakeTasks(arguments);
  std::map<std::string, double> best = ReadBest(arguments.best);
  for (Task& task : tasks) {
    const auto known = best.find(KeyOf(arguments, task));
    if (known != best.end()) task.best_known = known->second;
  }
  std::vector<MethodChoice> methods;
  for (const std::string_view text : Split(arguments.methods, ',')) {
    methods.push_back(OrExit(ParseMethodChoice(text)));
  }
  std::vector<Run> runs;
  for (size_t task = 0; task < tasks.size(); ++task) {
    for (size_t method = 0; method < methods.size(); ++method) {
      for (int64_t i = 0; i < arguments.seeds; ++i) {
        runs.push_back({task, method, static_cast<uint64_t>(arguments.first_seed + i)});
      }
    }
  }
  ThreadPool pool(arguments.threads);
  pool.ParallelFor(std::ssize(runs), 1, [&](int64_t begin, int64_t end, int /*worker*/) {
    for (int64_t i = begin; i < end; ++i) {
      Run& run = runs[static_cast<size_t>(i)];
      const Task& task = tasks[run.task];
      ThreadPool alone(1);
      Evaluator evaluator(*task.problem, alone);
      const auto searcher = OrExit(methods[run.method].Make({.space = task.problem->space(),
                                                             .seed = run.seed,
                                                             .samples = arguments.samples,
                                                             .mapping = task.problem.get()}));
      SearchOptions options{.budget = {.samples = arguments.samples}};
      if (arguments.stop) options.target = (1 + arguments.within) * task.best_known;
      run.result = OrExit(RunSearch(*searcher, evaluator, options));
    }
  });
  for (const Run& run : runs) {
    tasks[run.task].best_known = std::min(tasks[run.task].best_known, run.Best());
  }
  PrintTables(arguments, runs, tasks, methods);
  if (!arguments.best.empty()) {
    for (const Task& task : tasks) best[KeyOf(arguments, task)] = task.best_known;
    WriteBest(arguments.best, best);
  }
  if (!arguments.json.empty() &&
      !WriteFileAtomically(arguments.json, ToJson(runs, tasks, methods).dump(1) + "\n")) {
    fmt::print(stderr, "cannot write {}\n", arguments.json);
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::Arguments arguments;
  CLI::App app("search methods at equal budgets on many layers");
  app.add_option("--layers", arguments.layers, "tables, tuning, untuned, or NETWORK:LAYER,...");
  app.add_option("--objectives", arguments.objectives, "latency, energy, edp, ...");
  app.add_option("--methods", arguments.methods, "METHOD[:NAME=VALUE...],...");
  app.add_option("--accelerator", arguments.accelerator);
  app.add_option("--model", arguments.model);
  app.add_option("--energy", arguments.energy, "of model maestro: maestro-csv or layer")
      ->check(CLI::IsMember(std::vector<std::string>(tessera::kMaestroEnergyNames.begin(),
                                                     tessera::kMaestroEnergyNames.end())));
  app.add_option("--samples", arguments.samples, "budget of every run");
  app.add_option("--seeds", arguments.seeds, "runs per method and layer");
  app.add_option("--first-seed", arguments.first_seed);
  app.add_option("--within", arguments.within, "what counts as close to the best value known");
  app.add_flag("--stop", arguments.stop, "end a run once it is that close");
  app.add_option("--best", arguments.best, "file of the best values known; read and updated");
  app.add_option("--threads", arguments.threads, "runs side by side");
  app.add_option("--json", arguments.json, "file for all runs with their curves");
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::Main(arguments);
}
