#include "tessera/cost/maestro/rules.h"

#include <span>

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
      return Say(ErrorKind::kInfeasible,
                 fmt::format("SIGFPE: clusters of {} PEs > {} PEs, so the top level has no units",
                             v.have, v.limit),
                 "reduce the Cluster sizes or add PEs");
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

// The directives of one level, and the Cluster that opens it.
struct Group {
  size_t begin = 0, end = 0;
  std::optional<size_t> cluster = {};
};

Group GroupOf(std::span<const DataflowDirective> all, int level) {
  Group group;
  for (size_t i = 0; i < all.size(); ++i) {
    group.end = i;
    if (all[i].kind != DataflowDirective::Kind::kCluster) continue;
    if (level-- == 0) return group;
    group = {.begin = i + 1, .cluster = i};
  }
  group.end = all.size();
  return group;
}

// The first cluster with which the product of the sizes exceeds `limit`.
std::optional<size_t> ClusterAbove(std::span<const DataflowDirective> all, double limit) {
  double product = 1;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].kind != DataflowDirective::Kind::kCluster) continue;
    product *= all[i].size;
    if (product > limit) return i;
  }
  return std::nullopt;
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

std::optional<size_t> DirectiveOf(const Violation& violation, const Dataflow& dataflow) {
  using Kind = DataflowDirective::Kind;
  const std::span<const DataflowDirective> all = dataflow.directives();
  const auto dim = static_cast<DataflowDim>(violation.item);
  const Group group = GroupOf(all, violation.level);
  // Directive number `count` of the group, or of everything, for which `wanted` holds.
  const auto find = [&all](Group in, int count, const auto& wanted) -> std::optional<size_t> {
    for (size_t i = in.begin; i < in.end; ++i) {
      if (wanted(all[i]) && --count == 0) return i;
    }
    return std::nullopt;
  };
  const auto is_cluster = [](const DataflowDirective& d) { return d.kind == Kind::kCluster; };
  const auto has_dim = [dim](const DataflowDirective& d) {
    return d.kind != Kind::kCluster && d.dim == dim;
  };
  switch (static_cast<Rule>(violation.rule)) {
    case Rule::kKernelOffset:
    case Rule::kKernelSize:
      return find(group, 1, [&](const DataflowDirective& d) {
        return d.kind == Kind::kTemporal && d.dim == dim && d.size == violation.have;
      });
    case Rule::kTooManyClusters:
    case Rule::kFourClusters: return find({0, all.size()}, 4, is_cluster);
    case Rule::kUnknownDimension:
    case Rule::kNoKernelMap:
      // A level inherits what levels above it map.
      for (int level = violation.level; level >= 0; --level) {
        if (const auto found = find(GroupOf(all, level), 1, has_dim)) return found;
      }
      return std::nullopt;
    case Rule::kNoSpatialMap: return group.cluster;
    case Rule::kThreeSpatialMaps:
      return find(group, 3, [](const DataflowDirective& d) { return d.kind == Kind::kSpatial; });
    case Rule::kNoUnits: return ClusterAbove(all, violation.limit);
    default: return std::nullopt;
  }
}

}  // namespace tessera::maestro
