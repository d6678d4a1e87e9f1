// A mapping of any cost model: how a layer's loops are tiled, ordered and spread over a machine.
#ifndef TESSERA_MAPPING_MAPPING_H_
#define TESSERA_MAPPING_MAPPING_H_

#include <variant>

#include "tessera/mapping/dataflow.h"
#include "tessera/mapping/loop_mapping.h"

namespace tessera {

// Each cost model takes one of the alternatives; space/ makes the one that its model takes.
using Mapping = std::variant<Dataflow, LoopMapping>;

}  // namespace tessera

#endif  // TESSERA_MAPPING_MAPPING_H_
