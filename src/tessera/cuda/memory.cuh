// Device memory that frees itself, and CUDA's errors as values.
#ifndef TESSERA_CUDA_MEMORY_CUH_
#define TESSERA_CUDA_MEMORY_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/result.h"

namespace tessera::cuda {

// The error of a call, in words: what was done, what the device said, what helps.
Error ErrorOf(cudaError_t error, const std::string& doing);

inline Result<void> Check(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return {};
  return ErrorOf(error, doing);
}

// Bytes of one purpose. Not copied.
template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  ~DeviceArray() {
    if (data_ != nullptr) cudaFree(data_);
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  // Zeros.
  Result<void> Allocate(int64_t size, const char* what) {
    size_ = size;
    const size_t bytes = sizeof(T) * static_cast<size_t>(size > 0 ? size : 1);
    if (cudaError_t error = cudaMalloc(&data_, bytes); error != cudaSuccess) {
      data_ = nullptr;
      return ErrorOf(
          error, "asking the device for " + std::to_string(bytes >> 20) + " MiB (" + what + ")");
    }
    return Check(cudaMemset(data_, 0, bytes), "clearing device memory");
  }
  Result<void> Allocate(const std::vector<T>& values, const char* what) {
    if (Result<void> r = Allocate(static_cast<int64_t>(values.size()), what); !r) return r;
    return Set(std::span<const T>(values));
  }
  Result<void> Set(std::span<const T> from, int64_t at = 0) {
    return Check(cudaMemcpy(data_ + at, from.data(), from.size_bytes(), cudaMemcpyHostToDevice),
                 "copying to the device");
  }
  Result<void> Get(std::span<T> to, int64_t at = 0) const {
    return Check(cudaMemcpy(to.data(), data_ + at, to.size_bytes(), cudaMemcpyDeviceToHost),
                 "copying from the device");
  }

  T* data() const { return data_; }
  int64_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  int64_t size_ = 0;
};

// Host memory that copies reach without a detour.
template <typename T>
class PinnedArray {
 public:
  PinnedArray() = default;
  ~PinnedArray() {
    if (data_ != nullptr) cudaFreeHost(data_);
  }
  PinnedArray(const PinnedArray&) = delete;
  PinnedArray& operator=(const PinnedArray&) = delete;

  Result<void> Allocate(int64_t size) {
    return Check(cudaMallocHost(&data_, sizeof(T) * static_cast<size_t>(size > 0 ? size : 1)),
                 "asking for page-locked memory");
  }
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

}  // namespace tessera::cuda

#endif  // TESSERA_CUDA_MEMORY_CUH_
