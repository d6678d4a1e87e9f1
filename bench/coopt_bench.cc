// Co-optimization methods against each other and against the truth, on equal terms: measurements
// that each needs, and what each finds. Results are in docs/results/dcoc.md.
//
//   coopt_bench fixed SEEDS METHOD...            ResNet-18 C2..C11 on the default hardware:
//                                                measurements until within 1 % of the optimum
//   coopt_bench joint NETWORK MACS MEASUREMENTS SEEDS METHOD...   hardware decided, too
//   coopt_bench arrays NETWORK PES MEASUREMENTS SEEDS METHOD...   the same on PE arrays, maestro
//   coopt_bench software NETWORK MEASUREMENTS SEEDS METHOD...     schedules on default hardware
//   coopt_bench truth NETWORK MACS               the exhaustive optimum
//   coopt_bench critic SEEDS                     what cost model and critic know along a run
//
// A method may start with '!': without the validity filter, as published. With --rows first, one
// line of JSON for each run instead of tables: what docs/results/raw keeps
// (scripts/results-agents). Seconds are the processor's.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/coopt/exhaustive.h"
#include "tessera/coopt/maestro_target.h"
#include "tessera/coopt/methods.h"
#include "tessera/coopt/session.h"
#include "tessera/coopt/vta_target.h"
#include "tessera/network.h"

namespace tessera::coopt {
namespace {

constexpr int64_t kMeasurements = 1'000;

// Of the processor: the machine may be doing other work.
double Seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Whether runs are printed as rows of JSON.
bool rows_only = false;

template <typename... Values>
void Print(fmt::format_string<Values...> format, Values&&... values) {
  if (!rows_only) fmt::print(format, std::forward<Values>(values)...);
  std::fflush(stdout);
}

void PrintRow(const nlohmann::json& row) {
  if (rows_only) fmt::print("{}\n", row.dump());
  std::fflush(stdout);
}

nlohmann::json ToJson(const std::vector<JointImprovement>& curve) {
  nlohmann::json steps = nlohmann::json::array();
  for (const JointImprovement& step : curve) steps.push_back({step.measurements, step.value});
  return steps;
}

std::vector<TaskLayer> LayersOf(const std::string& name) {
  const Result<Network> network = LoadNetwork(name);
  if (!network) {
    fmt::print(stderr, "{}\n", ToString(network.error()));
    std::exit(3);
  }
  return TasksOf({&*network, 1})->layers;
}

// The layers that tuning on VTA is usually judged by, in the order of the network, and their names.
constexpr const char* kResNetNames[] = {"C2", "C3", "C5", "C4",  "C6",
                                        "C8", "C7", "C9", "C11", "C10"};
std::vector<TaskLayer> ResNetLayers() {
  std::vector<TaskLayer> layers = LayersOf("resnet18");
  return {layers.begin() + 1, layers.end() - 1};
}

struct Choice {
  std::string text;
  bool filter = true;
  MethodChoice method;
};

std::vector<Choice> Choices(int count, char** names) {
  std::vector<Choice> choices;
  for (int i = 0; i < count; ++i) {
    Choice choice = {.text = names[i], .filter = names[i][0] != '!', .method = {}};
    const Result<MethodChoice> method =
        ParseMethodChoice(names[i] + (choice.filter ? 0 : 1), CooptMethods());
    if (!method) {
      fmt::print(stderr, "{}\n", ToString(method.error()));
      std::exit(2);
    }
    choice.method = *method;
    choices.push_back(choice);
  }
  return choices;
}

SessionResult RunOne(const Choice& choice, const CooptProblem& problem, const Simulator& simulator,
                     uint64_t seed, int64_t measurements, std::vector<double> targets = {}) {
  const auto searcher = MakeSearcher(choice.method, {.problem = problem,
                                                     .seed = seed,
                                                     .measurements = measurements,
                                                     .validity_filter = choice.filter});
  Result<SessionResult> result = RunSession(**searcher, problem, simulator,
                                            {.measurements = measurements,
                                             .validity_filter = choice.filter,
                                             .targets = std::move(targets)});
  return *std::move(result);
}

template <typename T>
T Median(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Fixed(int seeds, const std::vector<Choice>& choices) {
  const CooptProblem problem(ResNetLayers(), VtaTarget::Fixed(vta::Config{}),
                             {.generator = Generator::kReference});
  ThreadPool pool(1);
  const Simulator simulator(problem, pool);
  std::vector<double> targets;
  for (size_t layer = 0; layer < problem.layers().size(); ++layer) {
    targets.push_back(1.01 * BestOfLayer(problem, simulator, 0, layer).best->outcome.value);
  }
  Print(
      "measurements until within 1 % of the optimum, median of {} seeds (1000: not "
      "reached)\n{:44}",
      seeds, "method");
  for (size_t layer = 0; layer < targets.size(); ++layer) Print(" {:>6}", kResNetNames[layer]);
  Print("   sum  worst  seconds\n");
  for (const Choice& choice : choices) {
    std::vector<std::vector<int64_t>> needed(targets.size());
    const double begin = Seconds();
    for (int seed = 1; seed <= seeds; ++seed) {
      const SessionResult result =
          RunOne(choice, problem, simulator, static_cast<uint64_t>(seed), kMeasurements, targets);
      nlohmann::json row = {{"method", choice.text}, {"seed", seed}};
      for (size_t layer = 0; layer < targets.size(); ++layer) {
        const std::vector<JointImprovement>& curve = result.layer_curves[layer];
        const bool there = !curve.empty() && curve.back().value <= targets[layer];
        needed[layer].push_back(there ? curve.back().measurements : kMeasurements);
        row["needed"][kResNetNames[layer]] = needed[layer].back();
      }
      PrintRow(row);
    }
    int64_t sum = 0, worst = 0;
    Print("{:44}", choice.text);
    for (const std::vector<int64_t>& values : needed) {
      Print(" {:6}", Median(values));
      sum += Median(values);
      worst = std::max(worst, *std::max_element(values.begin(), values.end()));
    }
    Print(" {:6} {:6} {:8.1f}\n", sum, worst, Seconds() - begin);
  }
}

std::shared_ptr<const VtaTarget> Budget(int64_t macs) {
  const double area = CostOf(vta::Config{}, 100).area_um2;
  return *VtaTarget::Make({.macs = macs,
                           .sram_bytes = macs * 2'048,
                           .area_um2 = area * static_cast<double>(macs) / 256});
}

void Truth(const std::string& network, int64_t macs) {
  const CooptProblem problem(LayersOf(network), Budget(macs), {.generator = Generator::kReference});
  ThreadPool pool(1);
  const Simulator simulator(problem, pool);
  const double begin = Seconds();
  const std::vector<size_t> largest = problem.hardware().LargestBuffers();
  const Result<NetworkOptimum> best = BestOfNetwork(problem, simulator, largest);
  PrintRow({{"network", network},
            {"macs", macs},
            {"accelerators", problem.hardware().size()},
            {"largest", largest.size()},
            {"tried", best->hardware_tried},
            {"measured", best->measured},
            {"seconds", Seconds() - begin},
            {"optimum", best->value},
            {"hardware", problem.hardware().Name(best->hardware)}});
  Print(
      "{} {} MACs: {} accelerators, {} with largest buffers, {} tried, {} measurements, "
      "{:.1f} s\n  optimum {:.0f} cycles per image on {}\n",
      network, macs, problem.hardware().size(), largest.size(), best->hardware_tried,
      best->measured, Seconds() - begin, best->value, problem.hardware().Name(best->hardware));
}

CooptProblem JointProblem(const std::string& network, int64_t macs) {
  return CooptProblem(LayersOf(network), Budget(macs), {.generator = Generator::kReference});
}

// PE arrays; the area allows about 1 KiB of buffers for each of the PEs.
CooptProblem ArrayProblem(const std::string& name, int64_t pes) {
  const Result<Network> network = LoadNetwork(name);
  return CooptProblem(
      MaestroTasksOf({&*network, 1})->layers,
      *MaestroTarget::Make({.pes = pes, .area_um2 = 1'000.0 * static_cast<double>(pes)}), {});
}

void Joint(const std::string& network, const CooptProblem& problem, int64_t measurements, int seeds,
           const std::vector<Choice>& choices) {
  ThreadPool pool(1);
  const Simulator simulator(problem, pool);
  const auto layers = std::ssize(problem.layers());
  Print("{}, {} layers, {} measurements per layer, {} seeds, {} accelerators\n", network, layers,
        measurements, seeds, problem.hardware().size());
  std::vector<double> finals;
  std::vector<std::vector<std::vector<JointImprovement>>> curves;
  for (const Choice& choice : choices) {
    std::vector<double> values;
    curves.emplace_back();
    std::string hardware;
    const double begin = Seconds();
    for (int seed = 1; seed <= seeds; ++seed) {
      const double start = Seconds();
      const SessionResult result =
          RunOne(choice, problem, simulator, static_cast<uint64_t>(seed), measurements);
      curves.back().push_back(result.curve);
      values.push_back(result.curve.empty() ? INFINITY : result.curve.back().value);
      const std::string found = result.hardware ? problem.hardware().Name(*result.hardware) : "";
      if (seed == 1) hardware = found;
      PrintRow({{"problem", network},
                {"layers", layers},
                {"measurements", measurements},
                {"method", choice.text},
                {"seed", seed},
                {"seconds", Seconds() - start},
                {"hardware", found},
                {"curve", ToJson(result.curve)}});
    }
    finals.push_back(Median(values));
    Print("  {:44} {:12.0f} cycles (best {:.0f}, worst {:.0f}) {:8.1f} s  {}\n", choice.text,
          finals.back(), *std::min_element(values.begin(), values.end()),
          *std::max_element(values.begin(), values.end()), Seconds() - begin, hardware);
  }
  // Measurements per layer until the first method has what another one ends with.
  for (size_t i = 1; i < choices.size(); ++i) {
    const auto reach = [&](const std::vector<std::vector<JointImprovement>>& runs) {
      std::vector<double> needed;
      for (const std::vector<JointImprovement>& curve : runs) {
        double at = INFINITY;
        for (const JointImprovement& step : curve) {
          if (step.value <= finals[i] && std::isinf(at)) {
            at = static_cast<double>(step.measurements) / static_cast<double>(layers);
          }
        }
        needed.push_back(at);
      }
      return Median(needed);
    };
    Print(
        "  {} reaches the final result of {} after {:.1f} measurements per layer, {} after "
        "{:.1f}\n",
        choices[0].text, choices[i].text, reach(curves[0]), choices[i].text, reach(curves[i]));
  }
}

double RankCorrelation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto ranks = [](const std::vector<double>& values) {
    std::vector<size_t> order(values.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t i, size_t j) { return values[i] < values[j]; });
    std::vector<double> rank(values.size());
    for (size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<double>(i);
    return rank;
  };
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = static_cast<double>(x.size() - 1) / 2;
  double product = 0, square = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    product += (x[i] - mean) * (y[i] - mean);
    square += (x[i] - mean) * (x[i] - mean);
  }
  return product / square;
}

// The share of the k best that is among the k best predicted.
double Recall(const std::vector<double>& truth, const std::vector<double>& predicted, size_t k) {
  const auto best = [k](const std::vector<double>& values) {
    std::vector<size_t> order(values.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t i, size_t j) { return values[i] < values[j]; });
    order.resize(std::min(k, order.size()));
    std::sort(order.begin(), order.end());
    return order;
  };
  const std::vector<size_t> a = best(truth), b = best(predicted);
  std::vector<size_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return static_cast<double>(both.size()) / static_cast<double>(a.size());
}

// Predictions over whole landscapes, along runs of dcoc.
void Critic(int seeds) {
  const CooptProblem problem(ResNetLayers(), VtaTarget::Fixed(vta::Config{}),
                             {.generator = Generator::kReference});
  ThreadPool pool(1);
  const Simulator simulator(problem, pool);
  std::vector<std::vector<Request>> states;
  std::vector<std::vector<double>> truth;  // higher is better
  for (size_t layer = 0; layer < problem.layers().size(); ++layer) {
    states.emplace_back();
    truth.emplace_back();
    for (const Measured& item : Landscape(problem, simulator, 0, layer)) {
      states.back().push_back(item.request);
      truth.back().push_back(-item.outcome.value);
    }
  }
  Print(
      "C2..C11 along {} runs of dcoc: rank correlation and recall@16 with the exact landscape, "
      "mean "
      "over layers and seeds (least and most of the seeds)\n{:>12} {:>28} {:>28} {:>28} {:>28}\n",
      seeds, "measurements", "model correlation", "model recall", "critic correlation",
      "critic recall");
  std::map<int64_t, std::array<std::vector<double>, 4>> rows;  // by measurements per layer
  for (int seed = 1; seed <= seeds; ++seed) {
    int64_t rounds = 0;
    const auto watch = [&](const Insight& insight) {
      const int64_t measured = 4 * ++rounds;
      if ((measured & (measured - 1)) != 0) return;
      std::array<double, 4> means = {};
      for (size_t layer = 0; layer < states.size(); ++layer) {
        const std::vector<double> model = insight.model(states[layer]);
        const std::vector<double> critic = insight.critic(states[layer]);
        means[0] += RankCorrelation(truth[layer], model);
        means[1] += Recall(truth[layer], model, 16);
        means[2] += RankCorrelation(truth[layer], critic);
        means[3] += Recall(truth[layer], critic, 16);
      }
      for (double& mean : means) mean /= static_cast<double>(states.size());
      for (size_t i = 0; i < means.size(); ++i) rows[measured][i].push_back(means[i]);
      PrintRow({{"seed", seed},
                {"measurements", measured},
                {"model", {means[0], means[1]}},
                {"critic", {means[2], means[3]}}});
    };
    const Result<MethodChoice> dcoc = ParseMethodChoice("dcoc", CooptMethods());
    const auto searcher = MakeSearcher(*dcoc, {.problem = problem,
                                               .seed = static_cast<uint64_t>(seed),
                                               .measurements = 64,
                                               .watch = watch});
    const auto result = RunSession(**searcher, problem, simulator, {.measurements = 64});
    if (!result) std::exit(1);
  }
  for (const auto& [measured, columns] : rows) {
    Print("{:12}", measured);
    for (const std::vector<double>& values : columns) {
      const double sum = std::accumulate(values.begin(), values.end(), 0.0);
      Print(" {:12.3f} ({:.3f}, {:.3f})", sum / static_cast<double>(values.size()),
            *std::min_element(values.begin(), values.end()),
            *std::max_element(values.begin(), values.end()));
    }
    Print("\n");
  }
}

// Schedules alone: what methods end with on the default hardware, and the optimum.
void Software(const std::string& network, int64_t measurements, int seeds,
              const std::vector<Choice>& choices) {
  const CooptProblem problem(LayersOf(network), VtaTarget::Fixed(vta::Config{}),
                             {.generator = Generator::kReference});
  ThreadPool pool(1);
  const Simulator simulator(problem, pool);
  double optimum = 0;
  std::vector<double> targets;
  for (size_t layer = 0; layer < problem.layers().size(); ++layer) {
    const double best = BestOfLayer(problem, simulator, 0, layer).best->outcome.value;
    optimum += best;
    targets.push_back(1.01 * best);
  }
  Print("{}: {} layers on the default hardware, optimum {:.0f} cycles, floor {:.0f}\n", network,
        problem.layers().size(), optimum, problem.FloorCycles(0));
  for (const Choice& choice : choices) {
    std::vector<double> values;
    std::vector<int64_t> needed;
    for (int seed = 1; seed <= seeds; ++seed) {
      const SessionResult result =
          RunOne(choice, problem, simulator, static_cast<uint64_t>(seed), measurements);
      values.push_back(result.curve.empty() ? INFINITY : result.curve.back().value);
      int64_t sum = 0;
      for (size_t layer = 0; layer < targets.size(); ++layer) {
        int64_t at = measurements;
        for (const JointImprovement& step : result.layer_curves[layer]) {
          if (step.value <= targets[layer]) at = std::min(at, step.measurements);
        }
        sum += at;
      }
      needed.push_back(sum);
      PrintRow({{"network", network},
                {"optimum", optimum},
                {"measurements", measurements},
                {"layers", problem.layers().size()},
                {"method", choice.text},
                {"seed", seed},
                {"value", values.back()},
                {"needed", sum}});
    }
    Print(
        "  {:28} {:12.0f} cycles (+{:.2f} %), {} measurements until all layers are within 1 "
        "% (of {})\n",
        choice.text, Median(values), 100 * (Median(values) / optimum - 1), Median(needed),
        measurements * std::ssize(problem.layers()));
  }
}

int Main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--rows") {
    rows_only = true;
    --argc, ++argv;
  }
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "fixed" && argc > 3) {
    Fixed(std::atoi(argv[2]), Choices(argc - 3, argv + 3));
  } else if (mode == "joint" && argc > 6) {
    Joint(fmt::format("{} {} MACs", argv[2], argv[3]), JointProblem(argv[2], std::atoll(argv[3])),
          std::atoll(argv[4]), std::atoi(argv[5]), Choices(argc - 6, argv + 6));
  } else if (mode == "arrays" && argc > 6) {
    Joint(fmt::format("{} {} PEs", argv[2], argv[3]), ArrayProblem(argv[2], std::atoll(argv[3])),
          std::atoll(argv[4]), std::atoi(argv[5]), Choices(argc - 6, argv + 6));
  } else if (mode == "truth" && argc == 4) {
    Truth(argv[2], std::atoll(argv[3]));
  } else if (mode == "software" && argc > 5) {
    Software(argv[2], std::atoll(argv[3]), std::atoi(argv[4]), Choices(argc - 5, argv + 5));
  } else if (mode == "critic" && argc == 3) {
    Critic(std::atoi(argv[2]));
  } else {
    fmt::print(stderr, "see the head of coopt_bench.cc\n");
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace tessera::coopt

int main(int argc, char** argv) { return tessera::coopt::Main(argc, argv); }
