// Who decides together, and the state of a team in files.
#include "tessera/rl/policy_team.h"

#include <utility>

#include <fmt/format.h>

#include "tessera/nn/input_map.h"

namespace tessera {
namespace {

// Agents that share a policy, group by group.
std::vector<std::vector<int64_t>> DecidingTogether(const EnvSpec& spec) {
  std::vector<std::vector<int64_t>> groups;
  for (int64_t agent = 0; agent < spec.num_agents(); ++agent) {
    const bool joins = agent > 0 && spec.agents[static_cast<size_t>(agent)].with_previous;
    if (!joins) groups.emplace_back();
    groups.back().push_back(agent);
  }
  return groups;
}

int64_t SeenBy(const EnvSpec& spec, std::span<const int64_t> members) {
  int64_t size = 0;
  for (const int64_t agent : members) {
    size += spec.agents[static_cast<size_t>(agent)].observation_size;
  }
  return size;
}

}  // namespace

PolicyTeam::PolicyTeam(const LearnerSetup& setup, const PpoOptions& own_options, UnitKind kind,
                       int64_t pass_rows)
    : spec(*setup.spec),
      options(own_options),
      lanes(setup.lanes),
      rows(RolloutRows(setup, own_options)),
      seed(setup.seed),
      observations(static_cast<size_t>(rows * spec.observation_size())),
      next_observations(observations.size()),
      ends(static_cast<size_t>(rows)) {
  const InputMap all = InputMap::Range(0, spec.observation_size());
  std::vector<int64_t> everyone(static_cast<size_t>(spec.num_agents()));
  std::iota(everyone.begin(), everyone.end(), 0);
  if (kind == UnitKind::kJoint) {
    units.push_back(std::make_unique<PolicyUnit>(setup, options, everyone, all, all, 0, pass_rows));
  } else {
    for (const std::vector<int64_t>& members : DecidingTogether(spec)) {
      const InputMap own =
          InputMap::Range(spec.observation_offset(members.front()), SeenBy(spec, members));
      units.push_back(std::make_unique<PolicyUnit>(setup, options, members, own,
                                                   kind == UnitKind::kIndependent ? own : all,
                                                   std::ssize(units), pass_rows));
    }
  }
  for (const auto& unit : units) {
    Rollout& rollout = unit->rollout();
    rollout.actions.resize(static_cast<size_t>(rows * unit->stored()));
    rollout.acted.resize(static_cast<size_t>(rows) * unit->members().size());
    rollout.rewards.resize(static_cast<size_t>(rows));
  }
}

float PolicyTeam::RewardOf(const PolicyUnit& unit, std::span<const float> rewards,
                           int64_t lane) const {
  double reward = 0;
  for (const int64_t member : unit.members()) {
    reward += rewards[static_cast<size_t>(lane * spec.num_agents() + member)];
  }
  return static_cast<float>(reward / static_cast<double>(unit.members().size()));
}

void PolicyTeam::Save(const std::string& prefix, TensorWriter& writer) const {
  for (size_t u = 0; u < units.size(); ++u) {
    units[u]->Save(fmt::format("{}unit{}.", prefix, u), writer);
  }
  writer.AddInt(prefix + "step", step);
  writer.AddInt(prefix + "acts", acts);
  writer.AddInt(prefix + "updates", updates);
  writer.Add(prefix + "observations", std::span(observations));
  writer.Add(prefix + "next_observations", std::span(next_observations));
  writer.Add(prefix + "ends", std::span(ends));
}

Result<void> PolicyTeam::Load(const std::string& prefix, const TensorReader& reader) {
  for (size_t u = 0; u < units.size(); ++u) {
    if (Result<void> r = units[u]->Load(fmt::format("{}unit{}.", prefix, u), reader); !r) return r;
  }
  const struct {
    const char* name;
    int64_t* counter;
    int64_t most;
  } counters[] = {{"step", &step, options.steps},
                  {"acts", &acts, TensorReader::kMostCounted},
                  {"updates", &updates, TensorReader::kMostCounted}};
  for (const auto& [name, counter, most] : counters) {
    const Result<int64_t> value = reader.ReadIntWithin(prefix + name, 0, most);
    if (!value) return value.error();
    *counter = *value;
  }
  if (Result<void> r = reader.Read(prefix + "observations", std::span(observations)); !r) return r;
  if (Result<void> r = reader.Read(prefix + "next_observations", std::span(next_observations));
      !r) {
    return r;
  }
  return reader.ReadWithin(prefix + "ends", std::span(ends), uint8_t{0},
                           static_cast<uint8_t>(EpisodeEnd::kTruncated));
}

}  // namespace tessera
