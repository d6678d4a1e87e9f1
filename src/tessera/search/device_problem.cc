// Batches for the device: packed by the host, priced there, and the rest priced here.
#include "tessera/search/device_problem.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tessera/cost/loopnest/evaluation.h"
#include "tessera/cost/loopnest/loopnest.h"
#include "tessera/cuda/map_engine.h"
#include "tessera/cuda/nest_pack.h"
#include "tessera/part.h"

namespace tessera {
namespace {

using cuda::NestPlan;
using cuda::NestPrice;
using cuda::NestStatus;

class PricedOnDevice final : public DeviceProblem {
 public:
  PricedOnDevice(const MappingProblem& problem, loopnest::Setup setup, const NestPlan& plan,
                 double clock_ghz, std::unique_ptr<cuda::MapEngine> engine)
      : problem_(problem),
        setup_(std::move(setup)),
        plan_(plan),
        clock_ghz_(clock_ghz),
        engine_(std::move(engine)) {}

  const MappingSpace& space() const override { return problem_.space(); }
  std::unique_ptr<Workspace> MakeWorkspace() const override { return problem_.MakeWorkspace(); }
  using Problem::Evaluate;
  Outcome Evaluate(const Point& point, Workspace& workspace) const override {
    return problem_.Evaluate(point, workspace);
  }
  bool Better(const Outcome& a, const Outcome& b) const override { return problem_.Better(a, b); }

  bool EvaluateBatch(std::span<Trial> trials, ThreadPool& pool) const override {
    Pack(trials, pool);
    prices_.resize(trials.size());
    const Result<void> priced = failure_ ? *failure_ : engine_->Price({words_, kRow}, prices_);
    if (!priced) {
      failure_ = priced.error();
      for (Trial& trial : trials) trial.outcome = Outcome::Failed(failure_->message);
      return true;
    }
    for (size_t m = 0; m < trials.size(); ++m) {
      if (sizes_[m] == 0) prices_[m].status = NestStatus::kForHost;
      Take(prices_[m], trials[m]);
    }
    return true;
  }

  const std::optional<Error>& failure() const override { return failure_; }
  int64_t on_device() const override { return on_device_; }
  int64_t on_host() const override { return on_host_; }

 private:
  static constexpr size_t kRow = cuda::kMostNestWords;

  // Points that cannot go to the device have size 0 and words that mean nothing but do no harm.
  void Pack(std::span<const Trial> trials, ThreadPool& pool) const {
    words_.assign(kRow * trials.size(), 0);
    sizes_.assign(trials.size(), 0);
    constexpr int64_t kChunk = 64;
    pool.ParallelFor(std::ssize(trials), kChunk, [&](int64_t begin, int64_t end, int /*worker*/) {
      loopnest::Nest nest;
      for (auto m = static_cast<size_t>(begin); m < static_cast<size_t>(end); ++m) {
        const Point& point = trials[m].point;
        if (!problem_.space().Check(point)) continue;
        const Mapping mapping = problem_.space().Decode(point);
        const auto& loops = std::get<LoopMapping>(mapping);
        const loopnest::NestError error = loopnest::MakeExactNest(setup_.data.problem, loops, nest);
        if (error.kind != loopnest::NestError::Kind::kNone) continue;
        const std::span<uint32_t> words(words_.data() + kRow * m, kRow);
        sizes_[m] = cuda::PackNest(nest, loops, plan_, words);
        if (sizes_[m] == 0) std::ranges::fill(words, 0u);
      }
    });
  }

  void Take(const NestPrice& price, Trial& trial) const {
    Cost cost{.cycles = price.cycles, .energy_pj = price.energy_pj};
    cost.power_mw = cost.energy_pj / static_cast<double>(cost.cycles) * clock_ghz_;
    const MappingProblemOptions& options = problem_.options();
    // Refusals are explained by the host.
    if (price.status != NestStatus::kPriced || options.limits.Broken(cost)) {
      if (workspace_ == nullptr) workspace_ = problem_.MakeWorkspace();
      trial.outcome = problem_.Evaluate(trial.point, *workspace_);
      ++on_host_;
      return;
    }
    ++on_device_;
    trial.outcome = {.kind = OutcomeKind::kFeasible,
                     .value = ValueOf(cost, options.objective),
                     .cycles = static_cast<double>(cost.cycles),
                     .energy_pj = cost.energy_pj,
                     .power_mw = cost.power_mw,
                     .area_um2 = cost.area_um2};
  }

  const MappingProblem& problem_;
  const loopnest::Setup setup_;
  const NestPlan plan_;
  const double clock_ghz_;
  const std::unique_ptr<cuda::MapEngine> engine_;
  // Scratch and counts of batches, which come one at a time.
  mutable std::vector<uint32_t> words_;
  mutable std::vector<size_t> sizes_;
  mutable std::vector<NestPrice> prices_;
  mutable std::unique_ptr<Workspace> workspace_;
  mutable std::optional<Error> failure_;
  mutable int64_t on_device_ = 0, on_host_ = 0;
};

// The clock of a model `loopnest`, as it was set.
double ClockOf(const CostModelChoice& model) {
  for (const auto& [name, value] : model.settings()) {
    if (name != "clock-ghz") continue;
    if (const Result<double> clock = ParseDouble(value)) return *clock;
  }
  return LoopnestOptions{}.clock_ghz;
}

// A problem as host and device see it.
struct Prepared {
  loopnest::Setup setup;
  NestPlan plan;
};

Result<Prepared> Prepare(const MappingProblem& problem) {
  if (problem.loops() == nullptr || !problem.model()->semantics()) {
    return Error{
        .kind = ErrorKind::kUnsupported,
        .message = fmt::format("model {} is not on --device cuda", problem.model().info().name),
        .hint = "take --model loopnest, or --device cpu"};
  }
  const MappingProblem::LoopForm& loops = *problem.loops();
  Result<loopnest::Setup> setup =
      loopnest::Prepare(loops.problem, loops.hierarchy, *problem.model()->semantics());
  if (!setup) return setup.error();
  const Result<NestPlan> plan = cuda::MakeNestPlan(*setup);
  if (!plan) return plan.error();
  return Prepared{.setup = *std::move(setup), .plan = *plan};
}

}  // namespace

Result<void> DeviceProblem::Check(const MappingProblem& problem) {
  if (const Result<Prepared> prepared = Prepare(problem); !prepared) return prepared.error();
  return {};
}

Result<std::unique_ptr<DeviceProblem>> DeviceProblem::Make(const MappingProblem& problem) {
  Result<Prepared> prepared = Prepare(problem);
  if (!prepared) return prepared.error();
  Result<std::unique_ptr<cuda::MapEngine>> engine = cuda::MapEngine::Make(prepared->plan);
  if (!engine) return engine.error();
  return std::unique_ptr<DeviceProblem>(
      std::make_unique<PricedOnDevice>(problem, std::move(prepared->setup), prepared->plan,
                                       ClockOf(problem.model()), *std::move(engine)));
}

}  // namespace tessera
