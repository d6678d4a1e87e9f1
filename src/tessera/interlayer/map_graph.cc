// tessera map --inter-layer: every layer by itself, then plans for the graph that start from there.
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tessera/interlayer/graph_problem.h"
#include "tessera/interlayer/node_costs.h"
#include "tessera/interlayer/optimizer.h"
#include "tessera/interlayer/planner.h"
#include "tessera/interlayer/staircase_journal.h"
#include "tessera/map.h"
#include "tessera/mapper/map_network.h"
#include "tessera/record/clock.h"

namespace tessera {
namespace interlayer {
namespace {

// Of the time of a run: what single layers get before plans are made; of the rest what the plan
// with every home outside gets, with which all others are compared; and of what is left then what
// plans without slices get before those with. Where there is a clock, the first two of these end
// as soon as they are so close to their bounds.
constexpr double kLayersShare = 0.1;
constexpr double kNoneShare = 0.2;
constexpr double kHomesShare = 0.3;
constexpr double kCloseGap = 0.01;

// What a first plan with slices may take beyond the time of a run, as a share of it.
constexpr double kLateShare = 0.05;

constexpr int64_t kNodeBytes = 400;  // about what an open node of a proof takes
constexpr int64_t kOpenProofs = 64;  // about so many are open at a time

class GraphMapper {
 public:
  GraphMapper(const MapJob& job, GraphProblem problem, int threads, const RunHooks& hooks,
              Device device)
      : job_(job),
        problem_(std::move(problem)),
        threads_(threads),
        hooks_(hooks),
        device_(device),
        pool_(threads),
        costs_(problem_, CostOptions()) {}

  Result<NetworkMapping> Go() {
    MapJob layers = job_;
    layers.settings.budget.seconds *= kLayersShare;
    Result<NetworkMapping> mapped = MapNetwork(layers, threads_, hooks_, device_);
    if (!mapped) return mapped;
    mapping_ = *std::move(mapped);
    SetDeadline();
    OfferLayers();
    Plan none = Planner(problem_, costs_, {.objective = Goal(), .freedom = Freedom::kNone})
                    .Best(Side::kUpper);
    std::unique_ptr<StaircaseJournal> journal;
    if (hooks_.directory != nullptr) {
      Result<std::unique_ptr<StaircaseJournal>> opened = StaircaseJournal::Open(
          StaircaseFile(*hooks_.directory), /*restore=*/!Reproducible(), job_, problem_, costs_);
      if (!opened) return opened.error();
      journal = *std::move(opened);
    }
    // For EDP occurrences of a layer could differ, and layers by themselves have one mapping each.
    optimized_.plan = none;
    if (Goal() != Objective::kEdp) {
      const double now = SteadySeconds();
      const double deadline = now + kNoneShare * (end_ - now);
      if (Result<void> made = Make(Freedom::kNone, deadline, CloseGap(), journal.get()); !made) {
        return made.error();
      }
      none = optimized_.plan;
      if (Result<void> taken = TakeLayers(none); !taken) return taken.error();
    }
    if (!none.found) return std::move(mapping_);  // Some layer has no mapping.
    if (Result<void> planned = MakePlans(journal.get()); !planned) return planned.error();
    if (!optimized_.plan.found) optimized_.plan = none;
    Fill(none);
    return std::move(mapping_);
  }

 private:
  Objective Goal() const { return job_.settings.objective; }
  bool Reproducible() const {
    return job_.settings.budget.seconds == 0 && job_.settings.proof_seconds == 0;
  }
  bool Stopped() const { return hooks_.stopped && hooks_.stopped(); }

  NodeCostOptions CostOptions() {
    const int64_t bytes = job_.settings.proof_memory_mib << 20;
    return {.objective = Goal(),
            .decide_keep = job_.problem.space.decide_keep,
            .max_nodes = std::max<int64_t>(1'000, bytes / kNodeBytes / kOpenProofs),
            .max_rounds = job_.settings.proof_rounds,
            .stopped = [this] { return Stopped() || SteadySeconds() >= deadline_; }};
  }

  void SetDeadline() {
    const double whole = job_.settings.budget.seconds, proofs = job_.settings.proof_seconds;
    end_ = std::numeric_limits<double>::infinity();
    if (whole > 0) end_ = start_ + whole;
    if (proofs > 0) end_ = std::min(end_, SteadySeconds() + proofs);
    deadline_ = end_;
    latest_ = end_ + kLateShare * (end_ - start_);
  }

  // What is known of every layer with all its tensors outside.
  void OfferLayers() {
    for (size_t i = 0; i < mapping_.layers.size(); ++i) {
      const LayerMapping& layer = mapping_.layers[i];
      NodeKey key{.layer = static_cast<int>(i), .rows = problem_.layer_rows[i]};
      for (int v = 0; v < problem_.layers[i].num_tensors; ++v) {
        key.homes[static_cast<size_t>(v)] = static_cast<int8_t>(problem_.outermost());
      }
      const int staircase = costs_.Find(key);
      if (!layer.mapping) continue;
      costs_.Offer(staircase, std::get<LoopMapping>(*layer.mapping));
      StepView step{.staircase = staircase,
                    .bound = layer.bound.value_or(0),
                    .done = layer.status == MapStatus::kOptimal};
      step.room.fill(kUnlimitedWords);
      for (size_t h = 0; h < problem_.homes.size(); ++h) {
        step.room[h] = problem_.EntriesOf(h);
      }
      costs_.Bound(step);
    }
  }

  // Layers by themselves are what the plan with every home outside has found for them.
  Result<void> TakeLayers(const Plan& none) {
    for (const Stage& stage : none.stages) {
      for (const Part& part : stage.parts) {
        const NodeKey& key = costs_.KeyOf(part.staircase);
        LayerMapping& layer = mapping_.layers[static_cast<size_t>(key.layer)];
        const LoopMapping& mapping = costs_.found(part.staircase, part.found).mapping;
        if (layer.mapping && std::get<LoopMapping>(*layer.mapping) == mapping) continue;
        const Result<std::unique_ptr<CostModel>> model =
            job_.settings.model->Make(layer.layer, job_.accelerator);
        if (!model) return model.error();
        const Result<Cost> cost = Evaluate(**model, mapping);
        if (!cost) return cost.error();
        layer.mapping = mapping;
        layer.cost = *cost;
        layer.value = ::tessera::ValueOf(*cost, Goal());
        layer.point = std::nullopt;
        layer.then.clear();
        layer.status = StatusOf(layer.value, layer.bound);
      }
    }
    return {};
  }

  double TargetGap() const { return job_.settings.target_gap.value_or(0); }
  double CloseGap() const {
    return Reproducible() ? TargetGap() : std::max(TargetGap(), kCloseGap);
  }

  Result<void> Make(Freedom freedom, double deadline, double target_gap,
                    StaircaseJournal* journal) {
    deadline_ = deadline;
    OptimizerOptions options{.objective = Goal(),
                             .freedom = freedom,
                             .deadline = deadline,
                             .latest = freedom == Freedom::kSlices ? latest_ : end_,
                             .target_gap = target_gap,
                             .stopped = [this] { return Stopped(); }};
    options.start = optimized_.plan;
    options.tell = [&](double value, double bound) { Tell(value, bound); };
    if (journal != nullptr) options.keep = [journal] { return journal->Write(); };
    Result<Optimized> optimized = Optimize(problem_, costs_, options, pool_);
    if (!optimized) return optimized.error();
    optimized_ = *std::move(optimized);
    return {};
  }

  // Without slices first, so that a plan with them starts from the best one without.
  Result<void> MakePlans(StaircaseJournal* journal) {
    const bool slices = job_.settings.inter_layer == InterLayer::kSlices;
    const double now = SteadySeconds();
    if (!slices) return Make(Freedom::kHomes, end_, TargetGap(), journal);
    const double homes_end = now + kHomesShare * (end_ - now);
    if (Result<void> made = Make(Freedom::kHomes, homes_end, CloseGap(), journal); !made) {
      return made;
    }
    homes_ = optimized_.plan.spent;
    // Also when the run is stopped: what no plan without slices is below, plans with slices can be.
    return Make(Freedom::kSlices, end_, TargetGap(), journal);
  }

  void Tell(double value, double bound) {
    if (hooks_.progress == nullptr) return;
    const bool better = !told_ || value < *told_;
    told_ = value;
    hooks_.progress->OnProgress(better ? ProgressEvent::kImproved : ProgressEvent::kAdvanced,
                                {.name = "network",
                                 .best = value,
                                 .bound = bound,
                                 .gap = bound > 0 ? std::optional(value / bound - 1) : std::nullopt,
                                 .samples = mapping_.total.samples + costs_.evaluations()});
  }

  // ---- The result ----

  std::string LevelName(int level) const {
    return problem_.hierarchy.levels[static_cast<size_t>(level)].name;
  }

  std::array<std::string, kTensors> HomesOf(const NodeKey& key) const {
    const auto layer = static_cast<size_t>(key.layer);
    std::array<std::string, kTensors> homes;
    const auto set = [&](::tessera::Tensor tensor, int slot) {
      if (slot < 0) return;
      homes[static_cast<size_t>(tensor)] = LevelName(key.homes[static_cast<size_t>(slot)]);
    };
    set(::tessera::Tensor::kInput, problem_.input_slot[layer]);
    set(::tessera::Tensor::kWeight, problem_.weight_slot[layer]);
    set(::tessera::Tensor::kOutput, problem_.output_slot[layer]);
    return homes;
  }

  PlanPart PartOf(const Part& part) const {
    const NodeKey& key = costs_.KeyOf(part.staircase);
    const Found& found = costs_.found(part.staircase, part.found);
    return {.node = problem_.nodes[static_cast<size_t>(part.node)].name,
            .layer = static_cast<size_t>(key.layer),
            .rows = key.rows,
            .times = part.times,
            .homes = HomesOf(key),
            .mapping = found.mapping,
            .cycles = found.spent.cycles,
            .energy_pj = found.spent.energy_pj,
            .outer_words = static_cast<double>(found.outer_words)};
  }

  // Words that a vector node and pinned weights move at the outermost level.
  double OtherOuterWords(const Stage& stage) const {
    double words = 0;
    const auto outside = [&](int tensor) {
      return home_[static_cast<size_t>(tensor)] == problem_.outermost();
    };
    for (int i = stage.first; i <= stage.last && !stage.view; ++i) {
      const Node& node = problem_.nodes[static_cast<size_t>(i)];
      if ((stage.pinned >> (i - stage.first) & 1) != 0) {
        words += static_cast<double>(problem_.weight_words[static_cast<size_t>(node.layer)]);
      }
      if (node.layer >= 0) continue;
      for (const std::vector<int>* tensors : {&node.inputs, &node.outputs}) {
        for (const int tensor : *tensors) {
          const bool inside = (tensors == &node.inputs && i > stage.first) ||
                              (tensors == &node.outputs && i < stage.last);
          if (inside || !outside(tensor)) continue;
          words += static_cast<double>(problem_.tensors[static_cast<size_t>(tensor)].words);
        }
      }
    }
    return words;
  }

  // Homes of all tensors in a plan; tensors inside groups have none.
  void SetHomes(const Plan& plan) {
    home_.assign(problem_.tensors.size(), problem_.outermost());
    for (const Stage& stage : plan.stages) {
      const Node& node = problem_.nodes[static_cast<size_t>(stage.last)];
      for (size_t k = 0; k < node.outputs.size(); ++k) {
        home_[static_cast<size_t>(node.outputs[k])] = stage.output_homes[k];
      }
    }
  }

  void Fill(const Plan& none) {
    const Plan& plan = optimized_.plan;
    const Spent& homes = homes_ ? *homes_ : plan.spent;
    InterLayerPlan made{.none_cycles = none.spent.cycles,
                        .none_energy_pj = none.spent.energy_pj,
                        .homes_cycles = homes.cycles,
                        .homes_energy_pj = homes.energy_pj};
    SetHomes(none);
    std::vector<PlanStage> before;  // by node
    for (const Stage& stage : none.stages) before.push_back(StageOf(stage));
    SetHomes(plan);
    for (size_t t = 0; t < problem_.tensors.size(); ++t) {
      if (home_[t] == problem_.outermost()) continue;
      made.homes.emplace_back(problem_.tensors[t].name, LevelName(home_[t]));
    }
    for (const Stage& stage : plan.stages) {
      PlanStage& out = made.stages.emplace_back(StageOf(stage));
      for (int i = stage.first; i <= stage.last; ++i) {
        const PlanStage& alone = before[static_cast<size_t>(i)];
        out.none_cycles += alone.cycles;
        out.none_energy_pj += alone.energy_pj;
        out.none_outer_words += alone.outer_words;
      }
    }
    FillTotal(plan);
    constexpr double kEqual = 1e-9;  // relative; values within it are equal
    const NetworkTotal& total = mapping_.total;
    made.status = optimized_.proved && total.value <= *total.bound * (1 + kEqual)
                      ? MapStatus::kOptimal
                      : MapStatus::kBounded;
    AddStaircases(made);
    mapping_.inter_layer = std::move(made);
  }

  PlanStage StageOf(const Stage& stage) const {
    PlanStage out{.slices = stage.slices,
                  .view = stage.view,
                  .cycles = stage.spent.cycles,
                  .energy_pj = stage.spent.energy_pj};
    if (stage.level >= 0) out.level = LevelName(stage.level);
    for (int i = stage.first; i <= stage.last; ++i) {
      const Node& node = problem_.nodes[static_cast<size_t>(i)];
      out.nodes.push_back(node.name);
      if ((stage.pinned >> (i - stage.first) & 1) != 0) out.pinned.push_back(node.name);
    }
    const Node& last = problem_.nodes[static_cast<size_t>(stage.last)];
    for (size_t k = 0; k < last.outputs.size(); ++k) {
      const auto tensor = static_cast<size_t>(last.outputs[k]);
      if (stage.output_homes[k] == problem_.outermost()) continue;
      out.homes.emplace_back(problem_.tensors[tensor].name, LevelName(stage.output_homes[k]));
    }
    out.outer_words = OtherOuterWords(stage);
    for (const Part& part : stage.parts) {
      out.parts.push_back(PartOf(part));
      out.outer_words += static_cast<double>(part.times) * out.parts.back().outer_words;
    }
    return out;
  }

  void FillTotal(const Plan& plan) {
    NetworkTotal& total = mapping_.total;
    total.cycles = plan.spent.cycles;
    total.energy_pj = plan.spent.energy_pj;
    total.value = interlayer::ValueOf(plan.spent, Goal());
    total.bound = std::min(optimized_.bound, total.value);
    total.samples += costs_.evaluations();
    double macs = 0;
    for (const NetworkLayer& entry : job_.network.layers) {
      macs += static_cast<double>(entry.count) * static_cast<double>(Macs(entry.layer));
    }
    const double units = static_cast<double>(problem_.hierarchy.arithmetic.instances());
    total.utilization = total.cycles > 0 ? macs / units / total.cycles : 0;
    mapping_.seconds = SteadySeconds() - start_;
    mapping_.interrupted = mapping_.interrupted || Stopped();
    mapping_.stopped_by = mapping_.interrupted   ? MapStop::kInterrupted
                          : optimized_.proved    ? MapStop::kProved
                          : optimized_.exhausted ? MapStop::kRounds
                                                 : MapStop::kTime;
  }

  void AddStaircases(InterLayerPlan& made) {
    for (const StepView& step : costs_.Steps()) {
      const NodeKey& key = costs_.KeyOf(step.staircase);
      StaircaseStep out{.layer = static_cast<size_t>(key.layer),
                        .rows = key.rows,
                        .homes = HomesOf(key),
                        .bound = step.bound,
                        .proved = step.done};
      for (size_t h = 0; h < problem_.homes.size(); ++h) {
        out.room.emplace_back(LevelName(problem_.homes[h]), step.room[h]);
      }
      double least = std::numeric_limits<double>::infinity();
      for (const CostPoint& point : costs_.Upper(step.staircase, step.room)) {
        least = std::min(least, interlayer::ValueOf(point.spent, Goal()));
      }
      if (least < std::numeric_limits<double>::infinity()) out.value = least;
      made.staircases.push_back(std::move(out));
    }
    std::ranges::sort(made.staircases, [](const StaircaseStep& a, const StaircaseStep& b) {
      return std::tie(a.layer, a.rows, a.homes, a.room) <
             std::tie(b.layer, b.rows, b.homes, b.room);
    });
  }

  const MapJob& job_;
  const GraphProblem problem_;
  const int threads_;
  const RunHooks& hooks_;
  const Device device_;
  ThreadPool pool_;
  const double start_ = SteadySeconds();
  double end_ = std::numeric_limits<double>::infinity();
  double deadline_ = std::numeric_limits<double>::infinity();
  double latest_ = std::numeric_limits<double>::infinity();
  NodeCosts costs_;
  NetworkMapping mapping_;
  Optimized optimized_;
  std::optional<Spent> homes_;  // of the plan that slices start from
  std::optional<double> told_;
  std::vector<int> home_;  // of every tensor of the plan that is looked at
};

}  // namespace
}  // namespace interlayer

Result<NetworkMapping> MapGraph(const MapJob& job, int threads, const RunHooks& hooks,
                                Device device) {
  if (job.settings.inter_layer == InterLayer::kNone) {
    return MapNetwork(job, threads, hooks, device);
  }
  Result<interlayer::GraphProblem> problem =
      interlayer::MakeGraphProblem(job.network, job.accelerator);
  if (!problem) return problem.error();
  return interlayer::GraphMapper(job, *std::move(problem), threads, hooks, device).Go();
}

}  // namespace tessera
