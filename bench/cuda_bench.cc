// The CUDA engine beside the host's: the same rounds and worlds, tensor by tensor, then speed.
// scripts/check-cuda runs it; each part is a word on the command line, and ends in a table.
//
//   cuda_bench compare    tensors after ten rounds, for algorithms, layouts, samplers, precisions
//   cuda_bench trainings  whole trainings on both devices, number by number
//   cuda_bench policies   PPO, IPPO and MAPPO: tensors after ten updates, then speed
//   cuda_bench worlds     observations and rewards of worlds, then steps per second
//   cuda_bench rounds     milliseconds of update rounds, and of their phases
//   cuda_bench platforms  the same with replay on the host, and that the learning is the same
//   cuda_bench training   episodes per second, everything on the device
//   cuda_bench returns    60,000 episodes of cooperative_navigation, 5 seeds, and on the host
//   cuda_bench curves:STUDY   whole trainings as rows of JSON: masac, samplers, samplers6, together
//   cuda_bench profile    a few rounds, for Nsight Compute
//   cuda_bench profile_policies   an update of policies, for the same
//   cuda_bench memory     the error of asking for too much memory
//   cuda_bench small      every kernel once, on little data: for compute-sanitizer
//   cuda_bench race       one round of a few rows for each kind of kernel: for its racecheck
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "tessera/cuda/device.h"
#include "tessera/cuda/worlds.h"
#include "tessera/env/mpe/mpe_env.h"
#include "tessera/part.h"
#include "tessera/rl/device_off_policy.h"
#include "tessera/rl/device_on_policy.h"
#include "tessera/rl/stepper.h"
#include "tessera/rl/trainer.h"
#include "tessera/train.h"
#include "tessera/training/device_trainer.h"

namespace tessera {
namespace {

template <typename T>
T Must(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "cuda_bench: {}\n", ToString(result.error()));
  std::exit(1);
}
void Must(const Result<void>& result) {
  if (result) return;
  fmt::print(stderr, "cuda_bench: {}\n", ToString(result.error()));
  std::exit(1);
}

double Seconds(const std::function<void()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TrainingConfig ConfigFor(const std::string& env, int64_t agents, int64_t envs = 1,
                         Assignments settings = {}) {
  TrainingConfig config;
  config.env = env;
  config.env_settings = {{"agents", std::to_string(agents)}};
  config.settings = std::move(settings);
  config.envs = envs;
  return config;
}

// ---- Tensors after ten rounds ------------------------------------------------------------------

void PlayAtRandom(Env& env, std::span<Learner* const> learners, int64_t steps) {
  std::vector<float> actions(static_cast<size_t>(env.batch() * env.spec().action_size()));
  std::vector<float> observations, states;
  for (int64_t step = 0; step < steps; ++step) {
    CounterRng rng(7, StreamId("cuda_bench"), static_cast<uint64_t>(step));
    for (size_t i = 0; i < actions.size(); i += 5) {
      float sum = 0;
      for (size_t c = 0; c < 5; ++c)
        sum += actions[i + c] = 0.01f + static_cast<float>(rng.Uniform());
      for (size_t c = 0; c < 5; ++c) actions[i + c] /= sum;
    }
    observations.assign(env.observations().begin(), env.observations().end());
    states.assign(env.states().begin(), env.states().end());
    Must(env.Step(actions));
    for (Learner* const learner : learners) {
      Must(learner->Observe({.observations = observations,
                             .states = states,
                             .actions = actions,
                             .rewards = env.rewards(),
                             .next_observations = env.observations(),
                             .next_states = env.states(),
                             .ends = env.ends()}));
    }
    env.ResetFinished();
  }
}

struct Difference {
  double worst = 0;      // of a tensor
  double worst_net = 0;  // of all weights and biases of a network together
  int64_t numbers = 0, unequal = 0;
  std::string where;  // the tensors that are not equal
};

bool IsOfNetwork(const std::string& name) {
  const std::string last = name.substr(name.rfind('.') + 1);
  return last.size() == 2 && (last[0] == 'w' || last[0] == 'b');
}

// What a learner saves, in a file.
TensorReader Saved(Learner& learner, const char* name) {
  const std::string path = std::filesystem::temp_directory_path() / name;
  Must(learner.PrepareSave());
  TensorWriter writer;
  learner.Save("", writer);
  Must(writer.Write(path));
  return Must(TensorReader::Open(path));
}

// Numbers of an array that are not equal, if they are of type T.
template <typename T>
bool CountUnequal(const TensorReader& left, const TensorReader& right, const std::string& name,
                  Difference& difference) {
  std::vector<T> x(static_cast<size_t>(Must(right.Count(name)))), y(x.size());
  if (!right.Read(name, std::span(x))) return false;
  Must(left.Read(name, std::span(y)));
  int64_t unequal = 0;
  for (size_t i = 0; i < x.size(); ++i) unequal += !(x[i] == y[i]);
  difference.numbers += std::ssize(x);
  difference.unequal += unequal;
  if (unequal > 0) difference.where += fmt::format(" {}:{}", name, unequal);
  return true;
}

// All numbers that two learners save, and the largest |a - b| / |b| of networks, their tensors and
// their optimisers' means.
Difference Compare(Learner& a, Learner& b) {
  const TensorReader left = Saved(a, "cuda_bench.a"), right = Saved(b, "cuda_bench.b");
  Difference difference;
  std::map<std::string, std::pair<double, double>> nets;  // squares of a - b, and of b
  for (const std::string& name : right.Names()) {
    const bool real = CountUnequal<float>(left, right, name, difference);
    static_cast<void>(real || CountUnequal<double>(left, right, name, difference) ||
                      CountUnequal<int64_t>(left, right, name, difference) ||
                      CountUnequal<uint64_t>(left, right, name, difference) ||
                      CountUnequal<uint32_t>(left, right, name, difference) ||
                      CountUnequal<uint8_t>(left, right, name, difference));
    const bool net = IsOfNetwork(name);
    if (!real || (!net && name.substr(name.rfind('.') + 1) != "mean")) continue;
    std::vector<float> x(static_cast<size_t>(Must(right.Count(name)))), y(x.size());
    Must(left.Read(name, std::span(y)));
    Must(right.Read(name, std::span(x)));
    double squares = 0, error = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      squares += double{x[i]} * x[i];
      error += (double{x[i]} - y[i]) * (double{x[i]} - y[i]);
    }
    const double relative = squares > 0 ? std::sqrt(error / squares) : std::sqrt(error);
    if (net) {
      auto& [net_error, net_squares] = nets[name.substr(0, name.rfind('.'))];
      net_error += error;
      net_squares += squares;
    }
    if (!(relative <= difference.worst)) difference.worst = relative;
  }
  for (const auto& [name, sums] : nets) {
    difference.worst_net = std::max(difference.worst_net, std::sqrt(sums.first / sums.second));
  }
  return difference;
}

// An array of a file to be written again, if its numbers are of type T; `change` sees them before.
template <typename T, typename Change>
bool Again(const TensorReader& reader, const std::string& name, std::deque<std::vector<T>>& kept,
           TensorWriter& writer, const Change& change) {
  std::vector<T> values(static_cast<size_t>(Must(reader.Count(name))));
  if (!reader.Read(name, std::span(values))) return false;
  if constexpr (std::is_same_v<T, float>) change(values);
  kept.push_back(std::move(values));
  writer.Add(name, std::span(kept.back()));
  return true;
}

// Gives `to` the state of `from` with every weight moved by one rounding, up or down at random.
void LoadDisturbed(const Learner& from, Learner& to, uint64_t seed) {
  const std::string path = std::filesystem::temp_directory_path() / "cuda_bench.disturbed";
  TensorWriter before, after;
  from.Save("", before);
  Must(before.Write(path));
  std::tuple<std::deque<std::vector<float>>, std::deque<std::vector<double>>,
             std::deque<std::vector<int64_t>>, std::deque<std::vector<uint64_t>>,
             std::deque<std::vector<uint32_t>>, std::deque<std::vector<uint8_t>>>
      kept;
  CounterRng rng(seed, StreamId("disturbed"));
  {
    const TensorReader reader = Must(TensorReader::Open(path));
    for (const std::string& name : reader.Names()) {
      const auto move = [&](std::vector<float>& values) {
        for (float& value : values) {
          if (!IsOfNetwork(name)) return;
          value = std::nextafter(value, rng.Bits32() % 2 == 0 ? HUGE_VALF : -HUGE_VALF);
        }
      };
      std::apply(
          [&](auto&... of_type) {
            static_cast<void>((Again(reader, name, of_type, after, move) || ...));
          },
          kept);
    }
  }
  Must(after.Write(path));
  Must(to.Load("", Must(TensorReader::Open(path))));
}

struct RoundCase {
  std::string env, algorithm;
  int64_t agents, envs;
  Assignments settings;
};

std::vector<RoundCase> RoundCases() {
  const Assignments small = {{"capacity", "6000"}, {"warmup", "1024"}, {"update_every", "1000000"}};
  const auto with = [&](Assignments more) {
    more.insert(more.end(), small.begin(), small.end());
    return more;
  };
  return {
      {"predator_prey", "masac", 3, 1, with({{"epsilon", "0.001"}, {"tau", "0.02"}})},
      {"predator_prey", "maddpg", 3, 1, with({})},
      {"predator_prey", "maddpg", 3, 1, with({{"together", "true"}})},
      {"cooperative_navigation", "maddpg", 3, 2, with({{"replay", "joint"}})},
      {"cooperative_navigation", "maddpg", 6, 1, with({{"together", "true"}})},
      {"predator_prey", "maddpg", 6, 1, with({{"sampler", "neighbor"}})},
      {"predator_prey", "maddpg", 6, 3,
       with({{"sampler", "neighbor:wrap=true,truncate=true"}, {"together", "true"}})},
      {"predator_prey", "maddpg", 3, 1, with({{"sampler", "prioritized"}})},
      {"predator_prey", "maddpg", 3, 1, with({{"sampler", "prioritized-neighbor"}})},
      {"predator_prey", "maddpg", 3, 1, with({{"sampler", "runs:same_episode=true"}})},
      {"predator_prey", "maddpg", 3, 3, with({{"sampler", "reuse:base=neighbor,radius=2"}})},
      {"cooperative_navigation", "maddpg", 3, 1, with({{"clip", "global"}, {"adam", "pytorch"}})},
      {"predator_prey", "maddpg", 12, 1, with({{"together", "true"}})},
      {"predator_prey", "maddpg", 12, 1, with({{"replay", "joint"}, {"together", "true"}})},
      {"predator_prey", "maddpg", 24, 1, with({{"together", "true"}})},
      {"predator_prey", "masac", 3, 1, with({})},
      {"cooperative_navigation", "masac", 6, 1, with({{"together", "true"}})},
      {"predator_prey", "maddpg", 6, 1, with({{"together", "true"}, {"precision", "tf32"}})},
      {"predator_prey", "maddpg", 6, 1, with({{"together", "true"}, {"precision", "bf16"}})},
  };
}

std::string Shown(const Assignments& settings) {
  std::string shown;
  for (const auto& [name, value] : settings) {
    if (name == "capacity" || name == "warmup" || name == "update_every") continue;
    shown += fmt::format("{}{}={}", shown.empty() ? "" : " ", name, value);
  }
  return shown;
}

void CompareRounds() {
  fmt::print(
      "numbers of networks, optimisers, replay and counters that are not equal on both devices: "
      "after 1 and 10 rounds from\n"
      "the first weights; and from weights that the host has trained for 200 rounds (50 with 12 "
      "agents), after 10. net,\n"
      "tensor: |a - b| / |b| of the worst network (all its weights) and of the worst tensor "
      "(Adam's means included)\n");
  fmt::print("{:23} {:6} {:>6} {:>4} {:46} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {}\n",
             "environment", "algo", "agents", "envs", "settings", "numbers", "uneq 1", "uneq 10",
             "uneq 210", "net 10", "tens 1", "tens 10", "tens 210",
             "critics' loss: device, host; what is not equal after 10");
  for (const RoundCase& c : RoundCases()) {
    TrainingConfig config = ConfigFor(c.env, c.agents, c.envs, c.settings);
    config.algorithm = c.algorithm;
    TrainingConfig host = config;
    std::erase_if(host.settings, [](const auto& s) { return s.first == "precision"; });
    const Training cpu = Must(MakeTraining(host, 8, nullptr));
    const Training gpu = Must(MakeTraining(config, 1, nullptr, Device::kCuda));
    Learner* const all[] = {cpu.learner.get(), gpu.learner.get()};
    cpu.env->Reset(1);
    PlayAtRandom(*cpu.env, all, 3000 / c.envs);
    Difference first;
    for (int round = 0; round < 10; ++round) {
      for (Learner* const learner : all) Must(learner->Update());
      if (round == 0) first = Compare(*gpu.learner, *cpu.learner);
    }
    const Difference last = Compare(*gpu.learner, *cpu.learner);
    // A checkpoint of the host moves to the device.
    const int more = c.agents <= 6 ? 200 : c.agents <= 12 ? 50 : 0;
    for (int round = 0; round < more; ++round) Must(cpu.learner->Update());
    Must(gpu.learner->Load("", Saved(*cpu.learner, "cuda_bench.moved")));
    UpdateReport a, b;
    for (int round = 0; round < 10; ++round) {
      a = Must(gpu.learner->Update());
      b = Must(cpu.learner->Update());
    }
    const Difference later = Compare(*gpu.learner, *cpu.learner);
    const bool exact = Shown(c.settings).find("precision") == std::string::npos;
    fmt::print(
        "{:23} {:6} {:6} {:4} {:46} {:9} {:8} {:8} {:8} {:8.1e} {:8.1e} {:8.1e} {:8.1e} {:.6g} "
        "{:.6g}{}\n",
        c.env, c.algorithm, c.agents, c.envs, Shown(c.settings), last.numbers, first.unequal,
        last.unequal, later.unequal, last.worst_net, first.worst, last.worst, later.worst, a.q_loss,
        b.q_loss, exact ? last.where : "");
    std::fflush(stdout);
  }
}

// Whole trainings: worlds, acting, replay and rounds on each device.
void CompareTrainings() {
  struct Case {
    std::string env, algorithm;
    int64_t agents, episodes;
    Assignments settings;
  };
  const Case cases[] = {
      {"predator_prey", "maddpg", 3, 1000, {}},
      {"predator_prey", "maddpg", 6, 1000, {}},
      {"predator_prey", "maddpg", 12, 300, {{"together", "true"}}},
      {"predator_prey", "masac", 3, 1000, {}},
      {"cooperative_navigation", "maddpg", 3, 5000, {}},
      {"cooperative_navigation", "maddpg", 6, 1000, {{"sampler", "neighbor"}}},
      {"cooperative_navigation", "masac", 3, 1000, {{"act_with_target", "true"}}}};
  fmt::print("{:23} {:6} {:>6} {:24} {:>8} {:>8} {:>10} {:>8} {:>18} {:>18}\n", "environment",
             "algo", "agents", "settings", "episodes", "rounds", "numbers", "unequal",
             "return, device", "return, host");
  for (const Case& c : cases) {
    TrainingConfig config = ConfigFor(c.env, c.agents, 1, c.settings);
    config.algorithm = c.algorithm;
    config.settings.emplace_back("warmup", "1024");
    double returns[2];
    int64_t rounds[2];
    std::vector<Training> trainings;
    for (const Device device : {Device::kCuda, Device::kCpu}) {
      trainings.push_back(Must(MakeTraining(config, 8, nullptr, device)));
      const auto trainer = Must(MakeTrainer(trainings.back(), {.window = 1000}));
      trainer->Start(1);
      Must(trainer->Run(c.episodes, [] { return true; }));
      returns[device == Device::kCpu] = trainer->progress().team_return;
      rounds[device == Device::kCpu] = trainer->progress().updates;
    }
    const Difference end = Compare(*trainings[0].learner, *trainings[1].learner);
    fmt::print("{:23} {:6} {:6} {:24} {:8} {:8} {:10} {:8} {:18.12g} {:18.12g}{}\n", c.env,
               c.algorithm, c.agents, Shown(c.settings), c.episodes, rounds[0], end.numbers,
               end.unequal, returns[0], returns[1], end.where);
    std::fflush(stdout);
  }
}

// ---- Policies ----------------------------------------------------------------------------------

void ComparePolicies() {
  struct Case {
    std::string env, algorithm;
    int64_t agents, envs;
    Assignments settings;
  };
  const Case cases[] = {
      {"cooperative_navigation", "ppo", 3, 1, {}},
      {"cooperative_navigation", "ippo", 3, 4, {}},
      {"cooperative_navigation", "mappo", 3, 4, {}},
      {"predator_prey", "ppo", 6, 4, {}},
      {"predator_prey", "ippo", 6, 4, {}},
      {"predator_prey", "mappo", 6, 4, {}},
      {"predator_prey", "mappo", 12, 8, {}},
      {"predator_prey", "mappo", 24, 4, {}},
      {"predator_prey", "mappo", 6, 4, {{"precision", "tf32"}}},
      {"predator_prey", "mappo", 6, 4, {{"precision", "bf16"}}},
  };
  fmt::print(
      "rollouts of 50 steps in worlds of their own, 4 passes of 4 mini-batches: |a - b| / |b| "
      "after 1 and 10 updates, of\n"
      "the worst network and of the worst tensor (Adam's means and what was observed included). "
      "host 10: two runs of the\n"
      "host, the weights of one moved by one rounding, up or down at random, before the first\n");
  fmt::print("{:23} {:6} {:>6} {:>4} {:16} {:>8} {:>8} {:>8} {:>8} {:>8} {}\n", "environment",
             "algo", "agents", "envs", "settings", "net 1", "net 10", "tens 1", "tens 10",
             "host 10", "critics' loss: device, host");
  const auto go_on = [] { return true; };
  for (const Case& c : cases) {
    TrainingConfig config = ConfigFor(c.env, c.agents, c.envs, c.settings);
    config.algorithm = c.algorithm;
    config.settings.emplace_back("steps", "50");
    TrainingConfig host = config;
    std::erase_if(host.settings, [](const auto& s) { return s.first == "precision"; });
    const Training cpu = Must(MakeTraining(host, 8, nullptr));
    const Training gpu = Must(MakeTraining(config, 1, nullptr, Device::kCuda));
    const Training disturbed = Must(MakeTraining(host, 8, nullptr));
    std::vector<std::unique_ptr<Trainer>> trainers;
    for (const Training* const training : {&cpu, &gpu, &disturbed}) {
      trainers.push_back(Must(MakeTrainer(*training, {.window = 100})));
      trainers.back()->Start(1);
    }
    LoadDisturbed(*cpu.learner, *disturbed.learner, 1);
    Difference first, last;
    for (const int64_t updates : {1, 10}) {
      for (const auto& trainer : trainers) Must(trainer->Run(2 * updates * c.envs, go_on));
      (updates == 1 ? first : last) = Compare(*gpu.learner, *cpu.learner);
    }
    const Difference own = Compare(*disturbed.learner, *cpu.learner);
    std::string shown;
    for (const auto& [name, value] : c.settings) shown += fmt::format("{}={}", name, value);
    fmt::print("{:23} {:6} {:6} {:4} {:16} {:8.1e} {:8.1e} {:8.1e} {:8.1e} {:8.1e} {:.6g} {:.6g}\n",
               c.env, c.algorithm, c.agents, c.envs, shown, first.worst_net, last.worst_net,
               first.worst, last.worst, own.worst, trainers[1]->progress().losses.q_loss,
               trainers[0]->progress().losses.q_loss);
    std::fflush(stdout);
  }
}

// Updates and whole training with default settings: rollouts of 128 steps.
void MeasurePolicies() {
  fmt::print("\n{:23} {:6} {:>6} {:>6} {:8} {:>10} {:>12} {:>10} {:>12}\n", "environment", "algo",
             "agents", "envs", "device", "update_ms", "episodes/s", "updates", "team_return");
  const auto measure = [](const std::string& algorithm, int64_t agents, int64_t envs, Device device,
                          int64_t rollouts) {
    TrainingConfig config = ConfigFor("predator_prey", agents, envs);
    config.algorithm = algorithm;
    const Training training = Must(MakeTraining(config, 1, nullptr, device));
    const auto trainer = Must(MakeTrainer(training, {.window = 1000}));
    trainer->Start(1);
    const auto go_on = [] { return true; };
    // A rollout is a little more than five episodes of every environment.
    const int64_t warm = device == Device::kCuda ? 11 * envs : 0;
    if (warm > 0) Must(trainer->Run(warm, go_on));
    const TrainProgress before = trainer->progress();
    const double seconds =
        Seconds([&] { Must(trainer->Run(warm + (128 * rollouts / 25 + 1) * envs, go_on)); });
    const TrainProgress after = trainer->progress();
    auto* const there = dynamic_cast<DeviceOnPolicy*>(training.learner.get());
    fmt::print("{:23} {:6} {:6} {:6} {:8} {:>10} {:12.1f} {:10} {:12.2f}\n", "predator_prey",
               algorithm, agents, envs, there != nullptr ? "cuda" : "cpu",
               there != nullptr ? fmt::format("{:.3f}", 1e3 * Must(there->MeasureUpdates(10))) : "",
               static_cast<double>(after.episodes - before.episodes) / seconds,
               after.updates - before.updates, after.team_return);
    std::fflush(stdout);
  };
  for (const int64_t agents : {3, 12, 48}) {
    for (const std::string algorithm : {"ppo", "ippo", "mappo"}) {
      if (agents == 48 && algorithm == "ppo") continue;
      for (const int64_t envs : {1, 100, 1000}) {
        if (agents == 48 && envs == 1000) continue;
        measure(algorithm, agents, envs, Device::kCuda, 20);
        if (agents < 48 ? envs < 1000 && agents * envs < 400 : envs == 1 && algorithm == "ippo") {
          measure(algorithm, agents, envs, Device::kCpu, agents == 48 ? 1 : 2);
        }
      }
    }
  }
}

// ---- Worlds ------------------------------------------------------------------------------------

struct WorldCase {
  std::string env;
  Assignments settings;
};

std::unique_ptr<MpeEnv> MakeWorlds(const WorldCase& c, int64_t batch) {
  std::unique_ptr<Env> env = Must(Must(FindEnv(c.env))->make(c.settings, batch, nullptr));
  return std::unique_ptr<MpeEnv>(dynamic_cast<MpeEnv*>(env.release()));
}

void CompareWorlds() {
  const WorldCase cases[] = {{"predator_prey", {{"agents", "3"}}},
                             {"predator_prey", {{"agents", "12"}}},
                             {"predator_prey", {{"agents", "48"}}},
                             {"predator_prey", {{"agents", "6"}, {"controller", "random"}}},
                             {"predator_prey", {{"agents", "6"}, {"controller", "learned"}}},
                             {"predator_prey", {{"agents", "3"}, {"compat", "mpe2"}}},
                             {"cooperative_navigation", {{"agents", "3"}}},
                             {"cooperative_navigation", {{"agents", "12"}}},
                             {"cooperative_navigation", {{"agents", "48"}}},
                             {"cooperative_navigation", {{"agents", "6"}, {"compat", "mpe2"}}}};
  fmt::print("{:24} {:34} {:>12} {:>12} {:>14} {:>14}\n", "environment", "settings", "numbers",
             "not equal", "worst obs", "worst reward");
  for (const WorldCase& c : cases) {
    constexpr int64_t kBatch = 37, kSteps = 60;
    const std::unique_ptr<MpeEnv> env = MakeWorlds(c, kBatch);
    env->Reset(11);
    const auto worlds = Must(cuda::WorldBatch::Make(Must(env->device_spec())));
    Must(worlds->Set(env->image(), env->seed()));
    std::vector<float> actions(static_cast<size_t>(kBatch * env->spec().action_size()));
    std::vector<float> observations(env->observations().size()), rewards(env->rewards().size());
    double worst = 0, worst_reward = 0;
    int64_t numbers = 0, unequal = 0;
    for (int64_t step = 0; step < kSteps; ++step) {
      CounterRng rng(3, StreamId("worlds"), static_cast<uint64_t>(step));
      for (float& value : actions) value = static_cast<float>(rng.Uniform());
      // Every second agent chooses: it stays at rest or moves along one axis, where forces that are
      // too small to matter elsewhere are all there is.
      for (size_t i = 0; i < actions.size(); i += 10) {
        const size_t chosen = rng.Bits32() % 5;
        for (size_t k = 0; k < 5; ++k) actions[i + k] = k == chosen ? 1.0f : 0.0f;
      }
      Must(env->Step(actions));
      Must(worlds->Step(actions));
      Must(worlds->GetRewards(rewards));
      for (size_t i = 0; i < rewards.size(); ++i, ++numbers) {
        unequal += rewards[i] != env->rewards()[i];
        const double scale = std::max(1.0, std::abs(double{rewards[i]}));
        worst_reward =
            std::max(worst_reward, std::abs(double{rewards[i]} - env->rewards()[i]) / scale);
      }
      env->ResetFinished();
      Must(worlds->GetObservations(observations));
      for (size_t i = 0; i < observations.size(); ++i, ++numbers) {
        unequal += observations[i] != env->observations()[i];
        worst = std::max(worst, std::abs(double{observations[i]} - env->observations()[i]));
      }
    }
    std::string shown;
    for (const auto& [name, value] : c.settings) shown += fmt::format("{}={} ", name, value);
    fmt::print("{:24} {:34} {:12} {:12} {:14.2e} {:14.2e}\n", c.env, shown, numbers, unequal, worst,
               worst_reward);
  }
  fmt::print("\n{:24} {:>6} {:>10} {:>16} {:>12}\n", "environment", "agents", "worlds", "steps/s",
             "GB/s");
  for (const std::string env : {"cooperative_navigation", "predator_prey"}) {
    for (const int64_t agents : {3, 12}) {
      for (const int64_t batch : {10'000, 100'000, agents == 3 ? 1'000'000 : 300'000}) {
        const WorldCase c{env, {{"agents", std::to_string(agents)}}};
        const std::unique_ptr<MpeEnv> one = MakeWorlds(c, std::min<int64_t>(batch, 10'000));
        one->Reset(1);
        cuda::WorldSpec spec = Must(one->device_spec());
        spec.worlds = batch;
        const auto worlds = Must(cuda::WorldBatch::Make(spec));
        Must(worlds->SetAlike(one->image(), one->seed()));
        Must(worlds->StepAtRandom(50, 5));
        Must(worlds->Wait());
        const int64_t steps = batch >= 300'000 ? 200 : 1000;  // whole episodes
        const double seconds = Seconds([&] {
          Must(worlds->StepAtRandom(steps, 5));
          Must(worlds->Wait());
        });
        const double rate = static_cast<double>(steps * batch) / seconds;
        const double bytes = 4.0 * static_cast<double>(spec.observed.size() + spec.actors) +
                             (2 * 8 + 4) * static_cast<double>(spec.size());
        fmt::print("{:24} {:6} {:10} {:16.4g} {:12.0f}\n", env, agents, batch, rate,
                   1e-9 * rate * bytes);
        std::fflush(stdout);
      }
    }
  }
}

// ---- Rounds ------------------------------------------------------------------------------------

void MeasureRounds() {
  fmt::print("update rounds, batch 1024, replay of 200,000 transitions (60,000 with 48 agents)\n");
  fmt::print("{:>6} {:8} {:9} {:9} {:>9} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "agents",
             "layout", "sampler", "mode", "prec", "round_ms", "sample_ms", "target_ms", "critic_ms",
             "actor_ms", "optim_ms");
  struct Case {
    std::string layout, sampler, precision;
    bool together;
  };
  const Case cases[] = {
      {"compact", "uniform", "tf32", true},  {"compact", "uniform", "fp32", true},
      {"compact", "uniform", "bf16", true},  {"compact", "uniform", "fp32", false},
      {"compact", "neighbor", "fp32", true}, {"joint", "uniform", "fp32", true},
      {"joint", "neighbor", "fp32", true}};
  for (const int64_t agents : {3, 6, 12, 24, 48}) {
    for (const Case& c : cases) {
      const int64_t fill = agents < 48 ? 200'000 : 60'000, envs = 1000;
      const TrainingConfig config = ConfigFor("predator_prey", agents, envs,
                                              {{"capacity", std::to_string(fill)},
                                               {"warmup", "1024"},
                                               {"update_every", "1000000000"},
                                               {"replay", c.layout},
                                               {"sampler", c.sampler},
                                               {"precision", c.precision},
                                               {"together", c.together ? "true" : "false"}});
      const Result<Training> made = MakeTraining(config, 1, nullptr, Device::kCuda);
      if (!made) {
        fmt::print("{:6} {:8} {:9} {:9} {:>9} {}\n", agents, c.layout, c.sampler,
                   c.together ? "together" : "in turn", c.precision, made.error().message);
        continue;
      }
      const auto trainer = Must(MakeTrainer(*made, {.window = 1000}));
      trainer->Start(1);
      Must(trainer->Run(fill / 25, [] { return true; }));
      auto& engine = dynamic_cast<DeviceOffPolicy&>(*made->learner).engine();
      double best = 1e9;
      for (int i = 0; i < 3; ++i) best = std::min(best, Must(engine.MeasureRounds(30)));
      cuda::OffPolicyEngine::Phases least{.all = 1e9};
      for (int i = 0; i < 5; ++i) {
        const auto phases = Must(engine.MeasureRound());
        if (phases.all < least.all) least = phases;
      }
      fmt::print(
          "{:6} {:8} {:9} {:9} {:>9} {:10.4f} {:10.4f} {:10.4f} {:10.4f} {:10.4f} {:10.4f}\n",
          agents, c.layout, c.sampler, c.together ? "together" : "in turn", c.precision, 1e3 * best,
          1e3 * least.sampling, 1e3 * least.targets, 1e3 * least.critics, 1e3 * least.actors,
          1e3 * (least.critic_steps + least.actor_steps));
      std::fflush(stdout);
    }
  }
}

// ---- Replay on the host ------------------------------------------------------------------------

void MeasurePlatforms() {
  fmt::print(
      "update rounds in turn, FP32, batch 1024, replay of 60,000 transitions, milliseconds; "
      "device: drawn there;\n"
      "host: drawn and gathered by the host (1 thread), copied from page-locked memory. Last "
      "column: the worst\n"
      "tensor's difference between the two after one round\n");
  fmt::print("{:>6} {:8} {:22} {:7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "agents",
             "layout", "sampler", "replay", "sampling", "copies", "target_q", "q_loss", "p_loss",
             "all", "differ");
  const auto make = [](int64_t agents, const std::string& layout, const std::string& sampler) {
    return MakeTraining(ConfigFor("predator_prey", agents, 100,
                                  {{"capacity", "60000"},
                                   {"warmup", "1024"},
                                   {"update_every", "1000000000"},
                                   {"replay", layout},
                                   {"sampler", sampler}}),
                        1, nullptr, Device::kCuda);
  };
  for (const int64_t agents : {3, 6, 12, 24, 48}) {
    for (const std::string layout : {"compact", "joint"}) {
      for (const std::string sampler : {"uniform", "neighbor:truncate=true"}) {
        const Result<Training> here = make(agents, layout, sampler);
        if (!here) continue;
        const Result<Training> there = make(agents, layout, sampler);
        DeviceOffPolicy* learners[2];
        for (const Training* const training : {&*here, &*there}) {
          const auto trainer = Must(MakeTrainer(*training, {.window = 1000}));
          trainer->Start(1);
          Must(trainer->Run(60'000 / 25, [] { return true; }));
          Must(training->learner->PrepareSave());
          learners[training == &*there] = &dynamic_cast<DeviceOffPolicy&>(*training->learner);
        }
        Must(learners[0]->engine().MeasureRound());
        Must(learners[1]->MeasureHostRound());
        const double differ = Compare(*learners[1], *learners[0]).worst;
        for (const bool host : {false, true}) {
          cuda::OffPolicyEngine::Phases least{.all = 1e9};
          for (int i = 0; i < 4; ++i) {
            const auto phases =
                Must(host ? learners[1]->MeasureHostRound() : learners[0]->engine().MeasureRound());
            if (phases.all < least.all) least = phases;
          }
          fmt::print(
              "{:6} {:8} {:22} {:7} {:9.3f} {:9.3f} {:9.3f} {:9.3f} {:9.3f} {:9.3f} {:9.1e}\n",
              agents, layout, sampler, host ? "host" : "device", 1e3 * least.sampling,
              1e3 * least.copies, 1e3 * least.targets, 1e3 * (least.critics + least.critic_steps),
              1e3 * (least.actors + least.actor_steps), 1e3 * least.all, differ);
        }
        std::fflush(stdout);
      }
    }
  }
}

// ---- Training ----------------------------------------------------------------------------------

void MeasureTraining() {
  fmt::print(
      "episodes per second of training: act, step, store, sample, learn; one round per 100 "
      "steps\n");
  fmt::print("{:>6} {:>6} {:10} {:>12} {:>14} {:>10} {:>12}\n", "agents", "envs", "device", "mode",
             "episodes/s", "rounds", "team_return");
  const auto measure = [](int64_t agents, int64_t envs, Device device, bool together,
                          int64_t episodes) {
    const TrainingConfig config =
        ConfigFor("predator_prey", agents, envs,
                  {{"capacity", "100000"},
                   {"warmup", "2048"},
                   {"together", together ? "true" : "false"},
                   {"precision", device == Device::kCuda && together ? "tf32" : "fp32"}});
    const Training training = Must(MakeTraining(config, 1, nullptr, device));
    const auto trainer = Must(MakeTrainer(training, {.window = 1000}));
    trainer->Start(1);
    const auto go_on = [] { return true; };
    const int64_t warm = 2100 / 25 + 2 * envs;
    Must(trainer->Run(warm, go_on));
    const TrainProgress before = trainer->progress();
    const double seconds = Seconds([&] { Must(trainer->Run(warm + episodes, go_on)); });
    const TrainProgress after = trainer->progress();
    fmt::print("{:6} {:6} {:10} {:>12} {:14.1f} {:10} {:12.2f}\n", agents, envs,
               device == Device::kCuda ? "cuda" : "cpu", together ? "together" : "in turn",
               static_cast<double>(after.episodes - before.episodes) / seconds,
               after.updates - before.updates, after.team_return);
    std::fflush(stdout);
  };
  for (const int64_t agents : {3, 6, 12, 24, 48}) {
    const int64_t long_run = agents <= 12 ? 4000 : 1000;
    measure(agents, 1, Device::kCuda, false, long_run);
    measure(agents, 1, Device::kCuda, true, long_run);
    measure(agents, 100, Device::kCuda, true, 4 * long_run);
    measure(agents, 1, Device::kCpu, false,
            agents <= 6    ? 400
            : agents <= 12 ? 100
            : agents <= 24 ? 24
                           : 8);
  }
}

// ---- Returns -----------------------------------------------------------------------------------

void MeasureReturns() {
  constexpr int64_t kEpisodes = 60'000, kSeeds = 5;
  fmt::print(
      "cooperative_navigation, maddpg, default settings, {} episodes, five runs side by side; mean "
      "team return of the last 1,000\n{:>6} {:>6} {:>6} {:>18} {:>10}\n",
      kEpisodes, "device", "agents", "seed", "team_return", "seconds");
  const auto measure = [&](Device device, int64_t agents) {
    const std::string name = device == Device::kCuda ? "cuda" : "cpu";
    double sum = 0, squares = 0;
    std::vector<std::thread> threads;
    std::vector<double> values(kSeeds), seconds(kSeeds);
    // Side by side: on the device each on a stream of its own, for one alone leaves most of it
    // idle.
    for (size_t i = 0; i < values.size(); ++i) {
      threads.emplace_back([&, i] {
        TrainingConfig config = ConfigFor("cooperative_navigation", agents);
        config.seed = i + 1;
        const Training training = Must(MakeTraining(config, 1, nullptr, device));
        const auto trainer = Must(MakeTrainer(training, {.window = 1000}));
        trainer->Start(config.seed);
        seconds[i] = Seconds([&] { Must(trainer->Run(kEpisodes, [] { return true; })); });
        values[i] = trainer->progress().team_return;
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < values.size(); ++i) {
      sum += values[i];
      squares += values[i] * values[i];
      fmt::print("{:>6} {:6} {:6} {:18.12g} {:10.2f}\n", name, agents, i + 1, values[i],
                 seconds[i]);
    }
    const double mean = sum / kSeeds;
    const double deviation = std::sqrt((squares - kSeeds * mean * mean) / (kSeeds - 1));
    // Student's t, 4 degrees of freedom.
    fmt::print("{:>6} {:6} mean {:.1f} +- {:.1f} (95 % of the mean over seeds)\n", name, agents,
               mean, 2.776 * deviation / std::sqrt(double{kSeeds}));
    std::fflush(stdout);
  };
  measure(Device::kCuda, 3);
  measure(Device::kCpu, 3);
  measure(Device::kCuda, 6);
}

// ---- Curves ------------------------------------------------------------------------------------

// What `tessera train` would be called with.
std::string CommandOf(const TrainingConfig& config, int64_t episodes) {
  std::string command =
      fmt::format("tessera train --device cuda --env {} --agents {} --algo {} --episodes {}",
                  config.env, config.env_settings[0].second, config.algorithm, episodes);
  for (const auto& [name, value] : config.settings) {
    command += fmt::format(" --set {}={}", name, value);
  }
  return command + fmt::format(" --seed {}", config.seed);
}

// Trainings of 60,000 episodes side by side, each on a stream of its own: one alone leaves most of
// the device idle. A row is printed when its run ends.
void TrainCurves(const std::string& study) {
  constexpr int64_t kEpisodes = 60'000, kWindow = 1000;
  const Assignments samplers = {{"sampler", "uniform"},     {"sampler", "neighbor:truncate=true"},
                                {"sampler", "prioritized"}, {"sampler", "prioritized-neighbor"},
                                {"sampler", "runs"},        {"sampler", "reuse"}};
  std::vector<TrainingConfig> configs;
  const auto add = [&](const std::string& algorithm, int64_t agents, const Assignments& settings) {
    for (const std::string env : {"predator_prey", "cooperative_navigation"}) {
      for (uint64_t seed = 1; seed <= 5; ++seed) {
        configs.push_back(ConfigFor(env, agents, 1, settings));
        configs.back().algorithm = algorithm;
        configs.back().seed = seed;
      }
    }
  };
  for (const int64_t agents : {3, 6}) {
    if (study == "masac") add("masac", agents, {});
    if (study == "together") add("maddpg", agents, {{"together", "true"}});
    if (study == "together") add("maddpg", agents, {});
  }
  if (study == "samplers") {
    for (const auto& sampler : samplers) add("maddpg", 3, {sampler});
  }
  if (study == "samplers6") {
    for (const auto& sampler : samplers) add("maddpg", 6, {sampler});
  }
  std::mutex mutex;
  size_t next = 0;
  const auto work = [&] {
    while (true) {
      std::unique_lock lock(mutex);
      if (next == configs.size()) return;
      const TrainingConfig config = configs[next++];
      lock.unlock();
      const Training training = Must(MakeTraining(config, 1, nullptr, Device::kCuda));
      const auto trainer = Must(MakeTrainer(training, {.window = kWindow}));
      trainer->Start(config.seed);
      std::string returns;
      const double seconds = Seconds([&] {
        for (int64_t episodes = kWindow; episodes <= kEpisodes; episodes += kWindow) {
          Must(trainer->Run(episodes, [] { return true; }));
          returns +=
              fmt::format("{}{:.3f}", returns.empty() ? "" : ",", trainer->progress().team_return);
        }
      });
      lock.lock();
      fmt::print(
          "{{\"study\":\"{}\",\"command\":\"{}\",\"env\":\"{}\",\"agents\":{},"
          "\"algorithm\":\"{}\",\"settings\":\"{}\",\"seed\":{},\"seconds\":{:.1f},"
          "\"team_return\":[{}]}}\n",
          study, CommandOf(config, kEpisodes), config.env, config.env_settings[0].second,
          config.algorithm,
          config.settings.empty() ? "" : config.settings[0].first + "=" + config.settings[0].second,
          config.seed, seconds, returns);
      std::fflush(stdout);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 10; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

// A few rounds of 12 agents for Nsight Compute, which counts while kernels run one by one.
void ProfileRounds() {
  const TrainingConfig config = ConfigFor("predator_prey", 12, 100,
                                          {{"capacity", "20000"},
                                           {"warmup", "1024"},
                                           {"update_every", "1000000000"},
                                           {"precision", "tf32"},
                                           {"together", "true"}});
  const Training training = Must(MakeTraining(config, 1, nullptr, Device::kCuda));
  const auto trainer = Must(MakeTrainer(training, {.window = 1000}));
  trainer->Start(1);
  Must(trainer->Run(400, [] { return true; }));
  auto& engine = dynamic_cast<DeviceOffPolicy&>(*training.learner).engine();
  for (int i = 0; i < 20; ++i) Must(engine.MeasureRound());
}

// The same of policies.
void ProfilePolicies() {
  TrainingConfig config = ConfigFor("predator_prey", 12, 100);
  config.algorithm = "mappo";
  const Training training = Must(MakeTraining(config, 1, nullptr, Device::kCuda));
  const auto trainer = Must(MakeTrainer(training, {.window = 1000}));
  trainer->Start(1);
  Must(trainer->Run(600, [] { return true; }));
}

// ---- Every kernel ------------------------------------------------------------------------------

// Policies with few rows: worlds on the device, then an environment on the host.
void RunSmallPolicies(const std::string& env, const Assignments& settings, int64_t agents) {
  for (const std::string algorithm : {"ppo", "ippo", "mappo"}) {
    TrainingConfig config = ConfigFor(env, agents, 2, settings);
    config.algorithm = algorithm;
    const Training training = Must(MakeTraining(config, 1, nullptr, Device::kCuda));
    const auto trainer = Must(MakeTrainer(training, {.window = 8}));
    trainer->Start(1);
    Must(trainer->Run(2, [] { return true; }));
    Must(trainer->PrepareSave());
    Trainer host(*training.env, *training.learner, nullptr, {.window = 8});
    Must(host.Run(2, [] { return true; }));
    fmt::print("{} {}: {} updates, losses {:g} {:g}\n", env, algorithm, trainer->progress().updates,
               trainer->progress().losses.q_loss, trainer->progress().losses.p_loss);
    std::fflush(stdout);
  }
}

void RunSmall() {
  const Assignments small = {
      {"capacity", "400"}, {"warmup", "100"}, {"update_every", "50"}, {"batch", "70"}};
  const Assignments cases[] = {{{"sampler", "uniform"}},
                               {{"sampler", "neighbor"}, {"together", "true"}},
                               {{"sampler", "prioritized"}, {"replay", "joint"}},
                               {{"sampler", "reuse:base=prioritized-neighbor"}},
                               {{"sampler", "reuse:base=runs"}, {"together", "true"}},
                               {{"together", "true"}, {"precision", "tf32"}},
                               {{"together", "true"}, {"precision", "bf16"}}};
  for (const std::string env : {"predator_prey", "cooperative_navigation"}) {
    for (const Assignments& more : cases) {
      for (const std::string algorithm : {"maddpg", "masac"}) {
        TrainingConfig config = ConfigFor(env, 3, 2, more);
        config.settings.insert(config.settings.end(), small.begin(), small.end());
        config.algorithm = algorithm;
        const Training training = Must(MakeTraining(config, 1, nullptr, Device::kCuda));
        // On the device, then with the environment on the host.
        const auto trainer = Must(MakeTrainer(training, {.window = 8}));
        trainer->Start(1);
        Must(trainer->Run(8, [] { return true; }));
        Must(trainer->PrepareSave());
        Trainer host(*training.env, *training.learner, nullptr, {.window = 8});
        Must(host.Run(4, [] { return true; }));
        fmt::print("{} {}: losses {:g} {:g}\n", env, algorithm, trainer->progress().losses.q_loss,
                   trainer->progress().losses.p_loss);
      }
    }
    RunSmallPolicies(env, {{"steps", "20"}, {"minibatches", "3"}}, 3);
    RunSmallPolicies(env, {{"steps", "25"}, {"minibatches", "1"}, {"precision", "tf32"}}, 5);
    const std::unique_ptr<MpeEnv> worlds = MakeWorlds({env, {{"agents", "5"}}}, 70);
    worlds->Reset(3);
    const auto batch = Must(cuda::WorldBatch::Make(Must(worlds->device_spec())));
    Must(batch->Set(worlds->image(), worlds->seed()));
    Must(batch->StepAtRandom(30, 1));
    Must(batch->Wait());
  }
}

// One round each, in order of what matters most: racecheck looks at every access to shared memory.
void RunForRaces() {
  const Assignments cases[] = {
      {{"sampler", "uniform"}},
      {{"sampler", "prioritized"}, {"replay", "joint"}},
      {{"sampler", "reuse:base=prioritized-neighbor"}},
      {{"sampler", "runs"}, {"together", "true"}},
      {{"sampler", "neighbor"}, {"together", "true"}, {"precision", "tf32"}}};
  for (const Assignments& more : cases) {
    for (const std::string algorithm : {"maddpg", "masac"}) {
      TrainingConfig config = ConfigFor("cooperative_navigation", 2, 1, more);
      for (const auto& [name, value] : Assignments{
               {"capacity", "100"}, {"warmup", "20"}, {"update_every", "25"}, {"batch", "16"}}) {
        config.settings.emplace_back(name, value);
      }
      config.algorithm = algorithm;
      const Training training = Must(MakeTraining(config, 1, nullptr, Device::kCuda));
      const auto trainer = Must(MakeTrainer(training, {.window = 8}));
      trainer->Start(1);
      Must(trainer->Run(1, [] { return true; }));
      fmt::print("{}: {} round, losses {:g} {:g}\n", algorithm, trainer->progress().updates,
                 trainer->progress().losses.q_loss, trainer->progress().losses.p_loss);
      std::fflush(stdout);
    }
  }
}

// The same for policies.
void RunPoliciesForRaces() {
  RunSmallPolicies("cooperative_navigation",
                   {{"steps", "25"}, {"epochs", "1"}, {"minibatches", "2"}}, 2);
}

// What asking for more memory than there is comes to.
void AskForTooMuch() {
  const std::unique_ptr<MpeEnv> one = MakeWorlds({"cooperative_navigation", {}}, 1);
  cuda::WorldSpec spec = Must(one->device_spec());
  spec.worlds = 2'000'000'000;
  const auto made = cuda::WorldBatch::Make(spec);
  fmt::print("{}\n", made ? "made" : ToString(made.error()));
}

int Main(int argc, char** argv) {
  const cuda::DeviceInfo device = Must(cuda::FindDevice());
  fmt::print("{}, {} multiprocessors, {:.1f} GiB, driver {}, runtime {}\n", device.name,
             device.multiprocessors, static_cast<double>(device.memory_bytes) / (1 << 30),
             device.driver, device.runtime);
  for (int i = 1; i < argc; ++i) {
    const std::string part = argv[i];
    fmt::print("\n==== {} ====\n", part);
    if (part == "compare") CompareRounds();
    if (part == "trainings") CompareTrainings();
    if (part == "policies") ComparePolicies();
    if (part == "policies") MeasurePolicies();
    if (part == "worlds") CompareWorlds();
    if (part == "rounds") MeasureRounds();
    if (part == "training") MeasureTraining();
    if (part == "returns") MeasureReturns();
    if (part.starts_with("curves:")) TrainCurves(part.substr(7));
    if (part == "platforms") MeasurePlatforms();
    if (part == "small") RunSmall();
    if (part == "race") RunForRaces();
    if (part == "race") RunPoliciesForRaces();
    if (part == "profile") ProfileRounds();
    if (part == "profile_policies") ProfilePolicies();
    if (part == "memory") AskForTooMuch();
  }
  return 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::Main(argc, argv); }
