// oneDNN's sgemm behind the interface of Kernels::gemm; the only file that knows oneDNN.
#include "tessera/nn/wide_gemm.h"

#include <dnnl.h>

#include "tessera/result.h"

extern "C" void omp_set_num_threads(int threads);  // of the OpenMP that oneDNN was built with

namespace tessera {
namespace {

void ApplyEpilogue(const Kernels& kernels, const Gemm& g) {
  // The kernels' own epilogue on an empty sum would lose C, so the sum enters as one inner value:
  // C = epilogue(1 * C), row by row.
  const float one = 1;
  const GemmSegment segment{0, 0, 1};
  for (int64_t i = 0; i < g.m; ++i) {
    float* const row = g.c + i * g.c_row;
    kernels.gemm({.m = 1,
                  .n = g.n,
                  .a = &one,
                  .a_row = 1,
                  .b = row,
                  .b_step = g.n,
                  .segments = &segment,
                  .num_segments = 1,
                  .c = row,
                  .c_row = g.n,
                  .epilogue = g.epilogue,
                  .bias = g.bias == nullptr   ? nullptr
                          : g.bias_per_column ? g.bias
                                              : g.bias + i,
                  .bias_per_column = g.bias_per_column,
                  .gate = g.gate == nullptr ? nullptr : g.gate + i * g.gate_row,
                  .gate_row = g.gate_row});
  }
}

}  // namespace

bool IsWide(const Gemm& g) {
  int64_t inner = 0;
  for (int64_t s = 0; s < g.num_segments; ++s) inner += g.segments[s].count;
  const bool plain = g.a_rows == nullptr && (g.a_step == 1 || g.a_row == 1);
  return plain && g.m >= kWideRows && inner >= kWideInner && g.n >= 64;
}

void RunGemm(const Kernels& kernels, const Gemm& g) {
  if (!IsWide(g)) {
    kernels.gemm(g);
    return;
  }
  // Threads belong to the caller (one per batch block), so oneDNN gets one.
  omp_set_num_threads(1);
  const bool transposed = g.a_step != 1;
  for (int64_t s = 0; s < g.num_segments; ++s) {
    const GemmSegment& segment = g.segments[s];
    const dnnl_status_t status =
        dnnl_sgemm(transposed ? 'T' : 'N', 'N', g.m, g.n, segment.count, 1.0f, g.a + segment.a,
                   transposed ? g.a_step : g.a_row, g.b + segment.b, g.b_step, s == 0 ? 0.0f : 1.0f,
                   g.c, g.c_row);
    TESSERA_CHECK(status == dnnl_success);
  }
  if (g.epilogue != Epilogue::kStore) ApplyEpilogue(kernels, g);
}

}  // namespace tessera
