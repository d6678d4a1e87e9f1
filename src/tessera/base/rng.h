// Counter-based random numbers (Philox 4x32-10). A draw is a pure function of (seed, stream, step,
// index of the draw), so a result does not depend on threads, and a resumed run draws what it
// would have drawn.
#ifndef TESSERA_BASE_RNG_H_
#define TESSERA_BASE_RNG_H_

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

namespace tessera {

// One block of Philox 4x32-10 as published by Salmon, Moraes, Dror and Shaw (SC 2011).
std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// The number of a named stream: StreamId("search.random"), or StreamId("agent", 3) for one of many.
// Names keep streams apart that would otherwise share small numbers by accident.
constexpr uint64_t StreamId(std::string_view name, uint64_t index = 0) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  for (int byte = 0; byte < 8; ++byte)
    hash = (hash ^ ((index >> (8 * byte)) & 0xff)) * 0x100000001b3u;
  return hash;
}

// The draws of one (seed, stream, step). Cheap to make and to copy; holds no shared state.
// Satisfies UniformRandomBitGenerator, but use the members below: the standard's distributions
// differ between libraries.
class CounterRng {
 public:
  using result_type = uint64_t;

  CounterRng(uint64_t seed, uint64_t stream, uint64_t step = 0);

  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return std::numeric_limits<uint64_t>::max(); }
  uint64_t operator()() { return Bits64(); }

  uint32_t Bits32();
  uint64_t Bits64();
  double Uniform();                   // [0, 1), 53 bits
  int64_t UniformInt(int64_t bound);  // 0 .. bound-1, exactly uniform; bound > 0
  double Normal();                    // mean 0, deviation 1

  // The Philox key of this stream, for code that makes many blocks at once (nn/kernels.h).
  std::array<uint32_t, 2> key() const { return key_; }

  template <typename T>
  void Shuffle(std::span<T> items) {
    for (size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[static_cast<size_t>(UniformInt(static_cast<int64_t>(i)))]);
    }
  }

 private:
  std::array<uint32_t, 2> key_;
  uint64_t step_;
  uint64_t block_ = 0;  // blocks drawn so far
  unsigned used_ = 4;   // words of buffer_ handed out
  std::array<uint32_t, 4> buffer_{};
};

}  // namespace tessera

#endif  // TESSERA_BASE_RNG_H_
