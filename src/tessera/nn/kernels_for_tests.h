// Every table of kernels that this processor can run, for tests that hold for all of them.
#ifndef TESSERA_NN_KERNELS_FOR_TESTS_H_
#define TESSERA_NN_KERNELS_FOR_TESTS_H_

#include <vector>

#include "tessera/nn/kernels.h"

namespace tessera {

#if defined(__x86_64__)
extern const Kernels kHalvesKernels;  // kernels_halves.cc
#endif

// What the program chooses from, the best first, and then the tables that exist for tests alone.
inline std::vector<const Kernels*> TablesForTests() {
  int64_t count = 0;
  const Kernels* const* supported = SupportedKernels(&count);
  std::vector<const Kernels*> tables(supported, supported + count);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    tables.push_back(&kHalvesKernels);
  }
#endif
  return tables;
}

}  // namespace tessera

#endif  // TESSERA_NN_KERNELS_FOR_TESTS_H_
