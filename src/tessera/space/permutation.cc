// Lehmer codes. Ten items at most, so the quadratic way is the fast one.
#include "tessera/space.h"

#include "tessera/result.h"

namespace tessera {

int64_t Factorial(size_t count) {
  TESSERA_CHECK(count <= 20);
  int64_t product = 1;
  for (size_t i = 2; i <= count; ++i) product *= static_cast<int64_t>(i);
  return product;
}

Permutation PermutationAt(int64_t index, size_t size) {
  TESSERA_CHECK(size <= kMaxPermutationItems);
  Permutation permutation{.size = size};
  std::array<uint8_t, kMaxPermutationItems> left{};
  for (size_t i = 0; i < size; ++i) left[i] = static_cast<uint8_t>(i);
  int64_t block = Factorial(size);
  for (size_t i = 0; i < size; ++i) {
    block /= static_cast<int64_t>(size - i);
    const size_t pick = static_cast<size_t>(index / block);
    index %= block;
    permutation.items[i] = left[pick];
    for (size_t j = pick; j + 1 < size - i; ++j) left[j] = left[j + 1];
  }
  return permutation;
}

int64_t IndexOf(const Permutation& permutation) {
  int64_t index = 0;
  for (size_t i = 0; i < permutation.size; ++i) {
    int64_t smaller = 0;
    for (size_t j = i + 1; j < permutation.size; ++j) {
      smaller += permutation.items[j] < permutation.items[i];
    }
    index = index * static_cast<int64_t>(permutation.size - i) + smaller;
  }
  return index;
}

}  // namespace tessera
