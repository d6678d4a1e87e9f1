// Time to the proof: every distinct layer of networks, or a matrix product, on a machine, by the
// exact mapper. Not a ratio against a baseline: optima and seconds are what users ask for.
//
//   exact_bench [--machine simple3] [--network resnet18 | --gemm MxNxK |
//                --pointwise YxXxCxK] [--goal energy]
//               [--semantics timeloop3] [--threads 1] [--seconds 60] [--json 1]
//               [--anneal 0]   samples of method sa that supply a first mapping
//               [--bypass 0]   1: levels may pass tensors by
//               [--any 0]      1: factors need not divide; first, for a third of the time, those
//               that do
//               [--layer A,B]  these layers only
//               [--list 1]     names of the layers, one to a line
//               [--challenge 0]   samples of method sa, dealt out to four runs with seeds of their
//                                 own, that look for something better where nothing was proved
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tessera/accelerator.h"
#include "tessera/base/text.h"
#include "tessera/cost/loopnest/loopnest.h"
#include "tessera/mapping.h"
#include "tessera/network.h"
#include "tessera/search.h"
#include "tessera/search/driver.h"
#include "tessera/search/exact/mapper.h"
#include "tessera/space.h"

namespace tessera {
namespace {

struct Arguments {
  std::string machine = "simple3", network, gemm, pointwise, layer, goal = "energy",
              semantics = "timeloop3";
  int threads = 1;
  bool verbose = false, json = false, bypass = false, list = false, any = false;
  double seconds = 60;
  int64_t anneal = 0, challenge = 0;
};

struct Job {
  std::string name;
  LoopProblem problem;
  std::optional<Layer> layer = {};
};

[[noreturn]] void Fail(const std::string& message) {
  fmt::print(stderr, "{}\n", message);
  std::exit(2);
}

template <typename T>
T Must(Result<T> result) {
  if (!result) Fail(result.error().message);
  return *std::move(result);
}

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--machine")
      arguments.machine = value;
    else if (flag == "--network")
      arguments.network = value;
    else if (flag == "--gemm")
      arguments.gemm = value;
    else if (flag == "--pointwise")
      arguments.pointwise = value;
    else if (flag == "--layer")
      arguments.layer = value;
    else if (flag == "--goal")
      arguments.goal = value;
    else if (flag == "--semantics")
      arguments.semantics = value;
    else if (flag == "--threads")
      arguments.threads = std::stoi(value);
    else if (flag == "--anneal")
      arguments.anneal = std::stoll(value);
    else if (flag == "--challenge")
      arguments.challenge = std::stoll(value);
    else if (flag == "--seconds")
      arguments.seconds = std::stod(value);
    else if (flag == "--json")
      arguments.json = value == "1";
    else if (flag == "--bypass")
      arguments.bypass = value == "1";
    else if (flag == "--any")
      arguments.any = value == "1";
    else if (flag == "--list")
      arguments.list = value == "1";
    else if (flag == "--verbose")
      arguments.verbose = value == "1";
    else
      Fail("unknown option " + flag);
  }
  return arguments;
}

std::vector<Job> Jobs(const Arguments& arguments) {
  std::vector<Job> jobs;
  if (!arguments.gemm.empty()) {
    const std::vector<std::string_view> sizes = Split(arguments.gemm, 'x');
    if (sizes.size() != 3) Fail("--gemm takes MxNxK");
    const auto size = [&](size_t k) { return std::stoll(std::string(sizes[k])); };
    jobs.push_back(
        {arguments.gemm,
         Must(MakeLoopProblem("gemm", {{"M", size(0)}, {"N", size(1)}, {"K", size(2)}}))});
  }
  if (!arguments.pointwise.empty()) {
    const std::vector<std::string_view> sizes = Split(arguments.pointwise, 'x');
    if (sizes.size() != 4) Fail("--pointwise takes YxXxCxK");
    const auto size = [&](size_t k) { return std::stoll(std::string(sizes[k])); };
    const Layer layer{
        .type = LayerType::kConv, .k = size(3), .c = size(2), .y = size(0), .x = size(1)};
    jobs.push_back({arguments.pointwise, Must(MakeLoopProblem(layer)), layer});
  }
  if (arguments.network.empty()) return jobs;
  const std::vector<std::string_view> wanted = Split(arguments.layer, ',');
  for (const NetworkLayer& layer : Must(LoadNetwork(arguments.network)).layers) {
    if (!arguments.layer.empty() && std::ranges::find(wanted, layer.name) == wanted.end()) continue;
    jobs.push_back({layer.name, Must(MakeLoopProblem(layer.layer)), layer.layer});
  }
  return jobs;
}

double CpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Annealed {
  std::optional<LoopMapping> mapping = {};
  double value = exact::kInfinity;
};

// The best mapping of an annealing run, if it finds one.
Annealed Anneal(const Job& job, const Accelerator& machine, exact::Goal goal,
                const Arguments& arguments, int64_t samples, uint64_t seed) {
  const Objective objective = goal == exact::Goal::kCycles   ? Objective::kLatency
                              : goal == exact::Goal::kEnergy ? Objective::kEnergy
                                                             : Objective::kEdp;
  const auto semantics = *loopnest::FindSemantics(arguments.semantics);
  const auto problem = Must(
      MappingProblem::Make(*job.layer, machine, LoopnestChoice({.semantics = semantics}),
                           {.objective = objective, .space = {.decide_keep = arguments.bypass}}));
  const MethodChoice method = Must(ParseMethodChoice("sa"));
  const auto searcher =
      Must(method.Make({.space = problem->space(), .seed = seed, .samples = samples}));
  ThreadPool alone(1);
  Evaluator evaluator(*problem, alone);
  const SearchResult result =
      Must(RunSearch(*searcher, evaluator, {.budget = {.samples = samples}}));
  if (!result.best) return {};
  return {std::get<LoopMapping>(problem->space().Decode(result.best->point)),
          result.best->outcome.value};
}

// The best value of four annealing runs.
double Challenge(const Job& job, const Accelerator& machine, exact::Goal goal,
                 const Arguments& arguments) {
  constexpr uint64_t kRuns = 4;
  double best = exact::kInfinity;
  for (uint64_t seed = 1; seed <= kRuns; ++seed) {
    const int64_t samples = arguments.challenge / static_cast<int64_t>(kRuns);
    best = std::min(best, Anneal(job, machine, goal, arguments, samples, seed).value);
  }
  return best;
}

// The best mapping with factors that divide.
std::optional<LoopMapping> WithPerfectFactors(const Job& job, const Hierarchy& machine,
                                              const exact::MapperOptions& options, double seconds,
                                              ThreadPool& pool) {
  const double begin = CpuSeconds();
  exact::MapperOptions stopping = options;
  stopping.stopped = [&] { return CpuSeconds() - begin >= seconds; };
  const auto mapper = Must(exact::Mapper::Make(job.problem, machine, stopping));
  while (CpuSeconds() - begin < seconds && mapper->Step(pool)) {
  }
  const exact::Progress progress = mapper->progress();
  if (!progress.best) return {};
  return progress.best->mapping;
}

int Run(const Arguments& arguments) {
  const Accelerator machine = Must(LoadAccelerator(arguments.machine));
  const std::optional<loopnest::Semantics> semantics = loopnest::FindSemantics(arguments.semantics);
  if (!semantics) Fail("unknown semantics");
  const exact::Goal goal = arguments.goal == "cycles"   ? exact::Goal::kCycles
                           : arguments.goal == "energy" ? exact::Goal::kEnergy
                                                        : exact::Goal::kEdp;
  ThreadPool pool(arguments.threads);
  if (arguments.list) {
    for (const Job& job : Jobs(arguments)) fmt::print("{}\n", job.name);
    return 0;
  }
  if (!arguments.json) {
    fmt::print("{:24} {:9} {:>16} {:>9} {:>9} {:>11} {:>10} {:>8} {:>8}\n", "layer", "status",
               "best", "gap", "tiles", "tilings", "evaluated", "first s", "cpu s");
  }
  double total = 0;
  for (const Job& job : Jobs(arguments)) {
    const double begin = CpuSeconds();
    exact::MapperOptions options{
        .goal = goal, .semantics = *semantics, .decide_keep = arguments.bypass};
    std::optional<LoopMapping> divides;
    if (arguments.any) {
      divides = WithPerfectFactors(job, *machine.hierarchy, options, arguments.seconds / 3, pool);
      options.any_factors = true;
      constexpr int64_t kSplitSteps = 500'000;  // as commands have it
      options.split_steps = kSplitSteps;
      options.stopped = [&] { return CpuSeconds() - begin >= arguments.seconds; };
    }
    const auto mapper = Must(exact::Mapper::Make(job.problem, *machine.hierarchy, options));
    if (divides) mapper->Offer(*divides);
    if (arguments.anneal > 0 && job.layer) {
      const Annealed first = Anneal(job, machine, goal, arguments, arguments.anneal, /*seed=*/1);
      if (first.mapping) mapper->Offer(*first.mapping);
    }
    double found = 0, last = exact::kInfinity;
    bool more = true;
    while (more && CpuSeconds() - begin < arguments.seconds) {
      more = mapper->Step(pool);
      const exact::Progress progress = mapper->progress();
      if (!progress.best || progress.best->value >= last) continue;
      if (arguments.verbose)
        fmt::print("  round {} best {} bound {} evals {} cpu {:.3f}\n", progress.rounds,
                   progress.best->value, progress.bound, progress.counters.evaluations,
                   CpuSeconds() - begin);
      last = progress.best->value;
      found = CpuSeconds() - begin;
    }
    const exact::Progress progress = mapper->progress();
    const double spent = CpuSeconds() - begin;
    total += spent;
    if (arguments.verbose) {
      fmt::print("  {} rounds, {} open nodes; left out:", progress.rounds, progress.open_nodes);
      for (size_t r = 0; r < exact::kRules; ++r) {
        fmt::print(" {} {}", exact::kRuleNames[r], progress.counters.pruned[r]);
      }
      fmt::print("\n");
    }
    const std::string_view status = exact::kStatusNames[static_cast<size_t>(progress.status)];
    const double best = progress.best ? progress.best->value : 0;
    const bool challenged =
        arguments.challenge > 0 && job.layer && progress.status == exact::Status::kBounded;
    const double challenge = challenged ? Challenge(job, machine, goal, arguments) : 0;
    if (arguments.json) {
      fmt::print(R"({{"layer": "{}", "status": "{}", "best": {}, "bound": {}, "evaluations": {}, )"
                 R"("found_cpu_s": {:.3f}, "cpu_s": {:.3f}{}}})"
                 "\n",
                 job.name, status, best, progress.bound, progress.counters.evaluations, found,
                 spent, challenged ? fmt::format(R"(, "challenge": {})", challenge) : "");
    } else {
      fmt::print("{:24} {:9} {:16.10g} {:8.3f}% {:9} {:11} {:10} {:8.3f} {:8.3f}\n", job.name,
                 status, best, 100 * progress.Gap(), progress.counters.tiles,
                 progress.counters.nodes, progress.counters.evaluations, found, spent);
      if (challenged)
        fmt::print("  annealing: {:.10g}, {:.4f} of the best\n", challenge, challenge / best);
    }
    std::fflush(stdout);
  }
  if (!arguments.json) fmt::print("total {:.3f} cpu s\n", total);
  return 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::Run(tessera::Parse(argc, argv)); }
