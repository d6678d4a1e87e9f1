// Programs by layer.
#include "tessera/coopt/emit.h"

#include <fmt/format.h>

namespace tessera::coopt {

Result<std::string> EmitProgram(const CooptProblem& problem, const Measured& measured,
                                uint64_t seed) {
  const auto& [hardware, layer, point] = measured.request;
  Result<std::string> program =
      problem.task(hardware, layer).space.Program(point, measured.outcome, seed);
  if (program) return program;
  Error error = program.error();
  error.message = fmt::format("layer {}: {}", problem.layers()[layer].name, error.message);
  return error;
}

}  // namespace tessera::coopt
