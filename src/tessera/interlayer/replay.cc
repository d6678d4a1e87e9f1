// Walks a plan.
#include "tessera/interlayer/replay.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tessera/cost/loopnest/evaluation.h"
#include "tessera/cost/loopnest/interpreter.h"

namespace tessera::interlayer {
namespace {

// What a node costs.
struct Price {
  int64_t cycles = 0;
  double energy_pj = 0;
};

class Walker {
 public:
  Walker(const Network& network, const Hierarchy& hierarchy, const InterLayerPlan& plan,
         int64_t walked_macs)
      : network_(network),
        graph_(network.graph),
        hierarchy_(hierarchy),
        plan_(plan),
        walked_macs_(walked_macs),
        links_(Links(network.graph)) {}

  Replayed Run() {
    if (const std::string wrong = Prepare(); !wrong.empty()) return {.error = wrong};
    size_t next = 0;
    for (const PlanStage& stage : plan_.stages) {
      std::string wrong;
      if (next + stage.nodes.size() > order_.size()) {
        wrong = "has more nodes than the graph";
      } else {
        for (size_t k = 0; k < stage.nodes.size() && wrong.empty(); ++k) {
          if (NodeAt(next + k).name != stage.nodes[k]) wrong = "is not in the order of the graph";
        }
      }
      if (wrong.empty()) wrong = stage.level.empty() ? Single(next, stage) : Group(next, stage);
      if (!wrong.empty()) {
        out_.error =
            fmt::format("stage of '{}': {}", stage.nodes.empty() ? "" : stage.nodes.front(), wrong);
        return out_;
      }
      next += stage.nodes.size();
    }
    if (next != order_.size()) out_.error = "the plan leaves nodes out";
    return out_;
  }

 private:
  // ---- The graph, in the plainest terms ----

  const GraphNode& NodeAt(size_t place) const {
    return graph_.nodes[static_cast<size_t>(order_[place])];
  }
  int RootOf(int32_t tensor) const { return links_.root[static_cast<size_t>(tensor)]; }
  int64_t WordsOf(int root) const { return Words(graph_.tensors[static_cast<size_t>(root)]); }
  int Outermost() const { return static_cast<int>(hierarchy_.levels.size()) - 1; }

  int LevelByName(const std::string& name) const {
    for (size_t i = 0; i < hierarchy_.levels.size(); ++i) {
      if (hierarchy_.levels[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }

  bool MayHold(int level, std::string_view what) const {
    if (hierarchy_.keeps.empty()) return true;
    const std::vector<std::string>& names = hierarchy_.keeps[static_cast<size_t>(level)];
    return std::ranges::find(names, what) != names.end();
  }
  bool CanBeHome(int level) const {
    return level >= 0 && level < Outermost() &&
           hierarchy_.levels[static_cast<size_t>(level)].instances() == 1 &&
           MayHold(level, "Inputs") && MayHold(level, "Outputs");
  }

  // Executed nodes, lifetimes and homes.
  std::string Prepare() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!graph_.nodes[n].view) order_.push_back(static_cast<int>(n));
    }
    std::set<int> stays_outside;
    for (size_t t = 0; t < graph_.tensors.size(); ++t) {
      if (graph_.tensors[t].kind != TensorKind::kActivation) {
        stays_outside.insert(RootOf(static_cast<int32_t>(t)));
      }
    }
    for (size_t place = 0; place < order_.size(); ++place) {
      for (const int32_t output : NodeAt(place).outputs) {
        first_[RootOf(output)] = last_[RootOf(output)] = place;
      }
      for (const int32_t input : NodeAt(place).inputs) last_[RootOf(input)] = place;
    }
    for (const auto& [name, level] : plan_.homes) {
      const auto known = std::ranges::find(graph_.tensors, name, &GraphTensor::name);
      if (known == graph_.tensors.end()) return fmt::format("no tensor '{}'", name);
      const int root = RootOf(static_cast<int32_t>(known - graph_.tensors.begin()));
      if (!CanBeHome(LevelByName(level))) return fmt::format("'{}' can be no home", level);
      if (stays_outside.contains(root) || !first_.contains(root)) {
        return fmt::format("tensor '{}' has its home outside", name);
      }
      home_[root] = LevelByName(level);
    }
    return "";
  }

  int HomeOf(int root) const {
    const auto known = home_.find(root);
    return known == home_.end() ? Outermost() : known->second;
  }

  // A concatenation with one home for all is another name of its inputs.
  bool IsView(const GraphNode& node) const {
    if (node.type != "concat") return false;
    const int home = HomeOf(RootOf(node.outputs[0]));
    return std::ranges::all_of(node.inputs,
                               [&](int32_t input) { return HomeOf(RootOf(input)) == home; });
  }

  // Words that tensors take up at a level while nodes [from, to] run; `except` are inside a group.
  int64_t Occupied(int level, size_t from, size_t to, const std::set<int>& except) const {
    std::set<int> living;
    for (const auto& [root, home] : home_) {
      if (home != level || except.contains(root)) continue;
      if (first_.at(root) <= to && last_.at(root) >= from) living.insert(root);
    }
    int64_t words = 0;
    for (const int root : living) {
      bool inside = false;  // of a concatenation that lives, too
      for (size_t place = 0; place <= to && !inside; ++place) {
        const GraphNode& node = NodeAt(place);
        if (!IsView(node) || !living.contains(RootOf(node.outputs[0]))) continue;
        for (const int32_t input : node.inputs) inside = inside || RootOf(input) == root;
      }
      if (!inside) words += WordsOf(root);
    }
    return words;
  }

  // ---- Costs ----

  void Add(const Price& price) {
    out_.cycles += static_cast<double>(price.cycles);
    out_.energy_pj += price.energy_pj;
  }

  // One run of a mapping with tensors at their homes and so many words taken at each level.
  std::string RunPart(const PlanPart& part, const std::vector<int>& homes,
                      const std::vector<int64_t>& taken) {
    const Result<LoopProblem> made = MakeLoopProblem(network_.layers[part.layer].layer);
    if (!made) return made.error().message;
    LoopProblem problem = *made;
    if (part.rows > 0) {
      const std::optional<int> rows = FindDimension(problem, "P");
      if (!rows) return "a layer without rows has some";
      problem.dimensions[static_cast<size_t>(*rows)].bound = part.rows;
    }
    Hierarchy left = hierarchy_;
    for (size_t i = 0; i < left.levels.size(); ++i) {
      if (taken[i] == 0 || !left.levels[i].entries) continue;
      if (taken[i] > *left.levels[i].entries) {
        return fmt::format("{}: {} words of tensors > {}", left.levels[i].name, taken[i],
                           *left.levels[i].entries);
      }
      left.levels[i].entries = *left.levels[i].entries - taken[i];
    }
    if (Macs(problem) <= walked_macs_) {
      const Interpreted walked = Interpret(problem, left, part.mapping, homes);
      if (!walked.error.empty()) return walked.error;
      if (!walked.rejection.empty()) return walked.rejection;
      Add({walked.cycles, walked.energy});
      ++out_.walked;
      return "";
    }
    Result<loopnest::Setup> setup = loopnest::Prepare(problem, left, loopnest::Semantics::kExact);
    if (!setup) return setup.error().message;
    for (size_t v = 0; v < homes.size(); ++v) setup->machine.homes[v] = homes[v];
    loopnest::Workspace workspace;
    loopnest::Evaluate(*setup, part.mapping, workspace);
    if (workspace.nest_error.kind != loopnest::NestError::Kind::kNone) return "no loop nest";
    if (workspace.exact.status != loopnest::ExactResult::Status::kOk) {
      return loopnest::DescribeRejection(workspace.exact);
    }
    Add({workspace.exact.cycles, workspace.exact.energy});
    ++out_.priced;
    return "";
  }

  // Words of whole tensors (or rows of them) that move once, counted level by level.
  void MoveWords(const std::vector<std::pair<int, int64_t>>& reads,
                 const std::vector<std::pair<int, int64_t>>& writes, bool fills, double energy_pj,
                 int64_t least_cycles) {
    Price price{.cycles = least_cycles, .energy_pj = energy_pj};
    for (int level = 0; level <= Outermost(); ++level) {
      const MemoryLevel& memory = hierarchy_.levels[static_cast<size_t>(level)];
      int64_t read = 0, written = 0;
      const auto access = [&](int64_t words, const Decimal& pj) {
        int64_t vectors = 0;
        for (int64_t word = 0; word < words; word += memory.block_words) ++vectors;
        price.energy_pj += static_cast<double>(vectors) * pj.ToDouble() +
                           static_cast<double>(words) * memory.address_pj.ToDouble();
      };
      for (const auto& [at, words] : reads) {
        if (at != level) continue;
        read += words;
        access(words, memory.read_pj);
      }
      for (const auto& [at, words] : writes) {
        if (at != level) continue;
        written += words;
        access(words, fills ? memory.fill_pj : memory.update_pj);
      }
      const auto wait = [&](int64_t words, const std::optional<Decimal>& rate) {
        if (rate) price.cycles = std::max(price.cycles, rate->CeilQuotient(words));
      };
      wait(read, memory.read_words_per_cycle);
      wait(written, memory.write_words_per_cycle);
      wait(read + written, memory.shared_words_per_cycle);
    }
    Add(price);
  }

  void RunVector(const std::vector<std::pair<int, int64_t>>& reads,
                 const std::vector<std::pair<int, int64_t>>& writes, int64_t elements) {
    const Arithmetic& macs = hierarchy_.arithmetic;
    const int64_t lanes = macs.vector_lanes.value_or(macs.instances());
    MoveWords(reads, writes, /*fills=*/false,
              static_cast<double>(elements) * macs.vector_op_pj.value_or(macs.mac_pj).ToDouble(),
              (elements + lanes - 1) / lanes);
  }

  // ---- Stages ----

  // Homes of a node's loop tensors. `inside`: level of a group for input and output that do not
  // leave it, and for pinned weights; -1 where they do.
  std::vector<int> LoopHomes(const GraphNode& node, const LoopProblem& problem, int input,
                             int weight, int output) const {
    std::vector<int> homes(static_cast<size_t>(problem.num_tensors), Outermost());
    for (int v = 0; v < problem.num_tensors; ++v) {
      int& home = homes[static_cast<size_t>(v)];
      switch (problem.tensors[static_cast<size_t>(v)].role) {
        case TensorRole::kInput: home = input >= 0 ? input : HomeOf(RootOf(node.inputs[0])); break;
        case TensorRole::kOutput:
          home = output >= 0 ? output : HomeOf(RootOf(node.outputs[0]));
          break;
        case TensorRole::kWeight:
          if (node.inputs.size() > 1) home = HomeOf(RootOf(node.inputs[1]));
          if (weight >= 0) home = weight;
          break;
        case TensorRole::kOther: break;
      }
    }
    return homes;
  }

  std::string Single(size_t place, const PlanStage& stage) {
    const GraphNode& node = NodeAt(place);
    std::vector<int64_t> taken(hierarchy_.levels.size(), 0);
    for (size_t i = 0; i < taken.size(); ++i) {
      taken[i] = Occupied(static_cast<int>(i), place, place, {});
      const std::optional<int64_t>& entries = hierarchy_.levels[i].entries;
      if (entries && taken[i] > *entries) {
        return fmt::format("{}: {} words of tensors > {}", hierarchy_.levels[i].name, taken[i],
                           *entries);
      }
    }
    if (node.macs()) {
      if (stage.parts.size() != 1 || stage.parts[0].times != 1) return "needs one mapping";
      const PlanPart& part = stage.parts[0];
      if (static_cast<int32_t>(part.layer) != node.layer) return "has another layer's mapping";
      const Layer& layer = network_.layers[part.layer].layer;
      if (part.rows != 0 && part.rows != OutputSize(layer).y) return "computes not all rows";
      const Result<LoopProblem> problem = MakeLoopProblem(layer);
      if (!problem) return problem.error().message;
      return RunPart(part, LoopHomes(node, *problem, -1, -1, -1), taken);
    }
    if (IsView(node)) return "";
    std::vector<std::pair<int, int64_t>> reads, writes;
    for (const int32_t input : node.inputs) {
      reads.emplace_back(HomeOf(RootOf(input)), WordsOf(RootOf(input)));
    }
    for (const int32_t output : node.outputs) {
      writes.emplace_back(HomeOf(RootOf(output)), WordsOf(RootOf(output)));
    }
    RunVector(reads, writes, VectorElements(graph_, node));
    return "";
  }

  // How a node of a group moves over rows.
  struct Rows {
    int64_t stride = 1, kernel = 1, dilation = 1, top = 0;
    int64_t in = 1, out = 1, in_words = 0, out_words = 0, elements = 0;
  };
  Rows RowsOf(const GraphNode& node) const {
    if (node.macs()) {
      const Layer& layer = network_.layers[static_cast<size_t>(node.layer)].layer;
      const Pair out = OutputSize(layer);
      return {layer.stride.y,
              layer.r,
              layer.dilation.y,
              layer.pad.top,
              layer.y,
              out.y,
              layer.n * layer.c * layer.x,
              layer.n * layer.k * out.x};
    }
    const std::vector<int64_t>& in = graph_.tensors[static_cast<size_t>(node.inputs[0])].shape;
    std::vector<int64_t> out = graph_.tensors[static_cast<size_t>(node.outputs[0])].shape;
    out.resize(4, 1);
    return {node.stride.y,
            node.kernel.y,
            node.dilation.y,
            node.pad.top,
            in[2],
            out[2],
            in[0] * in[1] * in[3],
            out[0] * out[1] * out[3],
            VectorElements(graph_, node) / out[2]};
  }

  std::string Group(size_t place, const PlanStage& stage) {
    const int level = LevelByName(stage.level);
    const size_t count = stage.nodes.size();
    if (!CanBeHome(level)) return fmt::format("'{}' can be no home", stage.level);
    std::set<int> between;
    std::vector<Rows> rows;
    for (size_t k = 0; k < count; ++k) {
      const GraphNode& node = NodeAt(place + k);
      const bool pool = node.type == "maxpool" || node.type == "avgpool";
      if (node.type != "conv" && node.type != "dwconv" && !pool) return "cannot be sliced";
      rows.push_back(RowsOf(node));
      if (k + 1 == count) continue;
      const int root = RootOf(node.outputs[0]);
      if (last_.at(root) != place + k + 1 || RootOf(NodeAt(place + k + 1).inputs[0]) != root) {
        return "is no chain";
      }
      for (size_t other = 0; other < order_.size(); ++other) {
        if (other == place + k + 1) continue;
        for (const int32_t input : NodeAt(other).inputs) {
          if (RootOf(input) == root) return "has a consumer outside";
        }
      }
      between.insert(root);
    }
    const int64_t slices = stage.slices;
    if (slices < 1 || slices > rows.back().out) return "has too many slices, or none";
    const std::set<std::string> pinned(stage.pinned.begin(), stage.pinned.end());
    if (!pinned.empty() && !MayHold(level, "Weights")) return "pins weights where none may be";

    // Rows of every node after every slice, from the last node back.
    std::vector<std::vector<int64_t>> done(count, std::vector<int64_t>{0});
    for (int64_t t = 1; t <= slices; ++t) {
      std::vector<int64_t> now(count);
      now[count - 1] = (t * rows.back().out + slices - 1) / slices;
      for (size_t k = count - 1; k-- > 0;) {
        const Rows& next = rows[k + 1];
        const int64_t needs =
            (now[k + 1] - 1) * next.stride + next.dilation * (next.kernel - 1) + 1 - next.top;
        now[k] = t == slices ? rows[k].out : std::min(rows[k].out, std::max(done[k].back(), needs));
      }
      for (size_t k = 0; k < count; ++k) done[k].push_back(now[k]);
    }
    std::vector<int64_t> taken(hierarchy_.levels.size(), 0);
    for (size_t i = 0; i < taken.size(); ++i) {
      taken[i] = Occupied(static_cast<int>(i), place, place + count - 1, between);
    }
    // The most rows that have been computed, or are being, and are still needed.
    for (size_t k = 0; k + 1 < count; ++k) {
      int64_t most = 0;
      for (size_t t = 1; t < done[k].size(); ++t) {
        const int64_t used =
            std::max<int64_t>(0, done[k + 1][t - 1] * rows[k + 1].stride - rows[k + 1].top);
        most = std::max(most, done[k][t] - std::min(done[k][t - 1], used));
      }
      taken[static_cast<size_t>(level)] += most * rows[k].out_words;
    }
    for (size_t k = 0; k < count; ++k) {
      if (!pinned.contains(stage.nodes[k])) continue;
      if (!NodeAt(place + k).macs()) return "pins the weights of a node that has none";
      const int64_t words =
          WeightElements(network_.layers[static_cast<size_t>(NodeAt(place + k).layer)].layer);
      taken[static_cast<size_t>(level)] += words;
      std::vector<std::pair<int, int64_t>> reads;
      for (int i = level + 1; i <= Outermost(); ++i) reads.emplace_back(i, words);
      MoveWords(reads, {{level, words}}, /*fills=*/true, 0, 0);
    }
    for (size_t i = 0; i < taken.size(); ++i) {
      const std::optional<int64_t>& entries = hierarchy_.levels[i].entries;
      if (entries && taken[i] > *entries) {
        return fmt::format("{}: {} words of tensors > {}", hierarchy_.levels[i].name, taken[i],
                           *entries);
      }
    }
    for (size_t t = 1; t < done[0].size(); ++t) {
      for (size_t k = 0; k < count; ++k) {
        const int64_t from = done[k][t - 1], to = done[k][t];
        if (from == to) continue;
        const GraphNode& node = NodeAt(place + k);
        const int input = k > 0 ? level : -1, output = k + 1 < count ? level : -1;
        if (!node.macs()) {
          const Rows& w = rows[k];
          const int64_t first = std::max<int64_t>(0, from * w.stride - w.top);
          const int64_t end =
              std::min(w.in, (to - 1) * w.stride - w.top + w.dilation * (w.kernel - 1) + 1);
          const int64_t read = slices == 1 ? w.in : std::max<int64_t>(0, end - first);
          RunVector(
              {{input >= 0 ? input : HomeOf(RootOf(node.inputs[0])), read * w.in_words}},
              {{output >= 0 ? output : HomeOf(RootOf(node.outputs[0])), (to - from) * w.out_words}},
              (to - from) * w.elements);
          continue;
        }
        const auto part = std::ranges::find_if(stage.parts, [&](const PlanPart& p) {
          return p.node == node.name && p.rows == to - from;
        });
        if (part == stage.parts.end()) return fmt::format("has no mapping of {} rows", to - from);
        const Result<LoopProblem> problem =
            MakeLoopProblem(network_.layers[static_cast<size_t>(node.layer)].layer);
        if (!problem) return problem.error().message;
        const int weight = pinned.contains(node.name) ? level : -1;
        std::string wrong = RunPart(*part, LoopHomes(node, *problem, input, weight, output), taken);
        if (!wrong.empty()) return wrong;
      }
    }
    return "";
  }

  const Network& network_;
  const Graph& graph_;
  const Hierarchy& hierarchy_;
  const InterLayerPlan& plan_;
  const int64_t walked_macs_;
  const GraphLinks links_;
  std::vector<int> order_;              // executed nodes
  std::map<int, size_t> first_, last_;  // places at which a tensor lives, by root
  std::map<int, int> home_;             // levels on chip, by root
  Replayed out_;
};

}  // namespace

Replayed Replay(const Network& network, const Hierarchy& hierarchy, const InterLayerPlan& plan,
                int64_t walked_macs) {
  return Walker(network, hierarchy, plan, walked_macs).Run();
}

}  // namespace tessera::interlayer
