// The units of a team and the rollout that they learn from: what PPO, IPPO and MAPPO keep between
// steps, wherever they compute, and what checkpoints hold.
#ifndef TESSERA_RL_POLICY_TEAM_H_
#define TESSERA_RL_POLICY_TEAM_H_

#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "tessera/env.h"
#include "tessera/part.h"
#include "tessera/result.h"
#include "tessera/rl/on_policy.h"
#include "tessera/rl/policy_unit.h"

namespace tessera {

struct PolicyTeam {
  // The units' passes take up to pass_rows rows.
  PolicyTeam(const LearnerSetup& setup, const PpoOptions& own_options, UnitKind kind,
             int64_t pass_rows);

  // What a unit gets for a step of a lane: the mean over its members.
  float RewardOf(const PolicyUnit& unit, std::span<const float> rewards, int64_t lane) const;

  void Save(const std::string& prefix, TensorWriter& writer) const;
  Result<void> Load(const std::string& prefix, const TensorReader& reader);

  const EnvSpec spec;
  const PpoOptions options;
  const int64_t lanes, rows;  // rows of a rollout: steps * lanes, step by step
  const uint64_t seed;
  std::vector<std::unique_ptr<PolicyUnit>> units;
  std::vector<float> observations, next_observations;  // [rows x observation size]
  std::vector<uint8_t> ends;                           // [rows], EpisodeEnd
  int64_t step = 0, acts = 0, updates = 0;
};

inline int64_t RolloutRows(const LearnerSetup& setup, const PpoOptions& options) {
  return options.steps * setup.lanes;
}

// The order in which a pass over the rollout learns from its rows.
template <typename Index>
void OrderRows(const PolicyTeam& team, int64_t epoch, std::span<Index> order) {
  std::iota(order.begin(), order.end(), Index{0});
  CounterRng rng(team.seed, StreamId("shuffle"),
                 static_cast<uint64_t>(team.updates * team.options.epochs + epoch));
  rng.Shuffle(order);
}

}  // namespace tessera

#endif  // TESSERA_RL_POLICY_TEAM_H_
