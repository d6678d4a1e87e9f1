#include "tessera/cost/maestro/rules.h"

#include <fmt/format.h>

namespace tessera::maestro {
namespace {

Error Say(ErrorKind kind, std::string message, std::string hint = "") {
  return Error{.kind = kind, .message = std::move(message), .hint = std::move(hint)};
}

Error DescribeRefusal(Rule rule, const Violation& v, std::string_view dim) {
  switch (rule) {
    case Rule::kKernelOffset:
      return Say(ErrorKind::kInfeasible,
                 fmt::format("level {}: TemporalMap({},{}) {}: size and offset of {} must be equal",
                             v.level, v.have, v.limit, dim, dim),
                 "MAESTRO's older version (--maestro-version pinned) does not check this");
    case Rule::kKernelSize:
      return Say(
          ErrorKind::kInfeasible,
          fmt::format("level {}: TemporalMap({},{}) {}: the size must be the layer's {} = {}",
                      v.level, v.have, v.have, dim, dim, v.limit),
          "MAESTRO's older version (--maestro-version pinned) does not check this");
    case Rule::kTooManyClusters:
      return Say(
          ErrorKind::kInfeasible,
          fmt::format("{} Cluster directives, but MAESTRO has networks for {}", v.have, v.limit));
    case Rule::kUnknownDimension:
      return Say(
          ErrorKind::kBadValue, fmt::format("level {}: dimension {} not found", v.level, dim),
          v.level == 0 ? "the layer has no such dimension"
                       : "levels below the top have the dimensions of input and filter only");
    case Rule::kNoSpatialMap:
      return Say(ErrorKind::kInfeasible,
                 fmt::format("level {}: no SpatialMap, but every level needs one", v.level));
    case Rule::kThreeSpatialMaps:
      return Say(ErrorKind::kInfeasible,
                 fmt::format("level {}: {} SpatialMaps > {}", v.level, v.have, v.limit));
    case Rule::kUniqueZero:
      return Say(
          ErrorKind::kInfeasible,
          fmt::format("level {}: a loop advances although its tile is taken to hold the whole "
                      "dimension (MAESTRO ends without a message)",
                      v.level),
          "a tile above is larger than its dimension; reduce it");
    case Rule::kLevelCapacity:
      return Say(ErrorKind::kUnsupported, fmt::format("level {}: more than 16 maps", v.level),
                 "a dimension is mapped more than once");
    case Rule::kTooManyCases:
      return Say(ErrorKind::kUnsupported,
                 fmt::format("level {}: {} iteration cases > {}", v.level, v.have, 1 << 20),
                 "a dimension is mapped more than once");
    default:
      return Say(
          ErrorKind::kOverflow,
          fmt::format("level {}: sizes or counts exceed what MAESTRO's integers hold", v.level));
  }
}

Error DescribeCrash(Rule rule, const Violation& v, std::string_view dim) {
  switch (rule) {
    case Rule::kFourClusters:
      return Say(ErrorKind::kInfeasible,
                 fmt::format("SIGABRT: {} Cluster directives > {}", v.have, v.limit));
    case Rule::kNoUnits:
      return Say(
          ErrorKind::kInfeasible,
          fmt::format("SIGFPE: the product of the Cluster sizes > {} PEs, so the top level has "
                      "no units",
                      v.limit),
          "reduce the clusters or add PEs");
    case Rule::kNoKernelMap:
      return Say(
          ErrorKind::kInfeasible,
          fmt::format("undefined: level {} maps {} without {}, and MAESTRO then reads memory "
                      "that nobody wrote",
                      v.level, dim, dim == "X'" ? "S" : "R"),
          "map the kernel in the same level");
    case Rule::kOccurrences:
      return Say(
          ErrorKind::kInfeasible,
          fmt::format("SIGABRT: level {}: a product of iteration counts leaves 32 bits", v.level));
    default:
      return Say(
          ErrorKind::kInfeasible,
          "SIGFPE: the units take no time for a step of the top level, and MAESTRO divides by "
          "that time");
  }
}

Error DescribeStrict(Rule rule, const Violation& v) {
  const auto say = [](std::string message) {
    return Say(ErrorKind::kInfeasible, std::move(message), "");
  };
  switch (rule) {
    case Rule::kStrictRuntime: return say(fmt::format("runtime<=0: {} cycles < 1", v.have));
    case Rule::kStrictNan: return say("nan: a ratio of two zero counts");
    case Rule::kStrictNegative: return say("negative: a count below zero");
    case Rule::kStrictMacs:
      return say(fmt::format("macs: {} MACs counted, but the layer has {}", v.have, v.limit));
    case Rule::kStrictPeak:
      return say(
          fmt::format("thr>peak: {:.6g} MACs per cycle > {} (PEs * lanes)", v.have, v.limit));
    case Rule::kStrictL1: return say(fmt::format("L1: {} elements required > {}", v.have, v.limit));
    default: return say(fmt::format("L2: {} elements required > {}", v.have, v.limit));
  }
}

}  // namespace

std::string_view ToString(Status status) {
  switch (status) {
    case Status::kOk: return "ok";
    case Status::kReject: return "reject";
    case Status::kCrash: return "crash";
  }
  return "";
}

Status StatusOf(Rule rule) {
  if (rule == Rule::kNone || rule >= Rule::kStrictRuntime) return Status::kOk;
  if (rule >= Rule::kFourClusters && rule <= Rule::kNoCompute) return Status::kCrash;
  return Status::kReject;
}

Error Describe(const Violation& violation) {
  const auto rule = static_cast<Rule>(violation.rule);
  const std::string_view dim = ToString(static_cast<DataflowDim>(violation.item));
  if (rule >= Rule::kStrictRuntime) return DescribeStrict(rule, violation);
  if (StatusOf(rule) == Status::kCrash) return DescribeCrash(rule, violation, dim);
  return DescribeRefusal(rule, violation, dim);
}

}  // namespace tessera::maestro
