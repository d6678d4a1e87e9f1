// Kernels for processors with AVX-512: 16 lanes, tiles of 12 x 32.
#include <immintrin.h>

#include <cstddef>

#include "tessera/nn/kernels.h"
#include "tessera/nn/kernels_tables.h"

namespace tessera {
namespace {

constexpr int kLanes = 16;
constexpr int kTileRows = 12;  // 24 sums and 2 values of B; factors are broadcast from memory
using Vec = float __attribute__((vector_size(64)));
using Ints = int32_t __attribute__((vector_size(64)));
using Words = uint64_t __attribute__((vector_size(64)));

inline Vec Fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
inline Vec Sqrt(Vec x) { return _mm512_sqrt_ps(x); }

// Of equal values and with NaN, the second.
inline Vec Max(Vec a, Vec b) { return _mm512_max_ps(a, b); }
inline Vec Min(Vec a, Vec b) { return _mm512_min_ps(a, b); }
// Bit l: whether lane l is positive.
inline uint32_t PositiveBits(Vec x) { return _mm512_cmp_ps_mask(x, Vec{}, _CMP_GT_OQ); }
// The low halves of 64-bit lanes with `factor`.
inline Words MultiplyLow32(Words x, uint32_t factor) {
  return reinterpret_cast<Words>(
      _mm512_mul_epu32(reinterpret_cast<__m512i>(x), _mm512_set1_epi64(factor)));
}

#include "tessera/nn/kernels_inl.h"

}  // namespace

const Kernels kAvx512Kernels = MakeTable("avx512");

}  // namespace tessera
