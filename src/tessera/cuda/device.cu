// Finding the device, and what its errors mean.
#include "tessera/cuda/device.h"

#include "tessera/cuda/memory.cuh"

namespace tessera::cuda {

namespace {

__global__ void TrapKernel() { __trap(); }

}  // namespace

bool Built() { return true; }

Result<void> BreakDevice() {
  if (const Result<DeviceInfo> device = FindDevice(); !device) return device.error();
  TrapKernel<<<1, 1>>>();
  if (cudaDeviceSynchronize() == cudaSuccess) {
    return Error{.kind = ErrorKind::kUnsupported, .message = "CUDA: the device does not break"};
  }
  return {};
}

Error ErrorOf(cudaError_t error, const std::string& doing) {
  std::string hint;
  switch (error) {
    case cudaErrorMemoryAllocation:
      hint = "lower 'capacity', 'batch' or the number of environments, or take --device cpu";
      break;
    case cudaErrorNoDevice:
      hint = "take --device cpu; CUDA_VISIBLE_DEVICES may hide the device";
      break;
    case cudaErrorInsufficientDriver:
      hint =
          "the driver is older than the CUDA of this build: update it, or build with an older "
          "nvcc (12 or 13)";
      break;
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
      hint = "this build is for another device: set CMAKE_CUDA_ARCHITECTURES";
      break;
    default: hint = "the run can be resumed from its last checkpoint, on any device";
  }
  std::string message = "CUDA: ";
  message += cudaGetErrorString(error);
  message += ", while " + doing;
  return Error{.kind = ErrorKind::kUnsupported, .message = std::move(message), .hint = hint};
}

Result<DeviceInfo> FindDevice() {
  DeviceInfo info;
  int count = 0;
  if (cudaError_t error = cudaDriverGetVersion(&info.driver); error != cudaSuccess) {
    return ErrorOf(error, "asking for the driver");
  }
  if (info.driver == 0) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = "CUDA: this machine has no NVIDIA driver",
                 .hint = "take --device cpu"};
  }
  cudaRuntimeGetVersion(&info.runtime);
  if (cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess || count == 0) {
    return ErrorOf(error == cudaSuccess ? cudaErrorNoDevice : error, "looking for a device");
  }
  cudaDeviceProp properties;
  if (cudaError_t error = cudaGetDeviceProperties(&properties, 0); error != cudaSuccess) {
    return ErrorOf(error, "asking what the device is");
  }
  info.name = properties.name;
  info.multiprocessors = properties.multiProcessorCount;
  if (properties.major < 8) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = "CUDA: " + info.name + " has compute capability " +
                            std::to_string(properties.major) + "." +
                            std::to_string(properties.minor) + "; 8.0 is the least",
                 .hint = "take --device cpu"};
  }
  size_t free_bytes = 0, total = 0;
  if (cudaError_t error = cudaMemGetInfo(&free_bytes, &total); error != cudaSuccess) {
    return ErrorOf(error, "taking up the device");
  }
  info.memory_bytes = static_cast<int64_t>(total);
  info.free_bytes = static_cast<int64_t>(free_bytes);
  return info;
}

}  // namespace tessera::cuda
