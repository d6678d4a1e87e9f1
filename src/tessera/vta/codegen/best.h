// The fastest program for a convolution: searches schedules of the improved generator with exact
// cycle counts, and falls back on the reference template wherever that is faster.
#ifndef TESSERA_VTA_CODEGEN_BEST_H_
#define TESSERA_VTA_CODEGEN_BEST_H_

#include <cstdint>
#include <optional>
#include <string>

#include "tessera/result.h"
#include "tessera/vta/codegen/conv.h"
#include "tessera/vta/codegen/reference.h"
#include "tessera/vta/codegen/tiled.h"
#include "tessera/vta/sim/cycles.h"

namespace tessera::vta {

struct BestOptions {
  // Schedules of the improved generator to time before the search settles. Default: 3,500.
  int64_t max_evaluations = 3'500;

  // The bias may be added by the matrix unit, which needs |bias| <= MaxGemmBias. Default: true.
  bool gemm_bias = true;

  // Default: the published design.
  TimingParameters timing = {};

  // The search ends with an error soon after somebody asked to stop. Default: it does not look.
  bool may_stop = false;
};

struct BestConv {
  Kernel kernel = {};
  CycleReport report = {};
  int64_t evaluations = 0;                            // programs timed
  std::optional<TiledSchedule> tiled = std::nullopt;  // one of these two
  std::optional<Knobs> reference = std::nullopt;
};
std::string DescribeSchedule(const BestConv& best);

// Contract:
//   Determinism  a function of its arguments.
//   Guarantee    never more cycles than the reference template at any of its valid knobs: those
//                that a lower bound does not rule out are timed as well.
// The error is for shapes that no schedule fits into the buffers, or kInterrupted.
Result<BestConv> FindBest(const ConvShape& shape, const Config& config,
                          const Epilogue& epilogue = {}, const BestOptions& options = {});

// Cycles that the reference template needs at least with valid knobs: the busier of matrix unit
// and read bus.
int64_t ReferenceLowerBound(const ConvShape& shape, const Knobs& knobs, const Config& config,
                            const Epilogue& epilogue, const TimingParameters& timing);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CODEGEN_BEST_H_
