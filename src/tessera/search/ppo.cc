// Proximal policy optimisation with a single agent that decides everything at once: `ppo` as in the
// papers, a Gaussian over the normalised vector of all decisions, and `ppo-discrete`, one network
// with a categorical head for each decision. The learner is the engine's own (rl/on_policy.h).
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tessera/result.h"
#include "tessera/rl/on_policy.h"
#include "tessera/search/learner_lanes.h"

namespace tessera {
namespace {

struct PpoSearchOptions {
  int64_t lanes = 8;
  int64_t steps = 2;
  int64_t epochs = 16;
  int64_t minibatches = 2;
  int64_t hidden = 32;
  double rate = 3e-3;
  double entropy = 0.0;
  double entropy_left = 1.0;
  double clip = 0.2;
  double deviation = 1.0;
  double penalty = 1.0;
  double floor = 0.01;
  std::string reward = "log";
};

template <ActionForm kForm>
class PpoSearcher final : public Searcher {
 public:
  PpoSearcher(const SearchSetup& setup, const PpoSearchOptions& options)
      : space_(setup.space),
        options_(options),
        samples_(static_cast<double>(std::max<int64_t>(1, setup.samples))),
        scale_(options.penalty, options.reward == "log") {
    if (space_.open().empty()) return;
    PpoOptions learner = LearnerOptions(options);
    learner.initial_log_deviation = std::log(options.deviation);
    lanes_.emplace(space_, OneAgent(space_), kForm, options.lanes, setup.seed, learner,
                   UnitKind::kJoint);
  }

  std::vector<Point> Propose(int64_t n) override {
    if (!lanes_) return {Point(space_.size())};
    if (round_.done()) round_.Begin(lanes_->Draw());
    return round_.Take(n);
  }

  void Observe(std::span<const Trial> trials) override {
    if (!lanes_ || !round_.Add(trials)) return;
    scale_.Add(round_.trials());
    observed_ += static_cast<double>(round_.trials().size());
    lanes_->SetEntropy(EntropyAfter(options_, std::min(1.0, observed_ / samples_)));
    lanes_->Learn(round_.trials(), scale_);
  }

 private:
  const DecisionSpace& space_;
  const PpoSearchOptions options_;
  const double samples_;  // of the budget
  double observed_ = 0;
  CostScale scale_;
  std::optional<LearnerLanes> lanes_;
  Round round_;
};

const ParameterList<PpoSearchOptions>& Parameters() {
  using O = PpoSearchOptions;
  static const ParameterList<O> kParameters = {
      {"lanes", &O::lanes, Range{1, 4096}, "points drawn with one policy"},
      {"steps", &O::steps, Range{1, 4096}, "rounds of lanes per update"},
      {"epochs", &O::epochs, Range{1, 100}, "passes over the samples of an update"},
      {"minibatches", &O::minibatches, Range{1, 64}, "parts of a pass"},
      {"hidden", &O::hidden, Range{1, 1024}, "width of the two hidden layers"},
      {"rate", &O::rate, Range{1e-7, 1}, "learning rate of policy and value"},
      {"entropy", &O::entropy, Range{0, 10}, "weight of the policy's entropy, at first"},
      {"entropy_left", &O::entropy_left, Range{0, 1},
       "part of that weight that is left when the budget is spent"},
      {"clip", &O::clip, Range{0.01, 1}, "largest change of a probability ratio"},
      {"deviation", &O::deviation, Range{0.01, 10}, "first deviation of a Gaussian policy"},
      {"penalty", &O::penalty, Range{0, 100}, "reward of an infeasible point, negated"},
      {"floor", &O::floor, Range{0, 10},
       "deviation of the advantages of an update below which they count less"},
      {"reward", &O::reward, Choices{"log", "inverse"}, "-log objective, or 1 / objective"}};
  return kParameters;
}

}  // namespace

MethodInfo PpoMethod() {
  return DeclareMethod<PpoSearcher<ActionForm::kVector>, PpoSearchOptions>(
      {.name = "ppo",
       .summary = "single-agent PPO, a Gaussian over the normalised vector of decisions"},
      Parameters());
}

MethodInfo PpoDiscreteMethod() {
  return DeclareMethod<PpoSearcher<ActionForm::kPicks>, PpoSearchOptions>(
      {.name = "ppo-discrete",
       .summary = "single-agent PPO, one network with a categorical head per decision"},
      Parameters());
}

}  // namespace tessera
