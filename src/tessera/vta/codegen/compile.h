// From a layer of a network to a program that runs: generator, schedule, data.
#ifndef TESSERA_VTA_CODEGEN_COMPILE_H_
#define TESSERA_VTA_CODEGEN_COMPILE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/base/result.h"
#include "tessera/vta/codegen/best.h"
#include "tessera/vta/codegen/conv.h"
#include "tessera/vta/codegen/data.h"
#include "tessera/workload/layer.h"

namespace tessera::vta {

struct CompileOptions {
  Config config = {};
  Epilogue epilogue = {};
  TimingParameters timing = {};

  // "auto" searches; "tile_h=4,tile_w=28,..." are knobs of the reference template, and
  // "tiled:tile_h=8,..." a schedule of the improved generator. Default: auto.
  std::string schedule = "auto";

  // Whether "auto" means the reference template at its best knobs. Default: false.
  bool reference_only = false;
};

struct CompiledLayer {
  ConvShape shape = {};
  Kernel kernel = {};
  CycleReport report = {};
  std::string schedule = {};  // as --schedule takes it
  int64_t evaluations = 1;    // programs that were timed to find it
};

// The errors: layers that VTA cannot run, schedules that do not exist or do not fit (with the
// violated limit).
Result<CompiledLayer> CompileLayer(const Layer& layer, const CompileOptions& options);
Result<CompiledLayer> CompileConv(const ConvShape& shape, const CompileOptions& options);

// The best valid knobs of the reference template, by timing all that a lower bound leaves.
Result<CompiledLayer> BestReference(const ConvShape& shape, const CompileOptions& options);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CODEGEN_COMPILE_H_
