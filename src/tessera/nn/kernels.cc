// Chooses the kernels that this processor can run.
#include "tessera/nn/kernels.h"

#include "tessera/nn/kernels_tables.h"

namespace tessera {
namespace {

struct Supported {
  const Kernels* tables[3];
  int64_t count = 0;

  Supported() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
      tables[count++] = &kAvx512Kernels;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
      tables[count++] = &kAvx2Kernels;
    }
#endif
    tables[count++] = &kPortableKernels;
  }
};

const Supported& GetSupported() {
  static const Supported supported;
  return supported;
}

}  // namespace

const Kernels* const* SupportedKernels(int64_t* count) {
  *count = GetSupported().count;
  return GetSupported().tables;
}

const Kernels& BestKernels() { return *GetSupported().tables[0]; }

}  // namespace tessera
