// The graphics processor, if this build knows one and the machine has one. Everything below answers
// with an error that says what is missing; nothing but the sources of this folder sees CUDA.
#ifndef TESSERA_CUDA_DEVICE_H_
#define TESSERA_CUDA_DEVICE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/result.h"

namespace tessera::cuda {

struct DeviceInfo {
  std::string name;
  int64_t memory_bytes = 0, free_bytes = 0;
  int64_t multiprocessors = 0;
  int driver = 0, runtime = 0;  // 13000 is 13.0
};

// Whether this build has the CUDA engine.
bool Built();

// The device that everything runs on: the first that the driver shows (CUDA_VISIBLE_DEVICES chooses
// another). Errors: a build without CUDA, no driver, a driver older than the build, no device, a
// device older than compute capability 9.0.
Result<DeviceInfo> FindDevice();

// Makes everything of this process on the device fail from now on, as a device does that is lost in
// the middle: for checks of what happens then.
Result<void> BreakDevice();

// How products of activations and weights are computed. Sums are FP32 in all of them, and so is
// everything else.
enum class Precision {
  kFp32,   // the host's fused multiply-adds in the host's order: its bits
  kTf32,   // 10 bits of mantissa, the rest cut off: relative errors of about 1e-3
  kBf16,   // 7 bits: about 4e-3
  kSplit,  // three TF32 products for each: about 1e-6; what policies have as fp32
};
inline constexpr std::string_view kPrecisionNames[] = {"fp32", "tf32", "bf16"};

}  // namespace tessera::cuda

#endif  // TESSERA_CUDA_DEVICE_H_
