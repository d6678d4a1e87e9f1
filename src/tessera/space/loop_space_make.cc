// The decisions of a loop space, from a problem and a machine.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/divisors.h"
#include "tessera/result.h"
#include "tessera/space/dataflow_recipes.h"
#include "tessera/space/demands.h"
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

Error TooManyDecisions(size_t count) {
  return Error{.kind = ErrorKind::kUnsupported,
               .message = fmt::format("the space has {} decisions, but a point holds {}", count,
                                      Point::kCapacity),
               .hint = "leave levels of the machine out, or search without bypass (--no-bypass)"};
}

// Names that dimensions of built-in layers have. One that a layer does not have is of size 1 there.
constexpr std::array<std::string_view, 12> kKnownDims = {"N", "K", "C", "P", "Q", "R",
                                                         "S", "Y", "X", "G", "H", "M"};

}  // namespace

// What demands may name in a loop space.
class LoopSpace::Names final : public SpaceNames {
 public:
  Names(const LoopProblem& problem, const Hierarchy& hierarchy)
      : problem_(problem), hierarchy_(hierarchy) {}

  std::string Resolve(const std::string& name) const override {
    return Renamed(WithRole(AboveLevel(name)));
  }

  std::string Item(const std::string& name) const override {
    const std::string own = name == "M" && IsK() ? "K" : name;
    if (const std::optional<int> d = FindDimension(problem_, own)) {
      return problem_.dimensions[static_cast<size_t>(*d)].bound > 1 ? own : "";
    }
    return std::ranges::find(kKnownDims, name) != kKnownDims.end() ? "" : name;
  }

  bool HasDimension(std::string_view tensor, std::string_view dimension) const override {
    const std::optional<int> t = FindTensorOrRole(problem_, tensor);
    const std::optional<int> d = FindDimension(problem_, dimension);
    if (!t || !d) return false;
    for (const TensorRank& rank : problem_.tensors[static_cast<size_t>(*t)].view()) {
      for (const RankTerm& term : rank.view()) {
        if (term.dimension == *d) return true;
      }
    }
    return false;
  }

  int64_t Whole(std::string_view dimension) const override {
    const std::optional<int> d = FindDimension(problem_, dimension);
    return d ? problem_.dimensions[static_cast<size_t>(*d)].bound : 1;
  }

  bool MakesNoDifference(std::string_view decision) const override {
    for (const MemoryLevel& level : hierarchy_.levels) {
      if (decision == "order_" + level.name || decision == "par_order_" + level.name) return true;
    }
    // A machine names tensors that a layer may not have.
    return decision.starts_with("keep_") &&
           std::ranges::any_of(kTensorNames, [&](std::string_view role) {
             return decision.ends_with(fmt::format("_{}", role)) &&
                    !FindTensorOrRole(problem_, role);
           });
  }

  bool HasUtilization() const override { return true; }

  Result<std::vector<Constraints::Demand>> Dataflow(std::string_view name) const override {
    return LoopDataflow(name, problem_, hierarchy_);
  }

 private:
  // Timeloop's users call output channels M.
  bool IsK() const { return !FindDimension(problem_, "M") && FindDimension(problem_, "K"); }

  std::string Renamed(const std::string& name) const {
    return name.starts_with("M_") && IsK() ? "K" + name.substr(1) : name;
  }

  // "C_^RF_par": at the level whose children RF is among.
  std::string AboveLevel(const std::string& name) const {
    const size_t mark = name.find("_^");
    if (mark == std::string::npos) return name;
    const size_t end = name.rfind('_');
    const std::string level = name.substr(mark + 2, end - mark - 2);
    for (size_t i = 0; i < hierarchy_.levels.size(); ++i) {
      const std::string& child =
          i == 0 ? hierarchy_.arithmetic.name : hierarchy_.levels[i - 1].name;
      if (child != level) continue;
      return name.substr(0, mark + 1) + hierarchy_.levels[i].name + name.substr(end);
    }
    return name;
  }

  // keep_GLB_Weights: of the tensor that has the role of weights.
  std::string WithRole(const std::string& name) const {
    if (!name.starts_with("keep_")) return name;
    for (const std::string_view role : kTensorNames) {
      if (!name.ends_with(fmt::format("_{}", role))) continue;
      const std::optional<int> tensor = FindTensorOrRole(problem_, role);
      if (!tensor) return name;
      return name.substr(0, name.size() - role.size()) +
             std::string(problem_.tensors[static_cast<size_t>(*tensor)].name.view());
    }
    return name;
  }

  const LoopProblem& problem_;
  const Hierarchy& hierarchy_;
};

struct LoopSpace::Plan {
  LoopProblem problem = {};
  bool store_holes = true;
  std::vector<Dim> dims = {};
  std::vector<Level> levels = {};
  std::vector<Decision> decisions = {};

  // Everything that demands may name: the decisions, leftovers by dimension, whether tensors are
  // held where that is not decided, and numbers that can only be 1.
  std::vector<Decision> vocabulary = {};
  struct Keep {
    size_t level = 0, tensor = 0, place = 0;  // in the vocabulary
  };
  std::vector<Keep> undecided_keeps = {};
  size_t num_open = 0;  // of the vocabulary; constants follow
  std::vector<ConcreteDemand> demands = {};

  size_t Add(Decision decision) {
    decisions.push_back(std::move(decision));
    return decisions.size() - 1;
  }
  void AddDims();
  Result<void> AddLevel(const Hierarchy& hierarchy, size_t i, const LoopSpaceOptions& options);
  void AddFactors(size_t i, bool outermost, int depth);
  void AddKeeps(size_t i, int depth);
  std::vector<Decision> Leftovers() const;
  void MakeVocabulary();
  void AddConstants(size_t i, const std::string& dim);
  void PlaceOnOnlyAxis(Constraints::Demand& demand) const;
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
  level.widths = WidthsAt(problem, hierarchy, i);
  if (machine.entries) level.entries = UsableUnits(level.widths, machine, *machine.entries);
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
    return TooManyDecisions(plan.decisions.size());
  }
  if (!options.constraints.demands.empty()) {
    return MakeConstrained(std::move(plan), hierarchy, options);
  }
  std::vector<Decision> decisions = std::exchange(plan.decisions, {});
  std::unique_ptr<LoopSpace> space(new LoopSpace(std::move(decisions), std::move(plan)));
  // The smallest tiles there are: if they do not fit, nothing does.
  Point smallest(space->size());
  space->Repair(smallest);
  if (Result<void> legal = space->Check(smallest); !legal) {
    return Conflict({}, {}, legal.error().message);
  }
  return space;
}

LoopSpace::LoopSpace(std::vector<Decision> decisions, Plan plan)
    : MappingSpace(std::move(decisions)),
      problem_(plan.problem),
      store_holes_(plan.store_holes),
      dims_(plan.dims),
      levels_(plan.levels),
      leftovers_(plan.Leftovers()) {}

// --- Constraints
// --------------------------------------------------------------------------------

std::vector<Decision> LoopSpace::Plan::Leftovers() const {
  std::vector<Decision> leftovers;
  for (const Dim& dim : dims) {
    const std::string name(problem.dimensions[static_cast<size_t>(dim.index)].name.view());
    leftovers.push_back(
        Decision::Ordinal(fmt::format("{}_{}", name, levels.back().name), Divisors(dim.bound))
            .About(DecisionRole::kFactor, 0, name));
  }
  return leftovers;
}

// Factors of a dimension at a level that can only be 1, and axes that are no choice.
void LoopSpace::Plan::AddConstants(size_t i, const std::string& dim) {
  const Level& level = levels[i];
  const int depth = static_cast<int>(levels.size() - 1 - i);
  const auto known = [&](const std::string& name) {
    return std::any_of(vocabulary.begin(), vocabulary.end(),
                       [&](const Decision& decision) { return decision.name() == name; });
  };
  for (const std::string_view suffix : {"", "_par"}) {
    const std::string name = fmt::format("{}_{}{}", dim, level.name, suffix);
    if (known(name)) continue;
    vocabulary.push_back(Decision::Ordinal(name, {1}).About(DecisionRole::kFactor, depth, dim));
  }
  const std::string axis = fmt::format("{}_{}_axis", dim, level.name);
  if (known(axis)) return;
  vocabulary.push_back(
      Decision::Categorical(axis, {"X", "Y"}).About(DecisionRole::kFactor, depth, dim));
}

// Where there is no choice between two axes, a factor that has to lie on one that is not there is
// 1, and one that may lie on the one that is there may be anything.
void LoopSpace::Plan::PlaceOnOnlyAxis(Constraints::Demand& demand) const {
  constexpr std::string_view kSuffix = "_axis";
  if (!demand.decision.ends_with(kSuffix)) return;
  const bool decided = std::ranges::any_of(
      decisions, [&](const Decision& decision) { return decision.name() == demand.decision; });
  if (decided) return;
  const std::string name = demand.decision.substr(0, demand.decision.size() - kSuffix.size());
  const auto level = std::ranges::find_if(
      levels, [&](const Level& own) { return name.ends_with("_" + own.name); });
  const std::string_view only = level != levels.end() && level->fan_y > 1 ? "Y" : "X";
  const bool named = std::ranges::find(demand.values, only) != demand.values.end();
  const bool fits = named == (demand.rule == Constraints::Rule::kAllowed);
  demand.decision = name + "_par";
  demand.rule = Constraints::Rule::kRange;
  demand.values.clear();
  demand.min = 1;
  demand.max = fits ? std::numeric_limits<double>::infinity() : 1;
}

void LoopSpace::Plan::MakeVocabulary() {
  vocabulary = decisions;
  for (Decision& leftover : Leftovers()) vocabulary.push_back(std::move(leftover));
  for (size_t i = 0; i < levels.size(); ++i) {
    const bool outermost = i + 1 == levels.size();
    for (size_t t = 0; t < problem.tensor_view().size(); ++t) {
      if (levels[i].keep_decision[t] != kNone) continue;
      const bool may = outermost || (levels[i].keep >> t & 1) != 0;
      Decision keep = Decision::Categorical(
                          fmt::format("keep_{}_{}", levels[i].name, problem.tensors[t].name.view()),
                          {"keep", "bypass"})
                          .About(DecisionRole::kOther, static_cast<int>(levels.size() - 1 - i));
      if (outermost || !may) {
        TESSERA_CHECK(keep.Keep({may, !may}));
      } else {
        undecided_keeps.push_back({i, t, vocabulary.size()});
      }
      vocabulary.push_back(std::move(keep));
    }
  }
  num_open = vocabulary.size();
  for (size_t i = 0; i < levels.size(); ++i) {
    for (const LoopDimension& dim : problem.dims()) AddConstants(i, std::string(dim.name.view()));
    for (const std::string_view dim : kKnownDims) {
      const bool is_k = dim == "M" && FindDimension(problem, "K");  // as Names has it
      if (!FindDimension(problem, dim) && !is_k) AddConstants(i, std::string(dim));
    }
  }
}

Result<std::unique_ptr<LoopSpace>> LoopSpace::MakeConstrained(Plan plan, const Hierarchy& hierarchy,
                                                              const LoopSpaceOptions& options) {
  plan.MakeVocabulary();
  const Names names(plan.problem, hierarchy);
  Result<std::vector<ConcreteDemand>> demands =
      MakeConcrete(options.constraints, plan.vocabulary, plan.num_open, names);
  if (!demands) return demands.error();
  plan.demands = *std::move(demands);
  for (ConcreteDemand& made : plan.demands) plan.PlaceOnOnlyAxis(made.demand);
  if (plan.decisions.size() + plan.undecided_keeps.size() > Point::kCapacity) {
    return TooManyDecisions(plan.decisions.size() + plan.undecided_keeps.size());
  }
  const size_t count = options.constraints.demands.size();
  std::vector<bool> active(count, true);
  if (std::unique_ptr<LoopSpace> space = Restricted(plan, active)) return space;
  const std::vector<size_t> members = SmallestConflict(
      count, [&](const std::vector<bool>& part) { return Restricted(plan, part) != nullptr; });
  active.assign(count, false);
  for (const size_t member : members) active[member] = true;
  std::string why = WhyEmpty(plan.demands, members, plan.vocabulary);
  if (why.empty()) why = WhyNot(plan, active);
  return Conflict(options.constraints, members, why);
}

// The space that demands leave, whether or not it has a legal point; null if a decision has no
// value left.
std::unique_ptr<LoopSpace> LoopSpace::Remainder(const Plan& plan, const std::vector<bool>& active) {
  std::vector<Decision> vocabulary = plan.vocabulary;
  std::optional<std::vector<Relation>> relations = Restrict(plan.demands, active, vocabulary);
  if (!relations) return nullptr;
  Plan left = plan;
  const auto begin = vocabulary.begin();
  const auto leftovers = begin + std::ssize(plan.decisions);
  std::vector<Decision> decisions(begin, leftovers);
  for (const Plan::Keep& keep : plan.undecided_keeps) {
    // Without a demand the level holds what it may, and that is no decision.
    if (vocabulary[keep.place].size() > 1) continue;
    left.levels[keep.level].keep_decision[keep.tensor] = decisions.size();
    decisions.push_back(vocabulary[keep.place]);
  }
  std::unique_ptr<LoopSpace> space(new LoopSpace(std::move(decisions), std::move(left)));
  space->leftovers_.assign(leftovers, leftovers + std::ssize(space->dims_));
  space->constrained_ = true;
  space->Bind(*std::move(relations));
  return space;
}

std::unique_ptr<LoopSpace> LoopSpace::Restricted(const Plan& plan,
                                                 const std::vector<bool>& active) {
  std::unique_ptr<LoopSpace> space = Remainder(plan, active);
  return space != nullptr && space->FindLegal() ? std::move(space) : nullptr;
}

// The inequality that the smallest tiles break, if they do.
std::string LoopSpace::WhyNot(const Plan& plan, const std::vector<bool>& active) {
  const std::unique_ptr<LoopSpace> space = Remainder(plan, active);
  if (space == nullptr) return "";
  Point smallest(space->size());
  space->Repair(smallest);
  const Result<void> legal = space->Check(smallest);
  return legal ? "" : legal.error().message;
}

}  // namespace tessera
