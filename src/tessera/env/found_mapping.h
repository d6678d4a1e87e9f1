// The best mapping that agents came by in an environment whose actions are mappings.
#ifndef TESSERA_ENV_FOUND_MAPPING_H_
#define TESSERA_ENV_FOUND_MAPPING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/cost.h"
#include "tessera/mapping.h"
#include "tessera/network.h"
#include "tessera/space.h"

namespace tessera {

struct FoundMapping {
  std::string name = {};  // of the layer
  Layer layer = {};
  Accelerator accelerator = {};
  Mapping mapping = {};
  Cost cost = {};
  Objective objective = Objective::kLatency;
  double value = 0;                                   // of the objective
  int64_t step = 0;                                   // of its environment, counted from 1
  std::vector<std::vector<std::string>> agents = {};  // the decisions of each
};

}  // namespace tessera

#endif  // TESSERA_ENV_FOUND_MAPPING_H_
