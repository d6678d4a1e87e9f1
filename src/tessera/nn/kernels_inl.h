// The kernels, written once for any vector width. Each kernels_*.cc defines Vec, Ints, Words,
// kLanes, kTileRows, Fma, Sqrt, Max, Min, PositiveBits and MultiplyLow32 for one instruction set
// and then includes this file, which fills in kTable. Nothing here may be contracted or
// reassociated by the compiler: the build passes -ffp-contract=off, and only Fma fuses.
//
// Only plain C types are used: an inline function of a library header, compiled here for a newer
// processor, could be picked by the linker for the whole program.

#ifndef TESSERA_NN_KERNELS_INL_H_
#define TESSERA_NN_KERNELS_INL_H_

constexpr int kVirtualLanes = 16;                    // partial sums of a reduction
constexpr int kVecsPerSum = kVirtualLanes / kLanes;  // vectors that hold them
constexpr int kTileVecs = 2;                         // columns of a C tile, in vectors
constexpr int kTileColumns = kTileVecs * kLanes;
constexpr int64_t kInnerChunk = 1536;  // inner length after which C goes through memory

inline Vec Load(const float* p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline void Store(float* p, Vec v) { __builtin_memcpy(p, &v, sizeof v); }
// Taking zero away changes nothing, so that the compiler drops it; adding it would turn -0 into 0.
inline Vec Broadcast(float x) { return x - Vec{}; }
inline Ints ToBits(Vec v) {
  Ints bits;
  __builtin_memcpy(&bits, &v, sizeof bits);
  return bits;
}
inline Vec FromBits(Ints bits) {
  Vec v;
  __builtin_memcpy(&v, &bits, sizeof v);
  return v;
}
inline Vec Select(Ints mask, Vec yes, Vec no) {
  return FromBits((ToBits(yes) & mask) | (ToBits(no) & ~mask));
}
inline int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }

// ---- Elementary functions, to about one unit in the last place -------------------------------

inline Vec ToFloat(Ints x) { return __builtin_convertvector(x, Vec); }

// e^x = 2^k e^r with |r| <= ln(2)/2; saturates at the ends of the normal range.
inline Vec Exp(Vec x) {
  x = Max(Min(x, Broadcast(88.0f)), Broadcast(-87.0f));
  // Adding and taking away 1.5 * 2^23 rounds to an integer in one step.
  const Vec magic = Broadcast(12582912.0f);
  const Vec k = Fma(x, Broadcast(1.44269504f), magic) - magic;
  Vec r = Fma(k, Broadcast(-0.693359375f), x);
  r = Fma(k, Broadcast(2.12194440e-4f), r);
  Vec p = Broadcast(1.9875691500e-4f);
  p = Fma(p, r, Broadcast(1.3981999507e-3f));
  p = Fma(p, r, Broadcast(8.3334519073e-3f));
  p = Fma(p, r, Broadcast(4.1665795894e-2f));
  p = Fma(p, r, Broadcast(1.6666665459e-1f));
  p = Fma(p, r, Broadcast(5.0000001201e-1f));
  p = Fma(p, r * r, r) + 1.0f;
  const Ints exponent = __builtin_convertvector(k, Ints) + 127;
  return p * FromBits(exponent << 23);
}

// ln x = k ln 2 + ln m with m in [sqrt(1/2), sqrt(2)); x are normal positive numbers. Several
// vectors at a time, step by step, because each one's steps wait for each other.
template <int V>
inline void LogInPlace(Vec (&x)[V]) {
  Vec k[V], m[V], square[V], p[V];
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) {
    const Ints bits = ToBits(x[v]) - 0x3f3504f3;  // distance from sqrt(1/2)
    k[v] = ToFloat(bits >> 23);
    m[v] = FromBits((bits & 0x7fffff) + 0x3f3504f3) - 1.0f;
    square[v] = m[v] * m[v];
    p[v] = Broadcast(7.0376836292e-2f);
  }
  constexpr float kTerms[] = {-1.1514610310e-1f, 1.1676998740e-1f,  -1.2420140846e-1f,
                              1.4249322787e-1f,  -1.6668057665e-1f, 2.0000714765e-1f,
                              -2.4999993993e-1f, 3.3333331174e-1f};
#pragma GCC unroll 8
  for (const float term : kTerms) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) p[v] = Fma(p[v], m[v], Broadcast(term));
  }
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) {
    p[v] = p[v] * m[v] * square[v];
    p[v] = Fma(k[v], Broadcast(-2.12194440e-4f), p[v]);
    p[v] = Fma(square[v], Broadcast(-0.5f), p[v]);
    x[v] = Fma(k[v], Broadcast(0.693359375f), m[v] + p[v]);
  }
}

inline Vec Log(Vec x) {
  Vec one[1] = {x};
  LogInPlace(one);
  return one[0];
}

inline Vec Tanh(Vec x) {
  const Vec square = x * x;
  Vec p = Broadcast(-5.70498872745e-3f);
  p = Fma(p, square, Broadcast(2.06390887954e-2f));
  p = Fma(p, square, Broadcast(-5.37397155531e-2f));
  p = Fma(p, square, Broadcast(1.33314422036e-1f));
  p = Fma(p, square, Broadcast(-3.33332819422e-1f));
  const Vec small = Fma(p * square, x, x);
  const Vec magnitude = Select(x < 0.0f, -x, x);
  const Vec far = 1.0f - 2.0f / (Exp(magnitude + magnitude) + 1.0f);
  const Vec signed_far = Select(x < 0.0f, -far, far);
  return Select(magnitude < 0.625f, small, signed_far);
}

#include "tessera/nn/kernels_gemm_inl.h"
#include "tessera/nn/kernels_skip_inl.h"

// ---- Reductions ------------------------------------------------------------------------------

struct Partial {
  Vec part[kVecsPerSum];
};

inline Partial LoadPartial(const float* x) {
  Partial p;
#pragma GCC unroll 4
  for (int v = 0; v < kVecsPerSum; ++v) p.part[v] = Load(x + v * kLanes);
  return p;
}
inline void AddProduct(const Partial& a, const Partial& b, Partial& sum) {
#pragma GCC unroll 4
  for (int v = 0; v < kVecsPerSum; ++v) sum.part[v] = Fma(a.part[v], b.part[v], sum.part[v]);
}
inline void Add(const Partial& a, Partial& sum) {
#pragma GCC unroll 4
  for (int v = 0; v < kVecsPerSum; ++v) sum.part[v] = sum.part[v] + a.part[v];
}
inline float Total(const Partial& sum) {
  float x[kVirtualLanes];
  for (int v = 0; v < kVecsPerSum; ++v) Store(x + v * kLanes, sum.part[v]);
  for (int half = kVirtualLanes / 2; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) x[l] = x[l] + x[l + half];
  }
  return x[0];
}
// The last, incomplete sixteen of n values, filled up with zeros.
inline Partial LoadTail(const float* x, int64_t count) {
  float padded[kVirtualLanes] = {};
  for (int64_t i = 0; i < count; ++i) padded[i] = x[i];
  return LoadPartial(padded);
}

template <int R, int C>
inline void DotTile(const RowDots& d, int64_t row, int64_t column) {
  Partial sums[R][C] = {};
  for (int64_t s = 0; s < d.num_segments; ++s) {
    const float* a = d.a + row * d.a_row + d.segments[s].a;
    const float* b = d.b + column * d.b_row + d.segments[s].b;
    for (int64_t r = 0; r < d.segments[s].count; r += kVirtualLanes) {
#pragma GCC unroll 8
      for (int i = 0; i < R; ++i) {
        const Partial left = LoadPartial(a + i * d.a_row + r);
#pragma GCC unroll 8
        for (int j = 0; j < C; ++j) AddProduct(left, LoadPartial(b + j * d.b_row + r), sums[i][j]);
      }
    }
  }
  for (int i = 0; i < R; ++i) {
    for (int j = 0; j < C; ++j) d.c[(row + i) * d.c_row + column + j] = Total(sums[i][j]);
  }
}

void RowDotsAll(const RowDots& d) {
  int64_t j = 0;
  for (; j + 5 <= d.n; j += 5) {
    for (int64_t i = 0; i < d.m; ++i) DotTile<1, 5>(d, i, j);
  }
  for (; j < d.n; ++j) {
    int64_t i = 0;
    for (; i + 4 <= d.m; i += 4) DotTile<4, 1>(d, i, j);
    for (; i < d.m; ++i) DotTile<1, 1>(d, i, j);
  }
}

float Sum(int64_t n, const float* x) {
  Partial sum = {};
  int64_t i = 0;
  for (; i + kVirtualLanes <= n; i += kVirtualLanes) Add(LoadPartial(x + i), sum);
  if (i < n) Add(LoadTail(x + i, n - i), sum);
  return Total(sum);
}

float SquaredNorm(int64_t n, const float* x) {
  Partial sum = {};
  int64_t i = 0;
  for (; i + kVirtualLanes <= n; i += kVirtualLanes) {
    const Partial p = LoadPartial(x + i);
    AddProduct(p, p, sum);
  }
  if (i < n) {
    const Partial p = LoadTail(x + i, n - i);
    AddProduct(p, p, sum);
  }
  return Total(sum);
}

// ---- Rows to features ------------------------------------------------------------------------

// out[j * out_row + i] = in[i][j] for an 8 x 8 tile.
inline void Transpose8(const float* const* in, float* out, int64_t out_row) {
#if defined(__AVX2__)
  __m256 r[8], t[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) r[i] = _mm256_loadu_ps(in[i]);
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(out + i * out_row, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(out + (i + 4) * out_row, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
#else
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) out[j * out_row + i] = in[i][j];
  }
#endif
}

void Gather(int64_t count, int64_t width, const float* const* rows, float* out, int64_t out_row) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const float* at[8];
    for (int r = 0; r < 8; ++r) at[r] = rows[i + r];
    int64_t j = 0;
    for (; j + 8 <= width; j += 8) {
      Transpose8(at, out + j * out_row + i, out_row);
      for (int r = 0; r < 8; ++r) at[r] += 8;
    }
    for (; j < width; ++j) {
      for (int r = 0; r < 8; ++r) out[j * out_row + i + r] = rows[i + r][j];
    }
  }
  for (; i < count; ++i) {
    for (int64_t j = 0; j < width; ++j) out[j * out_row + i] = rows[i][j];
  }
}

void Transpose(int64_t rows, int64_t columns, const float* in, int64_t in_row, float* out,
               int64_t out_row) {
  for (int64_t i = 0; i < rows; i += 8) {
    const float* at[8];
    const int64_t count = Least(8, rows - i);
    for (int64_t r = 0; r < count; ++r) at[r] = in + (i + r) * in_row;
    Gather(count, columns, at, out + i, out_row);
  }
}

// ---- Element by element ----------------------------------------------------------------------

// Applies f to n values at a time of arrays; the tail goes through a padded copy.
template <typename Function>
inline void Map(int64_t n, const float* x, float* y, Function f) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) Store(y + i, f(Load(x + i)));
  if (i == n) return;
  float padded[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) padded[l] = i + l < n ? x[i + l] : 1.0f;
  Store(padded, f(Load(padded)));
  for (int64_t l = 0; i + l < n; ++l) y[i + l] = padded[l];
}

void ExpAll(int64_t n, const float* x, float* y) {
  Map(n, x, y, [](Vec v) { return Exp(v); });
}
void LogAll(int64_t n, const float* x, float* y) {
  Map(n, x, y, [](Vec v) { return Log(v); });
}
void TanhAll(int64_t n, const float* x, float* y) {
  Map(n, x, y, [](Vec v) { return Tanh(v); });
}

inline float FmaScalar(float a, float b, float c) {
  return Fma(Broadcast(a), Broadcast(b), Broadcast(c))[0];
}

void AddScaled(int64_t n, float factor, const float* x, float* y) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Store(y + i, Fma(Broadcast(factor), Load(x + i), Load(y + i)));
  }
  for (; i < n; ++i) y[i] = FmaScalar(factor, x[i], y[i]);
}

void Blend(int64_t n, float rate, const float* source, float* target) {
  const float keep = 1.0f - rate;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Store(target + i, Fma(Broadcast(rate), Load(source + i), keep * Load(target + i)));
  }
  for (; i < n; ++i) target[i] = FmaScalar(rate, source[i], keep * target[i]);
}

struct AdamValues {
  Vec weight, mean, variance;
};

inline AdamValues AdamVec(const AdamStep& s, Vec gradient, AdamValues old) {
  const Vec g = gradient * s.gradient_scale;
  const Vec mean = Fma(g, Broadcast(1.0f - s.beta1), old.mean * s.beta1);
  const Vec variance = Fma(g * g, Broadcast(1.0f - s.beta2), old.variance * s.beta2);
  const Vec root = Fma(Sqrt(variance), Broadcast(s.root_scale), Broadcast(s.epsilon));
  return {old.weight - (mean * s.step) / root, mean, variance};
}

void Adam(int64_t n, const AdamStep& s, const float* gradient, float* weight, float* mean,
          float* variance) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const AdamValues next =
        AdamVec(s, Load(gradient + i), {Load(weight + i), Load(mean + i), Load(variance + i)});
    Store(weight + i, next.weight);
    Store(mean + i, next.mean);
    Store(variance + i, next.variance);
  }
  for (; i < n; ++i) {
    const AdamValues next =
        AdamVec(s, Broadcast(gradient[i]),
                {Broadcast(weight[i]), Broadcast(mean[i]), Broadcast(variance[i])});
    weight[i] = next.weight[0];
    mean[i] = next.mean[0];
    variance[i] = next.variance[0];
  }
}

// ---- Distributions and random words ----------------------------------------------------------

void Softmax(int64_t choices, int64_t rows, int64_t row, const float* logits, float* probabilities,
             float* log_norms) {
  for (int64_t r = 0; r < rows; r += kLanes) {
    Vec top = Load(logits + r);
    for (int64_t c = 1; c < choices; ++c) top = Max(top, Load(logits + c * row + r));
    Vec sum = Vec{};
    for (int64_t c = 0; c < choices; ++c) {
      const Vec e = Exp(Load(logits + c * row + r) - top);
      Store(probabilities + c * row + r, e);
      sum = sum + e;
    }
    const Vec scale = 1.0f / sum;
    for (int64_t c = 0; c < choices; ++c) {
      Store(probabilities + c * row + r, Load(probabilities + c * row + r) * scale);
    }
    if (log_norms != nullptr) Store(log_norms + r, top + Log(sum));
  }
}

// One of ten rounds, for kLanes/2 blocks in 64-bit lanes. What the high halves hold is not looked
// at: neither the multiplication nor the final narrowing reads them.
inline void PhiloxRound(Words c[4], uint64_t key0, uint64_t key1) {
  const Words product0 = MultiplyLow32(c[0], 0xD2511F53u);
  const Words product1 = MultiplyLow32(c[2], 0xCD9E8D57u);
  c[0] = (product1 >> 32) ^ (c[1] ^ key0);
  c[2] = (product0 >> 32) ^ (c[3] ^ key1);
  c[1] = product1;
  c[3] = product0;
}

void Philox(const uint32_t key[2], uint64_t step, uint64_t first_block, int64_t groups,
            uint32_t* out) {
  constexpr int kWide = kLanes / 2;
  constexpr int kAtOnce = kLanes == kVirtualLanes ? 1 : 2;  // rounds of one wait for each other
  using Narrow = uint32_t __attribute__((vector_size(kWide * sizeof(uint32_t))));
  Words lanes;
  for (int l = 0; l < kWide; ++l) lanes[l] = static_cast<uint64_t>(l);
  for (int64_t g = 0; g < groups; ++g, out += 4 * kVirtualLanes) {
    for (int lane = 0; lane < kVirtualLanes; lane += kAtOnce * kWide) {
      Words c[kAtOnce][4];
#pragma GCC unroll 2
      for (int i = 0; i < kAtOnce; ++i) {
        const int64_t first = g * kVirtualLanes + lane + i * kWide;
        c[i][0] = lanes + (first_block + static_cast<uint64_t>(first));
        c[i][1] = c[i][0] >> 32;
        c[i][2] = Words{} + step;
        c[i][3] = Words{} + (step >> 32);
      }
      uint32_t key0 = key[0], key1 = key[1];
      for (int round = 0; round < 10; ++round, key0 += 0x9E3779B9u, key1 += 0xBB67AE85u) {
#pragma GCC unroll 2
        for (int i = 0; i < kAtOnce; ++i) PhiloxRound(c[i], key0, key1);
      }
#pragma GCC unroll 2
      for (int i = 0; i < kAtOnce; ++i) {
        for (int w = 0; w < 4; ++w) {
          const Narrow words = __builtin_convertvector(c[i][w], Narrow);
          __builtin_memcpy(out + w * kVirtualLanes + lane + i * kWide, &words, sizeof words);
        }
      }
    }
  }
}

template <int V>
inline void GumbelVecs(const uint32_t* bits, float* noise) {
  Vec u[V];
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) {
    Ints words;
    __builtin_memcpy(&words, bits + v * kLanes, sizeof words);
    // An arithmetic shift would smear the sign; 23 bits are left either way.
    u[v] = (ToFloat((words >> 9) & 0x7fffff) + 0.5f) * 0x1.0p-23f;
  }
  LogInPlace(u);
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) u[v] = -u[v];
  LogInPlace(u);
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) Store(noise + v * kLanes, -u[v]);
}

void Gumbel(int64_t n, const uint32_t* bits, float* noise) {
  constexpr int kAtOnce = 4;
  int64_t i = 0;
  for (; i + kAtOnce * kLanes <= n; i += kAtOnce * kLanes) {
    GumbelVecs<kAtOnce>(bits + i, noise + i);
  }
  for (; i + kLanes <= n; i += kLanes) GumbelVecs<1>(bits + i, noise + i);
  if (i == n) return;
  uint32_t padded[kLanes] = {};
  float result[kLanes];
  for (int64_t l = 0; i + l < n; ++l) padded[l] = bits[i + l];
  GumbelVecs<1>(padded, result);
  for (int64_t l = 0; i + l < n; ++l) noise[i + l] = result[l];
}

// Twelve chains hide the latency of every processor so far.
constexpr int kChains = 12;

float FmaLoop(int64_t n) {
  Vec sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = Broadcast(static_cast<float>(i));
  const Vec factor = Broadcast(0.999f);
  for (int64_t k = 0; k < n; ++k) {
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) sums[i] = Fma(sums[i], factor, factor);
  }
  Vec total = Vec{};
  for (int i = 0; i < kChains; ++i) total = total + sums[i];
  return total[0];
}

constexpr Kernels MakeTable(const char* name) {
  return {.name = name,
          .gemm = GemmAll,
          .panel_gemm = PanelGemmAll,
          .skip_gemm = SkipGemmAll,
          .skip_masks = SkipMasks,
          .skip_outer = SkipOuterAll,
          .add_rows = AddRows,
          .row_dots = RowDotsAll,
          .sum = Sum,
          .squared_norm = SquaredNorm,
          .transpose = Transpose,
          .gather = Gather,
          .add_scaled = AddScaled,
          .blend = Blend,
          .adam = Adam,
          .exp = ExpAll,
          .log = LogAll,
          .tanh = TanhAll,
          .softmax = Softmax,
          .philox = Philox,
          .gumbel = Gumbel,
          .fma_loop = FmaLoop,
          .fma_loop_flops = 2 * kChains * kLanes};
}

#endif  // TESSERA_NN_KERNELS_INL_H_
