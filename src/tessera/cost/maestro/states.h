// Iteration states of a loop (c.4): its first tile, the full ones after it, and the last one if it
// is cut off. A case of a level is one state per loop.
#ifndef TESSERA_COST_MAESTRO_STATES_H_
#define TESSERA_COST_MAESTRO_STATES_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "tessera/cost/maestro/level.h"

namespace tessera::maestro {

// Where a loop is. An "edge" state works on a partially filled tile, an "edge-edge" state has one
// unit among the last whose tile is cut off.
enum class State : uint8_t { kInit, kInitEdge, kInitEdgeEdge, kSteady, kEdge, kEdgeEdge };
inline constexpr size_t kStates = 6;

constexpr bool IsInit(State state) { return state <= State::kInitEdgeEdge; }
constexpr bool IsEdge(State state) { return state != State::kInit && state != State::kSteady; }
constexpr bool IsEdgeEdge(State state) {
  return state == State::kInitEdgeEdge || state == State::kEdgeEdge;
}

// For the units of a level, steady tiles are like the first one if that is not at an edge.
constexpr uint32_t SpatialClass(State state) {
  return static_cast<uint32_t>(state == State::kSteady ? State::kInit : state);
}

// The one to three states of a loop, first to last; state 0 is an Init.
struct LoopStates {
  uint8_t num = 1;
  bool unrolled = false;  // the loop's first tile holds everything
  std::array<State, 3> state = {};
  std::array<uint32_t, 3> occurrences = {1, 1, 1};
};

// The states of `map` over a dimension of `size`, in a level with `units` sub-units.
LoopStates StatesOf(const Map& map, int64_t units, int64_t size);

}  // namespace tessera::maestro

#endif  // TESSERA_COST_MAESTRO_STATES_H_
