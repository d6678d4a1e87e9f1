// A learner of rl/ as a search method: its agents draw a point for every lane, and learn from what
// the points cost. A step is a sample, and every step ends its episode, because points do not
// follow on each other.
#ifndef TESSERA_SEARCH_LEARNER_SEARCHER_H_
#define TESSERA_SEARCH_LEARNER_SEARCHER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tessera/env.h"
#include "tessera/env/decision_agents.h"
#include "tessera/search.h"

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

struct LearnerSearchOptions {
  // Points drawn with one policy. Default: 8.
  int64_t lanes = 8;

  // Reward of an infeasible point, negated. Default: 1.
  double penalty = 1.0;

  // Whether the reward is -log(objective); otherwise 1 / objective. Both are standardised by what
  // was seen so far. Default: true.
  bool log_reward = true;
};

class LearnerSearcher : public Searcher {
 public:
  // `make` is called once, unless there is nothing to decide.
  using MakeLearner = std::function<std::unique_ptr<Learner>(const LearnerSetup& setup)>;
  LearnerSearcher(const SearchSetup& setup, const DecisionGroups& groups, ActionForm form,
                  const LearnerSearchOptions& options, const MakeLearner& make);

  std::vector<Point> Propose(int64_t n) final;
  void Observe(std::span<const Trial> trials) final;

 private:
  void Learn();
  double RawReward(const Outcome& outcome) const;
  void Show(const Outcome& outcome, std::span<float> out);

  const LearnerSearchOptions options_;
  const DecisionAgents agents_;
  std::unique_ptr<Learner> learner_;
  std::vector<float> observations_, actions_;
  std::vector<Trial> trials_;  // of the lanes so far
  int64_t handed_ = 0;         // lanes whose points were proposed
  RunningScale reward_;
  std::array<RunningScale, kObservedCosts> shown_;
};

}  // namespace tessera

#endif  // TESSERA_SEARCH_LEARNER_SEARCHER_H_
