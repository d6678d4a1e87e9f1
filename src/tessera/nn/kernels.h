// The inner loops of the learning engine, once per instruction set. A Kernels table is chosen at
// run time; every table gives the same bits, so results do not depend on the machine.
//
// Batches lie in memory feature by feature ("feature-major"): block b of kBlockRows rows is a
// matrix [features x kBlockRows]. Vector lanes then hold rows, whatever the widths of the layers,
// and a soft-max over five actions needs no sum across lanes.
#ifndef TESSERA_NN_KERNELS_H_
#define TESSERA_NN_KERNELS_H_

#include <cstdint>

namespace tessera {

// Rows of one block of a batch. A block of 64-wide activations is 32 KiB. Larger blocks gain
// nothing, smaller ones load and store gradient tiles more often.
inline constexpr int64_t kBlockRows = 128;

// Vectors of every table divide 16 rows; of a block with `rows` rows more need not be computed.
inline constexpr int64_t RowsToCompute(int64_t rows) { return (rows + 15) / 16 * 16; }

// Floats that may be read, but not written, behind the end of a row of B in a Gemm.
inline constexpr int64_t kSlackFloats = 16;

// A stretch of the inner dimension: `count` values of A from offset a on, of B from offset b on.
struct GemmSegment {
  int64_t a, b, count;
};

// What happens to a finished value of C; `gate` is the activation whose derivative is applied.
enum class Epilogue { kStore, kBias, kBiasRelu, kBiasTanh, kGateRelu, kGateTanh };

// C[i][j] = epilogue(sum over p of A(i, p) * B(p, j)), with A(i, p) = a[a_rows[i] + s.a + p *
// a_step] and B(p, j) = b[s.b + p * b_step + j] over the segments s. Every C[i][j] is one chain of
// fused multiply-adds in the order of p, which is why all tables agree bit for bit.
struct Gemm {
  int64_t m = 0, n = 0;
  const float* a = nullptr;
  const int64_t* a_rows = nullptr;  // offset of each row; null: row i starts at i * a_row
  int64_t a_row = 0, a_step = 1;
  const float* b = nullptr;
  int64_t b_step = 0;
  const GemmSegment* segments = nullptr;
  int64_t num_segments = 0;
  float* c = nullptr;
  int64_t c_row = 0;
  Epilogue epilogue = Epilogue::kStore;
  const float* bias = nullptr;
  bool bias_per_column = false;  // else one bias per row of C
  const float* gate = nullptr;   // same shape as C
  int64_t gate_row = 0;
};

// Columns of one panel of PanelGemm's B.
inline constexpr int64_t kPanelColumns = 16;

// C [m x n] = AB, or C + AB if `add`, then ReLU(C + bias) if there is a bias. A(i, p) =
// a[i * a_row + s.a + p] over the segments s; their s.b is not looked at. B lies in panels of
// kPanelColumns columns, `panel` floats apart, each with the rows of B one after another: what a
// tile reads is one stretch of memory. m is a multiple of 16, n one of 64. The bits are `gemm`'s.
struct PanelGemm {
  int64_t m = 0, n = 0;
  const float* a = nullptr;
  int64_t a_row = 0;
  const GemmSegment* segments = nullptr;
  int64_t num_segments = 0;
  const float* panels = nullptr;
  int64_t panel = 0;
  float* c = nullptr;  // row by row
  bool add = false;
  const float* bias = nullptr;  // one per column
};

// Products behind a ReLU come in groups of this many columns, inner values and rows.
inline constexpr int64_t kSkipGroup = 64;

// C [m x n] = epilogue(A [m x k] B [k x n]), row by row, where A(i, p) is zero unless P(i, p) > 0:
// those terms are left out. n and k are multiples of kSkipGroup. The bits are those of `gemm`.
struct SkipGemm {
  int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  const float* pattern = nullptr;  // P, same shape as A; may be A itself
  const float* b = nullptr;
  float* c = nullptr;
  const float* bias = nullptr;  // one per column: C = ReLU(AB + bias), or
  const float* gate = nullptr;  // same shape as C: C = AB where the gate is positive, else 0
};

// Rows begin .. end-1 of C [k x n] += A' B for A [rows x k] and B [rows x n], without the terms
// that the masks leave out (skip_masks of A's pattern). n is a multiple of 16; k one of kSkipGroup.
struct SkipOuter {
  int64_t rows = 0, n = 0, k = 0;
  int64_t begin = 0, end = 0;
  const float* a = nullptr;
  const uint64_t* masks = nullptr;
  const float* b = nullptr;
  int64_t b_row = 0;
  float* c = nullptr;
  int64_t c_row = 0;
};

// c[i * c_row + j] = sum over segments and r of a[i * a_row + s.a + r] * b[j * b_row + s.b + r].
// Counts are multiples of 16; sixteen partial sums are combined in a fixed order.
struct RowDots {
  int64_t m = 0, n = 0;
  const float* a = nullptr;
  int64_t a_row = 0;
  const float* b = nullptr;
  int64_t b_row = 0;
  const GemmSegment* segments = nullptr;
  int64_t num_segments = 0;
  float* c = nullptr;
  int64_t c_row = 0;
};

// weight -= step * mean / (sqrt(variance) * root_scale + epsilon), after both moments have taken
// gradient * gradient_scale. See nn/adam.h for the values that each form of Adam needs.
struct AdamStep {
  float step, root_scale, epsilon, beta1, beta2, gradient_scale;
};

// Contract:
//   Threads      pure functions of their arguments; any thread may call them.
//   Determinism  the same bits from every table.
//   Memory       nothing is allocated; arrays need no alignment, but gain from 64 bytes.
struct Kernels {
  const char* name;
  void (*gemm)(const Gemm& gemm);
  void (*panel_gemm)(const PanelGemm& gemm);
  void (*skip_gemm)(const SkipGemm& gemm);
  // One word per group of rows and column: bit i of masks[g * width + j] tells whether
  // pattern [rows x width] is positive in row 64 g + i and column j.
  void (*skip_masks)(int64_t rows, int64_t width, const float* pattern, uint64_t* masks);
  void (*skip_outer)(const SkipOuter& outer);
  // sums[j] += x[r * width + j] over all rows r; width is a multiple of kSkipGroup.
  void (*add_rows)(int64_t rows, int64_t width, const float* x, float* sums);
  void (*row_dots)(const RowDots& dots);
  float (*sum)(int64_t n, const float* x);
  float (*squared_norm)(int64_t n, const float* x);

  // out[j * out_row + i] = in[i * in_row + j] for i < rows, j < columns.
  void (*transpose)(int64_t rows, int64_t columns, const float* in, int64_t in_row, float* out,
                    int64_t out_row);
  // out[j * out_row + i] = rows[i][j] for i < count, j < width.
  void (*gather)(int64_t count, int64_t width, const float* const* rows, float* out,
                 int64_t out_row);

  void (*add_scaled)(int64_t n, float factor, const float* x, float* y);     // y += factor x
  void (*blend)(int64_t n, float rate, const float* source, float* target);  // Polyak averaging
  void (*adam)(int64_t n, const AdamStep& step, const float* gradient, float* weight, float* mean,
               float* variance);

  void (*exp)(int64_t n, const float* x, float* y);
  void (*log)(int64_t n, const float* x, float* y);  // of normal positive numbers
  void (*tanh)(int64_t n, const float* x, float* y);

  // Soft-max over `choices` features of `rows` rows: feature c of row r is at [c * row + r]. Writes
  // log(sum(exp(logits))) per row to log_norms unless that is null. rows is a multiple of 16.
  void (*softmax)(int64_t choices, int64_t rows, int64_t row, const float* logits,
                  float* probabilities, float* log_norms);

  // Random words: word 64 g + 16 w + l of the output is word w of Philox4x32 for block
  // first_block + 16 g + l of (key, step), as CounterRng counts blocks.
  void (*philox)(const uint32_t key[2], uint64_t step, uint64_t first_block, int64_t groups,
                 uint32_t* out);
  // Gumbel noise -log(-log(u)), u = (top 23 bits + 1/2) / 2^23, of each word.
  void (*gumbel)(int64_t n, const uint32_t* bits, float* noise);

  // n rounds of independent fused multiply-adds in registers, fma_loop_flops each: the most that
  // the processor can do. Returns a number that keeps the work from being optimised away.
  float (*fma_loop)(int64_t n);
  int64_t fma_loop_flops;
};

// The tables that this processor can run, fastest first; the last one runs everywhere.
const Kernels* const* SupportedKernels(int64_t* count);

// The fastest one.
const Kernels& BestKernels();

}  // namespace tessera

#endif  // TESSERA_NN_KERNELS_H_
