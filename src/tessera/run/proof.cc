// Rounds of the exact mapper over the layers of a network.
#include "tessera/run/proof.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "tessera/run/map_network.h"
#include "tessera/run/terminal.h"
#include "tessera/search/exact/mapper.h"
#include "tessera/search/exact/problem_options.h"

namespace tessera {
namespace {

constexpr double kNoGap = std::numeric_limits<double>::infinity();

// One layer's proof.
class LayerProver {
 public:
  LayerProver(const MapJob& job, LayerMapping& layer) : job_(job), layer_(layer) {}

  Result<void> Start(size_t layers) {
    Result<std::unique_ptr<MappingProblem>> problem =
        MappingProblem::Make(layer_.layer, job_.accelerator, job_.settings.model, job_.problem);
    if (!problem) return problem.error();
    problem_ = *std::move(problem);
    Result<exact::MapperOptions> options = exact::OptionsFor(*problem_);
    if (!options) return options.error();
    // Memory for all layers at once.
    options->max_nodes /= static_cast<int64_t>(layers);
    const auto& [loops, hierarchy] = *problem_->loopnest();
    Result<std::unique_ptr<exact::Mapper>> mapper = exact::Mapper::Make(loops, hierarchy, *options);
    if (!mapper) return mapper.error();
    mapper_ = *std::move(mapper);
    if (layer_.mapping) mapper_->Offer(std::get<LoopMapping>(*layer_.mapping));
    return {};
  }

  bool done() const { return done_; }
  double gap() const { return gap_; }
  bool improved() const { return improved_; }
  const LayerMapping& layer() const { return layer_; }

  // Prices a mapping of the exact mapper like every other, so that all numbers come from one place.
  Result<void> Price() {
    const Result<Point> point = problem_->space().Encode(*layer_.mapping);
    if (!point) return point.error();
    const Trial trial{.point = *point, .outcome = problem_->Evaluate(*point)};
    if (!trial.outcome.feasible()) {
      return Error{.kind = ErrorKind::kInternal, .message = trial.outcome.why};
    }
    layer_.point = trial.point;
    layer_.mapping = problem_->space().Decode(trial.point);
    layer_.cost = problem_->CostOf(trial);
    layer_.value = trial.outcome.value;
    return {};
  }

  // Rounds for about so many seconds, at least one.
  void Step(double seconds) {
    const double end = SteadySeconds() + seconds;
    ThreadPool one(1);  // Layers are what runs side by side.
    do {
      done_ = !mapper_->Step(one);
      ++layer_.proof->rounds;
      const int64_t limit = job_.settings.proof_rounds;
      if (limit > 0 && layer_.proof->rounds >= limit) done_ = true;
    } while (!done_ && SteadySeconds() < end);
    Take(mapper_->progress());
  }

 private:
  void Take(const exact::Progress& progress) {
    layer_.proof->evaluations = progress.counters.evaluations;
    layer_.proof->complete =
        progress.open_nodes == 0 && (progress.status == exact::Status::kOptimal ||
                                     progress.status == exact::Status::kInfeasible);
    if (progress.best && (!layer_.mapping || progress.best->value < layer_.value)) {
      layer_.mapping = progress.best->mapping;
      layer_.value = progress.best->value;
      improved_ = true;
    }
    if (progress.bound > 0) layer_.bound = std::max(layer_.bound.value_or(0), progress.bound);
    // Rounding aside, a complete proof leaves no gap.
    if (layer_.mapping && layer_.bound) layer_.bound = std::min(*layer_.bound, layer_.value);
    gap_ = layer_.mapping && layer_.bound ? layer_.value / *layer_.bound - 1 : kNoGap;
    if (gap_ <= exact::kTolerance) done_ = true;
  }

  const MapJob& job_;
  LayerMapping& layer_;
  std::unique_ptr<MappingProblem> problem_;
  std::unique_ptr<exact::Mapper> mapper_;
  bool done_ = false, improved_ = false;
  double gap_ = kNoGap;
};

}  // namespace

Result<void> CheckProvable(const MapJob& job) {
  const auto unsupported = [](std::string message, std::string hint) {
    return Error{.kind = ErrorKind::kUsage, .message = std::move(message), .hint = std::move(hint)};
  };
  if (job.settings.model != "loopnest") {
    return unsupported(fmt::format("method {} needs model loopnest", job.settings.method),
                       "choose another --method");
  }
  if (!exact::GoalOf(job.problem.objective)) {
    return unsupported(fmt::format("method {} proves latency, energy and edp, not {}",
                                   job.settings.method, job.settings.objective),
                       "choose another --method");
  }
  return {};
}

Result<void> ProveLayers(const MapJob& job, ThreadPool& pool, const ProofHooks& hooks,
                         std::vector<LayerMapping>& layers) {
  const double start = SteadySeconds();
  std::vector<LayerProver> provers;
  for (LayerMapping& layer : layers) {
    layer.proof = LayerProof{};
    provers.emplace_back(job, layer);
    if (Result<void> started = provers.back().Start(layers.size()); !started) {
      return InLayer(layer.name, started.error());
    }
  }
  const auto over = [&] {
    if (hooks.stopped && hooks.stopped()) return true;
    const double limit = job.settings.proof_seconds;
    return limit > 0 && SteadySeconds() - start >= limit;
  };
  while (!over()) {
    std::vector<LayerProver*> open;
    for (LayerProver& prover : provers) {
      if (!prover.done()) open.push_back(&prover);
    }
    if (open.empty()) break;
    std::stable_sort(open.begin(), open.end(), [](const LayerProver* a, const LayerProver* b) {
      return a->gap() > b->gap();
    });
    open.resize(std::min(open.size(), static_cast<size_t>(pool.threads())));
    constexpr double kSlice = 0.25;  // seconds between looks at the clock and at the gaps
    pool.ParallelFor(std::ssize(open), 1, [&](int64_t begin, int64_t /*end*/, int /*worker*/) {
      open[static_cast<size_t>(begin)]->Step(kSlice);
    });
    if (hooks.progress == nullptr) continue;
    for (const LayerProver* prover : open) {
      const LayerMapping& layer = prover->layer();
      hooks.progress->OnProgress(
          prover->done() ? ProgressEvent::kDone : ProgressEvent::kImproved,
          {.name = layer.name + " proof",
           .best = layer.mapping ? std::optional(layer.value) : std::nullopt,
           .gap = prover->gap() < kNoGap ? std::optional(prover->gap()) : std::nullopt,
           .samples = layer.proof->evaluations});
    }
  }
  for (LayerProver& prover : provers) {
    LayerMapping& layer = layers[static_cast<size_t>(&prover - provers.data())];
    if (prover.improved()) {
      if (Result<void> priced = prover.Price(); !priced) return InLayer(layer.name, priced.error());
    }
    if (layer.mapping) layer.status = StatusOf(layer.value, layer.bound);
  }
  return {};
}

}  // namespace tessera
