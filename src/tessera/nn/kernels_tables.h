// The tables of kernels.cc, one per kernels_*.cc.
#ifndef TESSERA_NN_KERNELS_TABLES_H_
#define TESSERA_NN_KERNELS_TABLES_H_

#include "tessera/nn/kernels.h"

namespace tessera {

extern const Kernels kPortableKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
#endif

}  // namespace tessera

#endif  // TESSERA_NN_KERNELS_TABLES_H_
