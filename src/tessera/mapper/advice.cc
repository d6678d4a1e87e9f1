// Measured curves, and what they say about a problem.
#include "tessera/mapper/advice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/document.h"
#include "tessera/base/stop.h"
#include "tessera/map.h"
#include "tessera/mapper/map_network.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/part.h"
#include "tessera/policy/shipped.h"
#include "tessera/record/clock.h"

namespace tessera {

// Made by the build from data/advice.
std::span<const EmbeddedFile> AdviceFiles();

namespace {

// What a method reached on a layer: cost over the best known after so many samples.
struct MeasuredCurve {
  std::string model = {}, method = {};
  double log10_size = 0;
  // Of the method itself: before its first sample, and for each of the next ones.
  double start_seconds = 0, overhead_seconds = 0;
  std::vector<std::pair<int64_t, double>> points = {};
};

Result<double> NumberAt(const Node& node, std::string_view key) {
  const Node* found = node.Find(key);
  if (found == nullptr) return node.ErrorHere(ErrorKind::kBadValue, fmt::format("no '{}'", key));
  return found->AsDouble();
}

Result<std::vector<MeasuredCurve>> ReadCurves() {
  std::vector<MeasuredCurve> curves;
  for (const EmbeddedFile& file : AdviceFiles()) {
    const Result<Node> root = ParseDocument(file.contents, std::string(file.name) + ".json");
    if (!root) return root.error();
    const Node* rows = root->Find("curves");
    if (rows == nullptr) return root->ErrorHere(ErrorKind::kBadValue, "no 'curves'");
    for (const Node& row : rows->items) {
      MeasuredCurve made;
      if (const Node* model = row.Find("model")) made.model = model->scalar;
      if (const Node* method = row.Find("method")) made.method = method->scalar;
      const Result<double> size = NumberAt(row, "log10_size");
      if (!size) return size.error();
      const Result<double> start = NumberAt(row, "start_us");
      if (!start) return start.error();
      const Result<double> overhead = NumberAt(row, "overhead_us");
      if (!overhead) return overhead.error();
      made.start_seconds = *start * 1e-6;
      made.log10_size = *size;
      made.overhead_seconds = *overhead * 1e-6;
      const Node* points = row.Find("curve");
      for (const Node& point : points == nullptr ? std::vector<Node>{} : points->items) {
        const Result<int64_t> samples = point.items.at(0).AsInt();
        const Result<double> ratio = point.items.at(1).AsDouble();
        if (!samples || !ratio) return !samples ? samples.error() : ratio.error();
        made.points.emplace_back(*samples, *ratio);
      }
      curves.push_back(std::move(made));
    }
  }
  return curves;
}

// Seconds that one evaluation takes here and now: of points that are drawn, for some milliseconds,
// or one if it takes longer.
double SecondsPerEvaluation(const MappingProblem& problem) {
  constexpr double kLong = 0.02;
  constexpr int64_t kMost = 4096;
  const std::unique_ptr<Problem::Workspace> workspace = problem.MakeWorkspace();
  CounterRng rng(1, StreamId("advice"));
  double spent = 0;
  int64_t evaluated = 0;
  while (spent < kLong && evaluated < kMost) {
    const Point point = problem.space().Sample(rng, 0);
    const double start = SteadySeconds();
    problem.Evaluate(point, *workspace);
    spent += SteadySeconds() - start;
    ++evaluated;
  }
  return spent / static_cast<double>(evaluated);
}

// What a method with a budget is expected to reach on layers of these sizes: of each the measured
// layers that are nearest in size.
std::vector<MethodOption> OptionsOf(const std::vector<MeasuredCurve>& curves,
                                    std::string_view model, const std::vector<double>& sizes,
                                    double evaluation_seconds) {
  constexpr size_t kNearest = 3;
  std::vector<std::string> methods;
  for (const MeasuredCurve& curve : curves) {
    if (curve.model != model) continue;
    if (std::ranges::find(methods, curve.method) == methods.end()) methods.push_back(curve.method);
  }
  std::vector<MethodOption> options;
  for (const std::string& method : methods) {
    std::vector<const MeasuredCurve*> own;
    for (const MeasuredCurve& curve : curves) {
      if (curve.model == model && curve.method == method) own.push_back(&curve);
    }
    for (size_t p = 0; p < own.front()->points.size(); ++p) {
      MethodOption option{.method = method, .samples = own.front()->points[p].first};
      double sum = 0, start = 0, overhead = 0, count = 0;
      for (const double size : sizes) {
        std::vector<const MeasuredCurve*> nearest = own;
        std::stable_sort(nearest.begin(), nearest.end(),
                         [&](const MeasuredCurve* a, const MeasuredCurve* b) {
                           return std::abs(a->log10_size - size) < std::abs(b->log10_size - size);
                         });
        nearest.resize(std::min(nearest.size(), kNearest));
        for (const MeasuredCurve* curve : nearest) {
          if (p >= curve->points.size()) continue;
          sum += std::log(curve->points[p].second);
          option.worst = std::max(option.worst, curve->points[p].second);
          start += curve->start_seconds;
          overhead += curve->overhead_seconds;
          ++count;
        }
      }
      if (count == 0) continue;
      option.ratio = std::exp(sum / count);
      const auto samples = static_cast<double>(option.samples);
      option.seconds =
          start / count + samples * evaluation_seconds + (samples - 1) * overhead / count;
      options.push_back(std::move(option));
    }
  }
  return options;
}

// The fastest that comes this close; null: none does.
const MethodOption* Fastest(const std::vector<MethodOption>& options, double most) {
  const MethodOption* best = nullptr;
  for (const MethodOption& option : options) {
    if (option.ratio > most) continue;
    if (best == nullptr || option.seconds < best->seconds) best = &option;
  }
  return best;
}

// Of a method: what it reaches in the time that another option takes; null: not even one sample.
const MethodOption* InTheTimeOf(const std::vector<MethodOption>& options, std::string_view method,
                                double seconds) {
  const MethodOption* best = nullptr;
  for (const MethodOption& option : options) {
    if (option.method == method && option.seconds <= seconds * 1.5) best = &option;
  }
  return best;
}

constexpr std::array<std::string_view, 3> kAgents = {"marl", "marl-table", "ppo-discrete"};
constexpr std::string_view kPolicyName = "policy";

void Decide(const MapJob& job, Advice& advice) {
  const std::vector<MethodOption>& options = advice.options;
  constexpr double kClose = 1.02, kNear = 1.1;
  const MethodOption* chosen = Fastest(options, kClose);
  if (chosen == nullptr) chosen = Fastest(options, kNear);
  if (chosen == nullptr && !options.empty()) {
    chosen = &*std::ranges::min_element(options, {}, &MethodOption::ratio);
  }
  if (chosen == nullptr) {
    advice.method = job.settings.method.ToString();
    advice.why = "nothing was measured for this cost model";
    return;
  }
  advice.method = chosen->method;
  advice.samples = chosen->samples;
  advice.why = fmt::format(
      "{} with {} sample{} came to {:.3g} times the best EDP known on measured spaces of this "
      "size, and takes {:.2g} s per layer at {:.2g} s per evaluation; nothing measured is as close "
      "in less time",
      chosen->method, chosen->samples, chosen->samples == 1 ? "" : "s", chosen->ratio,
      chosen->seconds, advice.evaluation_seconds);
  if (advice.provable) {
    advice.then = "auto";
    advice.then_why =
        "proofs are possible here: method auto takes the policy's mappings as its first, ends with "
        "the optimum or a proved gap, and needs no samples of an expensive model";
  }
  for (const std::string_view agents : kAgents) {
    const MethodOption* same = InTheTimeOf(options, agents, chosen->seconds);
    const MethodOption* most = nullptr;
    for (const MethodOption& option : options) {
      if (option.method == agents) most = &option;
    }
    if (most == nullptr || (same != nullptr && same->ratio <= chosen->ratio)) continue;
    advice.not_worth_it.push_back(
        {.method = std::string(agents),
         .why = fmt::format("agents that learn from nothing: {:.3g} times the best after {} "
                            "samples, {:.2g} s per layer",
                            most->ratio, most->samples, most->seconds)});
  }
}

}  // namespace

Result<Advice> AdviseMethod(const MapJob& job) {
  const Result<std::vector<MeasuredCurve>> curves = ReadCurves();
  if (!curves) return curves.error();
  Advice advice;
  std::vector<double> sizes;
  double slowest = 0;
  for (const NetworkLayer& entry : job.network.layers) {
    if (StopRequested()) return Interrupted("measuring");
    const Result<std::unique_ptr<MappingProblem>> problem = ProblemOf(job, entry.layer, entry.name);
    if (!problem) return InLayer(entry.name, problem.error());
    sizes.push_back((*problem)->space().Log10Size());
    // Layers of one network cost about the same; a few tell.
    constexpr size_t kTimed = 3;
    if (sizes.size() <= kTimed) slowest = std::max(slowest, SecondsPerEvaluation(**problem));
  }
  const auto [least, most] = std::ranges::minmax(sizes);
  advice.log10_least = least;
  advice.log10_most = most;
  advice.evaluation_seconds = slowest;
  MapSettings proved = job.settings;
  proved.method = ProofMethod(ProofUse::kAfterSearch);
  advice.provable = CheckProvable(proved).ok();
  // Another program prices what model loopnest prices, in its own time.
  std::string_view model = job.settings.model.info().name;
  const bool shipped = policy::DefaultPolicy(model) != nullptr;
  if (job.settings.model.info().takes_command) model = CostModels().front()->name;
  advice.options = OptionsOf(*curves, model, sizes, advice.evaluation_seconds);
  if (!shipped)
    std::erase_if(advice.options, [](const auto& o) { return o.method == kPolicyName; });
  Decide(job, advice);
  return advice;
}

}  // namespace tessera
