// From the sizes of a convolution to code: which generator, which schedule. CompileConv of
// tessera/vta.h is this with what people want to know of the code.
#ifndef TESSERA_VTA_CODEGEN_COMPILE_H_
#define TESSERA_VTA_CODEGEN_COMPILE_H_

#include <cstdint>
#include <string>

#include "tessera/result.h"
#include "tessera/vta.h"
#include "tessera/vta/codegen/conv.h"

namespace tessera::vta {

struct ScheduledConv {
  Kernel kernel = {};
  CycleReport report = {};
  std::string schedule = {};  // as CompileOptions takes it
  int64_t evaluations = 1;    // programs that were timed to find it
};

// The errors: sizes that VTA cannot run, schedules that do not exist or do not fit (with the
// violated limit).
Result<ScheduledConv> ScheduleConv(const ConvShape& shape, const CompileOptions& options);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CODEGEN_COMPILE_H_
