// PPO, IPPO and MAPPO with networks, rollouts and updates on a graphics processor (cuda/). The host
// keeps a twin of the team: it draws the first weights and the order of mini-batches, counts along,
// and is what checkpoints are written from and read into, so that a run can move between devices.
#ifndef TESSERA_RL_DEVICE_ON_POLICY_H_
#define TESSERA_RL_DEVICE_ON_POLICY_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/cuda/on_policy_engine.h"
#include "tessera/rl/device_learner.h"
#include "tessera/rl/on_policy.h"
#include "tessera/rl/policy_team.h"

namespace tessera {

class DeviceOnPolicy final : public DeviceLearner {
 public:
  // Errors: no device; settings or actions that the device does not have, each with what to do.
  static Result<std::unique_ptr<Learner>> Make(const LearnerSetup& setup, const PpoOptions& options,
                                               UnitKind kind);

  void Act(int64_t rows, std::span<const float> observations, ActMode mode,
           std::span<float> actions) override;
  Result<void> Observe(const TransitionBatch& batch) override;
  bool UpdateDue() const override { return team_.step == team_.options.steps; }
  Result<UpdateReport> Update() override;
  Result<void> PrepareSave() override;
  void Save(const std::string& prefix, TensorWriter& writer) const override {
    team_.Save(prefix, writer);
  }
  Result<void> Load(const std::string& prefix, const TensorReader& reader) override;

  int64_t StepsToUpdate(int64_t most) const override;
  Result<void> Play(cuda::WorldBatch& worlds, int64_t steps, int64_t horizon) override;
  Result<UpdateReport> Finish() override;
  int64_t lanes() const override { return team_.lanes; }
  int64_t rounds() const override { return team_.updates; }

  // Mean seconds of an update of the rollout as it stands; to measure.
  Result<double> MeasureUpdates(int64_t updates) {
    return engine_->MeasureUpdates(updates, NextOrder());
  }

 private:
  DeviceOnPolicy(const LearnerSetup& setup, const PpoOptions& options, UnitKind kind);

  cuda::OnPolicySpec EngineSpec() const;
  Result<void> Upload();
  Result<void> CheckActed() const;
  // Rollouts as the engine has them, all agents in a row; and back to the units.
  cuda::RolloutImage Image();
  void GatherRollout();
  void ScatterRollout();
  std::span<const int32_t> NextOrder();
  void EndRollout();

  const LearnerSetup setup_;
  const UnitKind kind_;
  PolicyTeam team_;
  std::unique_ptr<cuda::OnPolicyEngine> engine_;
  std::vector<float> chosen_, rewards_;  // [rows x agents], [rows x units]
  std::vector<float> step_rewards_;      // [lanes x units]
  std::vector<uint8_t> step_ends_;
  std::vector<int32_t> order_;   // [epochs x rows]
  std::optional<Error> failed_;  // while acting, which has no way to say so
};

}  // namespace tessera

#endif  // TESSERA_RL_DEVICE_ON_POLICY_H_
