// What all kernels share: Philox numbers as CounterRng draws them, copies into shared memory, and
// products of small tiles on the matrix units in three precisions.
#ifndef TESSERA_CUDA_COMMON_CUH_
#define TESSERA_CUDA_COMMON_CUH_

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "tessera/cuda/device.h"

namespace tessera::cuda {

// ---- Random numbers ----------------------------------------------------------------------------

struct PhiloxKey {
  uint32_t a, b;
};

// Philox 4x32-10 of block `block` of (key, step), as CounterRng counts blocks.
__device__ inline uint4 Philox(PhiloxKey key, uint64_t step, uint64_t block) {
  uint4 c = make_uint4(static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                       static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32));
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint32_t high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
    const uint32_t high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
    c = make_uint4(high1 ^ c.y ^ key.a, low1, high0 ^ c.w ^ key.b, low0);
    key.a += 0x9E3779B9u;
    key.b += 0xBB67AE85u;
  }
  return c;
}

__device__ inline uint32_t WordOf(uint4 words, int w) {
  return w == 0 ? words.x : w == 1 ? words.y : w == 2 ? words.z : words.w;
}

// ---- Elementary functions: the steps of nn/kernels_inl.h, so that they have the host's bits
// -------

__device__ inline float ExpOf(float x) {
  x = fmaxf(fminf(x, 88.0f), -87.0f);
  const float magic = 12582912.0f;
  const float k = fmaf(x, 1.44269504f, magic) - magic;
  float r = fmaf(k, -0.693359375f, x);
  r = fmaf(k, 2.12194440e-4f, r);
  float p = 1.9875691500e-4f;
  p = fmaf(p, r, 1.3981999507e-3f);
  p = fmaf(p, r, 8.3334519073e-3f);
  p = fmaf(p, r, 4.1665795894e-2f);
  p = fmaf(p, r, 1.6666665459e-1f);
  p = fmaf(p, r, 5.0000001201e-1f);
  p = fmaf(p, __fmul_rn(r, r), r) + 1.0f;
  return __fmul_rn(p, __int_as_float((static_cast<int>(k) + 127) << 23));
}

__device__ inline float LogOf(float x) {            // of normal positive numbers
  const int bits = __float_as_int(x) - 0x3f3504f3;  // distance from sqrt(1/2)
  const float k = static_cast<float>(bits >> 23);
  const float m = __int_as_float((bits & 0x7fffff) + 0x3f3504f3) - 1.0f;
  const float square = __fmul_rn(m, m);
  float p = 7.0376836292e-2f;
  p = fmaf(p, m, -1.1514610310e-1f);
  p = fmaf(p, m, 1.1676998740e-1f);
  p = fmaf(p, m, -1.2420140846e-1f);
  p = fmaf(p, m, 1.4249322787e-1f);
  p = fmaf(p, m, -1.6668057665e-1f);
  p = fmaf(p, m, 2.0000714765e-1f);
  p = fmaf(p, m, -2.4999993993e-1f);
  p = fmaf(p, m, 3.3333331174e-1f);
  p = __fmul_rn(__fmul_rn(p, m), square);
  p = fmaf(k, -2.12194440e-4f, p);
  p = fmaf(square, -0.5f, p);
  return fmaf(k, 0.693359375f, __fadd_rn(m, p));
}

// -log(-log(u)) of a word's top 23 bits, as Kernels::gumbel.
__device__ inline float GumbelOf(uint32_t word) {
  const float u = (static_cast<float>(word >> 9) + 0.5f) * 0x1.0p-23f;
  return -LogOf(-LogOf(u));
}

// Value `index` of FillGumbel's stream: word 64 g + 16 w + l is word w of block 16 g + l.
__device__ inline float GumbelAt(PhiloxKey key, uint64_t step, int64_t index) {
  const int64_t group = index / 64;
  const int rest = static_cast<int>(index % 64);
  const uint4 words = Philox(key, step, static_cast<uint64_t>(16 * group + rest % 16));
  return GumbelOf(WordOf(words, rest / 16));
}

// ---- Shared memory -----------------------------------------------------------------------------

__device__ inline void CopyAsync4(float* to, const float* from) {
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n" ::"r"(address), "l"(from));
}
__device__ inline void CopyAsync16(float* to, const float* from) {
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(address), "l"(from));
}
__device__ inline void WaitCopies() { asm volatile("cp.async.wait_all;\n" ::: "memory"); }

// ---- Products on the matrix units --------------------------------------------------------------

__device__ inline uint32_t ToTf32(float x) {
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}

__device__ inline void MmaTf32(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ inline void MmaBf16(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t b) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
      "{%0,%1,%2,%3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a0), "r"(a1), "r"(b));
}

__device__ inline uint32_t PackBf16(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

// Four values of A for each 16 x 8 tile: (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4) where
// g = lane / 4 and t = lane % 4.
template <typename F>  // a(m, k)
__device__ inline void LoadTile(float (&x)[4], F a) {
  const int g = (threadIdx.x & 31) >> 2, t = threadIdx.x & 3;
  x[0] = a(g, t);
  x[1] = a(g + 8, t);
  x[2] = a(g, t + 4);
  x[3] = a(g + 8, t + 4);
}

// The same of a matrix in shared memory whose rows are 16-byte aligned, by one instruction: it
// moves pieces of 16 bytes, whatever they hold.
__device__ inline void LoadTile(float (&x)[4], const float* matrix, int row_floats) {
  const int lane = threadIdx.x & 31;
  const float* const own = matrix + (lane % 16) * row_floats + 4 * (lane / 16);
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(own));
  uint32_t r[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = __uint_as_float(r[i]);
}

// acc += A B over eight values of k. A warp holds MT tiles of 16 rows, x, and NT tiles of 8
// columns; b(k, n) reads B. Element acc[mt][nt][i] is row 16 mt + lane/4 + 8 (i/2), column 8 nt + 2
// (lane%4) + i%2.
//
// kSplit splits every operand in two TF32 numbers, hi + lo, and adds lo hi' + hi lo' + hi hi': what
// is left out is about 2^-22 of the product, which is what FP32 rounds away in a sum of a few
// terms. The matrix units cut sums off instead of rounding them, which adds up over a long sum, so
// each eight terms are summed there and added to the others by rounded additions. kTf32 hands the
// numbers over as they are; the matrix units look at their first 10 bits.
template <Precision P, int MT, int NT, typename FB>
__device__ inline void Multiply8(float (&acc)[MT][NT][4], const float (&x)[MT][4], FB b) {
  const int g = (threadIdx.x & 31) >> 2, t = threadIdx.x & 3;
  if constexpr (P == Precision::kBf16) {
    // Which k is which does not matter, as long as both operands agree.
#pragma unroll
    for (int n = 0; n < NT; ++n) {
      const uint32_t pair = PackBf16(b(t, 8 * n + g), b(t + 4, 8 * n + g));
#pragma unroll
      for (int m = 0; m < MT; ++m) {
        MmaBf16(acc[m][n], PackBf16(x[m][0], x[m][2]), PackBf16(x[m][1], x[m][3]), pair);
      }
    }
    return;
  }
  constexpr bool kSplit = P == Precision::kSplit;
  const auto leading = [](float value) { return kSplit ? ToTf32(value) : __float_as_uint(value); };
  uint32_t high[MT][4], low[MT][4];
#pragma unroll
  for (int m = 0; m < MT; ++m) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      high[m][i] = leading(x[m][i]);
      if (kSplit) low[m][i] = ToTf32(x[m][i] - __uint_as_float(high[m][i]));
    }
  }
#pragma unroll
  for (int n = 0; n < NT; ++n) {
    const float y[2] = {b(t, 8 * n + g), b(t + 4, 8 * n + g)};
    uint32_t b_high[2], b_low[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      b_high[i] = leading(y[i]);
      if (kSplit) b_low[i] = ToTf32(y[i] - __uint_as_float(b_high[i]));
    }
#pragma unroll
    for (int m = 0; m < MT; ++m) {
      if (kSplit) {
        float eight[4] = {};
        MmaTf32(eight, low[m], b_high);
        MmaTf32(eight, high[m], b_low);
        MmaTf32(eight, high[m], b_high);
#pragma unroll
        for (int i = 0; i < 4; ++i) acc[m][n][i] += eight[i];
      } else {
        MmaTf32(acc[m][n], high[m], b_high);
      }
    }
  }
}

// kFp32: acc += A B over four values of k, each sum one chain of fused multiply-adds in the order
// of k, as Kernels::gemm has them. `rows` is the warp's first row in shared memory, b[k] the
// thread's four columns. Element acc[m][n][i] is row 16 m + lane/4 + 8 (i/2), column 2 n + i%2 of
// the four.
template <int MT>
__device__ inline void Chain4(float (&acc)[MT][2][4], const float* rows, int row_floats,
                              const float4 (&b)[4]) {
  const int g = (threadIdx.x & 31) >> 2;
  float a[2 * MT][4];
#pragma unroll
  for (int q = 0; q < 2 * MT; ++q) {
    const float4 four = *reinterpret_cast<const float4*>(rows + (g + 8 * q) * row_floats);
    a[q][0] = four.x;
    a[q][1] = four.y;
    a[q][2] = four.z;
    a[q][3] = four.w;
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float column[4] = {b[k].x, b[k].y, b[k].z, b[k].w};
#pragma unroll
    for (int q = 0; q < 2 * MT; ++q) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        float& sum = acc[q / 2][c / 2][2 * (q % 2) + c % 2];
        sum = fmaf(a[q][k], column[c], sum);
      }
    }
  }
}

// The same with A from shared memory, row by row.
template <Precision P, int MT, int NT, typename FB>
__device__ inline void MultiplyRows8(float (&acc)[MT][NT][4], const float* a, int row_floats,
                                     FB b) {
  float x[MT][4];
#pragma unroll
  for (int m = 0; m < MT; ++m) LoadTile(x[m], a + 16 * m * row_floats, row_floats);
  Multiply8<P, MT, NT>(acc, x, b);
}

}  // namespace tessera::cuda

#endif  // TESSERA_CUDA_COMMON_CUH_
