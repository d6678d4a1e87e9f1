// Philox 4x32-10 and the draws made of it.
#include "tessera/part.h"

#include <cmath>
#include <numbers>

#include "tessera/result.h"

namespace tessera {
namespace {

constexpr uint32_t Low(uint64_t value) { return static_cast<uint32_t>(value); }
constexpr uint32_t High(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

}  // namespace

std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0];
    const uint64_t product1 = kMultiplier1 * counter[2];
    counter = {High(product1) ^ counter[1] ^ key[0], Low(product1),
               High(product0) ^ counter[3] ^ key[1], Low(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

CounterRng::CounterRng(uint64_t seed, uint64_t stream, uint64_t step) : step_(step) {
  // 64 bits of seed, stream and step and a block number are more than key and counter hold, so the
  // stream goes into the key by a block of its own; the constant keeps that block out of the draws.
  constexpr uint32_t kKeyBlock = 0x7e55e7a0;
  const std::array<uint32_t, 4> mixed =
      Philox4x32({Low(stream), High(stream), kKeyBlock, 0}, {Low(seed), High(seed)});
  key_ = {mixed[0], mixed[1]};
}

uint32_t CounterRng::Bits32() {
  if (used_ == buffer_.size()) {
    buffer_ = Philox4x32({Low(block_), High(block_), Low(step_), High(step_)}, key_);
    ++block_;
    used_ = 0;
  }
  return buffer_[used_++];
}

uint64_t CounterRng::Bits64() {
  const uint64_t low = Bits32();
  return low | static_cast<uint64_t>(Bits32()) << 32;
}

double CounterRng::Uniform() { return static_cast<double>(Bits64() >> 11) * 0x1.0p-53; }

int64_t CounterRng::UniformInt(int64_t bound) {
  TESSERA_CHECK(bound > 0);
  // Lemire's multiply-and-reject: the high half of a product is uniform once the low half has
  // passed the threshold that makes every result equally likely. It is less than the range, so
  // that its slow division is seldom needed.
  const uint64_t range = static_cast<uint64_t>(bound);
  while (true) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(Bits64()) * range;
    const uint64_t low = static_cast<uint64_t>(product);
    if (low >= range || low >= (0 - range) % range) return static_cast<int64_t>(product >> 64);
  }
}

double CounterRng::Normal() {
  // Box-Muller without keeping the second value: a draw then depends on its position alone.
  const double radius = std::sqrt(-2.0 * std::log(1.0 - Uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * Uniform());
}

}  // namespace tessera
