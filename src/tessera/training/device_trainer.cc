// The host counts along: all worlds' episodes end at the same steps, so it knows every slot and
// every episode without asking.
#include "tessera/training/device_trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tessera/cuda/worlds.h"
#include "tessera/env/mpe/mpe_env.h"
#include "tessera/rl/device_learner.h"

namespace tessera {
namespace {

// Steps that are started at once; between them the caller is asked whether to go on.
constexpr int64_t kMostSteps = 128;

class DeviceTrainer final : public Trainer {
 public:
  DeviceTrainer(MpeEnv& env, DeviceLearner& learner, std::unique_ptr<cuda::WorldBatch> worlds,
                const TrainerOptions& options)
      : Trainer(env, learner, nullptr, options),
        env_(env),
        learner_(learner),
        worlds_(std::move(worlds)),
        horizon_(worlds_->spec().horizon) {}

  Result<void> Load(const TensorReader& reader) override {
    stale_ = true;
    return Trainer::Load(reader);
  }

  Result<void> Run(int64_t episodes, const std::function<bool()>& keep_going) override {
    const State own = state();
    if (stale_) {
      if (Result<void> uploaded = Upload(); !uploaded) return uploaded;
      stale_ = false;
    }
    while (own.episodes < episodes) {
      const int64_t lanes = learner_.lanes(), done = own.env_steps / lanes;
      // To the last step that is asked for, and no farther.
      const int64_t rounds_left = (episodes - own.episodes + lanes - 1) / lanes;
      const int64_t last = (done / horizon_ + rounds_left) * horizon_;
      const int64_t steps = learner_.StepsToUpdate(std::min(kMostSteps, last - done));
      const int64_t rounds = learner_.rounds();
      if (Result<void> played = learner_.Play(*worlds_, steps, horizon_); !played) return played;
      own.env_steps += steps * lanes;
      own.updates += learner_.rounds() - rounds;
      own.episodes = own.env_steps / lanes / horizon_ * lanes;
      if (!keep_going()) break;
    }
    return Finish();
  }

  Result<void> PrepareSave() override {
    if (stale_) return {};
    if (Result<void> finished = Finish(); !finished) return finished;
    if (Result<void> got = worlds_->Get(env_.image()); !got) return got;
    env_.ChangedImage();
    return Trainer::PrepareSave();
  }

 private:
  Result<void> Upload() {
    if (Result<void> set = worlds_->Set(env_.image(), env_.seed()); !set) return set;
    const State own = state();
    return worlds_->SetReturns(own.running, own.returns);
  }

  // Returns and losses come back.
  Result<void> Finish() {
    const State own = state();
    const Result<UpdateReport> report = learner_.Finish();
    if (!report) return report.error();
    if (own.updates > 0) own.losses = *report;
    if (Result<void> got = worlds_->GetReturns(own.running, own.returns); !got) return got;
    return CheckLosses();
  }

  MpeEnv& env_;
  DeviceLearner& learner_;
  const std::unique_ptr<cuda::WorldBatch> worlds_;
  const int64_t horizon_;
  bool stale_ = true;  // worlds of the host count
};

}  // namespace

Result<std::unique_ptr<Trainer>> MakeTrainer(const Training& training,
                                             const TrainerOptions& options) {
  auto* const worlds = dynamic_cast<MpeEnv*>(training.env.get());
  auto* const learner = dynamic_cast<DeviceLearner*>(training.learner.get());
  if (worlds == nullptr || learner == nullptr) {
    return std::make_unique<Trainer>(*training.env, *training.learner, nullptr, options);
  }
  const Result<cuda::WorldSpec> spec = worlds->device_spec();
  if (!spec) return spec.error();
  Result<std::unique_ptr<cuda::WorldBatch>> batch = cuda::WorldBatch::Make(*spec);
  if (!batch) return batch.error();
  return std::unique_ptr<Trainer>(
      std::make_unique<DeviceTrainer>(*worlds, *learner, std::move(*batch), options));
}

}  // namespace tessera
