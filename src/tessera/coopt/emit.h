// The programs of a co-optimization's result, each checked before anybody gets it.
#ifndef TESSERA_COOPT_EMIT_H_
#define TESSERA_COOPT_EMIT_H_

#include <cstdint>
#include <string>

#include "tessera/coopt/simulator.h"
#include "tessera/result.h"

namespace tessera::coopt {

// ScheduleSpace::Program of a measured schedule; the error names the layer.
Result<std::string> EmitProgram(const CooptProblem& problem, const Measured& measured,
                                uint64_t seed);

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_EMIT_H_
