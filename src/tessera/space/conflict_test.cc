// Random constraints against all mappings of small problems, which are listed here without the
// space: feasible sets are solved and repaired to; infeasible ones are refused with a set that no
// mapping satisfies, and every part of it has one.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tessera/space/conformance.h"
#include "tessera/space/dataflow_recipes.h"
#include "tessera/space/loop_space.h"

namespace tessera {
namespace {

using Demand = Constraints::Demand;
using enum Constraints::Rule;

template <typename T>
const T& Pick(const std::vector<T>& values, CounterRng& rng) {
  return values[static_cast<size_t>(rng.UniformInt(std::ssize(values)))];
}

// --- The oracle
// -----------------------------------------------------------------------------------

struct Case {
  LoopProblem problem = {};
  Hierarchy hierarchy = {};
  bool decide_keep = true;

  std::string Dim(size_t d) const { return std::string(problem.dimensions[d].name.view()); }
  std::string Level(size_t i) const { return hierarchy.levels[i].name; }
  size_t levels() const { return hierarchy.levels.size(); }
  size_t dims() const { return problem.dims().size(); }
};

// How a dimension is split, and all dimensions together.
struct Split {
  std::array<int64_t, 4> temporal = {1, 1, 1, 1}, spatial = {1, 1, 1, 1};
  std::array<bool, 4> on_y = {};
};
using Splits = std::vector<const Split*>;

void ListSplits(const Case& made, size_t level, int64_t rest, Split& split,
                std::vector<Split>& all) {
  if (level == made.levels()) {
    if (rest == 1) all.push_back(split);
    return;
  }
  const int64_t fan_x = FanoutX(made.hierarchy, level), fan_y = FanoutY(made.hierarchy, level);
  for (int64_t parallel = 1; parallel <= rest; ++parallel) {
    if (rest % parallel != 0) continue;
    for (const bool on_y : {false, true}) {
      if (parallel == 1 ? on_y : parallel > (on_y ? fan_y : fan_x)) continue;
      for (int64_t factor = 1; factor <= rest / parallel; ++factor) {
        if (rest / parallel % factor != 0) continue;
        split.spatial[level] = parallel;
        split.on_y[level] = on_y;
        split.temporal[level] = factor;
        ListSplits(made, level + 1, rest / parallel / factor, split, all);
      }
    }
  }
}

// Which set of tensors a level may hold, as bits; more than these do not fit or are not allowed.
bool MayHold(const Case& made, const Splits& splits, size_t level, unsigned tensors) {
  const MemoryLevel& machine = made.hierarchy.levels[level];
  int64_t words = 0;
  for (size_t t = 0; t < made.problem.tensor_view().size(); ++t) {
    if ((tensors >> t & 1) == 0) continue;
    int64_t tile = 1;
    for (const TensorRank& rank : made.problem.tensors[t].view()) {
      int64_t span = 1;
      for (const RankTerm& term : rank.view()) {
        const Split& split = *splits[static_cast<size_t>(term.dimension)];
        int64_t extent = 1;
        for (size_t i = 0; i <= level; ++i) extent *= split.temporal[i] * split.spatial[i];
        span += term.coefficient * (extent - 1);
      }
      tile *= span;
    }
    words += tile;
  }
  return !machine.entries || words <= *machine.entries;
}

// What demands come to, by what they are about.
struct Question {
  std::vector<Demand> factors = {};  // and ratios
  std::map<std::string, std::set<std::string>> axes = {};
  std::map<std::string, std::vector<Demand>> orders = {};
  std::vector<unsigned> must, must_not;  // hold, by level
  double utilization = 0;
};

class Oracle {
 public:
  explicit Oracle(const Case& made) : made_(made) {
    for (size_t d = 0; d < made.dims(); ++d) {
      Split split;
      ListSplits(made, 0, made.problem.dimensions[d].bound, split, splits_.emplace_back());
    }
  }

  bool AnySatisfies(const std::vector<Demand>& demands) const {
    const Question question = Ask(demands);
    return OrdersExist(question) && Search(question, 0);
  }

  // Whether a mapping does what is demanded, asked of the mapping itself.
  bool Satisfies(const LoopMapping& mapping, const std::vector<Demand>& demands) const {
    Question question = Ask(demands);
    std::vector<Split> splits(made_.dims());
    for (size_t d = 0; d < made_.dims(); ++d) {
      for (size_t i = 0; i < made_.levels(); ++i) {
        const LoopLevel& level = mapping.levels[i];
        const auto place = std::ranges::find(level.spatial_order, static_cast<uint8_t>(d));
        splits[d].temporal[i] = level.temporal[d];
        splits[d].spatial[i] = level.spatial[d];
        splits[d].on_y[i] =
            level.spatial[d] > 1 && place - level.spatial_order.begin() >= level.split;
      }
    }
    chosen_.clear();
    for (const Split& split : splits) chosen_.push_back(&split);
    const bool factors = MayStill(question) && FansFit() && BusyEnough(question);
    chosen_.clear();
    return factors && OrdersHold(mapping, question) && KeepsHold(mapping, question);
  }

 private:
  Question Ask(const std::vector<Demand>& demands) const {
    Question question{.must = std::vector<unsigned>(made_.levels()),
                      .must_not = std::vector<unsigned>(made_.levels())};
    for (const Demand& demand : demands) Add(demand, question);
    return question;
  }

  bool OrdersHold(const LoopMapping& mapping, const Question& question) const {
    for (size_t i = 0; i < made_.levels(); ++i) {
      const auto demands = question.orders.find("order_" + made_.Level(i));
      if (demands == question.orders.end()) continue;
      std::vector<std::string> order;
      for (size_t k = made_.dims(); k-- > 0;) {
        const size_t d = mapping.levels[i].temporal_order[k];
        if (made_.problem.dimensions[d].bound > 1) order.push_back(made_.Dim(d));
      }
      for (const Demand& demand : demands->second) {
        if (!InOrder(order, demand)) return false;
      }
    }
    return true;
  }

  bool KeepsHold(const LoopMapping& mapping, const Question& question) const {
    for (size_t i = 0; i < made_.levels(); ++i) {
      for (int t = 0; t < made_.problem.num_tensors; ++t) {
        const bool kept = mapping.levels[i].Keeps(t);
        if (kept ? question.must_not[i] >> t & 1 : question.must[i] >> t & 1) return false;
      }
    }
    return true;
  }

  void Add(const Demand& demand, Question& question) const {
    if (demand.rule == kDataflow) {
      const auto parts = LoopDataflow(demand.values.front(), made_.problem, made_.hierarchy);
      for (const Demand& part : *parts) {
        Add(part, question);
      }
      return;
    }
    if (demand.rule == kParallel) {
      question.utilization = std::max(question.utilization, demand.min);
      return;
    }
    if (demand.decision.starts_with("*_")) {
      for (size_t d = 0; d < made_.dims(); ++d) {
        const std::string dim = made_.Dim(d);
        if (std::ranges::count(demand.except, dim) > 0) continue;
        Demand one = demand;
        one.decision = dim + demand.decision.substr(1);
        Add(one, question);
      }
      return;
    }
    if (demand.decision.starts_with("order_")) {
      question.orders[demand.decision].push_back(demand);
    } else if (demand.decision.starts_with("keep_")) {
      AddKeep(demand, question);
    } else if (demand.decision.ends_with("_axis")) {
      question.axes[demand.decision].insert(demand.values.front());
    } else {
      question.factors.push_back(demand);
    }
  }

  void AddKeep(const Demand& demand, Question& question) const {
    for (size_t i = 0; i < made_.levels(); ++i) {
      for (size_t t = 0; t < made_.problem.tensor_view().size(); ++t) {
        const std::string own =
            fmt::format("keep_{}_{}", made_.Level(i), made_.problem.tensors[t].name.view());
        if (demand.decision != own) continue;
        auto& bits = demand.values.front() == "keep" ? question.must : question.must_not;
        bits[i] |= 1u << t;
      }
    }
  }

  // Orders are about loops of dimensions above 1, whatever their factors.
  bool OrdersExist(const Question& question) const {
    std::vector<std::string> dims;
    for (size_t d = 0; d < made_.dims(); ++d) {
      if (made_.problem.dimensions[d].bound > 1) dims.push_back(made_.Dim(d));
    }
    return std::ranges::all_of(question.orders, [&](const auto& level) {
      std::vector<std::string> order = dims;
      std::ranges::sort(order);
      do {
        if (std::ranges::all_of(level.second,
                                [&](const Demand& demand) { return InOrder(order, demand); })) {
          return true;
        }
      } while (std::next_permutation(order.begin(), order.end()));
      return false;
    });
  }

  // `order` from the outermost.
  static bool InOrder(const std::vector<std::string>& order, const Demand& demand) {
    std::vector<std::string> named;
    for (const std::string& item : demand.values) {
      if (std::ranges::count(order, item) > 0) named.push_back(item);
    }
    std::vector<std::ptrdiff_t> places;
    for (const std::string& item : named) {
      places.push_back(std::ranges::find(order, item) - order.begin());
    }
    const auto last = std::ssize(order) - 1;
    for (size_t k = 0; k < places.size(); ++k) {
      const auto at = static_cast<std::ptrdiff_t>(k);
      if (demand.rule == kInnermost && places[k] != last - at) return false;
      if (demand.rule == kOutermost && places[k] != std::ssize(places) - 1 - at) return false;
      if (demand.rule == kOrder && k > 0 && places[k] < places[k - 1]) return false;
    }
    return true;
  }

  bool Search(const Question& question, size_t d) const {
    if (d == made_.dims()) return Holds(question);
    for (const Split& split : splits_[d]) {
      chosen_.resize(d);
      chosen_.push_back(&split);
      if (MayStill(question) && FansFit() && Search(question, d + 1)) return true;
    }
    chosen_.resize(d);
    return false;
  }

  bool FansFit() const {
    for (size_t i = 0; i < made_.levels(); ++i) {
      int64_t x = 1, y = 1;
      for (const Split* split : chosen_) (split->on_y[i] ? y : x) *= split->spatial[i];
      if (x > FanoutX(made_.hierarchy, i) || y > FanoutY(made_.hierarchy, i)) return false;
    }
    return true;
  }

  // The factor that a name stands for; none while its dimension is open.
  struct Factor {
    int64_t value = 1, whole = 1;
    bool on_y = false;
  };
  std::optional<Factor> Read(const std::string& name) const {
    for (size_t d = 0; d < made_.dims(); ++d) {
      if (!name.starts_with(made_.Dim(d) + "_")) continue;
      if (d >= chosen_.size()) return std::nullopt;
      for (size_t i = 0; i < made_.levels(); ++i) {
        const std::string own = made_.Dim(d) + "_" + made_.Level(i);
        const Split& split = *chosen_[d];
        const int64_t whole = made_.problem.dimensions[d].bound;
        if (name == own) return Factor{split.temporal[i], whole};
        if (name == own + "_par" || name == own + "_axis") {
          return Factor{split.spatial[i], whole, split.on_y[i]};
        }
      }
    }
    ADD_FAILURE() << name;
    return Factor{};
  }

  bool Satisfied(const Demand& demand) const {
    const std::optional<Factor> factor = Read(demand.decision);
    if (!factor) return true;
    const auto value = static_cast<double>(factor->value);
    const bool named = std::ranges::count(demand.values, std::to_string(factor->value)) > 0;
    switch (demand.rule) {
      case kAllowed: return named;
      case kForbidden: return !named;
      case kRange: return value >= demand.min && value <= demand.max;
      case kWhole: return factor->value == factor->whole;
      case kRatio: {
        const std::optional<Factor> under = Read(demand.values.front());
        const double below = under ? static_cast<double>(under->value) : 1;
        return !under || (value >= demand.min * below && value <= demand.max * below);
      }
      default: return false;
    }
  }

  // An axis is one decision where there are two, whether or not the factor is 1; where there is
  // only one, a factor that has to lie on the other is 1.
  bool AxisHolds(const std::string& name, const std::set<std::string>& wanted) const {
    const std::optional<Factor> factor = Read(name);
    const std::string level = name.substr(2, name.size() - 2 - 5);
    size_t i = 0;
    while (made_.Level(i) != level) ++i;
    const bool both = FanoutX(made_.hierarchy, i) > 1 && FanoutY(made_.hierarchy, i) > 1;
    if (both && wanted.size() > 1) return false;
    if (!factor || factor->value == 1) return true;
    return wanted == std::set<std::string>{factor->on_y ? "Y" : "X"};
  }

  bool MayStill(const Question& question) const {
    return std::ranges::all_of(question.factors,
                               [&](const Demand& demand) { return Satisfied(demand); }) &&
           std::ranges::all_of(
               question.axes, [&](const auto& axis) { return AxisHolds(axis.first, axis.second); });
  }

  bool BusyEnough(const Question& question) const {
    int64_t used = 1;
    for (const Split* split : chosen_) {
      for (size_t i = 0; i < made_.levels(); ++i) used *= split->spatial[i];
    }
    const auto macs = static_cast<double>(made_.hierarchy.arithmetic.instances());
    return static_cast<double>(used) >= question.utilization * macs;
  }

  bool Holds(const Question& question) const {
    if (!BusyEnough(question)) return false;
    for (size_t i = 0; i < made_.levels(); ++i) {
      unsigned may = (1u << made_.problem.num_tensors) - 1;
      if (!made_.hierarchy.keeps.empty()) {
        for (size_t t = 0; t < made_.problem.tensor_view().size(); ++t) {
          const bool named =
              std::ranges::any_of(made_.hierarchy.keeps[i], [&](const std::string& tensor) {
                return FindTensorOrRole(made_.problem, tensor) == static_cast<int>(t);
              });
          if (!named) may &= ~(1u << t);
        }
      }
      const bool outermost = i + 1 == made_.levels();
      if (outermost) may = (1u << made_.problem.num_tensors) - 1;
      // The least that the level has to hold: without a choice, all but what is demanded.
      const unsigned free = made_.decide_keep && !outermost ? 0 : may & ~question.must_not[i];
      const unsigned least = question.must[i] | free;
      if ((question.must[i] & question.must_not[i]) != 0 || (least & ~may) != 0) return false;
      if (outermost && question.must_not[i] != 0) return false;
      if (!MayHold(made_, chosen_, i, least)) return false;
    }
    return true;
  }

  const Case& made_;
  std::vector<std::vector<Split>> splits_;  // by dimension
  mutable Splits chosen_;
};

// --- Cases
// ----------------------------------------------------------------------------------------

LoopProblem MakeProblem(CounterRng& rng) {
  switch (rng.UniformInt(3)) {
    case 0:
      return *MakeLoopProblem("gemm", {{"M", Pick<int64_t>({4, 6}, rng)},
                                       {"N", Pick<int64_t>({2, 3}, rng)},
                                       {"K", Pick<int64_t>({1, 4}, rng)}});
    case 1:
      return *MakeLoopProblem("conv", {{"K", Pick<int64_t>({2, 4}, rng)},
                                       {"C", Pick<int64_t>({2, 3}, rng)},
                                       {"Q", Pick<int64_t>({1, 4}, rng)},
                                       {"S", Pick<int64_t>({1, 3}, rng)}});
    default:
      return *MakeLoopProblem("fc", {{"C", Pick<int64_t>({6, 8}, rng)},
                                     {"K", Pick<int64_t>({2, 4}, rng)},
                                     {"N", Pick<int64_t>({1, 2}, rng)}});
  }
}

// One or two levels over registers, or only registers over MACs; square, flat or both fan-outs.
Case MakeCase(CounterRng& rng) {
  Case made{.problem = MakeProblem(rng), .decide_keep = rng.UniformInt(3) > 0};
  const int64_t x = Pick<int64_t>({1, 2, 4}, rng), y = Pick<int64_t>({1, 2}, rng);
  const bool lanes = rng.UniformInt(4) == 0;  // several MACs below a register file
  Hierarchy& hierarchy = made.hierarchy;
  hierarchy.arithmetic.mesh_x = lanes ? 2 * x : x;
  hierarchy.arithmetic.mesh_y = y;
  MemoryLevel rf{.name = "RF", .entries = Pick<int64_t>({1, 3, 5, 12}, rng)};
  rf.mesh_x = x;
  rf.mesh_y = y;
  MemoryLevel glb{.name = "GLB", .entries = Pick<int64_t>({6, 12, 24, 60}, rng)};
  hierarchy.levels = {rf, glb, MemoryLevel{.name = "DRAM"}};
  if (rng.UniformInt(5) == 0) hierarchy.levels.erase(hierarchy.levels.begin() + 1);
  if (rng.UniformInt(4) == 0) {
    hierarchy.keeps.assign(hierarchy.levels.size(), {"Weights", "Inputs", "Outputs"});
    hierarchy.keeps[0] = rng.UniformInt(2) == 0 ? std::vector<std::string>{"Weights"}
                                                : std::vector<std::string>{"Inputs", "Outputs"};
  }
  return made;
}

class Demands {
 public:
  Demands(const Case& made, CounterRng& rng) : made_(made), rng_(rng) {}

  Demand Next() {
    Demand demand{.decision = Factor()};
    switch (rng_.UniformInt(14)) {
      case 0:
      case 1: demand.values = {Number()}; break;
      case 2: demand.values = {Number(), Number()}; break;
      case 3:
        demand.rule = kForbidden;
        demand.values = {Number(), Number()};
        break;
      case 4:
      case 5:
        demand.rule = kRange;
        (rng_.UniformInt(2) == 0 ? demand.min : demand.max) =
            static_cast<double>(1 + rng_.UniformInt(4));
        break;
      case 6:
        demand.rule = kRatio;
        demand.values = {Factor()};
        demand.min = demand.max = Pick<double>({0.5, 1.0, 2.0, 3.0}, rng_);
        if (rng_.UniformInt(2) == 0) demand.max *= 2;
        break;
      case 7: demand.rule = kWhole; break;
      case 8:
        demand.decision = Dim() + "_" + Level() + "_axis";
        demand.values = {rng_.UniformInt(2) == 0 ? "X" : "Y"};
        break;
      case 9: Order(demand); break;
      case 10: Keep(demand); break;
      case 11:
        demand.decision = "*" + demand.decision.substr(1);
        demand.values = {"1"};
        demand.except = {Dim()};
        break;
      case 12: demand = {.rule = kParallel, .min = Pick<double>({0.25, 0.5, 0.75, 1}, rng_)}; break;
      default:
        const std::vector<std::string> names = DataflowNames();
        demand = {.rule = kDataflow, .values = {Pick(names, rng_)}};
    }
    return demand;
  }

  // Harmless alone: at least 2 of the factors of one dimension at several levels, more often than
  // it can be halved.
  std::vector<Demand> Halvings() {
    const std::string dim = Dim();
    std::vector<Demand> demands;
    for (size_t i = 0; i < made_.levels(); ++i) {
      demands.push_back(
          {.decision = fmt::format("{}_{}", dim, made_.Level(i)), .rule = kRange, .min = 2});
    }
    return demands;
  }

 private:
  std::string Dim() {
    return made_.Dim(static_cast<size_t>(rng_.UniformInt(std::ssize(made_.problem.dims()))));
  }
  std::string Level() {
    return made_.Level(static_cast<size_t>(rng_.UniformInt(std::ssize(made_.hierarchy.levels))));
  }
  std::string Factor() { return Dim() + "_" + Level() + (rng_.UniformInt(3) == 0 ? "_par" : ""); }
  std::string Number() { return std::to_string(1 + rng_.UniformInt(4)); }

  void Order(Demand& demand) {
    demand.decision = "order_" + Level();
    demand.rule = Pick<Constraints::Rule>({kOrder, kOrder, kInnermost, kOutermost}, rng_);
    demand.values = {Dim(), Dim()};
    if (demand.values[0] == demand.values[1]) demand.values.pop_back();
  }

  void Keep(Demand& demand) {
    const auto tensor = static_cast<size_t>(rng_.UniformInt(made_.problem.num_tensors));
    demand.decision = fmt::format("keep_{}_{}", Level(), made_.problem.tensors[tensor].name.view());
    demand.values = {rng_.UniformInt(2) == 0 ? "keep" : "bypass"};
  }

  const Case& made_;
  CounterRng& rng_;
};

// A demand for some layers only: what the file says, and whether it is about the layer at hand.
bool Scope(Demand& demand, CounterRng& rng) {
  switch (rng.UniformInt(8)) {
    case 0: demand.layer = "conv*"; return true;
    case 1: demand.layer = "conv1"; return true;
    case 2: demand.layer = "conv2"; return false;
    case 3: demand.layer = "!conv?"; return false;
    case 4: demand.type = "!fc"; return true;
    case 5: demand.type = "gemm"; return false;
    default: return true;
  }
}

// The demands that an error names, by their texts.
std::vector<size_t> NamedDemands(const Error& error, const std::vector<Demand>& demands) {
  std::vector<size_t> named;
  for (const std::string& text : error.conflict) {
    size_t k = 0;
    while (k < demands.size() &&
           (ToString(demands[k]) != text || std::ranges::count(named, k) > 0)) {
      ++k;
    }
    EXPECT_LT(k, demands.size()) << text;
    named.push_back(k);
  }
  return named;
}

void CheckSolved(const LoopSpace& space, const std::vector<Demand>& demands, const Oracle& oracle,
                 uint64_t k) {
  for (uint64_t draw = 0; draw < 10; ++draw) {
    CounterRng random(k, draw);
    const Point point = space.Sample(random, 4);
    const Result<void> legal = space.Check(point);
    ASSERT_TRUE(legal) << legal.error();
    EXPECT_TRUE(oracle.Satisfies(std::get<LoopMapping>(space.Decode(point)), demands))
        << space.Describe(point);
  }
}

void CheckConflict(const Error& error, const std::vector<Demand>& demands, const Oracle& oracle) {
  EXPECT_EQ(error.kind, ErrorKind::kInfeasible) << error.message;
  std::vector<Demand> conflict;
  for (const size_t member : NamedDemands(error, demands)) conflict.push_back(demands[member]);
  EXPECT_FALSE(oracle.AnySatisfies(conflict)) << error.message;
  for (size_t leave = 0; leave < conflict.size(); ++leave) {
    std::vector<Demand> part = conflict;
    part.erase(part.begin() + static_cast<std::ptrdiff_t>(leave));
    EXPECT_TRUE(oracle.AnySatisfies(part)) << error.message;
  }
}

TEST(ConstraintConflicts, AgreeWithBruteForce) {
  int solved = 0, refused = 0, large = 0;
  const uint64_t cases = std::getenv("TESSERA_THOROUGH") != nullptr ? 20'000 : 400;
  for (uint64_t k = 0; k < cases; ++k) {
    CounterRng rng(7, k);
    const Case made = MakeCase(rng);
    const Oracle oracle(made);
    if (!oracle.AnySatisfies({})) continue;  // nothing fits this machine
    Constraints constraints;
    std::vector<Demand> meant;
    Demands random(made, rng);
    std::vector<Demand> drawn;
    if (rng.UniformInt(3) == 0) drawn = random.Halvings();
    const int64_t count = drawn.empty() ? 1 + rng.UniformInt(7) : rng.UniformInt(3);
    for (int64_t i = 0; i < count; ++i) drawn.push_back(random.Next());
    for (Demand& demand : drawn) {
      const bool about = Scope(demand, rng);
      if (about) meant.push_back(demand);
      constraints.demands.push_back(std::move(demand));
    }
    SCOPED_TRACE(fmt::format("case {}: {}", k, ToString(made.problem)));
    const auto space =
        LoopSpace::Make(made.problem, made.hierarchy,
                        {.decide_keep = made.decide_keep,
                         .constraints = ConstraintsOn(constraints, "conv", "conv1")});
    std::string texts;
    for (const Demand& demand : meant) texts += ToString(demand) + "; ";
    ASSERT_EQ(space.ok(), oracle.AnySatisfies(meant))
        << texts << (space ? "solved" : ToString(space.error()));
    if (space) {
      ++solved;
      CheckSolved(**space, meant, oracle, k);
    } else {
      ++refused;
      large += space.error().conflict.size() > 2;
      CheckConflict(space.error(), meant, oracle);
    }
  }
  EXPECT_GT(solved, 80);
  EXPECT_GT(refused, 80);
  EXPECT_GT(large, 2);  // what is drawn depends on the compiler's order of arguments
}

}  // namespace
}  // namespace tessera
