// Problems that a user writes down: shapes of their own, in the YAML of Timeloop problem files
// (spellings of 0.3 and 0.4).
#ifndef TESSERA_MAPPING_LOOP_SHAPE_H_
#define TESSERA_MAPPING_LOOP_SHAPE_H_

#include <string>
#include <string_view>

#include "tessera/arch/timeloop_write.h"
#include "tessera/base/document.h"
#include "tessera/mapping.h"
#include "tessera/result.h"

namespace tessera {

// A shape such as
//
//   name: conv1d
//   dimensions: [R, P]
//   coefficients: [{name: stride, default: 1}]
//   data-spaces:
//     - {name: Inputs, projection: [[[R], [P, stride]]]}
//     - {name: Weights, projection: [[[R]]]}
//     - {name: Outputs, projection: [[[P]]], read-write: true}
//
// with the given bounds and coefficients; bounds that are not given are 1.
Result<LoopProblem> ReadLoopShape(const Node& shape, const NamedValues& bounds,
                                  const NamedValues& coefficients);

// The key `problem` of a document: all that ParseTimeloopProblem reads, if it is dense and small
// enough for LoopProblem.
Result<LoopProblem> ReadLoopProblem(const Node& document);

// The text of a Timeloop problem file, with the shape spelled out.
std::string WriteLoopProblem(const LoopProblem& problem,
                             TimeloopVersion version = TimeloopVersion::k03);

}  // namespace tessera

#endif  // TESSERA_MAPPING_LOOP_SHAPE_H_
