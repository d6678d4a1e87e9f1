// The list of learners, and how presets and assignments combine.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tessera/env.h"
#include "tessera/part.h"
#include "tessera/rl/check_rewards.h"

namespace tessera {

#define TESSERA_LEARNERS(PART)      \
  PART(LearnerInfo, kMaddpgLearner) \
  PART(LearnerInfo, kMasacLearner)  \
  PART(LearnerInfo, kPpoLearner)    \
  PART(LearnerInfo, kIppoLearner)   \
  PART(LearnerInfo, kMappoLearner)

TESSERA_LEARNERS(TESSERA_DECLARE_PART)

namespace {

constexpr const LearnerInfo* kLearners[] = {TESSERA_LEARNERS(TESSERA_PART_ADDRESS)};

template <typename Part, typename Name>
Error Unknown(std::string_view what, std::string_view name, const std::vector<Part>& parts,
              Name name_of) {
  std::vector<std::string_view> names;
  for (const Part& part : parts) names.push_back(name_of(part));
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown {} '{}'", what, name),
               .hint = DidYouMean(name, std::span<const std::string_view>(names))};
}

}  // namespace

std::span<const LearnerInfo* const> Learners() { return kLearners; }

Result<const LearnerInfo*> FindLearner(std::string_view name) {
  for (const LearnerInfo* learner : kLearners) {
    if (learner->name == name) return learner;
  }
  return Unknown("algorithm", name,
                 std::vector<const LearnerInfo*>(std::begin(kLearners), std::end(kLearners)),
                 [](const LearnerInfo* learner) { return learner->name; });
}

Result<std::unique_ptr<Learner>> MakeLearner(const LearnerInfo& info, std::string_view preset,
                                             const Assignments& assignments,
                                             const LearnerSetup& setup) {
  const std::vector<Preset> presets = info.presets();
  const auto found = std::find_if(presets.begin(), presets.end(),
                                  [&](const Preset& p) { return p.name == preset; });
  if (found == presets.end()) {
    return Unknown(fmt::format("preset of {}", info.name), preset, presets,
                   [](const Preset& p) { return p.name; });
  }
  Assignments all;
  for (const auto& [name, value] : found->assignments) {
    const bool overruled = std::any_of(assignments.begin(), assignments.end(),
                                       [&](const auto& given) { return given.first == name; });
    if (!overruled) all.emplace_back(name, value);
  }
  all.insert(all.end(), assignments.begin(), assignments.end());
  return info.make(setup, all);
}

Result<void> CheckRewards(const EnvSpec& spec, std::span<const float> rewards) {
  float sum = 0;
  for (const float reward : rewards) sum += reward * 0.0f;
  if (sum == 0.0f) return {};  // a NaN or an infinity times zero is a NaN
  const auto bad = std::find_if(rewards.begin(), rewards.end(),
                                [](float reward) { return !std::isfinite(reward); });
  const int64_t at = bad - rewards.begin();
  const size_t agent = static_cast<size_t>(at % spec.num_agents());
  return Error{.kind = ErrorKind::kBadValue,
               .message = fmt::format("reward {} of agent {} in environment {}", *bad,
                                      spec.agents[agent].name, at / spec.num_agents()),
               .hint = "the environment is broken; nothing was learned from this step"};
}

}  // namespace tessera
