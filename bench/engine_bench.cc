// Speed of the learning engine: environments, and update rounds of MADDPG phase by phase, for the
// replay layouts and samplers. One thread. Per-agent buffers with uniform sampling are 1.0.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "harness.h"
#include "tessera/env.h"
#include "tessera/nn/kernels.h"
#include "tessera/part.h"
#include "tessera/rl/profile_run.h"
#include "tessera/rl/profiler.h"

namespace tessera::bench {
namespace {

std::unique_ptr<Env> MakeEnv(const char* name, int64_t agents, int64_t batch) {
  return std::move(*(*FindEnv(name))->make({{"agents", std::to_string(agents)}}, batch, nullptr));
}

void Environments(Harness& harness) {
  for (const char* name : {"predator_prey", "cooperative_navigation"}) {
    for (const int64_t agents : {3, 6, 12, 24, 48}) {
      constexpr int64_t kBatch = 16, kSteps = 25;
      const std::unique_ptr<Env> env = MakeEnv(name, agents, kBatch);
      std::vector<float> actions(static_cast<size_t>(kBatch * env->spec().action_size()));
      CounterRng rng(1, StreamId("bench"));
      for (float& action : actions) action = static_cast<float>(rng.Uniform() / 3);
      const auto play = [&] {
        for (int64_t t = 0; t < kSteps; ++t) {
          Keep(env->Step(actions).ok());
          env->ResetFinished();
        }
      };
      const std::string row = fmt::format("{} {}", name, agents);
      // Measured by the authors of the specification on an idle core of another machine.
      const double original = agents == 3   ? (name[0] == 'p' ? 2300 : 2880)
                              : agents == 6 ? (name[0] == 'p' ? 711 : 509)
                                            : 0;
      if (original > 0) {
        harness.Quote(row + ": the original", "steps", original, "Python, another machine");
      }
      harness.Measure(row, "steps", static_cast<double>(kBatch * kSteps), play,
                      original > 0 ? row + ": the original" : "");
    }
  }
}

struct Variant {
  const char* name;
  const char* replay;
  const char* sampler;
};
constexpr Variant kVariants[] = {{"per-agent, uniform", "per_agent", "uniform"},
                                 {"per-agent, neighbor", "per_agent", "neighbor:truncate=true"},
                                 {"joint, uniform", "joint", "uniform"},
                                 {"joint, neighbor", "joint", "neighbor:truncate=true"},
                                 {"compact, uniform", "compact", "uniform"},
                                 {"compact, shared batch", "compact", "uniform"}};

// Transitions that fit comfortably, dense layouts included.
int64_t FillFor(int64_t agents) { return agents <= 6 ? 300'000 : agents <= 12 ? 150'000 : 40'000; }

void UpdateRounds(const Harness& harness, int64_t agents) {
  double baseline_sampling = 0, baseline_total = 0;
  for (const Variant& variant : kVariants) {
    if (!harness.Selected(fmt::format("{} agents {}", agents, variant.name))) continue;
    const std::unique_ptr<Env> env = MakeEnv("predator_prey", agents, 1);
    Profiler profiler;
    const int64_t fill = FillFor(agents);
    const bool shared = std::string_view(variant.name).ends_with("shared batch");
    Result<std::unique_ptr<Learner>> learner =
        MakeLearner(**FindLearner("maddpg"), "openai",
                    {{"replay", variant.replay},
                     {"sampler", variant.sampler},
                     {"shared_batch", shared ? "true" : "false"},
                     {"capacity", std::to_string(fill)}},
                    {.spec = &env->spec(), .lanes = 1, .seed = 1, .profiler = &profiler});
    if (!learner) {
      fmt::print("{:2} agents  {:22} {}\n", agents, variant.name, ToString(learner.error()));
      continue;
    }
    const int64_t rounds = agents <= 6 ? 20 : agents <= 12 ? 6 : 2;
    if (!ProfileRun(*env, **learner, profiler, {.fill = fill, .rounds = rounds})) continue;
    const double sampling = 1e3 * profiler.totals(Phase::kSampling).seconds;
    const double total = 1e3 * profiler.UpdateSeconds();
    if (baseline_total == 0) {  // the first one that is measured
      baseline_sampling = sampling;
      baseline_total = total;
    }
    fmt::print(
        "{:2} agents  {:22} sampling {:8.2f} ms ({:5.2f}x)  target_q {:8.2f}  q_loss {:8.2f}  "
        "p_loss {:8.2f}  round {:8.2f} ms ({:5.2f}x)\n",
        agents, variant.name, sampling, baseline_sampling / sampling,
        1e3 * profiler.totals(Phase::kTargetQ).seconds,
        1e3 * profiler.totals(Phase::kQLoss).seconds, 1e3 * profiler.totals(Phase::kPLoss).seconds,
        total, baseline_total / total);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::Harness harness(argc, argv);
  tessera::bench::Environments(harness);
  fmt::print("MADDPG update rounds, batch 1024, one thread, kernels {}\n",
             tessera::BestKernels().name);
  for (const int64_t agents : {3, 6, 12, 24, 48}) {
    tessera::bench::UpdateRounds(harness, agents);
  }
  return harness.Finish();
}
