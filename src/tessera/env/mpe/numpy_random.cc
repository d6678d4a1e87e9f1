// MT19937 (Matsumoto and Nishimura) and PCG64 XSL-RR (O'Neill) with NumPy's seeding.
#include "tessera/env/mpe/numpy_random.h"

#include <cstddef>
#include <vector>

namespace tessera {
namespace {

constexpr int kN = NumpyMt19937::kStateWords;

// NumPy's SeedSequence: the seed's 32-bit words are hashed into a pool of four, and the pool into
// as many words as are asked for.
class SeedSequence {
 public:
  explicit SeedSequence(uint64_t seed) {
    std::vector<uint32_t> entropy = {static_cast<uint32_t>(seed)};
    if (seed >> 32 != 0) entropy.push_back(static_cast<uint32_t>(seed >> 32));
    for (size_t i = 0; i < pool_.size(); ++i) pool_[i] = Hash(i < entropy.size() ? entropy[i] : 0);
    for (size_t from = 0; from < pool_.size(); ++from) {
      for (size_t to = 0; to < pool_.size(); ++to) {
        if (from != to) pool_[to] = Mix(pool_[to], Hash(pool_[from]));
      }
    }
  }

  std::array<uint64_t, 4> Generate() const {
    uint32_t constant = 0x8b51f9dd;
    std::array<uint32_t, 8> words;
    for (size_t i = 0; i < words.size(); ++i) {
      uint32_t value = pool_[i % pool_.size()] ^ constant;
      constant *= 0x58f38ded;
      value *= constant;
      words[i] = value ^ (value >> 16);
    }
    std::array<uint64_t, 4> result;
    for (size_t i = 0; i < result.size(); ++i) {
      result[i] = words[2 * i] | static_cast<uint64_t>(words[2 * i + 1]) << 32;
    }
    return result;
  }

 private:
  uint32_t Hash(uint32_t value) {
    value ^= constant_;
    constant_ *= 0x931e8875;
    value *= constant_;
    return value ^ (value >> 16);
  }
  static uint32_t Mix(uint32_t x, uint32_t y) {
    const uint32_t result = 0xca01f9dd * x - 0x4973f715 * y;
    return result ^ (result >> 16);
  }

  uint32_t constant_ = 0x43b0d7e5;
  std::array<uint32_t, 4> pool_;
};

double ToUnit(uint64_t bits53) { return static_cast<double>(bits53) * 0x1.0p-53; }

}  // namespace

NumpyMt19937::NumpyMt19937(uint32_t seed) {
  state_[0] = seed;
  for (uint32_t i = 1; i < kN; ++i) {
    state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
  }
  state_[kN] = kN;
}

void NumpyMt19937::Twist() {
  constexpr uint32_t kUpper = 0x80000000u, kLower = 0x7fffffffu, kMatrix = 0x9908b0dfu;
  constexpr size_t kShift = 397;
  for (size_t i = 0; i < kN; ++i) {
    const uint32_t y = (state_[i] & kUpper) | (state_[(i + 1) % kN] & kLower);
    state_[i] = state_[(i + kShift) % kN] ^ (y >> 1) ^ ((y & 1) != 0 ? kMatrix : 0);
  }
  state_[kN] = 0;
}

uint32_t NumpyMt19937::Bits32() {
  if (state_[kN] >= kN) Twist();
  uint32_t y = state_[state_[kN]++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

double NumpyMt19937::Uniform(double low, double high) {
  const uint64_t a = Bits32() >> 5, b = Bits32() >> 6;
  return low + (high - low) * ToUnit(a * 67108864u + b);
}

NumpyPcg64::NumpyPcg64(uint64_t seed) {
  const std::array<uint64_t, 4> words = SeedSequence(seed).Generate();
  const Wide start = static_cast<Wide>(words[0]) << 64 | words[1];
  increment_ = (static_cast<Wide>(words[2]) << 64 | words[3]) << 1 | 1;
  Bits64();
  state_ += start;
  Bits64();
}

uint64_t NumpyPcg64::Bits64() {
  constexpr Wide kMultiplier = static_cast<Wide>(0x2360ed051fc65da4u) << 64 | 0x4385df649fccf645u;
  state_ = state_ * kMultiplier + increment_;
  const uint64_t high = static_cast<uint64_t>(state_ >> 64), low = static_cast<uint64_t>(state_);
  const unsigned rotate = static_cast<unsigned>(high >> 58);
  const uint64_t folded = high ^ low;
  return folded >> rotate | folded << (-rotate & 63);
}

double NumpyPcg64::Uniform(double low, double high) {
  return low + (high - low) * ToUnit(Bits64() >> 11);
}

std::array<uint64_t, 4> NumpyPcg64::state() const {
  return {static_cast<uint64_t>(state_), static_cast<uint64_t>(state_ >> 64),
          static_cast<uint64_t>(increment_), static_cast<uint64_t>(increment_ >> 64)};
}

void NumpyPcg64::set_state(const std::array<uint64_t, 4>& words) {
  state_ = static_cast<Wide>(words[1]) << 64 | words[0];
  increment_ = static_cast<Wide>(words[3]) << 64 | words[2];
}

}  // namespace tessera
