// The best of a few repetitions of a large copy and of a loop of multiply-adds.
#include "tessera/rl/calibration.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "tessera/base/aligned_buffer.h"
#include "tessera/nn/kernels.h"

namespace tessera {
namespace {

constexpr int kRepetitions = 5;

// Seconds of the fastest repetition.
template <typename Work>
double BestSeconds(Work work) {
  double best = 1e9;
  for (int i = 0; i < kRepetitions; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  return best;
}

}  // namespace

Calibration Calibrate() {
  constexpr int64_t kBytes = int64_t{128} << 20;  // beyond every cache
  AlignedBuffer<uint8_t> from(kBytes), to(kBytes);
  std::memset(from.data(), 1, kBytes);
  Calibration result;
  result.memcpy_gb_per_s = static_cast<double>(kBytes) * 1e-9 / BestSeconds([&] {
                             std::memcpy(to.data(), from.data(), static_cast<size_t>(kBytes));
                           });
  const Kernels& kernels = BestKernels();
  constexpr int64_t kRounds = 2'000'000;
  volatile float sink = 0;
  const double seconds = BestSeconds([&] { sink = kernels.fma_loop(kRounds); });
  result.fma_gflop_per_s = static_cast<double>(kRounds * kernels.fma_loop_flops) * 1e-9 / seconds;
  return result;
}

}  // namespace tessera
