#include "tessera/cost/maestro/states.h"

namespace tessera::maestro {
namespace {

void Append(LoopStates& states, State state, int64_t occurrences) {
  states.state[states.num] = state;
  states.occurrences[states.num] = static_cast<uint32_t>(occurrences);
  ++states.num;
}

LoopStates TemporalStates(const Map& map, int64_t size) {
  LoopStates states;
  states.unrolled = size <= map.size;
  if (states.unrolled) {
    states.state[0] = size < map.size ? State::kInitEdge : State::kInit;
    return states;
  }
  const int64_t steady = (size - map.size) / map.offset;
  if (steady > 0) Append(states, State::kSteady, steady);
  if (steady * map.offset + map.size < size) Append(states, State::kEdge, 1);
  return states;
}

LoopStates SpatialStates(const Map& map, int64_t units, int64_t size) {
  LoopStates states;
  const int64_t covered = map.size + map.offset * (units - 1);
  states.unrolled = size <= covered;
  if (states.unrolled) {
    states.state[0] = size < covered ? State::kInitEdgeEdge : State::kInit;
    return states;
  }
  const int64_t round = map.offset * units;
  const int64_t steady = ((size - map.size) / map.offset + 1) / units - 1;
  if (steady > 0) Append(states, State::kSteady, steady);
  if ((steady + 1) * round + covered > size && steady * round + covered != size) {
    const int64_t rest = size - (steady + 1) * round;
    const int64_t tiles = rest < map.size ? 1 : (rest - map.size) / map.offset + 1;
    const bool cut = (tiles - 1) * map.offset + map.size < rest;
    Append(states, cut ? State::kEdgeEdge : State::kEdge, 1);
  }
  return states;
}

}  // namespace

LoopStates StatesOf(const Map& map, int64_t units, int64_t size) {
  return map.spatial ? SpatialStates(map, units, size) : TemporalStates(map, size);
}

}  // namespace tessera::maestro
