// One machine that stands for several: at least as good as each of them in every respect, so that
// what no mapping on it is below, no mapping on them is.
#ifndef TESSERA_EXPLORE_RELAX_H_
#define TESSERA_EXPLORE_RELAX_H_

#include <span>
#include <string>

#include "tessera/accelerator.h"
#include "tessera/cost.h"

namespace tessera {

// Machines with equal keys differ only in numbers of which more, or less, is better for every
// mapping: sizes, bandwidths, energies, latencies, and fan-outs where nothing else depends on them.
// `constrained`: mappings have to meet demands from outside of the machine.
std::string StructureKey(const Accelerator& accelerator, loopnest::Semantics semantics,
                         bool constrained);

// The best of every number; the machines have equal keys.
Accelerator Relaxed(std::span<const Accelerator* const> machines);

}  // namespace tessera

#endif  // TESSERA_EXPLORE_RELAX_H_
