// A whole quantised network with random weights through the simulators, step by step; every tensor
// is compared with plain arithmetic.
#ifndef TESSERA_VTA_NETWORK_RUN_H_
#define TESSERA_VTA_NETWORK_RUN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tessera/result.h"
#include "tessera/vta/codegen/compile.h"
#include "tessera/vta/network/graph.h"
#include "tessera/vta/program.h"
#include "tessera/vta/sim/machine.h"

namespace tessera::vta {

struct NetworkRunOptions {
  // Configuration, timing and generator. Epilogues are the steps' own.
  CompileOptions compile = {};

  // Of image, weights and biases. Default: 1.
  uint64_t seed = 1;

  // Threads that search schedules. Default: 1.
  int threads = 1;

  // Called with every step's code and program, its inputs in place, before it runs; an error ends
  // the run. Default: none.
  std::function<Result<void>(size_t step, const Kernel& kernel, const Program& program)>
      on_program = nullptr;
};

// Contract:
//   Determinism  a function of (graph, options); the number of threads changes nothing.
//   Errors       a step that cannot be compiled or whose program is defective, and kInternal for a
//                value that differs from plain arithmetic, with step and place.
Result<NetworkRun> RunNetwork(const Graph& graph, const NetworkRunOptions& options);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_NETWORK_RUN_H_
