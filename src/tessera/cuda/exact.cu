// Gradients and their norms in the host's order of sums (Precision::kFp32). On the host every
// weight's gradient is one chain of fused multiply-adds over the rows of a mini-batch, so here a
// block takes a few columns of a weight matrix and walks over all rows.
#include "tessera/cuda/launch.cuh"
#include "tessera/cuda/update.cuh"

namespace tessera::cuda {
namespace {

constexpr int kWalkers = 128;     // threads
constexpr int kWalkColumns = 16;  // of the left factor, in one block
constexpr int kWalkRows = 32;     // of a stage
constexpr int kStages = 4;        // of the ring of rows on their way
constexpr int kHostRows = 128;    // kBlockRows of nn/kernels.h: sums of an output's bias
constexpr int kLanes = 16;        // kVirtualLanes of nn/kernels_inl.h: partial sums of a reduction

struct Stage {
  float left[kWalkRows][kWalkColumns];
  float right[kWalkRows][kHidden];
};

__device__ void CommitCopies() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
template <int kLeft>  // groups that may still be under way
__device__ void WaitGroups() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kLeft) : "memory");
}

// Calls body(stage, chunk) for all rows in their order, kWalkRows at a time; rows past the last are
// zeros. Of the left factor a thread brings column threadIdx.x % 16: it lies at
// base + place(row) * step, place being looked up early, or is zero if base is null. The right
// one's rows are contiguous.
template <typename Place, typename Body>
__device__ void Walk(Stage* stages, int count, const float* right, const float* base, int64_t step,
                     Place place, Body body) {
  constexpr int kRowsAtOnce = kWalkers / kWalkColumns, kPasses = kWalkRows / kRowsAtOnce;
  const int chunks = (count + kWalkRows - 1) / kWalkRows;
  const int row = static_cast<int>(threadIdx.x) / kWalkColumns;
  const int column = static_cast<int>(threadIdx.x) % kWalkColumns;
  int64_t places[kPasses];  // of the next chunk: nothing is done with them until it is fetched
  const auto look_up = [&](int chunk) {
#pragma unroll
    for (int q = 0; q < kPasses; ++q) {
      places[q] = place(min(chunk * kWalkRows + row + q * kRowsAtOnce, count - 1));
    }
  };
  const auto fetch = [&](int chunk) {
    Stage& stage = stages[chunk % kStages];
    const int first = chunk * kWalkRows;
    if (chunk < chunks) {
#pragma unroll
      for (int q = 0; q < kPasses; ++q) {
        const int r = row + q * kRowsAtOnce;
        float* const to = &stage.left[r][column];
        if (base != nullptr && first + r < count) {
          CopyAsync4(to, base + places[q] * step);
        } else {
          *to = 0;
        }
      }
#pragma unroll
      for (int q = 0; q < kWalkRows * kHidden / 4 / kWalkers; ++q) {
        const int e = static_cast<int>(threadIdx.x) + q * kWalkers;
        const int r = e / (kHidden / 4), c = 4 * (e % (kHidden / 4));
        if (first + r < count) {
          CopyAsync16(&stage.right[r][c], right + int64_t{first + r} * kHidden + c);
        } else {
          *reinterpret_cast<float4*>(&stage.right[r][c]) = make_float4(0, 0, 0, 0);
        }
      }
    }
    CommitCopies();  // empty ones, too: the count of groups tells which have come
    look_up(chunk + 1);
  };
  look_up(0);
  for (int chunk = 0; chunk < kStages - 1; ++chunk) fetch(chunk);
  for (int chunk = 0; chunk < chunks; ++chunk) {
    WaitGroups<kStages - 2>();
    __syncthreads();  // it is there for all, and all are done with the stage that is filled next
    fetch(chunk + kStages - 1);
    body(stages[chunk % kStages], chunk);
  }
}

// Sixteen columns of A'B, B [rows x 64], to gradient [.. x 64].
template <typename Place>
__device__ void Outer(Stage* stages, int count, const float* right, const float* base, int64_t step,
                      Place place, int columns, float* gradient) {
  const int j = 4 * (threadIdx.x % 16), i = 2 * (threadIdx.x / 16);
  float sums[2][4] = {};
  Walk(stages, count, right, base, step, place, [&](const Stage& stage, int /*chunk*/) {
#pragma unroll 16
    for (int r = 0; r < kWalkRows; ++r) {
      const float2 a = *reinterpret_cast<const float2*>(&stage.left[r][i]);
      const float4 b = *reinterpret_cast<const float4*>(&stage.right[r][j]);
      const float four[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        sums[0][c] = fmaf(a.x, four[c], sums[0][c]);
        sums[1][c] = fmaf(a.y, four[c], sums[1][c]);
      }
    }
  });
  for (int k = 0; k < 2 && i + k < columns; ++k) {
    *reinterpret_cast<float4*>(gradient + (i + k) * kHidden + j) =
        make_float4(sums[k][0], sums[k][1], sums[k][2], sums[k][3]);
  }
}

__device__ int64_t Same(int row) { return row; }

// Sums of the columns of B [rows x 64].
__device__ void ColumnSums(Stage* stages, int count, const float* right, float* bias) {
  float sum = 0;
  const int column = static_cast<int>(threadIdx.x) % kHidden;
  Walk(stages, count, right, nullptr, 0, Same, [&](const Stage& stage, int /*chunk*/) {
#pragma unroll 16
    for (int r = 0; r < kWalkRows; ++r) sum += stage.right[r][column];
  });
  if (threadIdx.x < kHidden) bias[column] = sum;
}

// The output layer: weights as above, biases in sixteen partial sums per 128 rows.
__device__ void Narrow(Stage* stages, int count, const KeptRows& kept, int outputs,
                       float* gradient) {
  constexpr int kTeams = kWalkers / kHidden, kMost = kMostOutputs / kTeams;
  const int unit = threadIdx.x % kHidden, team = threadIdx.x / kHidden;  // of outputs
  const int output = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;  // of the bias
  float sums[kMost] = {}, partial = 0, bias = 0;
  const int column = static_cast<int>(threadIdx.x) % kWalkColumns;
  const float* const base = column < outputs ? kept.dout + column : nullptr;
  const auto body = [&](const Stage& stage, int chunk) {
#pragma unroll 8
    for (int r = 0; r < kWalkRows; ++r) {
      const float h = stage.right[r][unit];
#pragma unroll
      for (int s = 0; s < kMost; ++s) {
        sums[s] = fmaf(stage.left[r][team + kTeams * s], h, sums[s]);
      }
    }
#pragma unroll
    for (int r = 0; r < kWalkRows; r += kLanes) partial += stage.left[r + lane][output];
    if ((chunk + 1) * kWalkRows % kHostRows != 0 && (chunk + 1) * kWalkRows < count) return;
    for (int half = kLanes / 2; half > 0; half /= 2) {
      partial += __shfl_down_sync(~0u, partial, half, kLanes);
    }
    bias += partial;
    partial = 0;
  };
  Walk(stages, count, kept.h2, base, kMostOutputs, Same, body);
#pragma unroll
  for (int s = 0; s < kMost; ++s) {
    const int o = team + kTeams * s;
    if (o < outputs) gradient[Tail::kW3 + unit * outputs + o] = sums[s];
  }
  if (lane == 0 && output < outputs) gradient[Tail::B3(outputs) + output] = bias;
}

constexpr int kSecondBlocks = kHidden / kWalkColumns, kNarrowBlocks = 3;

// Blocks of the first layer, then of the second, then of both biases and the output layer.
__global__ void __launch_bounds__(kWalkers)
    ExactGradientKernel(UpdateView view, bool actors, int first) {
  __shared__ __align__(16) Stage stages[kStages];
  const int index = first + static_cast<int>(blockIdx.y);
  const int trainer = actors ? index : index / view.critics;
  const NetView& net = (actors ? view.actors : view.critic_nets)[index];
  const KeptRows kept = KeptRows::Of(view.kept, view.max_rows,
                                     actors ? view.agents * view.critics + index : index, 0);
  const int count = view.rows[trainer], first_blocks = (net.blocks + 1) / 2;
  float* const tail = net.gradient + net.first_size();
  int job = static_cast<int>(blockIdx.x);
  const int i = static_cast<int>(threadIdx.x) % kWalkColumns;
  if (job < first_blocks) {
    const int columns = min(kWalkColumns, 8 * net.blocks - kWalkColumns * job);
    int offset = -1;  // of the thread's column in a record; -1: it is zero
    if (i < columns) {
      const int b = 2 * job + i / 8;
      const int column = 8 * (net.block != nullptr ? net.block[b] : b) + i % 8;
      const int action = column - view.base_columns;
      if (action < 0 && column < view.base) offset = column;
      if (action >= 0 && action < view.actions) offset = view.base + action;
    }
    const int64_t* const slots = view.slots + int64_t{trainer} * view.max_rows;
    Outer(
        stages, count, kept.d1, offset < 0 ? nullptr : view.records + offset, view.record,
        [&](int row) { return slots[row]; }, columns, net.gradient + kWalkColumns * job * kHidden);
    return;
  }
  job -= first_blocks;
  if (job < kSecondBlocks) {
    Outer(stages, count, kept.d2, kept.h1 + kWalkColumns * job + i, kHidden, Same, kWalkColumns,
          tail + Tail::kW2 + kWalkColumns * job * kHidden);
    return;
  }
  job -= kSecondBlocks;
  if (job == 0) ColumnSums(stages, count, kept.d1, tail + Tail::kB1);
  if (job == 1) ColumnSums(stages, count, kept.d2, tail + Tail::kB2);
  if (job == 2) Narrow(stages, count, kept, net.outputs, tail);
}

// ---- Norms -------------------------------------------------------------------------------------

constexpr int kBringers = 512, kSummers = 32;  // threads that bring gradients, and that sum up
constexpr int kPiece = 128;                    // inputs of a first layer that are brought at once
constexpr int kPieceFloats = kPiece * kHidden;

// Sixteen chains of squares over n numbers, `sum` the thread's; then halves are added up.
__device__ float SquaresOf(const float* x, int n, float sum) {
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
#pragma unroll 16
  for (int i = lane; i < n; i += kLanes) sum = fmaf(x[i], x[i], sum);
  return sum;
}
__device__ float Total(float sum) {
  for (int half = kLanes / 2; half > 0; half /= 2) {
    sum += __shfl_down_sync(~0u, sum, half, kLanes);
  }
  return sum;
}

// A block per tensor: W1, b1, W2, b2, W3, b3.
__global__ void __launch_bounds__(kBringers + kSummers)
    ExactNormKernel(const NetView* nets, int first) {
  extern __shared__ __align__(16) float pieces[];  // two
  const NetView& net = nets[first + blockIdx.y];
  const int tensor = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  const bool sums = thread >= kBringers;
  const int size = tensor == 0
                       ? net.inputs * kHidden
                       : TailStart(tensor, net.outputs) - TailStart(tensor - 1, net.outputs);
  const float* const tail =
      net.gradient + net.first_size() + (tensor == 0 ? 0 : TailStart(tensor - 1, net.outputs));
  const auto bring = [&](int piece) {
    float4* const to = reinterpret_cast<float4*>(pieces + piece % 2 * kPieceFloats);
#pragma unroll
    for (int q = 0; q < kPieceFloats / 4 / kBringers; ++q) {
      const int at = thread + q * kBringers, all = piece * (kPieceFloats / 4) + at;
      if (4 * all >= size) break;
      to[at] = tensor == 0 ? FullGradient(net, all / kRowThreads)
                           : reinterpret_cast<const float4*>(tail)[all];
    }
  };
  const int count = (size + kPieceFloats - 1) / kPieceFloats;
  float sum = 0;
  if (!sums) bring(0);
  for (int piece = 0; piece < count; ++piece) {
    __syncthreads();
    if (sums) {
      sum = SquaresOf(pieces + piece % 2 * kPieceFloats,
                      min(kPieceFloats, size - piece * kPieceFloats), sum);
    } else if (piece + 1 < count) {
      bring(piece + 1);
    }
  }
  if (!sums) return;
  sum = Total(sum);
  if (thread == kBringers) net.norms[tensor] = sum;
}

}  // namespace

cudaError_t LaunchExactGradients(const UpdateView& view, Group group, bool actors,
                                 const NetSizes& sizes, cudaStream_t stream) {
  const int nets = actors ? 1 : view.critics;
  const dim3 grid(
      static_cast<unsigned>((sizes.most_blocks + 1) / 2 + kSecondBlocks + kNarrowBlocks),
      static_cast<unsigned>(group.count * nets));
  ExactGradientKernel<<<grid, kWalkers, 0, stream>>>(view, actors, group.first * nets);
  return cudaGetLastError();
}

cudaError_t LaunchExactNorms(const NetView* nets, int first, int count, cudaStream_t stream) {
  return Launch(ExactNormKernel, 4 * 2 * kPieceFloats,
                dim3(1 + kTailTensors, static_cast<unsigned>(count)), kBringers + kSummers, stream,
                nets, first);
}

}  // namespace tessera::cuda
