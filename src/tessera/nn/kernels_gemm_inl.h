// Dense matrix products in tiles that fill the registers. Part of kernels_inl.h.

#ifndef TESSERA_NN_KERNELS_GEMM_INL_H_
#define TESSERA_NN_KERNELS_GEMM_INL_H_

// A range of the inner dimension: `count` values, from `skip` values into `segment` on.
struct Chunk {
  const GemmSegment* segment;
  int64_t skip, count;
  bool first, last;
};

template <Epilogue kEpilogue>
inline Vec Finish(Vec value, Vec bias, const float* gate) {
  switch (kEpilogue) {
    case Epilogue::kStore: return value;
    case Epilogue::kBias: return value + bias;
    case Epilogue::kBiasRelu: return Max(value + bias, Vec{});
    case Epilogue::kBiasTanh: return Tanh(value + bias);
    case Epilogue::kGateRelu: return Select(Load(gate) > 0.0f, value, Vec{});
    case Epilogue::kGateTanh: return value * Fma(-Load(gate), Load(gate), Broadcast(1.0f));
  }
  return value;
}

// Applies the epilogue to a tile and writes it. The choice is made once per tile: made for every
// vector, it would cost as much as the product of a narrow layer.
template <Epilogue kEpilogue, bool kBiasPerColumn, int R, int V>
inline void FinishTile(const Gemm& g, const Vec (&sums)[R][V], int64_t row, int64_t column,
                       float* out, int64_t out_row) {
  constexpr bool kBias = kEpilogue == Epilogue::kBias || kEpilogue == Epilogue::kBiasRelu ||
                         kEpilogue == Epilogue::kBiasTanh;
  constexpr bool kGate = kEpilogue == Epilogue::kGateRelu || kEpilogue == Epilogue::kGateTanh;
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    Vec bias = Vec{};
    if (kBias && !kBiasPerColumn) bias = Broadcast(g.bias[row + i]);
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) {
      const int64_t j = column + v * kLanes;
      if (kBias && kBiasPerColumn) bias = Load(g.bias + j);
      const float* const gate = kGate ? g.gate + (row + i) * g.gate_row + j : nullptr;
      Store(out + i * out_row + v * kLanes, Finish<kEpilogue>(sums[i][v], bias, gate));
    }
  }
}

template <int R, int V>
inline void FinishAny(const Gemm& g, Epilogue epilogue, const Vec (&sums)[R][V], int64_t row,
                      int64_t column, float* out, int64_t out_row) {
  const auto finish = [&]<Epilogue kEpilogue>() {
    if (g.bias_per_column) {
      FinishTile<kEpilogue, true>(g, sums, row, column, out, out_row);
    } else {
      FinishTile<kEpilogue, false>(g, sums, row, column, out, out_row);
    }
  };
  switch (epilogue) {
    case Epilogue::kStore: return finish.template operator()<Epilogue::kStore>();
    case Epilogue::kBias: return finish.template operator()<Epilogue::kBias>();
    case Epilogue::kBiasRelu: return finish.template operator()<Epilogue::kBiasRelu>();
    case Epilogue::kBiasTanh: return finish.template operator()<Epilogue::kBiasTanh>();
    case Epilogue::kGateRelu: return finish.template operator()<Epilogue::kGateRelu>();
    case Epilogue::kGateTanh: return finish.template operator()<Epilogue::kGateTanh>();
  }
}

// Rows `row` .. row+R-1 and V vectors of columns from `column` on. The result goes to `out`, which
// is C itself, or a small buffer at C's right edge.
template <int R, int V>
__attribute__((noinline)) void Tile(const Gemm& g, const Chunk& chunk, int64_t row, int64_t column,
                                    float* out, int64_t out_row) {
  Vec sums[R][V] = {};
  const float* a[R];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    a[i] = g.a + (g.a_rows != nullptr ? g.a_rows[row + i] : (row + i) * g.a_row);
  }
  if (!chunk.first) {
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sums[i][v] = Load(out + i * out_row + v * kLanes);
    }
  }
  const GemmSegment* segment = chunk.segment;
  int64_t skip = chunk.skip;
  for (int64_t left = chunk.count; left > 0; ++segment, skip = 0) {
    const int64_t count = Least(left, segment->count - skip);
    const float* b = g.b + segment->b + skip * g.b_step + column;
    int64_t at = segment->a + skip * g.a_step;
    for (int64_t p = 0; p < count; ++p) {
      Vec values[V];
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) values[v] = Load(b + v * kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i) {
        const Vec factor = Broadcast(a[i][at]);
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) sums[i][v] = Fma(factor, values[v], sums[i][v]);
      }
      b += g.b_step;
      at += g.a_step;
    }
    left -= count;
  }
  FinishAny(g, chunk.last ? g.epilogue : Epilogue::kStore, sums, row, column, out, out_row);
}

using TileFunction = void (*)(const Gemm&, const Chunk&, int64_t, int64_t, float*, int64_t);

template <int V, int R = kTileRows>
inline TileFunction FindTile(int64_t rows) {
  if constexpr (R == 1) {
    return &Tile<1, V>;
  } else {
    return rows >= R ? &Tile<R, V> : FindTile<V, R - 1>(rows);
  }
}

// One tile at C's right edge, where whole vectors would write past the row.
inline void EdgeTile(const Gemm& g, const Chunk& chunk, int64_t row, int64_t rows, int64_t column) {
  const int64_t columns = Least(kLanes, g.n - column);
  float edge[kTileRows * kLanes];
  if (!chunk.first) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        edge[i * kLanes + j] = g.c[(row + i) * g.c_row + column + j];
      }
      for (int64_t j = columns; j < kLanes; ++j) edge[i * kLanes + j] = 0;
    }
  }
  FindTile<1>(rows)(g, chunk, row, column, edge, kLanes);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      g.c[(row + i) * g.c_row + column + j] = edge[i * kLanes + j];
    }
  }
}

inline void AnyTile(const Gemm& g, const Chunk& chunk, int64_t row, int64_t rows, int64_t column) {
  float* const c = g.c + row * g.c_row + column;
  if (column + kTileColumns <= g.n) {
    FindTile<kTileVecs>(rows)(g, chunk, row, column, c, g.c_row);
    return;
  }
  if (column + kLanes <= g.n) {
    FindTile<1>(rows)(g, chunk, row, column, c, g.c_row);
    column += kLanes;
  }
  if (column < g.n) EdgeTile(g, chunk, row, rows, column);
}

void GemmChunk(const Gemm& g, const Chunk& chunk) {
  // The operand that the outer loop holds stays in the nearest cache; hold the longer side's.
  if (g.m > g.n) {
    for (int64_t i = 0; i < g.m; i += kTileRows) {
      const int64_t rows = Least(kTileRows, g.m - i);
      for (int64_t j = 0; j < g.n; j += kTileColumns) AnyTile(g, chunk, i, rows, j);
    }
  } else {
    for (int64_t j = 0; j < g.n; j += kTileColumns) {
      for (int64_t i = 0; i < g.m; i += kTileRows) {
        AnyTile(g, chunk, i, Least(kTileRows, g.m - i), j);
      }
    }
  }
}

void GemmAll(const Gemm& g) {
  int64_t total = 0;
  for (int64_t s = 0; s < g.num_segments; ++s) total += g.segments[s].count;
  Chunk chunk{g.segments, 0, 0, true, false};
  for (int64_t done = 0; done < total || chunk.first; done += chunk.count) {
    chunk.count = Least(kInnerChunk, total - done);
    chunk.last = done + chunk.count == total;
    GemmChunk(g, chunk);
    chunk.first = false;
    chunk.skip += chunk.count;
    while (!chunk.last && chunk.skip >= chunk.segment->count) {
      chunk.skip -= chunk.segment->count;
      ++chunk.segment;
    }
    if (chunk.last) break;
  }
}

template <int R>
__attribute__((always_inline)) inline void PanelTile(const PanelGemm& g, const float* a,
                                                     const float* b, const float* bias, float* c) {
  Vec sums[R][kTileVecs] = {};
  if (g.add) {
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < kTileVecs; ++v) sums[i][v] = Load(c + i * g.n + v * kLanes);
    }
  }
  for (int64_t s = 0; s < g.num_segments; ++s) {
    const float* const values = a + g.segments[s].a;
    for (int64_t p = 0; p < g.segments[s].count; ++p, b += kPanelColumns) {
      Vec weights[kTileVecs];
#pragma GCC unroll 8
      for (int v = 0; v < kTileVecs; ++v) {
        constexpr int kPanel = kPanelColumns;
        weights[v] = Load(b + v * kLanes / kPanel * g.panel + v * kLanes % kPanel);
      }
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i) {
        const Vec factor = Broadcast(values[i * g.a_row + p]);
#pragma GCC unroll 8
        for (int v = 0; v < kTileVecs; ++v) sums[i][v] = Fma(factor, weights[v], sums[i][v]);
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < kTileVecs; ++v) {
      const Vec sum = sums[i][v];
      Store(c + i * g.n + v * kLanes,
            bias == nullptr ? sum : Max(sum + Load(bias + v * kLanes), Vec{}));
    }
  }
}

void PanelGemmAll(const PanelGemm& g) {
  // Tiles of fewer than four rows would wait for their sums; two full tiles leave a multiple of it.
  static_assert(kTileRows % 2 == 0);
  for (int64_t j = 0; j < g.n; j += kTileColumns) {
    const float* const b = g.panels + j / kPanelColumns * g.panel + j % kPanelColumns;
    const float* const bias = g.bias != nullptr ? g.bias + j : nullptr;
    int64_t i = 0;
    for (; i + 2 * kTileRows <= g.m; i += 2 * kTileRows) {
      for (int64_t row = i; row < i + 2 * kTileRows; row += kTileRows) {
        PanelTile<kTileRows>(g, g.a + row * g.a_row, b, bias, g.c + row * g.n + j);
      }
    }
    for (; i < g.m; i += 4) PanelTile<4>(g, g.a + i * g.a_row, b, bias, g.c + i * g.n + j);
  }
}

#endif  // TESSERA_NN_KERNELS_GEMM_INL_H_
