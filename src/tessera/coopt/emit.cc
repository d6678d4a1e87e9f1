#include "tessera/coopt/emit.h"

#include <fmt/format.h>

#include "tessera/coopt/vta_target.h"
#include "tessera/vta/check/check.h"
#include "tessera/vta/codegen/data.h"
#include "tessera/vta/sim/cycles.h"

namespace tessera::coopt {
namespace {

Error Wrong(const CooptProblem& problem, const Measured& measured, std::string_view what) {
  return {
      .kind = ErrorKind::kInternal,
      .message = fmt::format("layer {}: {}", problem.layers()[measured.request.layer].name, what)};
}

}  // namespace

Result<vta::Program> EmitProgram(const CooptProblem& problem, const Measured& measured,
                                 uint64_t seed) {
  const vta::Epilogue& epilogue = problem.options().epilogue;
  const Task& task = problem.task(measured.request.hardware, measured.request.layer);
  const VtaSpace& space = VtaSpaceOf(task);
  const vta::ConvShape& shape = space.shape();
  const Result<GeneratedSchedule> code = space.Generate(measured.request.point);
  if (!code) return code.error();
  const vta::ConvData data = RandomConvData(shape, epilogue.bias, seed);
  Result<vta::Program> program = LinkConv(code->kernel, shape, data);
  if (!program) return program;
  vta::CycleSimulator cycles(space.config(), problem.options().timing);
  const Result<vta::CycleReport> report = cycles.Run(vta::DecodeInstructions(*program));
  if (!report) return report.error();
  if (report->cycles != measured.outcome.cycles) {
    return Wrong(problem, measured, "the linked program takes other cycles than were measured");
  }
  vta::Program copy = *program;
  const Result<vta::CheckReport> checked = vta::CheckAndRun(copy);
  if (!checked) return checked.error();
  if (!checked->diagnostics.empty()) {
    return Wrong(problem, measured, ToString(checked->diagnostics.front()));
  }
  if (UnpackConvOutput(copy, shape) != ReferenceConv(shape, data, epilogue)) {
    return Wrong(problem, measured, "the output differs from a convolution's");
  }
  return program;
}

}  // namespace tessera::coopt
