// Proximal policy optimisation with a single agent that decides everything at once: `ppo` as in the
// papers, a Gaussian over the normalised vector of all decisions, and `ppo-discrete`, one network
// with a categorical head for each decision. The learner is the engine's own (rl/on_policy.h).
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "tessera/result.h"
#include "tessera/rl/on_policy.h"
#include "tessera/search/learner_searcher.h"

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
  double clip = 0.2;
  double deviation = 1.0;
  double penalty = 1.0;
  std::string reward = "log";
};

std::unique_ptr<Learner> MakeAgent(const LearnerSetup& setup, const PpoSearchOptions& options) {
  const PpoOptions learner{.hidden = options.hidden,
                           .steps = options.steps,
                           .epochs = options.epochs,
                           .minibatches = options.minibatches,
                           .clip = options.clip,
                           .entropy = options.entropy,
                           .actor_rate = options.rate,
                           .critic_rate = options.rate,
                           .initial_log_deviation = std::log(options.deviation)};
  Result<std::unique_ptr<Learner>> made = MakePpo(setup, learner, UnitKind::kJoint);
  TESSERA_CHECK(made.ok());
  return *std::move(made);
}

template <ActionForm kForm>
class PpoSearcher final : public LearnerSearcher {
 public:
  PpoSearcher(const SearchSetup& setup, const PpoSearchOptions& options)
      : LearnerSearcher(setup, OneAgent(setup.space), kForm,
                        {.lanes = options.lanes,
                         .penalty = options.penalty,
                         .log_reward = options.reward == "log"},
                        [&](const LearnerSetup& own) { return MakeAgent(own, options); }) {}
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
      {"entropy", &O::entropy, Range{0, 10}, "weight of the policy's entropy"},
      {"clip", &O::clip, Range{0.01, 1}, "largest change of a probability ratio"},
      {"deviation", &O::deviation, Range{0.01, 10}, "first deviation of a Gaussian policy"},
      {"penalty", &O::penalty, Range{0, 100}, "reward of an infeasible point, negated"},
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
