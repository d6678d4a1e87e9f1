// Training on a device: what a machine or a build without one says, and, where there is one, that
// it learns what the host learns. scripts/check-cuda goes further.
#include "tessera/training/device_trainer.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

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
  config.algorithm = "masac";
  config.settings.emplace_back("mean_entropy", "true");
  EXPECT_EQ(MessageOf(config),
            "mean_entropy is not on --device cuda; leave it out, or take --device cpu");
  config = SmallConfig();
  config.algorithm = "mappo";
  config.settings = {{"layers", "3"}};
  EXPECT_EQ(MessageOf(config),
            "3 hidden layers of 64 units are not on --device cuda; take layers=2 and hidden=64, or "
            "--device cpu");
}

TEST(DeviceTraining, PrecisionsAreForTheDevice) {
  for (const char* const algorithm : {"maddpg", "ippo"}) {
    TrainingConfig config = SmallConfig();
    config.algorithm = algorithm;
    config.settings = {{"precision", "tf32"}};
    const Result<Training> made = MakeTraining(config, 1, nullptr);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(ToString(made.error()),
              "precision tf32 is for --device cuda; leave it out: the cpu computes in fp32");
  }
}

// What a trainer would save, in a file.
TensorReader Saved(Trainer& trainer, const std::string& path) {
  EXPECT_TRUE(trainer.PrepareSave());
  TensorWriter writer;
  trainer.Save(writer);
  EXPECT_TRUE(writer.Write(path));
  return *TensorReader::Open(path);
}

// The largest |a - b| / |b| of all arrays of floats.
double LargestDifference(const TensorReader& left, const TensorReader& right) {
  double worst = 0;
  for (const std::string& name : right.Names()) {
    const Result<int64_t> count = right.Count(name);
    std::vector<float> a(count ? static_cast<size_t>(*count) : 0), b(a.size());
    if (!right.Read(name, std::span(b)) || !left.Read(name, std::span(a))) continue;
    double error = 0, squares = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      error += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
      squares += double{b[i]} * b[i];
    }
    worst = std::max(worst, std::sqrt(error / std::max(squares, 1e-30)));
  }
  return worst;
}

// Ten updates in worlds on the device, and in worlds of the host; then a checkpoint moves in the
// middle of a rollout.
TEST(DeviceTraining, PoliciesLearnWhatTheHostLearns) {
  if (const auto device = cuda::FindDevice(); !device) {
    GTEST_SKIP() << "no device: " << ToString(device.error());
  }
  const TemporaryFolder folder;
  const auto go_on = [] { return true; };
  for (const char* const algorithm : {"ppo", "ippo", "mappo"}) {
    TrainingConfig config = SmallConfig();
    config.algorithm = algorithm;
    config.settings = {{"steps", "50"}};
    const Result<Training> host = MakeTraining(config, 1, nullptr);
    const Result<Training> device = MakeTraining(config, 1, nullptr, Device::kCuda);
    const Result<Training> mixed = MakeTraining(config, 1, nullptr, Device::kCuda);
    ASSERT_TRUE(host.ok() && device.ok() && mixed.ok());
    const auto on_host = MakeTrainer(*host, {.window = 8});
    const auto on_device = MakeTrainer(*device, {.window = 8});
    Trainer between(*mixed->env, *mixed->learner, nullptr, {.window = 8});
    ASSERT_TRUE(on_host.ok() && on_device.ok());
    for (Trainer* const trainer : {on_host->get(), on_device->get(), &between}) {
      trainer->Start(1);
      ASSERT_TRUE(trainer->Run(42, go_on));
      EXPECT_EQ(trainer->progress().updates, 10);
    }
    const TensorReader expected = Saved(**on_host, folder.File("host"));
    const TensorReader there = Saved(**on_device, folder.File("device"));
    EXPECT_LT(LargestDifference(there, expected), 1e-3) << algorithm;
    EXPECT_LT(LargestDifference(Saved(between, folder.File("mixed")), expected), 1e-3) << algorithm;
    // Half a rollout is in the checkpoint.
    ASSERT_TRUE((*on_host)->Load(there));
    for (const auto& trainer : {on_host->get(), on_device->get()}) {
      ASSERT_TRUE(trainer->Run(50, go_on));
    }
    EXPECT_LT(LargestDifference(Saved(**on_device, folder.File("later")),
                                Saved(**on_host, folder.File("later_on_host"))),
              1e-3)
        << algorithm;
  }
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
