// Values of decisions that satisfy relations between pairs of them.
#ifndef TESSERA_SPACE_RELATION_SEARCH_H_
#define TESSERA_SPACE_RELATION_SEARCH_H_

#include <cstddef>
#include <span>

#include "tessera/space.h"

namespace tessera {

// A relation between decisions by position.
struct DecisionPair {
  static constexpr size_t kOne = static_cast<size_t>(-1);  // instead of a decision: always 1

  size_t over = 0, under = 0;
  Relation relation = {};
};

enum class Found : uint8_t { kYes, kNo, kUnknown };

// Changes the decisions of the pairs, as little as it can arrange, so that all relations hold;
// a point for which they cannot, or for which that takes too long, stays as it is.
Found Satisfy(std::span<const Decision> decisions, std::span<const DecisionPair> pairs,
              Point& point);

}  // namespace tessera

#endif  // TESSERA_SPACE_RELATION_SEARCH_H_
