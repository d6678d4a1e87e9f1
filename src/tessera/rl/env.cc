// Sums and offsets over the agents of an environment.
#include "tessera/env.h"

#include <utility>
#include <vector>

#include "tessera/rl/observation_map.h"

namespace tessera {

int64_t EnvSpec::observation_offset(int64_t agent) const {
  int64_t offset = 0;
  for (int64_t i = 0; i < agent; ++i) offset += agents[static_cast<size_t>(i)].observation_size;
  return offset;
}

int64_t EnvSpec::action_offset(int64_t agent) const {
  int64_t offset = 0;
  for (int64_t i = 0; i < agent; ++i) offset += agents[static_cast<size_t>(i)].action.width();
  return offset;
}

int64_t EnvSpec::observation_size() const { return observation_offset(num_agents()); }
int64_t EnvSpec::action_size() const { return action_offset(num_agents()); }

InputMap InputMapOf(const ObservationMap& map) {
  std::vector<InputMap::Term> terms;
  for (const ObservationMap::Term& term : map.terms) {
    terms.push_back({term.input, term.feature, term.factor});
  }
  return InputMap::Affine(map.inputs, std::move(terms), map.offsets);
}

}  // namespace tessera
