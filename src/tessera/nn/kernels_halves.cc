// The kernels of AVX-512 with each vector in two halves of AVX2: 16 lanes, tiles of 12 x 32. For
// tests, so that the code that a processor with AVX-512 would run is tested where there is none,
// all but the few intrinsics of kernels_avx512.cc.
#include <immintrin.h>

#include <cstddef>

#include "tessera/nn/kernels.h"
#include "tessera/nn/kernels_for_tests.h"

namespace tessera {
namespace {

constexpr int kLanes = 16;
constexpr int kTileRows = 12;
using Vec = float __attribute__((vector_size(64)));
using Ints = int32_t __attribute__((vector_size(64)));
using Words = uint64_t __attribute__((vector_size(64)));

inline __m256 Half(Vec x, int half) {
  __m256 halves[2];
  __builtin_memcpy(halves, &x, sizeof halves);
  return halves[half];
}
inline Vec Join(__m256 low, __m256 high) {
  const __m256 halves[] = {low, high};
  Vec x;
  __builtin_memcpy(&x, halves, sizeof x);
  return x;
}

inline Vec Fma(Vec a, Vec b, Vec c) {
  return Join(_mm256_fmadd_ps(Half(a, 0), Half(b, 0), Half(c, 0)),
              _mm256_fmadd_ps(Half(a, 1), Half(b, 1), Half(c, 1)));
}
inline Vec Sqrt(Vec x) { return Join(_mm256_sqrt_ps(Half(x, 0)), _mm256_sqrt_ps(Half(x, 1))); }

#include "tessera/nn/kernels_plain_inl.h"
// What it needs comes first.
#include "tessera/nn/kernels_inl.h"

}  // namespace

const Kernels kHalvesKernels = MakeTable("halves");

}  // namespace tessera
