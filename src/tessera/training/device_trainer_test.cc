// Training on a device: what a machine or a build without one says, and, where there is one, that
// it learns what the host learns. scripts/check-cuda goes further.
#include "tessera/training/device_trainer.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "tessera/base/temporary_folder.h"
#include "tessera/cuda/device.h"
#include "tessera/train.h"

namespace tessera {
namespace {

TrainingConfig SmallConfig() {
  return {.env = "cooperative_navigation",
          .env_settings = {{"agents", "3"}},
          .settings = {{"batch", "64"},
                       {"capacity", "1000"},
                       {"warmup", "100"},
                       {"update_every", "50"}},
          .envs = 2};
}

std::string MessageOf(const TrainingConfig& config) {
  const Result<Training> made = MakeTraining(config, 1, nullptr, Device::kCuda);
  return made ? "made" : ToString(made.error());
}

TEST(DeviceTraining, ABuildWithoutCudaSaysHowToGetIt) {
  if (cuda::Built()) GTEST_SKIP() << "this build has CUDA";
  EXPECT_EQ(
      MessageOf(SmallConfig()),
      "this build of tessera has no CUDA; build it with 'cmake --preset cuda' (nvcc 12 or 13), "
      "or take --device cpu");
}

// Settings are checked before a device is looked for.
TEST(DeviceTraining, WhatTheDeviceDoesNotHaveIsNamed) {
  TrainingConfig config = SmallConfig();
  config.settings.emplace_back("hidden", "32");
  EXPECT_EQ(MessageOf(config),
            "2 hidden layers of 32 units are not on --device cuda; take layers=2 and hidden=64, or "
            "--device cpu");
  config = SmallConfig();
  config.settings.emplace_back("replay", "per_agent");
  EXPECT_EQ(MessageOf(config),
            "replay=per_agent is not on --device cuda; take joint or compact, or --device cpu");
  config = SmallConfig();
  config.settings.emplace_back("sampler", "runs");
  EXPECT_EQ(MessageOf(config),
            "sampler 'runs' is not on --device cuda; take uniform, neighbor or prioritized, or "
            "--device cpu");
  config = SmallConfig();
  config.algorithm = "mappo";
  config.settings = {};
  EXPECT_EQ(MessageOf(config),
            "algorithm mappo is not on --device cuda; take maddpg or masac, or --device cpu");
}

TEST(DeviceTraining, PrecisionsAreForTheDevice) {
  TrainingConfig config = SmallConfig();
  config.settings.emplace_back("precision", "tf32");
  const Result<Training> made = MakeTraining(config, 1, nullptr);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(ToString(made.error()),
            "precision tf32 is for --device cuda; leave it out: the cpu computes in fp32");
}

// The same episodes and updates on both, and a checkpoint that moves from one to the other.
TEST(DeviceTraining, LearnsWhatTheHostLearns) {
  if (const auto device = cuda::FindDevice(); !device) {
    GTEST_SKIP() << "no device: " << ToString(device.error());
  }
  const TemporaryFolder folder;
  const std::string path = folder.File("moved.safetensors");
  const auto go_on = [] { return true; };
  const Result<Training> host = MakeTraining(SmallConfig(), 1, nullptr);
  const Result<Training> device = MakeTraining(SmallConfig(), 1, nullptr, Device::kCuda);
  ASSERT_TRUE(host.ok() && device.ok());
  const auto on_host = MakeTrainer(*host, {.window = 8});
  const auto on_device = MakeTrainer(*device, {.window = 8});
  ASSERT_TRUE(on_host.ok() && on_device.ok());
  for (const auto& trainer : {on_host->get(), on_device->get()}) {
    trainer->Start(1);
    ASSERT_TRUE(trainer->Run(8, go_on));
  }
  const TrainProgress a = (*on_host)->progress(), b = (*on_device)->progress();
  EXPECT_EQ(a.episodes, b.episodes);
  EXPECT_EQ(a.updates, b.updates);
  EXPECT_NEAR(a.team_return, b.team_return, 0.01 * std::abs(a.team_return));

  ASSERT_TRUE((*on_device)->PrepareSave());
  TensorWriter writer;
  (*on_device)->Save(writer);
  ASSERT_TRUE(writer.Write(path));
  const Result<TensorReader> reader = TensorReader::Open(path);
  ASSERT_TRUE(reader.ok());
  ASSERT_TRUE((*on_host)->Load(*reader));
  EXPECT_EQ((*on_host)->progress().team_return, b.team_return);
  ASSERT_TRUE((*on_host)->Run(16, go_on));
  ASSERT_TRUE((*on_device)->Run(16, go_on));
  EXPECT_NEAR((*on_host)->progress().team_return, (*on_device)->progress().team_return,
              0.01 * std::abs(a.team_return));
}

}  // namespace
}  // namespace tessera
