// Products behind a ReLU, where about half of the activations are zero: their terms are left out.
// Part of kernels_inl.h. A term of zero would change no bit of a sum, so results equal the dense
// products'; what is saved is time.

#ifndef TESSERA_NN_KERNELS_SKIP_INL_H_
#define TESSERA_NN_KERNELS_SKIP_INL_H_

constexpr int kSkipVecs = kSkipGroup / kLanes;  // vectors of one group of columns

// Bit l of the result: whether value l of a group is positive.
inline uint64_t PositiveMask(const float* values) {
  uint64_t mask = 0;
#pragma GCC unroll 16
  for (int v = 0; v < kSkipVecs; ++v) {
    mask |= uint64_t{PositiveBits(Load(values + v * kLanes))} << (v * kLanes);
  }
  return mask;
}

// sums[:] += a[p * a_step] * b[p * b_step + :] for the set bits p of `mask`, in ascending order.
template <int V>
inline void AddMasked(uint64_t mask, const float* a, int64_t a_step, const float* b, int64_t b_step,
                      Vec (&sums)[V]) {
  for (; mask != 0; mask &= mask - 1) {
    const int64_t p = __builtin_ctzll(mask);
    const Vec factor = Broadcast(a[p * a_step]);
    const float* const row = b + p * b_step;
#pragma GCC unroll 32
    for (int v = 0; v < V; ++v) sums[v] = Fma(factor, Load(row + v * kLanes), sums[v]);
  }
}

// kWidth: n and k, if both are the same and known to the compiler, else 0.
template <Epilogue kEpilogue, int64_t kWidth>
void SkipRows(const SkipGemm& g) {
  constexpr bool kBias = kEpilogue == Epilogue::kBiasRelu;
  constexpr int64_t kPiece = 32;
  const int64_t n = kWidth > 0 ? kWidth : g.n, k = kWidth > 0 ? kWidth : g.k;
  for (int64_t first = 0; first < g.m; first += kPiece) {
    const int64_t rows = Least(kPiece, g.m - first);
    for (int64_t j = 0; j < n; j += kSkipGroup) {
      for (int64_t p = 0; p < k; p += kSkipGroup) {
        // All masks first: behind a mispredicted end of a row they would be waited for.
        uint64_t masks[kPiece];
        for (int64_t r = 0; r < rows; ++r) masks[r] = PositiveMask(g.pattern + (first + r) * k + p);
        for (int64_t r = 0; r < rows; ++r) {
          const int64_t i = first + r;
          float* const c = g.c + i * n + j;
          Vec sums[kSkipVecs] = {};
          if (p > 0) {
#pragma GCC unroll 16
            for (int v = 0; v < kSkipVecs; ++v) sums[v] = Load(c + v * kLanes);
          }
          AddMasked(masks[r], g.a + i * k + p, 1, g.b + p * n + j, n, sums);
          const bool last = p + kSkipGroup == k;
#pragma GCC unroll 16
          for (int v = 0; v < kSkipVecs; ++v) {
            const int64_t at = j + v * kLanes;
            const Vec bias = kBias ? Load(g.bias + at) : Vec{};
            const float* const gate = kBias ? nullptr : g.gate + i * n + at;
            Store(c + v * kLanes, last ? Finish<kEpilogue>(sums[v], bias, gate) : sums[v]);
          }
        }
      }
    }
  }
}

template <Epilogue kEpilogue>
void SkipAnyWidth(const SkipGemm& g) {
  if (g.n == kSkipGroup && g.k == kSkipGroup) {
    SkipRows<kEpilogue, kSkipGroup>(g);
  } else {
    SkipRows<kEpilogue, 0>(g);
  }
}

void SkipGemmAll(const SkipGemm& g) {
  if (g.gate == nullptr) {
    SkipAnyWidth<Epilogue::kBiasRelu>(g);
  } else {
    SkipAnyWidth<Epilogue::kGateRelu>(g);
  }
}

// A matrix of bits [64 x 64]: bit i of word k becomes bit k of word i.
inline void TransposeBits(uint64_t words[64]) {
  uint64_t low = 0xffffffffu;
  for (int half = 32; half > 0; half /= 2, low ^= low << half) {
    for (int k = 0; k < 64; k = ((k | half) + 1) & ~half) {
      const uint64_t moved = ((words[k] >> half) ^ words[k | half]) & low;
      words[k] ^= moved << half;
      words[k | half] ^= moved;
    }
  }
}

void SkipMasks(int64_t rows, int64_t width, const float* pattern, uint64_t* masks) {
  for (int64_t r = 0; r < rows; r += kSkipGroup, masks += width) {
    for (int64_t p = 0; p < width; p += kSkipGroup) {
      uint64_t* const words = masks + p;
      for (int64_t i = 0; i < kSkipGroup; ++i) {
        words[i] = r + i < rows ? PositiveMask(pattern + (r + i) * width + p) : 0;
      }
      TransposeBits(words);
    }
  }
}

// Columns j .. j+16U-1 for the 64 rows from r on.
template <int U>
void SkipOuterColumns(const SkipOuter& g, int64_t r, int64_t j) {
  constexpr int V = U * kVecsPerSum;
  const uint64_t* const masks = g.masks + r / kSkipGroup * g.k;
  for (int64_t p = g.begin; p < g.end; ++p) {
    float* const c = g.c + p * g.c_row + j;
    Vec sums[V];
#pragma GCC unroll 32
    for (int v = 0; v < V; ++v) sums[v] = Load(c + v * kLanes);
    AddMasked<V>(masks[p], g.a + r * g.k + p, g.k, g.b + r * g.b_row + j, g.b_row, sums);
#pragma GCC unroll 32
    for (int v = 0; v < V; ++v) Store(c + v * kLanes, sums[v]);
  }
}

// Columns are shared out in groups of up to 80: ten sums hide the latency of multiply-adds, and 64
// rows of a group stay in the nearest cache.
void SkipOuterAll(const SkipOuter& g) {
  const int64_t units = g.n / kVirtualLanes, groups = (units + 4) / 5;
  for (int64_t r = 0; r < g.rows; r += kSkipGroup) {
    for (int64_t i = 0; i < groups; ++i) {
      const int64_t first = units * i / groups, j = first * kVirtualLanes;
      switch (units * (i + 1) / groups - first) {
        case 1: SkipOuterColumns<1>(g, r, j); break;
        case 2: SkipOuterColumns<2>(g, r, j); break;
        case 3: SkipOuterColumns<3>(g, r, j); break;
        case 4: SkipOuterColumns<4>(g, r, j); break;
        default: SkipOuterColumns<5>(g, r, j); break;
      }
    }
  }
}

void AddRows(int64_t rows, int64_t width, const float* x, float* sums) {
  for (int64_t j = 0; j < width; j += kSkipGroup) {
    Vec total[kSkipVecs];
#pragma GCC unroll 16
    for (int v = 0; v < kSkipVecs; ++v) total[v] = Load(sums + j + v * kLanes);
    for (int64_t r = 0; r < rows; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < kSkipVecs; ++v) {
        total[v] = total[v] + Load(x + r * width + j + v * kLanes);
      }
    }
#pragma GCC unroll 16
    for (int v = 0; v < kSkipVecs; ++v) Store(sums + j + v * kLanes, total[v]);
  }
}

#endif  // TESSERA_NN_KERNELS_SKIP_INL_H_
