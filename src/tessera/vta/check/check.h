// Runs a program functionally and says everything that is wrong with it: fields, tokens, tile
// indices, races between stages (vector clocks), uninitialised reads, portability.
#ifndef TESSERA_VTA_CHECK_CHECK_H_
#define TESSERA_VTA_CHECK_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/vta/check/diagnostic.h"
#include "tessera/vta/program.h"
#include "tessera/vta/sim/machine.h"

namespace tessera::vta {

struct CheckOptions {
  // Looks for races and uninitialised reads; off, a program is only run. Default: true.
  bool memory = true;

  // Programs with more tile operations are refused rather than run for hours. Default: 10^9.
  int64_t max_tile_ops = 1'000'000'000;
};

struct CheckReport {
  // Errors before warnings, each group in the order of Defect and then of instructions.
  std::vector<Diagnostic> diagnostics = {};

  // Why hardware may give another result, with the instruction in front; empty means portable.
  std::vector<std::string> not_portable = {};

  // Of a program without errors; then the image of the program holds its results.
  ExecutionCounts counts = {};

  bool ok() const {
    return diagnostics.empty() || diagnostics.front().severity == Severity::kWarning;
  }
};

// Checks and runs; stores go into the program's image. The error is for programs that are not run
// at all: invalid regions or too many tile operations.
Result<CheckReport> CheckAndRun(Program& program, const CheckOptions& options = {});

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CHECK_CHECK_H_
