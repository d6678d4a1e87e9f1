// Results as violations, and violations as sentences.
#include "tessera/cost/loopnest/violation.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::loopnest {
namespace {

// Entries beyond any memory, and few enough that a double counts single ones (2^53).
constexpr double kMostEntries = 1e15;

Violation Make(Rule rule, int level, int item, int64_t have, int64_t limit) {
  return {.rule = static_cast<int16_t>(rule),
          .level = static_cast<int16_t>(level),
          .item = item,
          .have = static_cast<double>(have),
          .limit = static_cast<double>(limit)};
}

Violation OfTimeloop(const TimeloopResult& result) {
  using enum TimeloopResult::Status;
  switch (result.status) {
    case kOk: return {};
    case kBypassedEverywhere: return Make(Rule::kNowhereHeld, 0, result.tensor, 0, 0);
    case kTooManyMacs: return Make(Rule::kMacs, 0, 0, result.have, result.limit);
    case kTooManyMacsX: return Make(Rule::kMacsX, 0, 0, result.have, result.limit);
    case kTooManyMacsY: return Make(Rule::kMacsY, 0, 0, result.have, result.limit);
    case kAssertion: return Make(Rule::kAssertion, result.level, result.tensor, 0, 0);
    case kLevel: break;
  }
  if (result.over_capacity) {
    return Make(Rule::kCapacity, result.level, 0, result.have, result.limit);
  }
  constexpr Rule kMeshes[] = {Rule::kNone, Rule::kInstances, Rule::kMeshX, Rule::kMeshY};
  return Make(kMeshes[result.over_mesh], result.level, 0, result.mesh_have, result.mesh_limit);
}

Violation OfExact(const ExactResult& result) {
  using enum ExactResult::Status;
  switch (result.status) {
    case kOk: return {};
    case kOutermostBypass: return Make(Rule::kOutermostBypass, result.level, result.tensor, 0, 0);
    case kFanoutX: return Make(Rule::kFanoutX, result.level, 0, result.have, result.limit);
    case kFanoutY: return Make(Rule::kFanoutY, result.level, 0, result.have, result.limit);
    case kCapacity: return Make(Rule::kCapacity, result.level, 0, result.have, result.limit);
    case kTooLong:
      return Make(Rule::kTooLong, result.level, result.tensor, result.have, result.limit);
  }
  return {};
}

class Describer {
 public:
  Describer(const Setup& setup, const Violation& violation, const LoopMapping* mapping)
      : setup_(setup), violation_(violation), mapping_(mapping) {}

  Error Run() const {
    switch (static_cast<Rule>(violation_.rule)) {
      case Rule::kNone: break;
      case Rule::kLevels:
        return Bad(
            fmt::format("the mapping has {} levels, but the machine has {}", Have(), Limit()));
      case Rule::kOrder:
        return Bad(
            fmt::format("{}: an order is not a permutation of the dimensions, or a factor "
                        "is negative",
                        Level()));
      case Rule::kFactors:
        return Bad(fmt::format("the factors of {} {} {}, but its bound is {}", Dimension(),
                               setup_.semantics == Semantics::kExact ? "reach" : "multiply to",
                               Have(), Limit()),
                   "a factor of 0 stands for the whole bound");
      case Rule::kNoFanout:
        return Bad(fmt::format("{}: has spatial loops, but only one child", Level()),
                   "move them to a level with a fan-out");
      case Rule::kNowhereHeld:
        return Broken(fmt::format("no level holds {}", TensorName(violation_.item)),
                      "keep it at the outermost level");
      case Rule::kOutermostBypass:
        return Bad(fmt::format("{}: the outermost level must hold {}", Level(),
                               TensorName(violation_.item)),
                   "keep it there, or use the Timeloop semantics");
      case Rule::kCapacity: return Capacity();
      case Rule::kFanoutX: return Fanout("X", false);
      case Rule::kFanoutY: return Fanout("Y", true);
      case Rule::kMacs: return Over(setup_.machine.mac_name, "MACs used");
      case Rule::kMacsX: return Over(setup_.machine.mac_name, "MACs used along X");
      case Rule::kMacsY: return Over(setup_.machine.mac_name, "MACs used along Y");
      case Rule::kInstances: return Over(Level(), "instances used");
      case Rule::kMeshX: return Over(Level(), "instances used along X");
      case Rule::kMeshY: return Over(Level(), "instances used along Y");
      case Rule::kAssertion:
        return Broken(
            fmt::format("{}: {} content + peer accesses < partition, where "
                        "timeloop-model stops",
                        Level(), TensorName(violation_.item)));
      case Rule::kTooLong:
        return {.kind = ErrorKind::kUnsupported,
                .message = fmt::format("{}: {} would need a walk of {} > {} visits", Level(),
                                       TensorName(violation_.item), Have(), Limit()),
                .hint = "imperfect factors with links are walked; use factors that divide"};
    }
    return {.kind = ErrorKind::kInternal, .message = "unknown rule"};
  }

 private:
  static Error Bad(std::string message, std::string hint = "") {
    return {.kind = ErrorKind::kBadValue, .message = std::move(message), .hint = std::move(hint)};
  }
  static Error Broken(std::string message, std::string hint = "") {
    return {.kind = ErrorKind::kInfeasible, .message = std::move(message), .hint = std::move(hint)};
  }

  int64_t Have() const { return static_cast<int64_t>(violation_.have); }
  int64_t Limit() const { return static_cast<int64_t>(violation_.limit); }
  std::string Level() const {
    return setup_.machine.level_names[static_cast<size_t>(violation_.level)];
  }
  std::string Dimension() const {
    return std::string(
        setup_.data.problem.dimensions[static_cast<size_t>(violation_.item)].name.view());
  }
  std::string TensorName(int v) const {
    return std::string(setup_.data.problem.tensors[static_cast<size_t>(v)].name.view());
  }
  // As a common noun inside a sum; names of one letter stay.
  std::string LowerName(int v) const {
    std::string name = TensorName(v);
    if (name.size() > 1) {
      std::ranges::transform(name, name.begin(),
                             [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    }
    return name;
  }

  Error Over(const std::string& where, std::string_view what) const {
    return Broken(fmt::format("{}: {} {} > {}", where, Have(), what, Limit()),
                  "use smaller spatial factors");
  }

  // "L1: weights 2304 + inputs 1024 words > 3072; raise L1 to 3328 words or bypass Weights".
  Error Capacity() const {
    const int i = violation_.level;
    const LevelWidths& widths = setup_.machine.levels[i].widths;
    const bool plain = widths.plain(setup_.data.problem.num_tensors);
    // As many bits as there are, where elements are not words.
    const int64_t scale = plain ? 1 : widths.unit_bits;
    const std::string_view what = plain ? "words" : "bits";
    const std::optional<int64_t> entries = EntriesFor(i, Have());
    std::string hint = entries ? fmt::format("raise {} to {} words", Level(), *entries)
                               : fmt::format("lower the multiple buffering of {}", Level());
    if (mapping_ == nullptr) {
      return Broken(
          fmt::format("{}: tiles of {} {} > {}", Level(), Have() * scale, what, Limit() * scale),
          hint);
    }
    std::vector<std::string> tiles;
    int largest = -1;
    int64_t most = 0;
    for (int v = 0; v < setup_.data.problem.num_tensors; ++v) {
      if (!mapping_->levels[static_cast<size_t>(i)].Keeps(v)) continue;
      const int64_t words = TileWords(i, v);
      const int64_t units = setup_.machine.levels[i].units(v);
      tiles.push_back(plain ? fmt::format("{} {}", LowerName(v), words)
                            : fmt::format("{} {} * {}", LowerName(v), words, units * scale));
      if (words * units > most) {
        most = words * units;
        largest = v;
      }
    }
    const bool outermost = i + 1 == setup_.machine.num_levels;
    if (largest >= 0 && Have() - most <= Limit() && !outermost) {
      hint += fmt::format(" or bypass {}", TensorName(largest));
    }
    return Broken(
        fmt::format("{}: {} {} > {}", Level(), fmt::join(tiles, " + "), what, Limit() * scale),
        hint);
  }

  int64_t TileWords(int i, int v) const {
    Workspace workspace;
    Evaluate(setup_, *mapping_, workspace);
    if (setup_.semantics == Semantics::kExact) return workspace.exact.levels[i].tensors[v].capacity;
    return BoxWords(setup_.data.problem.tensors[static_cast<size_t>(v)], workspace.nest.extent[i]);
  }

  // Entries of which tiles may fill at least so many units; none if no memory is that large.
  std::optional<int64_t> EntriesFor(int i, int64_t units) const {
    const MachineLevel& level = setup_.machine.levels[i];
    const int64_t word_units = level.widths.word_units;
    const double needed =
        static_cast<double>(units) * level.buffers.ToDouble() / static_cast<double>(word_units);
    if (needed > kMostEntries) return std::nullopt;
    auto entries = static_cast<int64_t>(needed);
    while (level.buffers.FloorQuotient(entries * word_units) < units) ++entries;
    return entries;
  }

  // "GLB: fan-out X K4 * C2 = 8 > 4".
  Error Fanout(std::string_view axis, bool on_y) const {
    const std::string hint =
        fmt::format("let the spatial factors on {} multiply to at most {}", axis, Limit());
    if (mapping_ == nullptr) {
      return Broken(fmt::format("{}: fan-out {} {} > {}", Level(), axis, Have(), Limit()), hint);
    }
    Nest nest;
    MakeExactNest(setup_.data.problem, *mapping_, nest);
    std::vector<std::string> loops;
    for (int s = nest.first_spatial[violation_.level]; s < nest.first_spatial[violation_.level + 1];
         ++s) {
      const Loop& loop = nest.spatial[s];
      if (loop.on_y != on_y) continue;
      loops.push_back(fmt::format(
          "{}{}", setup_.data.problem.dimensions[static_cast<size_t>(loop.dim)].name.view(),
          loop.count));
    }
    return Broken(fmt::format("{}: fan-out {} {} = {} > {}", Level(), axis, fmt::join(loops, " * "),
                              Have(), Limit()),
                  hint);
  }

  const Setup& setup_;
  const Violation& violation_;
  const LoopMapping* mapping_;
};

}  // namespace

Violation ViolationOf(const Setup& setup, const Workspace& workspace) {
  const NestError& error = workspace.nest_error;
  if (error.kind == NestError::Kind::kFactors) {
    const int64_t bound = setup.data.problem.dimensions[static_cast<size_t>(error.dim)].bound;
    return Make(Rule::kFactors, 0, error.dim, error.product, bound);
  }
  if (error.kind == NestError::Kind::kNoFanout) return Make(Rule::kNoFanout, error.level, 0, 0, 0);
  return setup.semantics == Semantics::kExact ? OfExact(workspace.exact)
                                              : OfTimeloop(workspace.timeloop);
}

Error DescribeViolation(const Setup& setup, const Violation& violation,
                        const LoopMapping* mapping) {
  return Describer(setup, violation, mapping).Run();
}

}  // namespace tessera::loopnest
