// A learner of rl/ that searches: its agents draw a point for every lane, and learn from what the
// points cost. A step is a sample, and every step ends its episode, because points do not follow on
// each other.
#ifndef TESSERA_SEARCH_LEARNER_LANES_H_
#define TESSERA_SEARCH_LEARNER_LANES_H_

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tessera/env.h"
#include "tessera/env/decision_agents.h"
#include "tessera/rl/on_policy.h"
#include "tessera/search.h"
#include "tessera/search/elites.h"

namespace tessera {

// Running mean and deviation of a number.
class RunningScale {
 public:
  void Add(double value);
  // In deviations from the mean, at most 10; 0 while there is no deviation.
  double Standard(double value) const;

 private:
  double count_ = 0, mean_ = 0, squares_ = 0;
};

// What agents see and get for a point.
//   Observation  log(1 + x) of latency, power, energy and area, in deviations from the running
//   mean,
//                at most 10; zeros for an infeasible point.
//   Reward       by logarithm: -log(objective / that of the first feasible point); an infeasible
//                point gets `penalty` less than the worst feasible one of its round. Inverse: the
//                best objective so far / objective; -penalty for an infeasible point. As long as
//                nothing feasible is known, the more the closer a point is to the rules.
class CostScale {
 public:
  CostScale(double penalty, bool log_reward) : penalty_(penalty), log_reward_(log_reward) {}

  // Takes note of the outcomes of a round before any of them is scaled.
  void Add(std::span<const Trial> trials);
  double Reward(const Outcome& outcome) const;
  std::array<float, kObservedCosts> Observation(const Outcome& outcome) const;

 private:
  double Feasible(const Outcome& outcome) const;

  double penalty_;
  bool log_reward_;
  std::optional<double> first_, best_;  // log costs of feasible points
  double worst_ = 0;                    // reward of the last round that had one
  RunningScale excess_;
  std::array<RunningScale, kObservedCosts> shown_;
};

class LearnerLanes {
 public:
  // The space has something to decide.
  LearnerLanes(const DecisionSpace& space, const DecisionGroups& groups, ActionForm form,
               int64_t lanes, uint64_t seed, const PpoOptions& options, UnitKind kind);
  LearnerLanes(const LearnerLanes&) = delete;  // the learner knows where the agents lie
  LearnerLanes& operator=(const LearnerLanes&) = delete;

  // Before the first draw: agents that choose begin with the values of their decisions that these
  // points have, in proportion to the points' weights; a part of it, of each group its own
  // (`unsure`), goes to all values.
  void Prefer(std::span<const Point> points, std::span<const double> weights,
              std::span<const double> unsure);

  // From now on: a chance of a uniform value for each choice, a weight of entropy, the part of an
  // update's points that are good, what agents that choose numbers learn of neighbouring ones, and
  // points whose choices updates make likelier (OnPolicyLearner).
  void Explore(double chance) { learner_->Explore(chance); }
  void SetEntropy(double weight) { learner_->SetEntropy(weight); }
  void RankAdvantages(double top) { learner_->RankAdvantages(top); }
  void Smooth(double part);
  void Imitate(std::span<const Elites::Entry> elites, double weight);
  int64_t choices() const { return std::ssize(agents_.spec().agents); }

  // A legal point for every lane.
  std::vector<Point> Draw();

  // Takes what the points of the last Draw cost, and updates the agents if it is time.
  void Learn(std::span<const Trial> trials, const CostScale& scale);

 private:
  const DecisionAgents agents_;
  const int64_t lanes_;
  std::unique_ptr<OnPolicyLearner> learner_;
  std::vector<float> observations_, actions_;
};

// What the settings of a method say about a learner, whose names are the same in all of them.
template <typename Options>
PpoOptions LearnerOptions(const Options& options) {
  return {.hidden = options.hidden,
          .steps = options.steps,
          .epochs = options.epochs,
          .minibatches = options.minibatches,
          .clip = options.clip,
          .entropy = options.entropy,
          .actor_rate = options.rate,
          .critic_rate = options.rate,
          .advantage_floor = options.floor};
}

// The weight of entropy when so much of the budget is spent: it falls to a part of itself.
template <typename Options>
double EntropyAfter(const Options& options, double spent) {
  return options.entropy * std::lerp(1.0, options.entropy_left, spent);
}

// Points drawn together that are handed out a few at a time, and what they cost.
class Round {
 public:
  // Whether everything has come back, or nothing was begun.
  bool done() const { return trials_.size() == points_.size(); }
  void Begin(std::vector<Point> points);
  // The next points, at most n.
  std::vector<Point> Take(int64_t n);
  // Returns whether the round is complete.
  bool Add(std::span<const Trial> trials);
  std::span<const Trial> trials() const { return trials_; }

 private:
  std::vector<Point> points_;
  std::vector<Trial> trials_;
};

}  // namespace tessera

#endif  // TESSERA_SEARCH_LEARNER_LANES_H_
