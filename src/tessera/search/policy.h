// The policies of agents that share a point: each draws the values of its own decisions from a
// distribution that it learns, and all of them together make a point.
#ifndef TESSERA_SEARCH_POLICY_H_
#define TESSERA_SEARCH_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/part.h"
#include "tessera/space.h"

namespace tessera {

struct PolicyOptions {
  // How much of what is learned about a number goes to its neighbours. Default: 0.3.
  double smooth = 0.3;
};

// A number or a choice is drawn from a softmax over its values, a loop order by drawing one loop
// after the other from a softmax over those that are left (Plackett-Luce). An agent with several
// decisions draws them in order, each given the ones before it: it can learn that two of its
// decisions go together, which agents with one decision each cannot.
//
// Contract:
//   Threads      const functions may run at once; others not.
//   Determinism  a draw is a function of what was learned and of the rng.
//   Ownership    the space outlives the policy.
class SoftmaxPolicy {
 public:
  // `agents` lists the decisions of each agent by position; those with one value are skipped.
  SoftmaxPolicy(const DecisionSpace& space, const std::vector<std::vector<size_t>>& agents,
                const PolicyOptions& options);

  // A legal point: drawn, then each decision changed at random with chance `explore`, then
  // repaired.
  Point Draw(double explore, CounterRng& rng) const;

  // One step uphill on sum of weights[i] * log(probability of points[i]), all taken before any.
  void Learn(std::span<const Point> points, std::span<const double> weights);

  // The probability of each value of a number or choice, before conditions on other decisions.
  std::vector<double> Probabilities(size_t decision) const;

  // Mean over open decisions of entropy / log(values): 1 is uniform, 0 is certain.
  double Entropy() const;

 private:
  // What a decision's softmax adds up: a column of `size` numbers of its own, and one for every
  // value of each decision of the same agent that was drawn before it.
  struct Condition {
    size_t decision;
    size_t offset;  // of the first column in parameters_
  };
  struct Head {
    size_t decision = 0;
    size_t size = 0;    // values, or items of an order
    size_t offset = 0;  // of its own column
    bool order = false;
    bool ordinal = false;
    std::vector<Condition> conditions = {};
  };

  size_t Row(size_t decision, const Point& point) const;
  std::span<const double> Scores(const Head& head, const Point& point,
                                 std::vector<double>& scratch) const;
  void Accumulate(const Head& head, const Point& point, double weight, std::span<double> gradient,
                  std::vector<double>& scratch) const;

  const DecisionSpace& space_;
  const PolicyOptions options_;
  std::vector<Head> heads_;
  std::vector<double> parameters_;
  std::vector<double> gradient_;
};

// "k_l2 c_l2 | order_l2 | ...": the decisions of each agent, for notes.
std::string Describe(const DecisionSpace& space, const std::vector<std::vector<size_t>>& agents);

}  // namespace tessera

#endif  // TESSERA_SEARCH_POLICY_H_
