// A decision space as reinforcement learning sees it: which agents there are, what their actions
// mean, and what they observe. The one place that turns decisions into agents: environments
// (decision_env.h) and learners that search (search/learner_lanes.h) use it.
#ifndef TESSERA_ENV_DECISION_AGENTS_H_
#define TESSERA_ENV_DECISION_AGENTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/env.h"
#include "tessera/space.h"

namespace tessera {

enum class ActionForm : uint8_t {
  kVector,  // an agent has a real number for each of its decisions: -1 to 1, first to last value
  kChoice,  // a choice among the values of a decision. In the spec every decision is an agent;
            // those of a group come one after the other and decide together (with_previous)
  kPicks,   // the same, but an order is a choice for each of its places among the items left:
            // fewer outputs than one for every order
  kSoft,  // as kPicks, by weights of which the largest counts; every choice is an agent of its own
};

// The agents of a space: lists of decisions by position. Those with one value are left out.
using DecisionGroups = std::vector<std::vector<size_t>>;
DecisionGroups OneAgent(const DecisionSpace& space);
DecisionGroups AgentForEach(const DecisionSpace& space);

// What all agents see: latency, power, energy and area of the last point. Scaling is the user's. In
// the spec it is the observation of the first one of those that decide together.
inline constexpr int64_t kObservedCosts = 4;
std::array<double, kObservedCosts> ObservedCosts(const Outcome& outcome);

// Contract:
//   Threads      const functions may run at once.
//   Ownership    the space outlives it.
class DecisionAgents {
 public:
  // `name` is that of the spec; `horizon` as in EnvSpec.
  DecisionAgents(const DecisionSpace& space, const DecisionGroups& groups, ActionForm form,
                 std::string name, int64_t horizon);

  const DecisionSpace& space() const { return space_; }
  const EnvSpec& spec() const { return spec_; }
  // Of each agent that chooses: whether its choices are numbers in order.
  const std::vector<bool>& ordered() const { return ordered_; }

  // The point that the actions of all agents make, in range but perhaps not legal. What is not a
  // number, as a policy that has diverged draws it, is the middle.
  Point Decode(std::span<const float> actions) const;

  // The actions that make a point; of agents that choose.
  std::vector<float> Encode(const Point& point) const;

 private:
  void AddAgent(std::string name, ActionSpec action, bool with_previous);
  // The choice of every agent that acts by weights.
  std::vector<float> Heaviest(std::span<const float> weights) const;
  int32_t DecodeOrder(const Decision& decision, std::span<const float> picks) const;

  const DecisionSpace& space_;
  const ActionForm form_;
  std::vector<bool> ordered_;
  std::vector<size_t> order_;  // decisions in the order of their actions
  EnvSpec spec_;
};

}  // namespace tessera

#endif  // TESSERA_ENV_DECISION_AGENTS_H_
