// The maps of an environment's spec as inputs of networks.
#ifndef TESSERA_RL_OBSERVATION_MAP_H_
#define TESSERA_RL_OBSERVATION_MAP_H_

#include "tessera/env.h"
#include "tessera/nn/input_map.h"

namespace tessera {

InputMap InputMapOf(const ObservationMap& map);

}  // namespace tessera

#endif  // TESSERA_RL_OBSERVATION_MAP_H_
