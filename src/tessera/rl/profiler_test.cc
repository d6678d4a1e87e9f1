// What the two clocks of a profile count.
#include "tessera/rl/profiler.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace tessera {
namespace {

double SecondsOfASleep(bool processor_time) {
  Profiler profiler;
  profiler.set_processor_time(processor_time);
  {
    const PhaseScope scope(&profiler, Phase::kSampling);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  }
  return profiler.totals(Phase::kSampling).seconds;
}

TEST(Profiler, WaitingTakesTimeOfTheClockNotOfTheProcessor) {
  EXPECT_GE(SecondsOfASleep(false), 0.06);
  EXPECT_LT(SecondsOfASleep(true), 0.03);
}

TEST(Profiler, WorkTakesTimeOfTheProcessor) {
  Profiler profiler;
  profiler.set_processor_time(true);
  profiler.Begin(Phase::kSampling);
  volatile double sum = 0;
  for (int i = 0; i < 1'000'000; ++i) sum = sum + i;
  profiler.End(Phase::kSampling);
  EXPECT_GT(profiler.totals(Phase::kSampling).seconds, 0);
}

}  // namespace
}  // namespace tessera
