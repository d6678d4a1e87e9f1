// Orders of a few items, numbered: the Lehmer index of a permutation and back. Index 0 is the order
// 0 1 2 ..., the last index its reverse, and indices sort as the orders do.
#ifndef TESSERA_SPACE_PERMUTATION_H_
#define TESSERA_SPACE_PERMUTATION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera {

// 10! is the largest count of orders whose indices are still small numbers.
inline constexpr size_t kMaxPermutationItems = 10;

// items[0] comes first; only the first `size` entries are used.
struct Permutation {
  size_t size = 0;
  std::array<uint8_t, kMaxPermutationItems> items{};

  // Not of a temporary: a loop over its order would read what is gone.
  std::span<const uint8_t> order() const& { return {items.data(), size}; }
  std::span<const uint8_t> order() const&& = delete;
  friend bool operator==(const Permutation&, const Permutation&) = default;
};

int64_t Factorial(size_t count);  // of at most 20

Permutation PermutationAt(int64_t index, size_t size);  // index in 0 .. size! - 1
int64_t IndexOf(const Permutation& permutation);

}  // namespace tessera

#endif  // TESSERA_SPACE_PERMUTATION_H_
