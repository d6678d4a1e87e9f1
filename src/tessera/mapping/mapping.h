// A mapping of any cost model: how a layer's loops are tiled, ordered and spread over a machine.
#ifndef TESSERA_MAPPING_MAPPING_H_
#define TESSERA_MAPPING_MAPPING_H_

#include <cstdint>
#include <variant>

#include "tessera/mapping/dataflow.h"
#include "tessera/mapping/loop_mapping.h"

namespace tessera {

// Each cost model takes one of the alternatives; space/ makes the one that its model takes.
using Mapping = std::variant<Dataflow, LoopMapping>;

// The alternatives, in their order.
enum class MappingForm : uint8_t {
  kDataflow,  // directives for a PE array
  kLoops,     // loops over the levels of a memory hierarchy
};

inline MappingForm FormOf(const Mapping& mapping) {
  return static_cast<MappingForm>(mapping.index());
}

}  // namespace tessera

#endif  // TESSERA_MAPPING_MAPPING_H_
