#include "tessera/coopt/knob_policy.h"

#include <algorithm>

#include "tessera/result.h"

namespace tessera::coopt {

KnobPolicy::KnobPolicy(const Group& group, int64_t walkers, const PpoOptions& options,
                       uint64_t seed)
    : group_(group), walkers_(static_cast<size_t>(walkers)) {
  spec_.name = "knobs";
  for (size_t knob = 0; knob < group.knobs(); ++knob) {
    spec_.agents.push_back({.name = "knob" + std::to_string(knob),
                            .observation_size = 1,
                            .action = {.kind = ActionKind::kChoice, .size = 3}});
  }
  Result<std::unique_ptr<Learner>> learner =
      MakePpo({.spec = &spec_, .lanes = walkers, .seed = seed}, options, UnitKind::kJoint);
  TESSERA_CHECK(learner.ok());
  learner_ = *std::move(learner);
  const auto rows = static_cast<size_t>(walkers);
  for (std::vector<float>* values : {&before_, &after_, &actions_, &rewards_}) {
    values->resize(rows * group.knobs());
  }
  ends_.resize(rows);
}

void KnobPolicy::Restart(int64_t walker, Configuration configuration) {
  walkers_[static_cast<size_t>(walker)] = std::move(configuration);
}

void KnobPolicy::Observe(std::vector<float>& observations) const {
  size_t at = 0;
  for (const Configuration& configuration : walkers_) {
    for (size_t knob = 0; knob < group_.knobs(); ++knob) {
      observations[at++] = static_cast<float>(group_.KnobIndex(configuration, knob)) /
                           static_cast<float>(group_.KnobSize(configuration, knob));
    }
  }
}

void KnobPolicy::Move(CounterRng& rng, std::vector<bool>& settled) {
  Observe(before_);
  learner_->Act(std::ssize(walkers_), before_, ActMode::kExplore, actions_);
  settled.assign(walkers_.size(), false);
  size_t at = 0;
  for (size_t walker = 0; walker < walkers_.size(); ++walker) {
    Configuration& configuration = walkers_[walker];
    size_t resting = 0;
    for (size_t knob = 0; knob < group_.knobs(); ++knob) {
      const int64_t index = group_.KnobIndex(configuration, knob);
      const int64_t next = index + static_cast<int64_t>(actions_[at++]) - 1;
      const bool leaves = next < 0 || next >= group_.KnobSize(configuration, knob);
      resting += leaves || next == index ? 1 : 0;
      if (!leaves && next != index) group_.Set(configuration, knob, next, rng);
    }
    settled[walker] = 4 * resting >= 3 * group_.knobs();
  }
  Observe(after_);
}

void KnobPolicy::Reward(const std::vector<float>& rewards, const std::vector<bool>& ends) {
  size_t at = 0;
  for (size_t walker = 0; walker < walkers_.size(); ++walker) {
    for (size_t knob = 0; knob < group_.knobs(); ++knob) rewards_[at++] = rewards[walker];
    ends_[walker] = ends[walker] ? EpisodeEnd::kTruncated : EpisodeEnd::kNone;
  }
  const Result<void> taken = learner_->Observe({.observations = before_,
                                                .states = {},
                                                .actions = actions_,
                                                .rewards = rewards_,
                                                .next_observations = after_,
                                                .next_states = {},
                                                .ends = ends_});
  TESSERA_CHECK(taken.ok());
  if (learner_->UpdateDue()) TESSERA_CHECK(learner_->Update().ok());
}

}  // namespace tessera::coopt
