// Matrix products of wide layers, which oneDNN does faster than the kernels of nn/kernels.h.
#ifndef TESSERA_NN_WIDE_GEMM_H_
#define TESSERA_NN_WIDE_GEMM_H_

#include "tessera/nn/kernels.h"

namespace tessera {

// From this many rows and inner values on, a product is wide. Wide products agree between machines
// to rounding only, because oneDNN orders its sums by processor.
inline constexpr int64_t kWideRows = 256, kWideInner = 256;

// Whether RunGemm hands the product to oneDNN.
bool IsWide(const Gemm& gemm);

// kernels.gemm, or oneDNN if the product is wide.
void RunGemm(const Kernels& kernels, const Gemm& gemm);

}  // namespace tessera

#endif  // TESSERA_NN_WIDE_GEMM_H_
