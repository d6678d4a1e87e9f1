// Fill, warm up, measure.
#include "tessera/rl/profile_run.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "tessera/base/stop.h"
#include "tessera/part.h"
#include "tessera/rl/cache_model.h"
#include "tessera/rl/profiler.h"
#include "tessera/rl/stepper.h"

namespace tessera {
namespace {

// Random actions with weights that sum to one, as soft choices do.
void DrawActions(const Env& env, CounterRng rng, std::span<float> actions) {
  size_t at = 0;
  for (int64_t e = 0; e < env.batch(); ++e) {
    for (const AgentSpec& agent : env.spec().agents) {
      float sum = 0;
      const size_t width = static_cast<size_t>(agent.action.width());
      for (size_t i = 0; i < width; ++i) {
        sum += actions[at + i] = 0.01f + 1e-9f * static_cast<float>(rng.Bits32());
      }
      for (size_t i = 0; i < width; ++i) actions[at + i] /= sum;
      at += width;
    }
  }
}

}  // namespace

Result<void> ProfileRun(Env& env, Learner& learner, Profiler& profiler,
                        const ProfileRunOptions& options) {
  env.Reset(options.seed);
  Stepper stepper(env, learner, &profiler);
  uint64_t steps = 0;
  const Stepper::ActFunction at_random = [&](std::span<float> actions) {
    DrawActions(env, CounterRng(options.seed, StreamId("profile"), steps++), actions);
  };
  for (int64_t filled = 0; filled < options.fill; filled += env.batch()) {
    if (StopRequested()) return Interrupted("filling replay");
    if (Result<void> stepped = stepper.Step(at_random); !stepped) return stepped;
    stepper.ResetFinished();
  }
  const auto play = [&]() -> Result<void> {
    if (StopRequested()) return Interrupted("measuring");
    profiler.Clear();
    for (int64_t step = 0; step < kStepsPerRound; step += env.batch()) {
      if (Result<void> stepped = stepper.Step(); !stepped) return stepped;
      stepper.ResetFinished();
    }
    const Result<UpdateReport> report = learner.Update();
    return report ? Result<void>() : report.error();
  };
  AllPhases fastest = {};
  for (int64_t round = -1; round < options.rounds; ++round) {
    if (Result<void> played = play(); !played) return played;
    for (size_t p = 0; p < kNumPhases; ++p) {
      const PhaseCounts& totals = profiler.all()[p];
      if (round <= 0 || totals.seconds < fastest[p].seconds) fastest[p] = totals;
    }
  }
  if (options.caches != nullptr) {
    // One round to fill them, one to count.
    profiler.set_caches(options.caches);
    for (int round = 0; round < 2; ++round) {
      options.caches->ClearCounts();
      if (Result<void> played = play(); !played) return played;
    }
    profiler.set_caches(nullptr);
  }
  profiler.set_all(fastest);
  return {};
}

}  // namespace tessera
