// The decisions of a loop space, from a problem and a machine.
#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/divisors.h"
#include "tessera/result.h"
#include "tessera/space/loop_space.h"

namespace tessera {
namespace {

// Tensors that a level of the machine holds: those it names, or all.
Result<uint8_t> KeptTensors(const LoopProblem& problem, const Hierarchy& hierarchy, size_t level) {
  if (hierarchy.keeps.empty()) return uint8_t{0xff};
  uint8_t keep = 0;
  for (const std::string& name : hierarchy.keeps[level]) {
    // A machine for convolutions names tensors that a matrix product may not have.
    if (const std::optional<int> tensor = FindTensorOrRole(problem, name)) {
      keep = static_cast<uint8_t>(keep | 1u << *tensor);
    }
  }
  return keep;
}

bool OrderMatters(const Hierarchy& hierarchy, size_t level) {
  const LevelNetwork& network = hierarchy.levels[level].network;
  return hierarchy.links || network.hop_pj.mantissa() != 0 || network.router_pj.mantissa() != 0;
}

}  // namespace

struct LoopSpace::Plan {
  LoopProblem problem = {};
  bool store_holes = true;
  std::vector<Dim> dims = {};
  std::vector<Level> levels = {};
  std::vector<Decision> decisions = {};

  size_t Add(Decision decision) {
    decisions.push_back(std::move(decision));
    return decisions.size() - 1;
  }
  void AddDims();
  Result<void> AddLevel(const Hierarchy& hierarchy, size_t i, const LoopSpaceOptions& options);
  void AddFactors(size_t i, bool outermost, int depth);
  void AddKeeps(size_t i, int depth);
};

void LoopSpace::Plan::AddDims() {
  for (size_t d = 0; d < problem.dims().size(); ++d) {
    if (problem.dimensions[d].bound == 1) continue;
    Dim dim{.index = static_cast<int>(d), .bound = problem.dimensions[d].bound};
    dim.temporal.fill(kNone);
    dim.spatial.fill(kNone);
    dim.axis.fill(kNone);
    dims.push_back(dim);
  }
}

Result<void> LoopSpace::Plan::AddLevel(const Hierarchy& hierarchy, size_t i,
                                       const LoopSpaceOptions& options) {
  const MemoryLevel& machine = hierarchy.levels[i];
  const Result<uint8_t> keep = KeptTensors(problem, hierarchy, i);
  if (!keep) return keep.error();
  const bool outermost = i + 1 == hierarchy.levels.size();
  Level level{.name = machine.name,
              .fan_x = FanoutX(hierarchy, i),
              .fan_y = FanoutY(hierarchy, i),
              .keep = outermost ? uint8_t{0xff} : *keep};
  if (machine.entries) level.entries = machine.multiple_buffering.FloorQuotient(*machine.entries);
  level.keep_decision.fill(kNone);
  levels.push_back(std::move(level));

  // Level 0 of a decision is the outermost, because that is where users start to read.
  const int depth = static_cast<int>(hierarchy.levels.size() - 1 - i);
  AddFactors(i, outermost, depth);
  if (options.decide_keep && !outermost) AddKeeps(i, depth);
  if (dims.size() < 2) return {};
  std::vector<std::string> items;
  for (const Dim& dim : dims) {
    items.emplace_back(problem.dimensions[static_cast<size_t>(dim.index)].name.view());
  }
  levels[i].order = Add(Decision::Order(fmt::format("order_{}", machine.name), items)
                            .About(DecisionRole::kOrder, depth));
  if (levels[i].HasFan() &&
      (options.spatial_orders == SpatialOrders::kAlways || OrderMatters(hierarchy, i))) {
    levels[i].spatial_order = Add(Decision::Order(fmt::format("par_order_{}", machine.name), items)
                                      .About(DecisionRole::kOrder, depth));
  }
  return {};
}

void LoopSpace::Plan::AddFactors(size_t i, bool outermost, int depth) {
  const Level& level = levels[i];
  for (Dim& dim : dims) {
    const std::string name(problem.dimensions[static_cast<size_t>(dim.index)].name.view());
    if (level.HasFan()) {
      std::vector<int64_t> parts = Divisors(dim.bound, std::max(level.fan_x, level.fan_y));
      dim.spatial[i] =
          Add(Decision::Ordinal(fmt::format("{}_{}_par", name, level.name), std::move(parts))
                  .About(DecisionRole::kFactor, depth, name));
      if (level.fan_x > 1 && level.fan_y > 1) {
        dim.axis[i] =
            Add(Decision::Categorical(fmt::format("{}_{}_axis", name, level.name), {"X", "Y"})
                    .About(DecisionRole::kFactor, depth, name));
      }
    }
    if (outermost) continue;
    dim.temporal[i] =
        Add(Decision::Ordinal(fmt::format("{}_{}", name, level.name), Divisors(dim.bound))
                .About(DecisionRole::kFactor, depth, name));
  }
}

void LoopSpace::Plan::AddKeeps(size_t i, int depth) {
  for (size_t t = 0; t < problem.tensor_view().size(); ++t) {
    // What the machine cannot hold at a level is not up for decision.
    if ((levels[i].keep >> t & 1) == 0) continue;
    levels[i].keep_decision[t] =
        Add(Decision::Categorical(
                fmt::format("keep_{}_{}", levels[i].name, problem.tensors[t].name.view()),
                {"keep", "bypass"})
                .About(DecisionRole::kOther, depth));
  }
}

Result<std::unique_ptr<LoopSpace>> LoopSpace::Make(const LoopProblem& problem,
                                                   const Hierarchy& hierarchy,
                                                   const LoopSpaceOptions& options) {
  if (hierarchy.levels.size() > Hierarchy::kMaxLevels) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = fmt::format("the hierarchy has {} levels, but at most {} are supported",
                                        hierarchy.levels.size(), Hierarchy::kMaxLevels)};
  }
  Plan plan{.problem = problem, .store_holes = options.store_holes};
  plan.AddDims();
  for (size_t i = 0; i < hierarchy.levels.size(); ++i) {
    if (Result<void> added = plan.AddLevel(hierarchy, i, options); !added) return added.error();
  }
  if (plan.decisions.size() > Point::kCapacity) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = fmt::format("the space has {} decisions, but a point holds {}",
                                        plan.decisions.size(), Point::kCapacity)};
  }
  if (Result<void> applied = Apply(options.constraints, plan.decisions); !applied) {
    return applied.error();
  }
  std::vector<Decision> decisions = std::exchange(plan.decisions, {});
  std::unique_ptr<LoopSpace> space(new LoopSpace(std::move(decisions), std::move(plan)));
  // The smallest tiles there are: if they do not fit, nothing does.
  Point smallest(space->size());
  space->Repair(smallest);
  if (Result<void> legal = space->Check(smallest); !legal) {
    Error error = legal.error();
    error.message =
        fmt::format("no mapping is possible: {}{}", error.message, space->ForcedFactors(smallest));
    return error;
  }
  return space;
}

LoopSpace::LoopSpace(std::vector<Decision> decisions, Plan plan)
    : MappingSpace(std::move(decisions)),
      problem_(plan.problem),
      store_holes_(plan.store_holes),
      dims_(std::move(plan.dims)),
      levels_(std::move(plan.levels)) {}

}  // namespace tessera
