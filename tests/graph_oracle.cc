// Plain recursion over nodes; fronts of cycles and energy are added up point by point.
#include "graph_oracle.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "exact_oracle.h"
#include "tessera/cost.h"
#include "tessera/search/exact/count.h"

namespace tessera {
namespace {

using Points = std::vector<std::pair<double, double>>;  // cycles, energy

Points Pareto(Points points) {
  std::ranges::sort(points);
  Points kept;
  for (const auto& point : points) {
    if (kept.empty() || point.second < kept.back().second) kept.push_back(point);
  }
  return kept;
}

Points Sum(const Points& a, const Points& b, double times) {
  Points sum;
  for (const auto& [ca, ea] : a) {
    for (const auto& [cb, eb] : b) sum.emplace_back(ca + times * cb, ea + times * eb);
  }
  return Pareto(std::move(sum));
}

class Search {
 public:
  Search(const Network& network, const Hierarchy& machine, const GraphOracleOptions& options)
      : network_(network),
        graph_(network.graph),
        machine_(machine),
        options_(options),
        links_(Links(network.graph)) {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!graph_.nodes[n].view) order_.push_back(n);
    }
    for (size_t t = 0; t < graph_.tensors.size(); ++t) {
      if (graph_.tensors[t].kind != TensorKind::kActivation) outside_.insert(links_.root[t]);
    }
    for (size_t i = 0; i < order_.size(); ++i) {
      for (const int32_t t : At(i).outputs) first_[Root(t)] = last_[Root(t)] = i;
      for (const int32_t t : At(i).inputs) last_[Root(t)] = i;
    }
    for (size_t i = 0; i + 1 < machine.levels.size(); ++i) {
      if (machine.levels[i].instances() == 1 && Holds(i, "Inputs") && Holds(i, "Outputs")) {
        levels_.push_back(static_cast<int>(i));
      }
    }
  }

  GraphOptima Run() {
    From(0, {{0, 0}});
    GraphOptima best;
    best.plans = plans_;
    best.found = !ends_.empty();
    best.cycles = best.energy_pj = best.edp = std::numeric_limits<double>::infinity();
    for (const auto& [cycles, energy] : ends_) {
      best.cycles = std::min(best.cycles, cycles);
      best.energy_pj = std::min(best.energy_pj, energy);
      best.edp = std::min(best.edp, cycles * energy);
    }
    return best;
  }

 private:
  const GraphNode& At(size_t i) const { return graph_.nodes[order_[i]]; }
  int Root(int32_t tensor) const { return links_.root[static_cast<size_t>(tensor)]; }
  int Outermost() const { return static_cast<int>(machine_.levels.size()) - 1; }
  int64_t WordsOf(int root) const { return Words(graph_.tensors[static_cast<size_t>(root)]); }
  bool Holds(size_t level, std::string_view what) const {
    return machine_.keeps.empty() ||
           std::ranges::find(machine_.keeps[level], what) != machine_.keeps[level].end();
  }
  int Home(int root) const {
    const auto known = home_.find(root);
    return known == home_.end() ? Outermost() : known->second;
  }

  bool ViewConcat(const GraphNode& node) const {
    if (node.type != "concat") return false;
    for (const int32_t t : node.inputs) {
      if (Home(Root(t)) != Home(Root(node.inputs[0]))) return false;
    }
    const int home = Home(Root(node.inputs[0]));
    return home == Outermost() || !outside_.contains(Root(node.outputs[0]));
  }

  // Entries that residents leave at every level while nodes [a, b] run; empty: they do not fit.
  std::vector<int64_t> Left(size_t a, size_t b, const std::set<int>& except) const {
    std::vector<int64_t> left;
    for (const MemoryLevel& level : machine_.levels) {
      left.push_back(level.entries.value_or(int64_t{1} << 40));
    }
    for (const auto& [root, level] : home_) {
      if (level == Outermost() || except.contains(root)) continue;
      if (first_.at(root) > b || last_.at(root) < a) continue;
      bool part = false;  // of a living concatenation that is a view
      for (size_t i = 0; i <= b; ++i) {
        const int whole = Root(At(i).outputs[0]);
        if (At(i).type != "concat" || !ViewConcat(At(i)) || Home(whole) != level) continue;
        if (last_.at(whole) < a) continue;
        for (const int32_t t : At(i).inputs) part = part || Root(t) == root;
      }
      if (!part) left[static_cast<size_t>(level)] -= WordsOf(root);
    }
    for (const int64_t words : left) {
      if (words < 0) return {};
    }
    return left;
  }

  void From(size_t i, const Points& so_far) {
    if (so_far.empty()) return;
    if (i == order_.size()) {
      ++plans_;
      ends_.insert(ends_.end(), so_far.begin(), so_far.end());
      ends_ = Pareto(std::move(ends_));
      return;
    }
    Alone(i, so_far);
    if (!options_.slices) return;
    std::set<int> between;
    for (size_t j = i; j < order_.size(); ++j) {
      const GraphNode& node = At(j);
      const bool pool = node.type == "maxpool" || node.type == "avgpool";
      if (node.type != "conv" && node.type != "dwconv" && !pool) return;
      if (j > i) {
        const int root = Root(At(j - 1).outputs[0]);
        int uses = 0;
        for (size_t k = 0; k < order_.size(); ++k) {
          for (const int32_t t : At(k).inputs) uses += Root(t) == root ? 1 : 0;
        }
        if (uses != 1 || Root(node.inputs[0]) != root || outside_.contains(root)) return;
        between.insert(root);
      }
      for (const int level : levels_) Groups(i, j, level, between, so_far);
    }
  }

  // Every home of what a node writes.
  template <typename Use>
  void Homes(const GraphNode& node, size_t k, const Use& use) {
    if (k == node.outputs.size()) return use();
    const int root = Root(node.outputs[k]);
    home_[root] = Outermost();
    if (ViewConcat(node)) {
      home_[root] = Home(Root(node.inputs[0]));
      use();
    } else {
      Homes(node, k + 1, use);
      for (const int level : levels_) {
        if (outside_.contains(root) || !options_.homes) break;
        home_[root] = level;
        Homes(node, k + 1, use);
      }
    }
    home_.erase(root);
  }

  void Alone(size_t i, const Points& so_far) {
    const GraphNode& node = At(i);
    Homes(node, 0, [&] {
      const std::vector<int64_t> left = Left(i, i, {});
      if (left.empty()) return;
      if (node.macs()) {
        From(i + 1, Sum(so_far, Costs(node, 0, Outermost() + 1, Outermost() + 1, false, left), 1));
      } else if (ViewConcat(node)) {
        From(i + 1, so_far);
      } else {
        std::vector<std::tuple<int, int64_t, bool>> moved;
        for (const int32_t t : node.inputs)
          moved.emplace_back(Home(Root(t)), WordsOf(Root(t)), false);
        for (const int32_t t : node.outputs)
          moved.emplace_back(Home(Root(t)), WordsOf(Root(t)), true);
        From(i + 1, Sum(so_far, {Vector(moved, VectorElements(graph_, node))}, 1));
      }
    });
  }

  std::pair<double, double> Vector(const std::vector<std::tuple<int, int64_t, bool>>& moved,
                                   int64_t elements) const {
    const Arithmetic& macs = machine_.arithmetic;
    const int64_t lanes = macs.vector_lanes.value_or(macs.instances());
    int64_t cycles = (elements + lanes - 1) / lanes;
    double energy =
        static_cast<double>(elements) * macs.vector_op_pj.value_or(macs.mac_pj).ToDouble();
    for (int i = 0; i <= Outermost(); ++i) {
      const MemoryLevel& level = machine_.levels[static_cast<size_t>(i)];
      int64_t reads = 0, writes = 0;
      for (const auto& [at, words, written] : moved) {
        if (at != i) continue;
        (written ? writes : reads) += words;
        const int64_t vectors = (words + level.block_words - 1) / level.block_words;
        energy +=
            static_cast<double>(vectors) * (written ? level.update_pj : level.read_pj).ToDouble() +
            static_cast<double>(words) * level.address_pj.ToDouble();
      }
      cycles = std::max({cycles, Wait(reads, level.read_words_per_cycle),
                         Wait(writes, level.write_words_per_cycle),
                         Wait(reads + writes, level.shared_words_per_cycle)});
    }
    return {static_cast<double>(cycles), energy};
  }
  static int64_t Wait(int64_t words, const std::optional<Decimal>& rate) {
    return rate ? rate->CeilQuotient(words) : 0;
  }

  struct RowFacts {
    int64_t s, r, d, a, in, out, in_words, out_words, ops;
  };
  RowFacts Facts(const GraphNode& node) const {
    if (node.macs()) {
      const Layer& l = network_.layers[static_cast<size_t>(node.layer)].layer;
      return {l.stride.y,
              l.r,
              l.dilation.y,
              l.pad.top,
              l.y,
              OutputSize(l).y,
              l.n * l.c * l.x,
              l.n * l.k * OutputSize(l).x,
              0};
    }
    const auto& in = graph_.tensors[static_cast<size_t>(node.inputs[0])].shape;
    const auto& out = graph_.tensors[static_cast<size_t>(node.outputs[0])].shape;
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

  void Groups(size_t i, size_t j, int level, const std::set<int>& between, const Points& so_far) {
    const size_t count = j - i + 1;
    std::vector<RowFacts> f;
    for (size_t k = i; k <= j; ++k) f.push_back(Facts(At(k)));
    Homes(At(j), 0, [&] {
      for (int64_t slices = 1; slices <= f.back().out; ++slices) {
        // O[k][t] of the specification.
        std::vector<std::vector<int64_t>> o(count,
                                            std::vector<int64_t>(static_cast<size_t>(slices) + 1));
        for (size_t k = count; k-- > 0;) {
          for (int64_t t = 1; t <= slices; ++t) {
            const auto at = static_cast<size_t>(t);
            if (k + 1 == count) {
              o[k][at] = (t * f[k].out + slices - 1) / slices;
              continue;
            }
            const RowFacts& n = f[k + 1];
            o[k][at] = std::min(f[k].out, std::max(o[k][at - 1], (o[k + 1][at] - 1) * n.s +
                                                                     n.d * (n.r - 1) + 1 - n.a));
            if (t == slices) o[k][at] = f[k].out;
          }
        }
        int64_t buffers = 0;
        for (size_t k = 0; k + 1 < count; ++k) {
          int64_t b = 0;
          for (size_t t = 1; t < o[k].size(); ++t) {
            b = std::max(b, o[k][t] - std::min(o[k][t - 1],
                                               std::max<int64_t>(
                                                   0, o[k + 1][t - 1] * f[k + 1].s - f[k + 1].a)));
          }
          buffers += b * f[k].out_words;
        }
        for (uint64_t pins = 0; pins < uint64_t{1} << count; ++pins) {
          Group(i, j, level, between, slices, o, f, buffers, pins, so_far);
        }
      }
    });
  }

  void Group(size_t i, size_t j, int level, const std::set<int>& between, int64_t slices,
             const std::vector<std::vector<int64_t>>& o, const std::vector<RowFacts>& f,
             int64_t buffers, uint64_t pins, const Points& so_far) {
    std::vector<int64_t> left = Left(i, j, between);
    if (left.empty()) return;
    int64_t& room = left[static_cast<size_t>(level)];
    room -= buffers;
    Points sum = so_far;
    for (size_t k = i; k <= j; ++k) {
      if ((pins >> (k - i) & 1) == 0) continue;
      if (!At(k).macs() || !Holds(static_cast<size_t>(level), "Weights")) return;
      const int64_t words = WeightElements(network_.layers[static_cast<size_t>(At(k).layer)].layer);
      room -= words;
      sum = Sum(sum, {Pin(words, level)}, 1);
    }
    if (room < 0) return;
    for (size_t k = i; k <= j; ++k) {
      const GraphNode& node = At(k);
      const int in = k > i ? level : Outermost() + 1, out = k < j ? level : Outermost() + 1;
      std::map<int64_t, int64_t> times;
      for (size_t t = 1; t < o[k - i].size(); ++t) {
        const int64_t from = o[k - i][t - 1], to = o[k - i][t];
        if (to == from) continue;
        ++times[to - from];
        if (node.macs()) continue;
        const RowFacts& w = f[k - i];
        const int64_t begin = std::max<int64_t>(0, from * w.s - w.a);
        const int64_t end = std::min(w.in, (to - 1) * w.s - w.a + w.d * (w.r - 1) + 1);
        const int64_t read = slices == 1 ? w.in : std::max<int64_t>(0, end - begin);
        sum = Sum(sum,
                  {Vector({{in <= Outermost() ? in : Home(Root(node.inputs[0])), read * w.in_words,
                            false},
                           {out <= Outermost() ? out : Home(Root(node.outputs[0])),
                            (to - from) * w.out_words, true}},
                          (to - from) * w.ops)},
                  1);
      }
      if (!node.macs()) continue;
      for (const auto& [rows, count] : times) {
        sum = Sum(sum, Costs(node, rows, in, out, (pins >> (k - i) & 1) != 0, left, level),
                  static_cast<double>(count));
      }
    }
    From(j + 1, sum);
  }

  std::pair<double, double> Pin(int64_t words, int home) const {
    int64_t cycles = 0;
    double energy = 0;
    for (int i = home; i <= Outermost(); ++i) {
      const MemoryLevel& level = machine_.levels[static_cast<size_t>(i)];
      const int64_t vectors = (words + level.block_words - 1) / level.block_words;
      energy +=
          static_cast<double>(vectors) * (i == home ? level.fill_pj : level.read_pj).ToDouble() +
          static_cast<double>(words) * level.address_pj.ToDouble();
      cycles = std::max(
          {cycles,
           Wait(words, i == home ? level.write_words_per_cycle : level.read_words_per_cycle),
           Wait(words, level.shared_words_per_cycle)});
    }
    return {static_cast<double>(cycles), energy};
  }

  // Every mapping of a node. `in` and `out`: levels of a group, or beyond the outermost: the homes
  // of the tensors. `rows`: 0 for all.
  Points Costs(const GraphNode& node, int64_t rows, int in, int out, bool pinned,
               const std::vector<int64_t>& left, int level = 0) {
    const Layer& layer = network_.layers[static_cast<size_t>(node.layer)].layer;
    LoopProblem problem = *MakeLoopProblem(layer);
    if (rows > 0) {
      problem.dimensions[static_cast<size_t>(*FindDimension(problem, "P"))].bound = rows;
    }
    std::vector<int> homes;
    for (const LoopTensor& tensor : problem.tensor_view()) {
      int home = Outermost();
      if (tensor.role == TensorRole::kInput) {
        home = in <= Outermost() ? in : Home(Root(node.inputs[0]));
      } else if (tensor.role == TensorRole::kOutput) {
        home = out <= Outermost() ? out : Home(Root(node.outputs[0]));
      } else if (pinned) {
        home = level;
      } else if (node.inputs.size() > 1) {
        home = Home(Root(node.inputs[1]));
      }
      homes.push_back(home);
    }
    const auto key = std::tuple(node.layer, rows, homes, left);
    const auto known = costs_.find(key);
    if (known != costs_.end()) return known->second;
    Hierarchy machine = machine_;
    for (size_t i = 0; i + 1 < left.size(); ++i) {
      if (machine.levels[i].entries) machine.levels[i].entries = left[i];
    }
    const size_t count = machine.levels.size();
    const auto all = static_cast<uint8_t>((1u << problem.num_tensors) - 1);
    std::vector<uint8_t> most = KeepSets(problem, machine);
    if (most.empty()) most.assign(count, all);
    most.back() = all;
    std::vector<uint8_t> must(count, 0);
    for (size_t v = 0; v < homes.size(); ++v) {
      const auto home = static_cast<size_t>(homes[v]);
      for (size_t i = home + 1; i < count; ++i) most[i] &= static_cast<uint8_t>(~(1u << v));
      most[home] |= static_cast<uint8_t>(1u << v);
      must[home] |= static_cast<uint8_t>(1u << v);
    }
    Points points;
    std::vector<uint8_t> keep = most;
    // Every subset of what may be held, or all of it.
    const auto choose = [&](const auto& self, size_t i) -> void {
      if (i == count) {
        const OracleResult oracle =
            SearchEverything(problem, machine, loopnest::Semantics::kExact, keep, nullptr, homes);
        for (const auto& [cycles, energy] : oracle.least_energy)
          points.emplace_back(cycles, energy);
        return;
      }
      for (unsigned set = 0; set <= all; ++set) {
        const bool legal = options_.bypass
                               ? (set & ~unsigned{most[i]}) == 0 && (set & must[i]) == must[i]
                               : set == most[i];
        if (!legal) continue;
        keep[i] = static_cast<uint8_t>(set);
        self(self, i + 1);
      }
    };
    choose(choose, 0);
    return costs_[key] = Pareto(std::move(points));
  }

  const Network& network_;
  const Graph& graph_;
  const Hierarchy& machine_;
  const GraphOracleOptions options_;
  const GraphLinks links_;
  std::vector<size_t> order_;
  std::set<int> outside_;
  std::map<int, size_t> first_, last_;
  std::vector<int> levels_;
  std::map<int, int> home_;
  std::map<std::tuple<int32_t, int64_t, std::vector<int>, std::vector<int64_t>>, Points> costs_;
  Points ends_;
  int64_t plans_ = 0;
};

}  // namespace

GraphOptima SearchEveryPlan(const Network& network, const Hierarchy& machine,
                            const GraphOracleOptions& options) {
  return Search(network, machine, options).Run();
}

double MappingsOf(const Network& network, const Hierarchy& machine) {
  double most = 0;
  for (const NetworkLayer& entry : network.layers) {
    most = std::max(most, exact::CountMappings(*MakeLoopProblem(entry.layer), machine));
  }
  return most;
}

}  // namespace tessera
