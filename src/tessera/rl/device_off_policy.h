// MADDPG and MASAC with networks, replay and updates on a graphics processor (cuda/). The host
// keeps a twin of the agents: it draws the first weights, follows the ring of replay slot by slot,
// and is what checkpoints are written from and read into, so that a run can move between devices.
#ifndef TESSERA_RL_DEVICE_OFF_POLICY_H_
#define TESSERA_RL_DEVICE_OFF_POLICY_H_

#include <memory>
#include <optional>

#include "tessera/cuda/off_policy_engine.h"
#include "tessera/rl/device_learner.h"
#include "tessera/rl/off_policy.h"

namespace tessera {

// What the two algorithms differ in.
struct DeviceAlgorithm {
  bool entropy = false;  // MASAC's term of the actor and bonus, else MADDPG's squared logits
  double term_weight = 0;
};

class DeviceOffPolicy final : public DeviceLearner {
 public:
  // Errors: no device; settings or layouts that the device does not have, each with what to do.
  static Result<std::unique_ptr<Learner>> Make(const LearnerSetup& setup,
                                               std::unique_ptr<OffPolicyAgents> twin,
                                               const DeviceAlgorithm& algorithm);

  void Act(int64_t rows, std::span<const float> observations, ActMode mode,
           std::span<float> actions) override;
  Result<void> Observe(const TransitionBatch& batch) override;
  bool UpdateDue() const override { return twin_->UpdateDue(); }
  Result<UpdateReport> Update() override;
  Result<void> PrepareSave() override;
  void Save(const std::string& prefix, TensorWriter& writer) const override {
    twin_->Save(prefix, writer);
  }
  Result<void> Load(const std::string& prefix, const TensorReader& reader) override;

  int64_t StepsToUpdate(int64_t most) const override;
  Result<void> Play(cuda::WorldBatch& worlds, int64_t steps, int64_t horizon) override;
  Result<UpdateReport> Finish() override;
  int64_t lanes() const override { return setup_.lanes; }
  int64_t rounds() const override { return twin_->round(); }

  cuda::OffPolicyEngine& engine() { return *engine_; }

  // A round with replay on the host, measured: it draws and gathers, the device learns. PrepareSave
  // has brought the host's records up to date. Not for prioritised sampling.
  Result<cuda::OffPolicyEngine::Phases> MeasureHostRound();

 private:
  DeviceOffPolicy(const LearnerSetup& setup, std::unique_ptr<OffPolicyAgents> twin,
                  std::unique_ptr<cuda::OffPolicyEngine> engine);

  Result<void> Upload();
  Result<UpdateReport> MeasuredUpdate();

  const LearnerSetup setup_;
  const std::unique_ptr<OffPolicyAgents> twin_;
  const std::unique_ptr<cuda::OffPolicyEngine> engine_;
  const RingImage ring_;
  std::vector<SlotKind> kinds_;
  std::optional<Error> failed_;  // while acting, which has no way to say so
};

}  // namespace tessera

#endif  // TESSERA_RL_DEVICE_OFF_POLICY_H_
