// Mapping files of Timeloop: a list of directives, each about the loops or the tensors of one
// level.
#ifndef TESSERA_MAPPING_TIMELOOP_MAPPING_H_
#define TESSERA_MAPPING_TIMELOOP_MAPPING_H_

#include <string>

#include "tessera/accelerator.h"
#include "tessera/base/document.h"
#include "tessera/mapping.h"
#include "tessera/result.h"

namespace tessera {

// Reads the key `mapping` of a document:
//
//   mapping:
//   - {target: DRAM, type: temporal, factors: K=2 C=4, permutation: CK}
//   - {target: GLB, type: spatial, factors: "K4", permutation: [K], split: 1}
//   - {target: GLB, type: bypass, keep: [Inputs], bypass: [Weights]}
//
// Targets are names of levels, or their numbers from the MACs outwards. Permutations go from the
// innermost loop to the outermost. Factors that are left out are 1, a factor of 0 is the whole
// bound, and "P=4,3" is factor 4 with a last iteration of 3, which follows from the bound anyway.
// Types datatype, bypass and dataspace are the same thing. Tensors that are not mentioned are held
// where the hierarchy says so, or everywhere.
Result<LoopMapping> ReadTimeloopMapping(const Node& document, const LoopProblem& problem,
                                        const Hierarchy& hierarchy);

// The text of such a file. All versions of Timeloop from 0.2 on read it.
std::string WriteTimeloopMapping(const LoopMapping& mapping, const LoopProblem& problem,
                                 const Hierarchy& hierarchy);

}  // namespace tessera

#endif  // TESSERA_MAPPING_TIMELOOP_MAPPING_H_
