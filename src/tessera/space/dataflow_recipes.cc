// The recipes. A tensor is stationary in the innermost level that may hold it: outside of that
// level, loops over its dimensions are outside all others, so that it stays while the others run,
// and only its dimensions are parallel, so that no two units hold the same part of it.
#include "tessera/space/dataflow_recipes.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/text.h"

namespace tessera {
namespace {

using Demand = Constraints::Demand;
using enum Constraints::Rule;
using Demands = std::vector<Demand>;

Demand Only(std::string decision, std::string value) {
  return {.decision = std::move(decision), .values = {std::move(value)}};
}

// What recipes ask of a problem and a machine.
class Loops {
 public:
  Loops(const LoopProblem& problem, const Hierarchy& hierarchy)
      : problem_(problem), hierarchy_(hierarchy) {}

  size_t dims() const { return problem_.dims().size(); }
  std::string Name(size_t d) const { return std::string(problem_.dimensions[d].name.view()); }

  // How many terms the rank of a tensor has that a dimension is in; 0: in none.
  int Terms(std::string_view role, size_t d) const {
    const std::optional<int> tensor = FindTensorOrRole(problem_, role);
    if (!tensor) return 0;
    for (const TensorRank& rank : problem_.tensors[static_cast<size_t>(*tensor)].view()) {
      for (const RankTerm& term : rank.view()) {
        if (static_cast<size_t>(term.dimension) == d) return rank.num_terms;
      }
    }
    return 0;
  }
  bool In(std::string_view role, size_t d) const { return Terms(role, d) > 0; }

  // The innermost level that may hold a tensor.
  size_t Home(std::string_view role) const {
    for (size_t i = 0; i + 1 < hierarchy_.levels.size(); ++i) {
      if (hierarchy_.levels[i].entries == 0) continue;
      if (hierarchy_.keeps.empty()) return i;
      const auto& keeps = hierarchy_.keeps[i];
      if (std::find(keeps.begin(), keeps.end(), role) != keeps.end()) return i;
    }
    return hierarchy_.levels.size() - 1;
  }

  // A tensor stays in its home while loops over what it does not depend on run outside of it.
  void Hold(std::string_view role, Demands& demands) const {
    const size_t home = Home(role);
    if (home + 1 < hierarchy_.levels.size()) {
      const std::optional<int> tensor = FindTensorOrRole(problem_, role);
      if (tensor) {
        demands.push_back(
            Only(fmt::format("keep_{}_{}", hierarchy_.levels[home].name,
                             problem_.tensors[static_cast<size_t>(*tensor)].name.view()),
                 "keep"));
      }
    }
    for (size_t i = home + 1; i < hierarchy_.levels.size(); ++i) {
      for (size_t own = 0; own < dims(); ++own) {
        for (size_t other = 0; other < dims(); ++other) {
          if (!In(role, own) || In(role, other) || !Loops2(own, other)) continue;
          demands.push_back({.decision = "order_" + hierarchy_.levels[i].name,
                             .rule = kOrder,
                             .values = {Name(own), Name(other)}});
        }
      }
    }
  }

  // Only dimensions that `may` accepts are parallel, from level `least` on.
  template <typename May>
  void Spread(size_t least, const May& may, Demands& demands) const {
    for (size_t i = least; i < hierarchy_.levels.size(); ++i) {
      if (FanoutX(hierarchy_, i) * FanoutY(hierarchy_, i) == 1) continue;
      for (size_t d = 0; d < dims(); ++d) {
        if (may(d) || problem_.dimensions[d].bound == 1) continue;
        demands.push_back(Only(Factor(d, i) + "_par", "1"));
      }
    }
  }

  std::string Factor(size_t d, size_t level) const {
    return fmt::format("{}_{}", Name(d), hierarchy_.levels[level].name);
  }

  const LoopProblem& problem() const { return problem_; }
  const Hierarchy& hierarchy() const { return hierarchy_; }

  // Channels that are summed up, and those of outputs: C and K of a convolution.
  bool Contracted(size_t d) const {
    return Terms("Weights", d) == 1 && Terms("Inputs", d) == 1 && !In("Outputs", d);
  }
  bool OutputChannel(size_t d) const {
    return In("Weights", d) && In("Outputs", d) && !In("Inputs", d);
  }
  // P and Q of a convolution, and its batch; rows of a matrix product.
  bool Position(size_t d) const { return In("Inputs", d) && In("Outputs", d) && !In("Weights", d); }

 private:
  bool Loops2(size_t a, size_t b) const {
    return problem_.dimensions[a].bound > 1 && problem_.dimensions[b].bound > 1;
  }

  const LoopProblem& problem_;
  const Hierarchy& hierarchy_;
};

void Stationary(std::string_view role, const Loops& loops, Demands& demands) {
  loops.Hold(role, demands);
  loops.Spread(
      loops.Home(role) + 1, [&](size_t d) { return loops.In(role, d); }, demands);
}

// A row of the kernel stays in a processing element, whose outputs move along the row; rows of the
// kernel and of the outputs, and channels, are parallel.
void RowStationary(const Loops& loops, Demands& demands) {
  const size_t home = loops.Home("Weights");
  const std::optional<int> s = FindDimension(loops.problem(), "S");
  const std::optional<int> q = FindDimension(loops.problem(), "Q");
  loops.Spread(
      0,
      [&](size_t d) {
        const std::string name = loops.Name(d);
        return name != "S" && name != "Q" && name != "N" && name != "X";
      },
      demands);
  for (size_t i = home + 1; i < loops.hierarchy().levels.size() && s; ++i) {
    demands.push_back(Only(loops.Factor(static_cast<size_t>(*s), i), "1"));
  }
  if (!q || home + 1 >= loops.hierarchy().levels.size()) return;
  demands.push_back({.decision = "order_" + loops.hierarchy().levels[home + 1].name,
                     .rule = kInnermost,
                     .values = {"Q"}});
}

void Nvdla(const Loops& loops, Demands& demands) {
  loops.Hold("Weights", demands);
  loops.Spread(
      0, [&](size_t d) { return loops.Contracted(d) || loops.OutputChannel(d); }, demands);
}

void Tpu(const Loops& loops, Demands& demands) {
  Nvdla(loops, demands);
  const Hierarchy& hierarchy = loops.hierarchy();
  for (size_t i = 0; i < hierarchy.levels.size(); ++i) {
    if (FanoutX(hierarchy, i) == 1 || FanoutY(hierarchy, i) == 1) continue;
    for (size_t d = 0; d < loops.dims(); ++d) {
      const std::string axis = loops.Factor(d, i) + "_axis";
      if (loops.OutputChannel(d)) demands.push_back(Only(axis, "X"));
      if (loops.Contracted(d)) demands.push_back(Only(axis, "Y"));
    }
  }
}

void ShiDianNao(const Loops& loops, Demands& demands) {
  loops.Hold("Outputs", demands);
  loops.Spread(
      0, [&](size_t d) { return loops.Position(d); }, demands);
}

// --- MAESTRO's two levels
// -----------------------------------------------------------------------

class Array {
 public:
  explicit Array(std::span<const Decision> decisions) : decisions_(decisions) {}

  bool HasItem(std::string_view item) const {
    const auto order = std::find_if(decisions_.begin(), decisions_.end(),
                                    [](const Decision& d) { return d.name() == "order_l2"; });
    if (order == decisions_.end()) return false;
    const auto labels = order->labels();
    return std::find(labels.begin(), labels.end(), item) != labels.end();
  }

  // Dimensions of `own` are outside all others and are the parallel ones.
  void Hold(std::string_view own, Demands& demands) const {
    std::string others = HasItem("C") ? "KCRSYXNG" : "MNK";
    std::erase_if(others, [&](char c) { return own.find(c) != std::string_view::npos; });
    for (const std::string_view level : {"_l2", "_l1"}) {
      for (const char a : own) {
        for (const char b : others) {
          if (!HasItem({&a, 1}) || !HasItem({&b, 1})) continue;
          demands.push_back({.decision = fmt::format("order{}", level),
                             .rule = kOrder,
                             .values = {std::string(1, a), std::string(1, b)}});
        }
      }
      Spread(level, own, demands);
    }
  }

  // The parallel dimension of a level is one of these, as far as the layer has them.
  void Spread(std::string_view level, std::string_view dims, Demands& demands) const {
    const std::string name = fmt::format("parallel{}", level);
    const auto found = std::find_if(decisions_.begin(), decisions_.end(),
                                    [&](const Decision& d) { return d.name() == name; });
    Demand demand{.decision = name};
    for (const char dim : dims) {
      if (found != decisions_.end() && found->Parse(std::string(1, dim))) {
        demand.values.emplace_back(1, dim);
      }
    }
    if (!demand.values.empty()) demands.push_back(std::move(demand));
  }

 private:
  const std::span<const Decision> decisions_;
};

// --- The list
// -----------------------------------------------------------------------------------

struct Recipe {
  DataflowRecipe info;
  void (*loops)(const Loops&, Demands&);
  void (*array)(const Array&, Demands&);  // null: not for MAESTRO
};

constexpr std::array<Recipe, 7> kRecipes = {{
    {{"weight-stationary", "weights stay in the innermost level that may hold them"},
     [](const Loops& loops, Demands& demands) { Stationary("Weights", loops, demands); },
     [](const Array& array, Demands& demands) {
       array.Hold(array.HasItem("C") ? "KCRSG" : "KN", demands);
     }},
    {{"output-stationary", "partial sums stay in the innermost level that may hold them"},
     [](const Loops& loops, Demands& demands) { Stationary("Outputs", loops, demands); },
     [](const Array& array, Demands& demands) {
       array.Hold(array.HasItem("C") ? "NKYXG" : "MN", demands);
     }},
    {{"input-stationary", "inputs stay in the innermost level that may hold them"},
     [](const Loops& loops, Demands& demands) { Stationary("Inputs", loops, demands); },
     [](const Array& array, Demands& demands) {
       array.Hold(array.HasItem("C") ? "NCYXG" : "MK", demands);
     }},
    {{"row-stationary", "a row of the kernel per PE, rows and channels parallel (Eyeriss)"},
     RowStationary,
     nullptr},
    {{"nvdla", "weight-stationary, input and output channels parallel"},
     Nvdla,
     [](const Array& array, Demands& demands) {
       array.Spread("_l2", array.HasItem("C") ? "KC" : "N", demands);
       array.Spread("_l1", array.HasItem("C") ? "C" : "K", demands);
     }},
    {{"tpu", "nvdla with output channels on X and input channels on Y"}, Tpu, nullptr},
    {{"shidiannao", "output-stationary, output positions parallel"},
     ShiDianNao,
     [](const Array& array, Demands& demands) {
       array.Spread("_l2", array.HasItem("C") ? "Y" : "M", demands);
       array.Spread("_l1", array.HasItem("C") ? "X" : "M", demands);
     }},
}};

constexpr auto kInfos = [] {
  std::array<DataflowRecipe, kRecipes.size()> infos{};
  for (size_t i = 0; i < kRecipes.size(); ++i) infos[i] = kRecipes[i].info;
  return infos;
}();

Result<const Recipe*> FindRecipe(std::string_view name) {
  for (const Recipe& recipe : kRecipes) {
    if (recipe.info.name == name) return &recipe;
  }
  std::vector<std::string_view> names;
  for (const DataflowRecipe& info : kInfos) names.push_back(info.name);
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown dataflow {}", Quoted(name)),
               .hint = DidYouMean(name, names)};
}

}  // namespace

std::span<const DataflowRecipe> DataflowRecipes() { return kInfos; }

std::vector<std::string> DataflowNames() {
  std::vector<std::string> names;
  for (const DataflowRecipe& recipe : DataflowRecipes()) names.emplace_back(recipe.name);
  return names;
}

Result<std::vector<Constraints::Demand>> LoopDataflow(std::string_view name,
                                                      const LoopProblem& problem,
                                                      const Hierarchy& hierarchy) {
  const Result<const Recipe*> recipe = FindRecipe(name);
  if (!recipe) return recipe.error();
  Demands demands;
  (*recipe)->loops(Loops(problem, hierarchy), demands);
  return demands;
}

Result<std::vector<Constraints::Demand>> ArrayDataflow(std::string_view name,
                                                       std::span<const Decision> decisions) {
  const Result<const Recipe*> recipe = FindRecipe(name);
  if (!recipe) return recipe.error();
  if ((*recipe)->array == nullptr) {
    return Error{
        .kind = ErrorKind::kUnsupported,
        .message = fmt::format("dataflow {} has no form for a PE array of two levels", name),
        .hint = "a machine with a hierarchy (model loopnest) has one"};
  }
  Demands demands;
  (*recipe)->array(Array(decisions), demands);
  return demands;
}

}  // namespace tessera
