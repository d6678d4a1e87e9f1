// What a device that fails in the middle leaves: the error of a training and of a mapping run,
// their last checkpoint and journal, and what going on from them on the host comes to. One failure
// ends a process's use of the device, so each case is a process: cuda_lost_bench train|map.
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "tessera/cuda/device.h"
#include "tessera/env.h"
#include "tessera/map.h"
#include "tessera/rl/trainer.h"
#include "tessera/train.h"
#include "tessera/training/device_trainer.h"

namespace tessera {
namespace {

template <typename T>
T Must(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "cuda_lost_bench: {}\n", ToString(result.error()));
  std::exit(1);
}
void Must(const Result<void>& result) {
  if (result) return;
  fmt::print(stderr, "cuda_lost_bench: {}\n", ToString(result.error()));
  std::exit(1);
}

std::string Scratch(const char* name) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / name;
  std::filesystem::remove_all(path);
  return path;
}

void LoseTraining() {
  TrainingConfig config;
  config.env = "cooperative_navigation";
  config.settings = {{"capacity", "2000"}, {"warmup", "1024"}};
  const auto go_on = [] { return true; };
  const Training training = Must(MakeTraining(config, 1, nullptr, Device::kCuda));
  const auto trainer = Must(MakeTrainer(training, {.window = 100}));
  trainer->Start(1);
  Must(trainer->Run(100, go_on));
  Must(trainer->PrepareSave());
  TensorWriter writer;
  trainer->Save(writer);
  const std::string path = Scratch("cuda_lost.checkpoint");
  Must(writer.Write(path));
  Must(cuda::BreakDevice());
  const Result<void> lost = trainer->Run(200, go_on);
  fmt::print("training: {}\n", lost ? "went on" : ToString(lost.error()));
  const Training host = Must(MakeTraining(config, 1, nullptr));
  const auto again = Must(MakeTrainer(host, {.window = 100}));
  Must(again->Load(Must(TensorReader::Open(path))));
  Must(again->Run(200, go_on));
  fmt::print("the checkpoint of 100 episodes, on the host: {} episodes, {} rounds, return {:.1f}\n",
             again->progress().episodes, again->progress().updates, again->progress().team_return);
}

void LoseMapping() {
  const MapSettings settings{.network = "alexnet",
                             .accelerator = "simple3",
                             .objective = Objective::kEdp,
                             .method = Must(ParseMapMethod("ga")),
                             .budget = {.samples = 2000}};
  const MapJob job =
      Must(MakeMapJob(settings, Must(LoadNetwork("alexnet")), Must(LoadAccelerator("simple3"))));
  const RunDirectory folder = Must(CreateMapRun(Scratch("cuda_lost.run"), job, {}));
  int polls = 0;
  const auto lose = [&] {
    if (++polls == 40) Must(cuda::BreakDevice());
    return false;
  };
  const Result<NetworkMapping> lost =
      MapNetwork(job, 1, {.stopped = lose, .directory = &folder}, Device::kCuda);
  fmt::print("mapping: {}\n", lost ? "went on" : ToString(lost.error()));
  const NetworkMapping resumed = Must(MapNetwork(job, 1, {.directory = &folder}));
  const NetworkMapping whole = Must(MapNetwork(job, 1));
  fmt::print(
      "the same run, gone on with on the host: EDP {:.17g}, {} samples; without the device: "
      "EDP {:.17g}, {} samples\n",
      resumed.total.value, resumed.total.samples, whole.total.value, whole.total.samples);
}

int Main(int argc, char** argv) {
  const std::string part = argc > 1 ? argv[1] : "train";
  if (part == "train") LoseTraining();
  if (part == "map") LoseMapping();
  return 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::Main(argc, argv); }
