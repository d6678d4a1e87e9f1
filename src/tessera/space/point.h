// A point of a decision space: for every decision, the index of the chosen value.
#ifndef TESSERA_SPACE_POINT_H_
#define TESSERA_SPACE_POINT_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tessera/base/check.h"

namespace tessera {

// A value type of fixed capacity: copying allocates nothing. Indices beyond size() are 0.
class Point {
 public:
  static constexpr size_t kCapacity = 96;

  Point() = default;
  explicit Point(size_t size) : size_(static_cast<uint32_t>(size)) {
    TESSERA_CHECK(size <= kCapacity);
  }
  explicit Point(std::span<const int32_t> indices) : Point(indices.size()) {
    std::copy(indices.begin(), indices.end(), indices_.begin());
  }

  size_t size() const { return size_; }
  int32_t& operator[](size_t decision) { return indices_[decision]; }
  int32_t operator[](size_t decision) const { return indices_[decision]; }
  std::span<const int32_t> indices() const { return {indices_.data(), size_}; }

  friend bool operator==(const Point& a, const Point& b) {
    return std::ranges::equal(a.indices(), b.indices());
  }

 private:
  uint32_t size_ = 0;
  std::array<int32_t, kCapacity> indices_{};
};

struct PointHash {
  size_t operator()(const Point& point) const {
    uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a over whole indices
    for (const int32_t index : point.indices()) {
      hash = (hash ^ static_cast<uint32_t>(index)) * 0x100000001b3u;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

}  // namespace tessera

#endif  // TESSERA_SPACE_POINT_H_
