// Checkpoints whose numbers were changed by somebody who also took care of the checksums: they are
// refused, or training goes on; it neither crashes nor hangs.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/base/temporary_folder.h"
#include "tessera/part.h"
#include "tessera/rl/trainer.h"
#include "tessera/training/config.h"

namespace tessera {
namespace {

constexpr int64_t kSteps = 40;  // enough for several updates

// A checkpoint taken apart.
struct Checkpoint {
  Json header;
  std::string data;

  static Checkpoint Parse(const std::string& bytes) {
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof(length));
    return {Json::parse(bytes.substr(sizeof(length), length)),
            bytes.substr(sizeof(length) + length)};
  }

  // Without checksums, which are as good as right ones.
  std::string Bytes() const {
    Json written = header;
    written.erase("__metadata__");
    const std::string text = written.dump();
    const uint64_t length = text.size();
    return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + text + data;
  }
};

template <typename T>
void Put(std::string& data, size_t at, T value) {
  std::memcpy(data.data() + at, &value, sizeof(value));
}

// Every hostile value of an array's type at its first and last place.
std::vector<std::string> Variants(const Checkpoint& good, const Json& array) {
  const auto begin = array["data_offsets"][0].get<size_t>();
  const auto end = array["data_offsets"][1].get<size_t>();
  const auto type = array["dtype"].get<std::string>();
  std::vector<std::string> variants;
  const auto add = [&]<typename T>(std::vector<T> values) {
    if (end - begin < sizeof(T)) return;
    for (const T value : values) {
      for (const size_t at : {begin, end - sizeof(T)}) {
        Checkpoint bad = good;
        Put(bad.data, at, value);
        variants.push_back(bad.Bytes());
        if (end - begin == sizeof(T)) break;
      }
    }
  };
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  if (type == "I64") {
    add(std::vector<int64_t>{0, 1, -1, -7, 129, 100'000, 1'000'000'000, kMost, -kMost - 1});
  } else if (type == "F64") {
    add(std::vector<double>{std::nan(""), HUGE_VAL, -1, 1e300});
  } else if (type == "F32") {
    add(std::vector<float>{std::nanf(""), HUGE_VALF, -1, 1e30f});
  } else if (type == "U8") {
    add(std::vector<uint8_t>{0, 1, 4, 255});
  } else {
    add(std::vector<uint32_t>{0, 625, 0xffffffffu});
  }
  return variants;
}

struct Case {
  const char* name;
  TrainingConfig config;
};

void PrintTo(const Case& item, std::ostream* out) { *out << item.name; }

const Assignments kSmallReplay = {{"hidden", "8"},    {"layers", "1"},  {"batch", "8"},
                                  {"capacity", "64"}, {"warmup", "16"}, {"update_every", "4"}};
const Assignments kSmallRollout = {{"hidden", "8"}, {"layers", "1"}, {"steps", "8"}};

Assignments With(Assignments settings, const char* name, const char* value) {
  settings.emplace_back(name, value);
  return settings;
}

class HostileCheckpoint : public testing::TestWithParam<Case> {
 protected:
  // Loads a checkpoint into a new training and goes on with it.
  static void GoOn(const TrainingConfig& config, const std::string& path) {
    Result<Training> training = MakeTraining(config, /*threads=*/1, nullptr);
    ASSERT_TRUE(training) << training.error();
    Trainer trainer(*training->env, *training->learner, nullptr, {.window = 4});
    trainer.Start(1);
    const Result<TensorReader> reader = TensorReader::Open(path);
    if (!reader || !trainer.Load(*reader)) return;
    for (int64_t step = 0; step < kSteps; ++step) {
      if (!trainer.Step()) return;
      static_cast<void>(trainer.progress());
    }
  }
};

TEST_P(HostileCheckpoint, IsRefusedOrHarmless) {
  const TemporaryFolder folder;
  const std::string path = folder.File("checkpoint.safetensors");
  const TrainingConfig& config = GetParam().config;
  Result<Training> training = MakeTraining(config, /*threads=*/1, nullptr);
  ASSERT_TRUE(training) << training.error();
  Trainer trainer(*training->env, *training->learner, nullptr, {.window = 4});
  trainer.Start(1);
  for (int64_t step = 0; step < kSteps + 3; ++step) ASSERT_TRUE(trainer.Step());
  TensorWriter writer;
  trainer.Save(writer);
  const Checkpoint good = Checkpoint::Parse(writer.Bytes());
  std::ofstream(path, std::ios::binary) << good.Bytes();
  GoOn(config, path);
  for (const auto& [name, array] : good.header.items()) {
    if (name == "__metadata__") continue;
    for (const std::string& bad : Variants(good, array)) {
      SCOPED_TRACE(name);
      std::ofstream(path, std::ios::binary | std::ios::trunc) << bad;  // nothing has to last here
      GoOn(config, path);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    , HostileCheckpoint,
    testing::Values(Case{"maddpg",
                         {.env = "cooperative_navigation",
                          .env_settings = {{"agents", "2"}},
                          .settings = kSmallReplay,
                          .envs = 2}},
                    Case{"per_agent",
                         {.env = "cooperative_navigation",
                          .env_settings = {{"agents", "2"}, {"compat", "mpe2"}},
                          .settings = With(kSmallReplay, "replay", "per_agent")}},
                    Case{"prioritized",
                         {.env = "cooperative_navigation",
                          .env_settings = {{"agents", "2"}},
                          .settings = With(kSmallReplay, "sampler", "reuse:window=2")}},
                    Case{"mappo",
                         {.env = "cooperative_navigation",
                          .env_settings = {{"agents", "2"}},
                          .algorithm = "mappo",
                          .settings = kSmallRollout}},
                    Case{"ppo",
                         {.env = "predator_prey", .algorithm = "ppo", .settings = kSmallRollout}}),
    [](const testing::TestParamInfo<Case>& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace tessera
