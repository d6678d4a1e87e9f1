// Numbers of what is observed from which all others follow: of particle worlds own positions and
// velocities and where each landmark is for one agent. Networks then need no other inputs, and what
// is observed is enough to know them, where a compact state (tessera/env.h) is not stored.
#ifndef TESSERA_RL_OBSERVATION_BASIS_H_
#define TESSERA_RL_OBSERVATION_BASIS_H_

#include <cstdint>
#include <vector>

#include "tessera/env.h"

namespace tessera {

struct ObservationBasis {
  struct Term {
    int64_t index = 0;  // in `numbers`
    double factor = 1;
  };

  std::vector<int64_t> numbers;           // in the row of all agents' observations
  std::vector<std::vector<Term>> inputs;  // every number of that row as a sum of those
};

// From the spec's maps. Without maps, or where they have offsets, every number is in the basis.
ObservationBasis FindBasis(const EnvSpec& spec);

}  // namespace tessera

#endif  // TESSERA_RL_OBSERVATION_BASIS_H_
