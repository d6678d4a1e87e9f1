#include "tessera/coopt/dcoc_agents.h"

#include <algorithm>

#include "tessera/result.h"

namespace tessera::coopt {
namespace {

constexpr float kPenalty = 0.1f;  // for a move to a state without a program

// Choice 0 stays; 1 and 2 move the first knob down and up, 3 and 4 the second, and so on.
int64_t Choices(size_t knobs) { return 1 + 2 * static_cast<int64_t>(knobs); }

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
    : problem_(problem),
      options_(options),
      decides_hardware_(!problem.hardware().fixed()),
      mapping_knobs_(problem.task(0, 0).space.mapping_knobs()),
      scheduling_knobs_(problem.task(0, 0).space.size() - mapping_knobs_) {
  const auto add = [this](std::string name, size_t knobs) {
    spec_.agents.push_back({.name = std::move(name),
                            .observation_size = static_cast<int64_t>(knobs + kWorkloadFeatures),
                            .action = {.kind = ActionKind::kChoice, .size = Choices(knobs)}});
  };
  spec_.name = "dcoc";
  if (decides_hardware_) add("hardware", problem.hardware().knobs());
  add("scheduling", scheduling_knobs_);
  add("mapping", mapping_knobs_);
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

void DcocAgents::Observe(const Request& state, float* out) const {
  const ScheduleSpace& space = problem_.task(state.hardware, state.layer).space;
  const WorkloadRow workload = space.Workload();
  const auto add_workload = [&] {
    for (const float feature : workload) *out++ = feature / 8;
  };
  if (decides_hardware_) {
    const HardwarePoint& point = problem_.hardware().point(state.hardware);
    for (size_t knob = 0; knob < problem_.hardware().knobs(); ++knob) {
      *out++ = static_cast<float>(point[knob]) /
               static_cast<float>(problem_.hardware().values(knob).size());
    }
    add_workload();
  }
  const auto add_knobs = [&](size_t first, size_t count) {
    for (size_t knob = first; knob < first + count; ++knob) {
      *out++ = static_cast<float>(state.point[knob]) /
               static_cast<float>(space.decisions()[knob].size());
    }
    add_workload();
  };
  add_knobs(mapping_knobs_, scheduling_knobs_);
  add_knobs(0, mapping_knobs_);
}

DcocAgents::Move DcocAgents::MoveHardware(int64_t choice, Request& state) const {
  if (choice == 0) return Move::kMade;
  HardwarePoint point = problem_.hardware().point(state.hardware);
  const auto knob = static_cast<size_t>((choice - 1) / 2);
  const int next = point[knob] + (choice % 2 == 0 ? 1 : -1);
  if (next < 0 || next >= std::ssize(problem_.hardware().values(knob))) return Move::kNowhere;
  point[knob] = static_cast<uint8_t>(next);
  const std::optional<size_t> found = problem_.hardware().Find(point);
  if (!found) return Move::kRefused;
  const ScheduleSpace& from = problem_.task(state.hardware, state.layer).space;
  state.hardware = static_cast<uint32_t>(*found);
  state.point = problem_.task(state.hardware, state.layer).space.Translate(from, state.point);
  return Move::kMade;
}

DcocAgents::Move DcocAgents::MoveKnob(size_t first, size_t count, int64_t choice,
                                      Request& state) const {
  if (choice == 0) return Move::kMade;
  const size_t knob = first + static_cast<size_t>((choice - 1) / 2);
  TESSERA_CHECK(knob < first + count);
  const ScheduleSpace& space = problem_.task(state.hardware, state.layer).space;
  const int next = state.point[knob] + (choice % 2 == 0 ? 1 : -1);
  if (next < 0 || next >= space.decisions()[knob].size()) return Move::kNowhere;
  state.point[knob] = static_cast<uint8_t>(next);
  return Move::kMade;
}

bool DcocAgents::Apply(const float* actions, bool freeze_hardware, Request& state,
                       uint8_t* acted) const {
  Request next = state;
  const auto choice = [&actions] { return static_cast<int64_t>(*actions++); };
  if (decides_hardware_) {
    const int64_t own = choice();
    const Move move = freeze_hardware ? Move::kNowhere : MoveHardware(own, next);
    *acted++ = move != Move::kNowhere;
    if (move == Move::kRefused) {
      // The others' moves were not tried.
      std::fill_n(acted, 2, uint8_t{0});
      return false;
    }
  }
  *acted++ = MoveKnob(mapping_knobs_, scheduling_knobs_, choice(), next) == Move::kMade;
  *acted++ = MoveKnob(0, mapping_knobs_, choice(), next) == Move::kMade;
  if (!problem_.task(next.hardware, next.layer).space.Valid(next.point)) return false;
  state = next;
  return true;
}

void DcocAgents::Reward(const Worth& worth, bool moved, float* rewards) const {
  const float penalty = moved ? 0.0f : kPenalty;
  for (int64_t agent = 0; agent < spec_.num_agents(); ++agent) {
    const bool hardware = decides_hardware_ && agent == 0;
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
  for (size_t i = 0; i < walkers; ++i) Observe(states[i], before.data() + i * width);
  for (int64_t step = 0; step < options_.steps; ++step) {
    learner_->Act(options_.walkers, before, ActMode::kExplore, actions);
    for (size_t i = 0; i < walkers; ++i) {
      const float* const own = actions.data() + i * static_cast<size_t>(spec_.action_size());
      const bool moved = Apply(own, freeze_hardware, states[i], acted.data() + i * agents);
      Reward(score(states[i]), moved, rewards.data() + i * agents);
      Observe(states[i], after.data() + i * width);
      if (moved) visit(states[i]);
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
  TESSERA_CHECK(learner_->Update().ok());
}

std::vector<float> DcocAgents::Values(std::span<const Request> states) {
  const auto width = static_cast<size_t>(spec_.observation_size());
  std::vector<float> observations(states.size() * width), values(states.size());
  for (size_t i = 0; i < states.size(); ++i) Observe(states[i], observations.data() + i * width);
  learner_->Values(std::ssize(states), observations, values);
  return values;
}

}  // namespace tessera::coopt
