// One block's share of a network pass: a tile of rows through in-64-64-out networks and back, with
// activations in shared memory and weights streamed through it in tiles of 64 x 64.
//
// The first layer is the one that Collapse (optimizer.cu) made: it reads columns of X, the compact
// state and the actions, in blocks of eight; a network lists the blocks that it reads.
#ifndef TESSERA_CUDA_TILE_CUH_
#define TESSERA_CUDA_TILE_CUH_

#include "tessera/cuda/common.cuh"

namespace tessera::cuda {

inline constexpr int kHidden = 64;
inline constexpr int kThreads = 256;
inline constexpr int kHiddenRow = 68;  // of activations: no two rows share their banks
inline constexpr int kWeightRow = 72;  // of weights, for the same reason
inline constexpr int kWeightTile = 64 * kWeightRow;
inline constexpr int kMostOutputs = 8;
inline constexpr int kMostBlocks = 64;  // of columns that an actor reads

// Sizes of what follows the first layer's weights, the same in a network and in its gradient.
struct Tail {
  static constexpr int kB1 = 0, kW2 = 64, kB2 = kW2 + 64 * 64, kW3 = kB2 + 64;
  __host__ __device__ static constexpr int B3(int outputs) { return kW3 + 64 * outputs; }
  __host__ __device__ static constexpr int Size(int outputs) { return B3(outputs) + outputs; }
};

// A term of an affine map: row `row` of a weight matrix times `factor`.
struct MapTerm {
  int32_t row;
  float factor;
};

// A network with its slow copy, its optimiser's state and the collapsed first layers of both.
struct NetView {
  int32_t inputs, outputs;
  int32_t blocks;                                // of eight columns of X that the network reads
  const int32_t* block;                          // [blocks]; null: the first ones
  float *parameters, *target, *mean, *variance;  // [inputs x 64], then the tail
  float *first, *first_target;                   // [8 blocks x 64]
  float* gradient;                               // [8 blocks x 64], then the tail
  float* partial;                                // the same for every tile
  float* norms;                                  // squares of parts of W1, then of five tensors
  const int32_t *collapse_start, *expand_start;  // [8 blocks + 1], [inputs + 1]
  const MapTerm *collapse, *expand;
  int64_t* steps;  // of Adam
  double rate;     // of Adam

  __host__ __device__ int first_size() const { return blocks * 8 * kHidden; }
  __host__ __device__ int gradient_size() const {
    return (first_size() + Tail::Size(outputs) + 3) / 4 * 4;
  }
};

// The weights that a pass reads.
struct Weights {
  const float* first;
  const int32_t* block;  // null: the first `blocks` ones
  int blocks;
  const float* tail;
  int outputs;

  __device__ static Weights Of(const NetView& net, bool target) {
    return {target ? net.first_target : net.first, net.block, net.blocks,
            (target ? net.target : net.parameters) + int64_t{net.inputs} * kHidden, net.outputs};
  }
  __device__ int FirstTileRows() const { return 8 * min(8, blocks); }
};

// Floats of shared memory of a tile besides X: `hidden` buffers of activations, weights, outputs,
// noise. With X, if only one tile reads it.
__host__ __device__ constexpr int OwnFloats(int rows, int hidden) {
  return hidden * rows * kHiddenRow + 2 * kWeightTile + 64 * kMostOutputs +
         2 * rows * kMostOutputs + 2 * kMostBlocks;
}
__host__ __device__ constexpr int TileFloats(int rows, int x_row, int hidden) {
  return rows * x_row + OwnFloats(rows, hidden);
}

// Of both hidden layers.
enum class Activation { kRelu, kTanh };

// G groups of four warps; each group has 16 MT rows, each of its warps 16 columns of them.
template <Precision P, int MT, int G = 2, Activation A = Activation::kRelu>
class Tile {
 public:
  static constexpr int kRows = 16 * MT * G;
  static constexpr int kBlock = 128 * G;  // threads; a block may have several such teams

  __device__ static int Tid() { return static_cast<int>(threadIdx.x) % kBlock; }
  __device__ static void Sync() {
    asm volatile("bar.sync %0, %1;" ::"r"(1 + static_cast<int>(threadIdx.x) / kBlock), "n"(kBlock)
                 : "memory");
  }

  // X, then what only this tile uses.
  __device__ Tile(float* memory, int x_row_floats, int hidden_buffers)
      : Tile(memory, memory + kRows * x_row_floats, x_row_floats, hidden_buffers) {}
  __device__ Tile(float* shared_x, float* own, int x_row_floats, int hidden_buffers)
      : x_row(x_row_floats) {
    x = shared_x;
    hidden = own;
    weights_ = hidden + hidden_buffers * kRows * kHiddenRow;
    w3 = weights_ + 2 * kWeightTile;
    out = w3 + 64 * kMostOutputs;
    noise = out + kRows * kMostOutputs;
    blocks_ = reinterpret_cast<int32_t*>(noise + kRows * kMostOutputs);
  }

  __device__ float* Hidden(int i) const { return hidden + i * kRows * kHiddenRow; }
  __device__ float* rest() const { return reinterpret_cast<float*>(blocks_ + 2 * kMostBlocks); }

  // Starts to copy a tile of weights, row-major of 64 columns; at most one is under way.
  __device__ void Prefetch(const float* from, int rows) {
    float* const to = weights_ + (current_ ^ 1) * kWeightTile;
    for (int i = Tid(); i < rows * 16; i += kBlock) {
      CopyAsync16(to + (i >> 4) * kWeightRow + (i & 15) * 4, from + i * 4);
    }
  }
  // The first tile of a network, and the columns that it reads.
  __device__ void Prefetch(const Weights& net) {
    Prefetch(net.first, net.FirstTileRows());
    if (net.block == nullptr) return;
    int32_t* const to = blocks_ + (current_ ^ 1) * kMostBlocks;
    for (int i = Tid(); i < net.blocks; i += kBlock) {
      CopyAsync4(reinterpret_cast<float*>(to + i), reinterpret_cast<const float*>(net.block + i));
    }
  }

  // Waits for it; everything written to shared memory before is visible after.
  __device__ void Arrive() {
    WaitCopies();
    Sync();
    current_ ^= 1;
  }

  // X through a network whose first tile of weights is under way. Leaves activations in h1 and h2,
  // outputs in `out` and W2 as the current tile; starts the copy of `after`, if any.
  __device__ void Forward(const Weights& net, float* h1, float* h2, const Weights* after) {
    for (int i = Tid(); i < 64 * kMostOutputs; i += kBlock) {
      const int k = i / kMostOutputs, o = i % kMostOutputs;
      w3[i] = o < net.outputs ? __ldg(net.tail + Tail::kW3 + k * net.outputs + o) : 0.0f;
    }
    ForwardHidden(net, h1, h2, after);
    Output(net, h2);
    Sync();
  }

  // The same without outputs.
  __device__ void ForwardHidden(const Weights& net, float* h1, float* h2, const Weights* after) {
    // Asked for now, needed after the products.
    float bias[2][4];
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const int c = FirstColumn() + PairColumn(n / 2) + n % 2;
      bias[0][n] = __ldg(net.tail + Tail::kB1 + c);
      bias[1][n] = __ldg(net.tail + Tail::kB2 + c);
    }
    float acc[MT][2][4] = {};
    const float* const rows = x + FirstRow() * x_row;
    const int32_t* const list = blocks_ + (current_ ^ 1) * kMostBlocks;
    for (int kb = 0; kb < net.blocks; kb += 8) {
      Arrive();
      const int left = net.blocks - kb;
      if (left > 8) {
        Prefetch(net.first + int64_t{kb + 8} * 8 * kHidden, 8 * min(8, left - 8));
      } else {
        Prefetch(net.tail + Tail::kW2, 64);
      }
      const float* const w = Current() + FirstColumn();
      int columns[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int b = min(kb + i, net.blocks - 1);
        columns[i] = 8 * (net.block != nullptr ? list[b] : b);
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        if (i >= left) break;
        Times8(acc, rows + columns[i], x_row, w + 8 * i * kWeightRow);
      }
    }
    StoreHidden(acc, bias[0], h1);
    Arrive();
    if (after != nullptr) Prefetch(*after);
    Clear(acc);
    {
      const float* const w = Current() + FirstColumn();
      const float* const from = h1 + FirstRow() * kHiddenRow;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        Times8(acc, from + 8 * i, kHiddenRow, w + 8 * i * kWeightRow);
      }
    }
    if (h1 == h2) Sync();  // everybody has read the first layer
    StoreHidden(acc, bias[1], h2);
    Sync();
  }

  // d1 and d2, the gradients of both hidden layers' sums, from d out [rows x 8]; W2 is the current
  // tile and w3 that of the network. d2 gets a buffer of its own, d1 that of h2. Writes the tail's
  // gradients to `gradient` unless that is null.
  __device__ void Backward(int outputs, const float* h1, float* h2, float* d2, const float* dout,
                           float* gradient) {
    for (int i = Tid(); i < kRows * kHidden; i += kBlock) {
      const int r = i / kHidden, k = i % kHidden;
      float sum = 0;
      for (int o = 0; o < outputs; ++o)
        sum = fmaf(dout[r * kMostOutputs + o], w3[k * kMostOutputs + o], sum);
      d2[r * kHiddenRow + k] = ThroughActivation(h2[r * kHiddenRow + k], sum);
    }
    if (gradient != nullptr) OutputGradient(outputs, h2, dout, gradient);
    Sync();
    BackwardHidden(h1, h2, d2, gradient, /*add=*/false);
  }

  // The same from d2. `add`: to what `gradient` holds.
  __device__ void BackwardHidden(const float* h1, float* h2, const float* d2, float* gradient,
                                 bool add) {
    if (gradient != nullptr) HiddenGradient(h1, d2, gradient, add);
    float acc[MT][2][4] = {};
    const float* const w = Current() + FirstColumn() * kWeightRow;
    const float* const from = d2 + FirstRow() * kHiddenRow;
    if constexpr (P == Precision::kFp32) {
      // Columns four apart: the rows of W2 that threads read side by side share no banks.
      const int g = (Tid() & 31) >> 2, t = Tid() & 3;
#pragma unroll 4
      for (int k = 0; k < kHidden; k += 4) {
        float4 turned[4], b[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          turned[c] = *reinterpret_cast<const float4*>(w + (t + 4 * c) * kWeightRow + k);
        }
        b[0] = make_float4(turned[0].x, turned[1].x, turned[2].x, turned[3].x);
        b[1] = make_float4(turned[0].y, turned[1].y, turned[2].y, turned[3].y);
        b[2] = make_float4(turned[0].z, turned[1].z, turned[2].z, turned[3].z);
        b[3] = make_float4(turned[0].w, turned[1].w, turned[2].w, turned[3].w);
        Chain4<MT>(acc, from + k, kHiddenRow, b);
      }
#pragma unroll
      for (int q = 0; q < 2 * MT; ++q) {
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          const int at = (FirstRow() + g + 8 * q) * kHiddenRow + FirstColumn() + t + 4 * c;
          h2[at] = ThroughActivation(h1[at], acc[q / 2][c / 2][2 * (q % 2) + c % 2]);
        }
      }
    } else {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        MultiplyRows8<P, MT, 2>(acc, from + 8 * i, kHiddenRow,
                                [&](int k, int n) { return w[n * kWeightRow + 8 * i + k]; });
      }
      ForAccumulators(acc, [&](int r, int c, float value) {
        h2[r * kHiddenRow + c] = ThroughActivation(h1[r * kHiddenRow + c], value);
      });
    }
    Sync();
  }

  // d loss / d sum from the activation and d loss / d activation.
  __device__ static float ThroughActivation(float activation, float gradient) {
    if (A == Activation::kTanh) return gradient * (1.0f - activation * activation);
    return activation > 0 ? gradient : 0.0f;
  }

  // Gradient of the first layer from d1: of W1 on columns of X, and of its bias.
  __device__ void FirstGradient(const Weights& net, const float* d1, float* gradient,
                                bool add = false) {
    const int warp = Tid() / 32;
    for (int pair = warp; 2 * pair < net.blocks; pair += kBlock / 32) {
      const int b0 = 2 * pair, b1 = min(b0 + 1, net.blocks - 1);
      const int c0 = 8 * (net.block != nullptr ? __ldg(net.block + b0) : b0);
      const int c1 = 8 * (net.block != nullptr ? __ldg(net.block + b1) : b1);
      float acc[1][8][4] = {};
      for (int r = 0; r < kRows; r += 8) {
        float tile[1][4];
        LoadTile(tile[0],
                 [&](int m, int k) { return x[(r + k) * x_row + (m < 8 ? c0 + m : c1 + m - 8)]; });
        Multiply8<P, 1, 8>(acc, tile, [&](int k, int n) { return d1[(r + k) * kHiddenRow + n]; });
      }
      const int g = (Tid() & 31) >> 2, t = Tid() & 3;
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        float* const to = gradient + (int64_t{b0} * 8 + g) * kHidden + 8 * n + 2 * t;
        Put2(to, acc[0][n][0], acc[0][n][1], add);
        if (b1 == b0) continue;
        Put2(to + 8 * kHidden, acc[0][n][2], acc[0][n][3], add);
      }
    }
    if (Tid() < kHidden) {
      Put(gradient + net.blocks * 8 * kHidden + Tail::kB1 + Tid(), ColumnSum(d1, Tid()), add);
    }
  }

  // Rows of activations or of their gradients, as the host has them: [rows x 64] from `to` on.
  __device__ void Keep(const float* from, int rows, float* to) const {
    for (int i = Tid(); i < rows * (kHidden / 4); i += kBlock) {
      const int r = i / (kHidden / 4), c = i % (kHidden / 4);
      reinterpret_cast<float4*>(to)[i] =
          *reinterpret_cast<const float4*>(from + r * kHiddenRow + 4 * c);
    }
  }

  __device__ static void Put(float* to, float value, bool add) { *to = add ? *to + value : value; }

  float *x, *hidden, *w3, *out, *noise;
  const int x_row;

 private:
  // The first of the two columns of a thread in its n-th pair, among its warp's.
  __device__ static int PairColumn(int n) {
    const int t = Tid() & 3;
    return P == Precision::kFp32 ? 4 * t + 2 * n : 8 * n + 2 * t;
  }
  // acc += A B over eight values of k; w: the first of eight rows of weights.
  __device__ static void Times8(float (&acc)[MT][2][4], const float* a, int row_floats,
                                const float* w) {
    if constexpr (P == Precision::kFp32) {
#pragma unroll
      for (int k = 0; k < 8; k += 4) {
        float4 b[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          b[i] = *reinterpret_cast<const float4*>(w + (k + i) * kWeightRow + PairColumn(0));
        }
        Chain4<MT>(acc, a + k, row_floats, b);
      }
    } else {
      MultiplyRows8<P, MT, 2>(acc, a, row_floats,
                              [&](int k, int n) { return w[k * kWeightRow + n]; });
    }
  }

  __device__ static int FirstRow() { return Tid() / 32 % G * 16 * MT; }
  __device__ static int FirstColumn() { return Tid() / (32 * G) * 16; }
  __device__ const float* Current() const { return weights_ + current_ * kWeightTile; }

  __device__ static void Put2(float* to, float first, float second, bool add) {
    float2* const pair = reinterpret_cast<float2*>(to);
    const float2 before = add ? *pair : make_float2(0, 0);
    *pair = add ? make_float2(before.x + first, before.y + second) : make_float2(first, second);
  }

  __device__ static float Activate(float sum) {
    return A == Activation::kTanh ? tanhf(sum) : fmaxf(sum, 0.0f);
  }

  __device__ static void Clear(float (&acc)[MT][2][4]) {
#pragma unroll
    for (int m = 0; m < MT; ++m) {
#pragma unroll
      for (int n = 0; n < 2; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) acc[m][n][i] = 0;
      }
    }
  }

  template <typename Body>  // body(row, column, value)
  __device__ static void ForAccumulators(const float (&acc)[MT][2][4], Body body) {
    const int g = (Tid() & 31) >> 2, t = Tid() & 3;
#pragma unroll
    for (int m = 0; m < MT; ++m) {
#pragma unroll
      for (int n = 0; n < 2; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          body(FirstRow() + 16 * m + g + 8 * (i / 2), FirstColumn() + 8 * n + 2 * t + i % 2,
               acc[m][n][i]);
        }
      }
    }
  }

  // Element i of an accumulator of column tile n has bias[2 n + i % 2].
  __device__ static void StoreHidden(const float (&acc)[MT][2][4], const float (&bias)[4],
                                     float* h) {
    const int g = (Tid() & 31) >> 2;
#pragma unroll
    for (int m = 0; m < MT; ++m) {
#pragma unroll
      for (int n = 0; n < 2; ++n) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int r = FirstRow() + 16 * m + g + 8 * half, c = FirstColumn() + PairColumn(n);
          const float2 values = make_float2(Activate(acc[m][n][2 * half] + bias[2 * n]),
                                            Activate(acc[m][n][2 * half + 1] + bias[2 * n + 1]));
          *reinterpret_cast<float2*>(h + r * kHiddenRow + c) = values;
        }
      }
    }
  }

  __device__ void Output(const Weights& net, const float* h2) {
    if constexpr (P == Precision::kFp32) {
      for (int i = Tid(); i < kRows * net.outputs; i += kBlock) {
        const int r = i / net.outputs, o = i % net.outputs;
        float sum = 0;
#pragma unroll 4
        for (int k = 0; k < kHidden; k += 4) {
          const float4 h = *reinterpret_cast<const float4*>(h2 + r * kHiddenRow + k);
          sum = fmaf(h.x, w3[k * kMostOutputs + o], sum);
          sum = fmaf(h.y, w3[(k + 1) * kMostOutputs + o], sum);
          sum = fmaf(h.z, w3[(k + 2) * kMostOutputs + o], sum);
          sum = fmaf(h.w, w3[(k + 3) * kMostOutputs + o], sum);
        }
        out[r * kMostOutputs + o] = sum + __ldg(net.tail + Tail::B3(net.outputs) + o);
      }
    } else {
      const int warp = Tid() / 32;
      if (warp >= kRows / 16) return;
      float acc[1][1][4] = {};
      const float* const from = h2 + 16 * warp * kHiddenRow;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        MultiplyRows8<P, 1, 1>(acc, from + 8 * i, kHiddenRow,
                               [&](int k, int n) { return w3[(8 * i + k) * kMostOutputs + n]; });
      }
      const int g = (Tid() & 31) >> 2, t = Tid() & 3;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int o = 2 * t + i % 2, r = 16 * warp + g + 8 * (i / 2);
        const float bias = o < net.outputs ? __ldg(net.tail + Tail::B3(net.outputs) + o) : 0.0f;
        out[r * kMostOutputs + o] = acc[0][0][i] + bias;
      }
    }
  }

  __device__ static float ColumnSum(const float* d, int column) {
    float sum = 0;
    for (int r = 0; r < kRows; ++r) sum += d[r * kHiddenRow + column];
    return sum;
  }

  __device__ void OutputGradient(int outputs, const float* h2, const float* dout,
                                 float* gradient) const {
    for (int i = Tid(); i < (kHidden + 1) * outputs; i += kBlock) {
      const int k = i / outputs, o = i % outputs;
      float sum = 0;
      for (int r = 0; r < kRows; ++r) {
        sum += (k < kHidden ? h2[r * kHiddenRow + k] : 1.0f) * dout[r * kMostOutputs + o];
      }
      gradient[Tail::kW3 + i] = sum;  // the bias follows the weights
    }
  }

  __device__ void HiddenGradient(const float* h1, const float* d2, float* gradient,
                                 bool add) const {
    const int warp = Tid() / 32, first = 16 * (warp % 4), column = 32 * (warp / 4);
    float acc[1][4][4] = {};
    for (int r = 0; r < kRows; r += 8) {
      float tile[1][4];
      LoadTile(tile[0], [&](int m, int k) { return h1[(r + k) * kHiddenRow + first + m]; });
      Multiply8<P, 1, 4>(acc, tile,
                         [&](int k, int n) { return d2[(r + k) * kHiddenRow + column + n]; });
    }
    const int g = (Tid() & 31) >> 2, t = Tid() & 3;
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      float* const to = gradient + Tail::kW2 + (first + g) * kHidden + column + 8 * n + 2 * t;
      Put(to, acc[0][n][0], add);
      Put(to + 1, acc[0][n][1], add);
      Put(to + 8 * kHidden, acc[0][n][2], add);
      Put(to + 8 * kHidden + 1, acc[0][n][3], add);
    }
    if (Tid() < kHidden) Put(gradient + Tail::kB2 + Tid(), ColumnSum(d2, Tid()), add);
  }

  float* weights_;
  int32_t* blocks_;
  int current_ = 0;
};

}  // namespace tessera::cuda

#endif  // TESSERA_CUDA_TILE_CUH_
