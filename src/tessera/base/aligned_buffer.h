// Large arrays of plain numbers for hot loops: aligned to cache lines, zero at first, and on huge
// pages where the kernel offers them.
#ifndef TESSERA_BASE_ALIGNED_BUFFER_H_
#define TESSERA_BASE_ALIGNED_BUFFER_H_

#include <cstdint>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "tessera/result.h"

namespace tessera {

// Zeroed memory that starts at a cache line, from 2 MiB on at a huge page. Pages are touched by
// their first use only, so a large buffer that stays half empty costs half. Null if there is none.
void* AllocateZeroed(int64_t bytes);
void FreeZeroed(void* memory, int64_t bytes);

template <typename T>
class AlignedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  AlignedBuffer() = default;
  // A size that a user chose goes through base/memory.h before, or through Allocate. Throws
  // std::bad_alloc if there is no memory, as containers do.
  explicit AlignedBuffer(int64_t size) : AlignedBuffer(size, AllocateZeroed(Bytes(size))) {
    if (data_ == nullptr) throw std::bad_alloc();
  }
  static Result<AlignedBuffer> Allocate(int64_t size) {
    void* const memory = AllocateZeroed(Bytes(size));
    if (memory == nullptr) {
      return Error{.kind = ErrorKind::kInfeasible,
                   .message = "out of memory: " + std::to_string(Bytes(size)) + " bytes asked for"};
    }
    return AlignedBuffer(size, memory);
  }
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~AlignedBuffer() { FreeZeroed(data_, Bytes(size_)); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  int64_t size() const { return size_; }
  T& operator[](int64_t index) { return data_[index]; }
  const T& operator[](int64_t index) const { return data_[index]; }
  std::span<T> span() { return {data_, static_cast<size_t>(size_)}; }
  std::span<const T> span() const { return {data_, static_cast<size_t>(size_)}; }

 private:
  AlignedBuffer(int64_t size, void* memory) : data_(static_cast<T*>(memory)), size_(size) {}
  static int64_t Bytes(int64_t size) { return size * static_cast<int64_t>(sizeof(T)); }

  T* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace tessera

#endif  // TESSERA_BASE_ALIGNED_BUFFER_H_
