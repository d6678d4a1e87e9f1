// The rules that a dataflow can break: where MAESTRO refuses it, where MAESTRO crashes, where
// Tessera refuses to guess, and what strict legality forbids.
#ifndef TESSERA_COST_MAESTRO_RULES_H_
#define TESSERA_COST_MAESTRO_RULES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/cost.h"
#include "tessera/mapping.h"
#include "tessera/result.h"

namespace tessera::maestro {

enum class Rule : int16_t {
  kNone,
  // MAESTRO prints an error and ends.
  kKernelOffset,      // TemporalMap of R or S: size = offset (version head)
  kKernelSize,        // TemporalMap of R or S: size = the layer's (version head)
  kTooManyClusters,   // at most 3 Clusters; 5 or more are refused
  kUnknownDimension,  // a level maps a dimension that it does not have
  kNoSpatialMap,      // every level has a SpatialMap
  kThreeSpatialMaps,  // and at most two
  kUniqueZero,        // a loop advances over a tile that it was said to hold whole
  // MAESTRO is killed.
  kFourClusters,  // SIGABRT: at most 3 Clusters; 4 overrun a table
  kNoUnits,       // SIGFPE: product of Cluster sizes <= PEs, and at least one PE
  kNoKernelMap,   // undefined: Y' without R, or X' without S, in the same level
  kOccurrences,   // SIGABRT: a product of iteration counts that leaves 32 bits
  kNoCompute,     // SIGFPE: a step of the top level that takes no time
  // Tessera ends where MAESTRO's numbers would be meaningless or would take forever.
  kLevelCapacity,  // at most kMaxMaps maps in a level
  kTooManyCases,   // at most kMaxCases iteration cases in a level
  kOverflow,       // counts within 62 bits
  // Strict legality, in the order in which they are reported.
  kStrictRuntime,
  kStrictNan,
  kStrictNegative,
  kStrictMacs,
  kStrictPeak,
  kStrictL1,
  kStrictL2,
};

// What MAESTRO does with a dataflow.
enum class Status : uint8_t { kOk, kReject, kCrash };
std::string_view ToString(Status status);  // "ok", "reject", "crash"

// What breaking the rule means to MAESTRO; what Tessera alone refuses counts as kReject, and strict
// legality as kOk.
Status StatusOf(Rule rule);

inline Violation Broken(Rule rule, int level = 0, DataflowDim dim = DataflowDim::kOther,
                        int64_t have = 0, int64_t limit = 0) {
  return {.rule = static_cast<int16_t>(rule),
          .level = static_cast<int16_t>(level),
          .item = static_cast<int32_t>(dim),
          .have = static_cast<double>(have),
          .limit = static_cast<double>(limit)};
}

// The sentence for a violation, with its numbers; crashes start with the signal's name.
Error Describe(const Violation& violation);

// Which directive of the dataflow breaks the rule; none if that is not the fault of a single one.
std::optional<size_t> DirectiveOf(const Violation& violation, const Dataflow& dataflow);

}  // namespace tessera::maestro

#endif  // TESSERA_COST_MAESTRO_RULES_H_
