// The programs of a co-optimization's result, each checked before anybody gets it.
#ifndef TESSERA_COOPT_EMIT_H_
#define TESSERA_COOPT_EMIT_H_

#include <cstdint>

#include "tessera/base/result.h"
#include "tessera/coopt/simulator.h"
#include "tessera/vta/program.h"

namespace tessera::coopt {

// The program of a measured schedule with random data of `seed`. It has passed the checker, ran in
// the functional simulator, gave what a plain convolution gives, and takes the measured cycles; an
// error says which of these failed.
Result<vta::Program> EmitProgram(const CooptProblem& problem, const Measured& measured,
                                 uint64_t seed);

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_EMIT_H_
