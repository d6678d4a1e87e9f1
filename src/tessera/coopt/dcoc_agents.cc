#include "tessera/coopt/dcoc_agents.h"

#include <algorithm>

#include "tessera/base/stop.h"
#include "tessera/result.h"

namespace tessera::coopt {
namespace {

constexpr float kPenalty = 0.1f;  // for a move to a state without a program

UnitKind KindOf(DcocAgentsKind kind) {
  switch (kind) {
    case DcocAgentsKind::kCentral: return UnitKind::kShared;
    case DcocAgentsKind::kOne: return UnitKind::kJoint;
    case DcocAgentsKind::kIndependent: return UnitKind::kIndependent;
  }
  return UnitKind::kShared;
}

}  // namespace

DcocAgents::DcocAgents(const CooptProblem& problem, const DcocAgentsOptions& options)
    : options_(options), walk_(problem), spec_(walk_.Spec("dcoc")) {
  learner_ = MakeOnPolicy({.spec = &spec_, .lanes = options.walkers, .seed = options.seed},
                          {.hidden = 64,
                           .steps = options.steps,
                           .epochs = 4,
                           .minibatches = 4,
                           .gamma = 0.9,
                           .lambda = 0.95,
                           .clip = 0.2,
                           .entropy = 0.01,
                           .actor_rate = 1e-3,
                           .critic_rate = 1e-3},
                          KindOf(options.kind));
}

void DcocAgents::Reward(const Worth& worth, bool moved, float* rewards) const {
  const float penalty = moved ? 0.0f : kPenalty;
  for (int64_t agent = 0; agent < spec_.num_agents(); ++agent) {
    const bool hardware = walk_.decides_hardware() && agent == 0;
    const double own = hardware ? worth.hardware : worth.schedule;
    const double reward = options_.local_rewards ? own : worth.hardware * worth.schedule;
    rewards[agent] = static_cast<float>(reward) - penalty;
  }
}

void DcocAgents::Walk(std::span<const Request> starts, bool freeze_hardware, const Score& score,
                      const std::function<void(const Request&)>& visit) {
  const auto walkers = static_cast<size_t>(options_.walkers);
  const auto width = static_cast<size_t>(spec_.observation_size());
  const auto agents = static_cast<size_t>(spec_.num_agents());
  std::vector<Request> states;
  for (size_t i = 0; i < walkers; ++i) states.push_back(starts[i % starts.size()]);
  std::vector<float> before(walkers * width), after(before.size());
  std::vector<float> actions(walkers * static_cast<size_t>(spec_.action_size()));
  std::vector<float> rewards(walkers * agents);
  std::vector<uint8_t> acted(walkers * agents);
  std::vector<EpisodeEnd> ends(walkers, EpisodeEnd::kNone);
  for (const Request& state : states) visit(state);
  for (size_t i = 0; i < walkers; ++i) walk_.Observe(states[i], before.data() + i * width);
  for (int64_t step = 0; step < options_.steps && !Abandoned(); ++step) {
    learner_->Act(options_.walkers, before, ActMode::kExplore, actions);
    for (size_t i = 0; i < walkers; ++i) {
      const float* const own = actions.data() + i * static_cast<size_t>(spec_.action_size());
      const bool moved = walk_.Apply(own, freeze_hardware, states[i], acted.data() + i * agents);
      Reward(score(states[i]), moved, rewards.data() + i * agents);
      walk_.Observe(states[i], after.data() + i * width);
      if (moved) visit(states[i]);
    }
    if (!options_.learn) {
      std::swap(before, after);
      continue;
    }
    if (step + 1 == options_.steps) std::fill(ends.begin(), ends.end(), EpisodeEnd::kTruncated);
    const Result<void> taken = learner_->Observe({.observations = before,
                                                  .states = {},
                                                  .actions = actions,
                                                  .rewards = rewards,
                                                  .next_observations = after,
                                                  .next_states = {},
                                                  .ends = ends,
                                                  .acted = acted});
    TESSERA_CHECK(taken.ok());
    std::swap(before, after);
  }
  if (options_.learn) TESSERA_CHECK(learner_->Update().ok());
}

void DcocAgents::Save(TensorWriter& writer) const { learner_->SaveNetworks("agents.", writer); }

Result<void> DcocAgents::Load(const TensorReader& reader) {
  return learner_->LoadNetworks("agents.", reader);
}

std::vector<float> DcocAgents::Values(std::span<const Request> states) {
  const auto width = static_cast<size_t>(spec_.observation_size());
  std::vector<float> observations(states.size() * width), values(states.size());
  for (size_t i = 0; i < states.size(); ++i)
    walk_.Observe(states[i], observations.data() + i * width);
  learner_->Values(std::ssize(states), observations, values);
  return values;
}

}  // namespace tessera::coopt
