// Kernels for any processor: 4 lanes. Where there is no fused multiply-add, it is computed exactly
// in doubles, so that results are the same as on every other machine; that is slow, but right.
#include <cstddef>

#include "tessera/nn/kernels.h"
#include "tessera/nn/kernels_tables.h"

namespace tessera {
namespace {

constexpr int kLanes = 4;
constexpr int kTileRows = 4;
using Vec = float __attribute__((vector_size(16)));
using Ints = int32_t __attribute__((vector_size(16)));
using Words = uint64_t __attribute__((vector_size(16)));

// The product of two floats is exact in double. Rounding the sum to odd before it is rounded to
// float makes the two roundings equal to one (Boldo and Melquiond, 2008).
inline float FmaOne(float a, float b, float c) {
#if defined(__FP_FAST_FMAF)
  return __builtin_fmaf(a, b, c);
#else
  const double product = static_cast<double>(a) * b, addend = c;
  double sum = product + addend;
  const double part = sum - product;
  const double error = (product - (sum - part)) + (addend - part);
  int64_t bits;
  __builtin_memcpy(&bits, &sum, sizeof bits);
  if ((error > 0 || error < 0) && (bits & 1) == 0) {
    bits += (error > 0) == (sum > 0) ? 1 : -1;
    __builtin_memcpy(&sum, &bits, sizeof sum);
  }
  return static_cast<float>(sum);
#endif
}

inline Vec Fma(Vec a, Vec b, Vec c) {
  return Vec{FmaOne(a[0], b[0], c[0]), FmaOne(a[1], b[1], c[1]), FmaOne(a[2], b[2], c[2]),
             FmaOne(a[3], b[3], c[3])};
}
inline Vec Sqrt(Vec x) {
  return Vec{__builtin_sqrtf(x[0]), __builtin_sqrtf(x[1]), __builtin_sqrtf(x[2]),
             __builtin_sqrtf(x[3])};
}

#include "tessera/nn/kernels_plain_inl.h"
// What it needs comes first.
#include "tessera/nn/kernels_inl.h"

}  // namespace

const Kernels kPortableKernels = MakeTable("portable");

}  // namespace tessera
