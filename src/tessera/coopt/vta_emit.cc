// Programs of VTA schedules: what is handed out was linked, simulated and compared with a plain
// convolution.
#include "tessera/coopt/vta_space.h"

#include <fmt/format.h>

#include "tessera/vta.h"
#include "tessera/vta/codegen/data.h"
#include "tessera/vta/program.h"
#include "tessera/vta/sim/cycles.h"

namespace tessera::coopt {
namespace {

Error Wrong(std::string what) { return {.kind = ErrorKind::kInternal, .message = std::move(what)}; }

}  // namespace

Result<std::string> VtaSpace::Program(const SchedulePoint& point, const MeasuredOutcome& outcome,
                                      uint64_t seed) const {
  const Result<GeneratedSchedule> code = Generate(point);
  if (!code) return code.error();
  const vta::ConvData data = RandomConvData(shape_, options_.epilogue.bias, seed);
  const Result<vta::Program> program = LinkConv(code->kernel, shape_, data);
  if (!program) return program.error();
  vta::CycleSimulator cycles(config_, options_.timing);
  const Result<vta::CycleReport> report = cycles.Run(vta::DecodeInstructions(*program));
  if (!report) return report.error();
  if (report->cycles != outcome.cycles) {
    // A measurement that was just made cannot differ; one that a run has kept can.
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("the program takes {} cycles, but {} were measured",
                                        report->cycles, outcome.cycles),
                 .hint = "the settings or measurements of the run were changed"};
  }
  vta::Program copy = *program;
  const Result<vta::CheckReport> checked = vta::CheckAndRun(copy);
  if (!checked) return checked.error();
  if (!checked->diagnostics.empty()) return Wrong(ToString(checked->diagnostics.front()));
  if (UnpackConvOutput(copy, shape_) != ReferenceConv(shape_, data, options_.epilogue)) {
    return Wrong("the output differs from a convolution's");
  }
  return vta::WriteContainer(*program);
}

}  // namespace tessera::coopt
