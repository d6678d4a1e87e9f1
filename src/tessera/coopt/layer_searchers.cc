// One searcher per layer behind the interface of joint methods.
#include "tessera/coopt/layer_searchers.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tessera::coopt {
namespace {

// Points that a layer is asked for at a time. Measurements are dear, so a method is to learn often.
constexpr int64_t kBatch = 16;

class LayerSearchers final : public JointSearcher {
 public:
  explicit LayerSearchers(const JointSetup& setup) : problem_(setup.problem) {}

  Result<void> Add(const MethodChoice& choice, const JointSetup& setup, uint32_t layer) {
    const ScheduleSpace& rules = problem_.task(0, layer).space;
    Layer one = {.space = &rules, .left = setup.measurements};
    if (!setup.validity_filter) {
      // As published: methods do not know which points have no program.
      const std::span<const Decision> decisions = rules.decisions();
      one.without_rules = std::make_unique<DecisionSpace>(
          std::vector<Decision>(decisions.begin(), decisions.end()));
      one.space = one.without_rules.get();
    }
    // Layers of equal size would otherwise draw equal numbers.
    Result<std::unique_ptr<Searcher>> made = choice.Make({.space = *one.space,
                                                          .seed = setup.seed * 1'000'003 + layer,
                                                          .samples = setup.measurements});
    if (!made) return made.error();
    one.searcher = *std::move(made);
    layers_.push_back(std::move(one));
    return {};
  }

  std::vector<Request> Propose() override {
    std::vector<Request> requests;
    for (uint32_t i = 0; i < layers_.size(); ++i) {
      Layer& layer = layers_[i];
      layer.proposed.clear();
      if (layer.left <= 0) continue;
      layer.proposed = layer.searcher->Propose(std::min(kBatch, layer.left));
      if (layer.proposed.empty()) layer.left = 0;
      for (const Point& point : layer.proposed) requests.push_back({0, i, Packed(point)});
    }
    return requests;
  }

  // `measured` has the requests in their order, without those that the budget did not allow.
  void Observe(std::span<const Measured> measured) override {
    for (uint32_t i = 0; i < layers_.size(); ++i) {
      Layer& layer = layers_[i];
      std::vector<Trial> trials;
      for (const Point& point : layer.proposed) {
        const Request request = {0, i, Packed(point)};
        if (measured.empty() || measured.front().request != request) break;
        trials.push_back({point, OutcomeOf(problem_, measured.front())});
        const bool counts = measured.front().outcome.valid || layer.without_rules != nullptr;
        if (layer.seen.insert(request).second && counts) --layer.left;
        measured = measured.subspan(1);
      }
      // A searcher is told of all that it proposed, or never again of anything.
      if (trials.size() < layer.proposed.size()) layer.left = 0;
      if (!trials.empty() && trials.size() == layer.proposed.size())
        layer.searcher->Observe(trials);
    }
  }

 private:
  struct Layer {
    std::unique_ptr<DecisionSpace> without_rules = {};
    const DecisionSpace* space = nullptr;
    std::unique_ptr<Searcher> searcher = {};
    int64_t left = 0;  // measurements
    std::vector<Point> proposed = {};
    std::unordered_set<Request, RequestHash> seen = {};
  };

  const CooptProblem& problem_;
  std::vector<Layer> layers_;
};

}  // namespace

Outcome OutcomeOf(const CooptProblem& problem, const Measured& measured) {
  const MeasuredOutcome& outcome = measured.outcome;
  if (!outcome.valid) return Outcome::Infeasible(outcome.why);
  const double clock_mhz = problem.options().clock_mhz;
  const auto cycles = static_cast<double>(outcome.cycles);
  return {.kind = OutcomeKind::kFeasible,
          .value = outcome.value,
          .cycles = cycles,
          .energy_pj = outcome.energy_pj,
          .power_mw = outcome.energy_pj / cycles * clock_mhz * 1e-3,  // pJ * MHz = uW
          .area_um2 = problem.hardware().Cost(measured.request.hardware, clock_mhz).area_um2};
}

Result<std::unique_ptr<JointSearcher>> MakeLayerSearchers(const MethodChoice& choice,
                                                          const JointSetup& setup) {
  auto searchers = std::make_unique<LayerSearchers>(setup);
  for (size_t layer = 0; layer < setup.problem.layers().size(); ++layer) {
    Result<void> added = searchers->Add(choice, setup, static_cast<uint32_t>(layer));
    if (!added) return added.error();
  }
  return std::unique_ptr<JointSearcher>(std::move(searchers));
}

}  // namespace tessera::coopt
