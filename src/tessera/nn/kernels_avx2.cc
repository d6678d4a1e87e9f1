// Kernels for processors with AVX2 and FMA: 8 lanes, tiles of 6 x 16.
#include <immintrin.h>

#include <cstddef>

#include "tessera/nn/kernels.h"
#include "tessera/nn/kernels_tables.h"

namespace tessera {
namespace {

constexpr int kLanes = 8;
constexpr int kTileRows = 6;  // 12 sums, 2 values of B and a factor fill the 16 registers
using Vec = float __attribute__((vector_size(32)));
using Ints = int32_t __attribute__((vector_size(32)));
using Words = uint64_t __attribute__((vector_size(32)));

inline Vec Fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
inline Vec Sqrt(Vec x) { return _mm256_sqrt_ps(x); }

// Of equal values and with NaN, the second.
inline Vec Max(Vec a, Vec b) { return _mm256_max_ps(a, b); }
inline Vec Min(Vec a, Vec b) { return _mm256_min_ps(a, b); }
// Bit l: whether lane l is positive.
inline uint32_t PositiveBits(Vec x) {
  return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(x, Vec{}, _CMP_GT_OQ)));
}
// The low halves of 64-bit lanes with `factor`.
inline Words MultiplyLow32(Words x, uint32_t factor) {
  return reinterpret_cast<Words>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(x), _mm256_set1_epi64x(factor)));
}

#include "tessera/nn/kernels_inl.h"

}  // namespace

const Kernels kAvx2Kernels = MakeTable("avx2");

}  // namespace tessera
