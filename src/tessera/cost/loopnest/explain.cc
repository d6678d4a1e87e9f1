// Explanations: tiles, visits, transfers, cycles and energy, in the order in which they follow.
#include "tessera/cost/loopnest/explain.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/cost/loopnest/visits.h"

namespace tessera::loopnest {
namespace {

class Explainer {
 public:
  Explainer(const Setup& setup, const LoopMapping& mapping, const Workspace& workspace)
      : setup_(setup),
        problem_(setup.data.problem),
        machine_(setup.machine),
        mapping_(mapping),
        nest_(workspace.nest),
        exact_(workspace.exact),
        timeloop_(workspace.timeloop),
        is_exact_(setup.semantics == Semantics::kExact) {}

  std::string Text() {
    AddCompute();
    for (int v = 0; v < problem_.num_tensors; ++v) AddTensor(v);
    AddCycles();
    AddEnergy();
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  std::string_view Dim(int d) const {
    return problem_.dimensions[static_cast<size_t>(d)].name.view();
  }
  std::string_view Tensor(int v) const {
    return problem_.tensors[static_cast<size_t>(v)].name.view();
  }
  const std::string& Level(int i) const {
    return i < 0 ? machine_.mac_name : machine_.level_names[static_cast<size_t>(i)];
  }
  bool Keeps(int i, int v) const { return mapping_.levels[static_cast<size_t>(i)].Keeps(v); }
  bool ReadWrite(int v) const { return problem_.tensors[static_cast<size_t>(v)].read_write; }

  std::string Product(const Loop* loops, int count) const {
    std::vector<std::string> factors;
    for (int k = 0; k < count; ++k)
      factors.push_back(fmt::format("{}{}", Dim(loops[k].dim), loops[k].count));
    return factors.empty() ? "1" : fmt::format("{}", fmt::join(factors, "*"));
  }

  void AddCompute() {
    std::vector<std::string> bounds;
    for (const LoopDimension& dim : problem_.dims()) {
      if (dim.bound > 1) bounds.push_back(fmt::format("{}{}", dim.name.view(), dim.bound));
    }
    Add("MACs: {} = {}\n", bounds.empty() ? "1" : fmt::format("{}", fmt::join(bounds, "*")),
        Computes());
    Add("  in turn: {} steps of the temporal loops; at once: {} = {} of {} {}\n", ComputeCycles(),
        Product(nest_.spatial, nest_.first_spatial[nest_.num_levels]), nest_.used_macs,
        machine_.mac_instances, machine_.mac_name);
    if (!nest_.perfect) {
      Add("  factors do not divide every bound: last iterations are cut, and instances may be "
          "idle\n");
    }
  }
  int64_t Computes() const { return is_exact_ ? exact_.computes : timeloop_.computes; }
  int64_t ComputeCycles() const {
    return is_exact_ ? exact_.compute_cycles : timeloop_.compute_cycles;
  }

  // "C4 * (R3, P8: 10)": dimensions in the tile of level i, and how many elements a window has.
  std::string TileText(int i, int v) const {
    std::vector<std::string> ranks;
    const LoopTensor& tensor = problem_.tensors[static_cast<size_t>(v)];
    for (const TensorRank& rank : tensor.view()) {
      std::vector<std::string> terms;
      for (const RankTerm& term : rank.view()) {
        const int64_t extent =
            std::min(nest_.extent[i][term.dimension],
                     problem_.dimensions[static_cast<size_t>(term.dimension)].bound);
        terms.push_back(term.coefficient == 1 ? fmt::format("{}{}", Dim(term.dimension), extent)
                                              : fmt::format("{}{} by {}", Dim(term.dimension),
                                                            extent, term.coefficient));
      }
      ranks.push_back(terms.size() == 1
                          ? terms[0]
                          : fmt::format("({}: {})", fmt::join(terms, ", "), RankWords(rank, i)));
    }
    return fmt::format("{}", fmt::join(ranks, " * "));
  }

  // Elements that a window touches; for Timeloop those between its ends.
  int64_t RankWords(const TensorRank& rank, int i) const {
    int64_t extents[kMaxDims];
    for (int d = 0; d < nest_.num_dims; ++d) {
      extents[d] = std::min(nest_.extent[i][d], problem_.dimensions[static_cast<size_t>(d)].bound);
    }
    if (!is_exact_) return BoxExtent(rank, extents);
    const RankShape shape = MakeRankShape(rank);
    TouchedBox box;
    for (int k = 0; k < shape.num_terms; ++k) box.widths[k] = extents[shape.dims[k]];
    TouchedScratch scratch;
    return CountTouched(shape, box, scratch);
  }

  int64_t TileWords(int i, int v) const {
    return is_exact_ ? exact_.levels[i].tensors[v].capacity
                     : timeloop_.levels[i].tensors[v].utilized_capacity;
  }

  void AddTensor(int v) {
    int child = -1;
    for (int i = 0; i < nest_.num_levels; ++i) {
      if (!Keeps(i, v)) continue;
      Add("\n{}: {} {} {}\n", Tensor(v), Level(i), ReadWrite(v) ? "<-" : "->", Level(child));
      if (child < 0) {
        AddOperands(i, v);
      } else {
        AddVisits(child, v);
      }
      if (is_exact_) {
        AddExact(v, child, i);
      } else {
        AddTimeloop(v, child, i);
      }
      child = i;
    }
  }

  void AddOperands(int i, int v) {
    Add("  one element per operation: {} operations in {} steps\n", Computes(), ComputeCycles());
    Add("  tile of {}: {} = {} words\n", Level(i), TileText(i, v), TileWords(i, v));
  }

  void AddVisits(int child, int v) {
    Add("  tile of {}: {} = {} words\n", Level(child), TileText(child, v), TileWords(child, v));
    const int first = nest_.first_temporal[child + 1];
    Add("  visits of one {}: {}, loops from the inside\n", Level(child),
        Product(nest_.temporal + first, nest_.num_temporal() - first));
    const std::optional<std::vector<VisitClass>> classes = ClassifyVisits(setup_, nest_, v, child);
    if (!classes) {
      Add("    (too many different visits to list)\n");
      return;
    }
    int64_t sum = 0;
    for (const VisitClass& c : *classes) {
      const std::string what =
          c.loop < 0 ? "first visit"
                     : fmt::format("{} of {} advances", Dim(nest_.temporal[c.loop].dim),
                                   Level(nest_.temporal[c.loop].level));
      Add("    {:<28} {:>10} * {:>8} new = {}{}\n", what, c.times, c.new_words,
          c.times * c.new_words, c.forgotten ? " (another stride: overlap forgotten)" : "");
      sum += c.times * c.new_words;
    }
    Add("    {:<28} {:>27} {}\n", "one instance in all", "=", sum);
  }

  void AddExact(int v, int child, int i) {
    const ExactTensor& parent = exact_.levels[i].tensors[v];
    for (int k = i; k > std::max(child, 0) || (child < 0 && k == 0); --k) AddNetwork(k, v);
    if (!ReadWrite(v)) {
      if (child >= 0) {
        Add("  fills of all {} {}: {}\n", nest_.used[child], Level(child),
            exact_.levels[child].tensors[v].fills);
      }
      Add("  reads of {}: {}\n", Level(i), parent.reads);
      return;
    }
    Add("  updates of {}: {}\n", Level(i), parent.updates);
    Add("  reads of {}: {} updates - {} first ones of an element = {}\n", Level(i), parent.updates,
        parent.updates - parent.reads, parent.reads);
    if (child >= 0) {
      Add("  fills of {} (partial sums that come back): {}\n", Level(child),
          exact_.levels[child].tensors[v].fills);
    }
  }

  static std::string Children(int64_t count) {
    return count == 1 ? "1 child" : fmt::format("{} children", count);
  }

  void AddNetwork(int i, int v) {
    const ExactNetworkTensor& network = exact_.levels[i].network[v];
    std::vector<std::string> words;
    for (const ExactIngress& ingress : network.ingresses) {
      words.push_back(fmt::format("{} words for {}", ingress.words, Children(ingress.multicast)));
    }
    Add("  network {}: {}\n", machine_.network_names[static_cast<size_t>(i)],
        words.empty() ? "nothing" : fmt::format("{}", fmt::join(words, ", ")));
    if (network.link_transfers > 0) Add("    from neighbours: {} words\n", network.link_transfers);
    if (network.down_words > 0) Add("    down again: {} partial sums\n", network.down_words);
    if (network.spatial_reductions > 0) {
      Add("    added on the way: {} partial sums\n", network.spatial_reductions);
    }
  }

  void AddTimeloop(int v, int child, int i) {
    const TimeloopNetworkTensor& network = timeloop_.levels[i].network[v];
    for (int k = 0; k < network.num_ingresses; ++k) {
      const Ingress& ingress = timeloop_.ingresses[static_cast<size_t>(network.first_ingress + k)];
      Add("  network {}: {} words from one {}, each for {} (groups like it: {})\n",
          machine_.network_names[static_cast<size_t>(i)], ingress.words, Level(i),
          Children(ingress.multicast), ingress.scatter);
    }
    if (network.link_transfers > 0) Add("    from neighbours: {} words\n", network.link_transfers);
    const TimeloopTensor& t = timeloop_.levels[i].tensors[v];
    if (!ReadWrite(v)) {
      Add("  per {}: reads {}, fills {} (fractions of a word cut off)\n", Level(i), t.reads,
          t.fills);
    } else {
      Add("  per {}: updates {}, reads {} (without the first {} of its partition), fills {}\n",
          Level(i), t.updates, t.reads, t.partition_size, t.fills);
    }
    if (child >= 0) {
      Add("  per {}: fills {}\n", Level(child), timeloop_.levels[child].tensors[v].fills);
    }
  }

  // "16/cycle: ceil(100 / 16) = 7".
  void AddRate(std::string_view what, int64_t words, const Bandwidth& rate) {
    if (!rate.limited) return;
    Add("    {} {} words at {} per cycle: {} cycles\n", what, words, rate.exact.ToString(),
        rate.exact.CeilQuotient(words));
  }

  // The same in units: "4096 bits at 16 words of 16 bits per cycle".
  void AddRate(std::string_view what, int64_t units, const Bandwidth& rate, const LevelWidths& w) {
    if (w.plain(problem_.num_tensors)) return AddRate(what, units, rate);
    if (!rate.limited) return;
    Add("    {} {} bits at {} words of {} bits per cycle: {} cycles\n", what, units * w.unit_bits,
        rate.exact.ToString(), w.word_units * w.unit_bits, CyclesAt(rate, w.word_units, units));
  }

  // " * 4 / 16 bits" where an element is not a word.
  std::string Widths(int i, int v) const {
    const LevelWidths& w = machine_.levels[i].widths;
    const int64_t units = machine_.levels[i].units(v);
    if (units == w.word_units) return "";
    return fmt::format(" * {} / {} bits", units * w.unit_bits, w.word_units * w.unit_bits);
  }

  void AddCycles() {
    Add("\nCycles\n  {}: {}\n", machine_.mac_name, ComputeCycles());
    for (int i = 0; i < nest_.num_levels; ++i) {
      const MachineLevel& m = machine_.levels[i];
      if (is_exact_) {
        const ExactLevel& level = exact_.levels[i];
        Add("  {}: {}\n", Level(i), level.cycles);
        AddRate("busiest instance reads", level.busiest_reads, m.read, m.widths);
        AddRate("busiest instance writes", level.busiest_writes, m.write, m.widths);
        AddRate("busiest instance reads and writes", level.busiest_both, m.shared, m.widths);
        continue;
      }
      const TimeloopLevel& level = timeloop_.levels[i];
      Add("  {}: {} = ceil({} / {})\n", Level(i), level.cycles, ComputeCycles(), level.slowdown);
      if (level.slowdown >= 1) continue;
      int64_t reads = 0, writes = 0;
      for (const TimeloopTensor& t : level.tensors) {
        reads += static_cast<int64_t>(t.reads);
        writes += static_cast<int64_t>(t.fills + t.updates);
      }
      AddRate("one instance reads", reads, m.read);
      AddRate("one instance writes", writes, m.write);
      AddRate("one instance reads and writes", reads + writes, m.shared);
    }
    Add("  the slowest decides");
    if (machine_.latency_cycles > 0)
      Add(", and networks fill and drain in {}", machine_.latency_cycles);
    Add(": {}\n", is_exact_ ? exact_.cycles : timeloop_.cycles);
  }

  void AddEnergy() {
    Add("\nEnergy, pJ\n  {}: {} * {} = {}\n", machine_.mac_name, Computes(), machine_.mac_pj,
        is_exact_ ? exact_.mac_energy : timeloop_.mac_energy);
    for (int i = 0; i < nest_.num_levels; ++i) {
      for (int v = 0; v < problem_.num_tensors; ++v) {
        if (Keeps(i, v)) AddLevelEnergy(i, v);
      }
      const double network =
          is_exact_ ? exact_.levels[i].network_energy : timeloop_.levels[i].network_energy;
      if (network > 0) AddNetworkEnergy(i, network);
    }
    Add("  sum: {}\n", is_exact_ ? exact_.energy : timeloop_.energy);
  }

  void AddLevelEnergy(int i, int v) {
    const MachineLevel& m = machine_.levels[i];
    if (is_exact_) {
      const ExactTensor& t = exact_.levels[i].tensors[v];
      const std::string factors = Clusters(i, exact_.levels[i].clusters) + Widths(i, v);
      Add("  {} {}: {}{} * {} + {} * {} + {} * {}{}{} = {}\n", Level(i), Tensor(v),
          factors.empty() ? "" : "(", t.read_vectors, m.read_pj, t.fill_vectors, m.fill_pj,
          t.update_vectors, m.update_pj, factors.empty() ? "" : ")", factors, t.energy);
      return;
    }
    const TimeloopTensor& t = timeloop_.levels[i].tensors[v];
    const auto vectors = [&](uint64_t words) {
      const auto block = static_cast<uint64_t>(m.block_words);
      return (words + block - 1) / block;
    };
    Add("  {} {}: {} instances * ({} * {} + {} * {} + {} * {}){} = {}\n", Level(i), Tensor(v),
        nest_.used[i], vectors(t.reads), m.read_pj, vectors(t.fills), m.fill_pj, vectors(t.updates),
        m.update_pj, Clusters(i, timeloop_.levels[i].clusters),
        t.energy_per_instance * static_cast<double>(nest_.used[i]));
  }

  std::string Clusters(int i, int64_t clusters) const {
    return clusters == nest_.used[i]
               ? ""
               : fmt::format(" * {} clusters / {} instances", clusters, nest_.used[i]);
  }

  void AddNetworkEnergy(int i, double energy) {
    const MachineLevel& m = machine_.levels[i];
    Add("  network {}: {} (hop {}, router {}, ingress {} pJ)\n",
        machine_.network_names[static_cast<size_t>(i)], energy, m.hop_pj, m.router_pj,
        m.ingress_pj);
    if (!is_exact_) return;
    for (int v = 0; v < problem_.num_tensors; ++v) {
      const ExactNetworkTensor& t = exact_.levels[i].network[v];
      int64_t words = t.down_words;
      for (const ExactIngress& ingress : t.ingresses) words += ingress.words;
      if (words + t.link_transfers == 0) continue;
      Add("    {}: {} words{}, {} hops in all, so {} each: {} + links {}\n", Tensor(v), words,
          Widths(i, v), static_cast<double>(t.half_hops) / 2, t.avg_hops, t.energy, t.link_energy);
    }
  }

  const Setup& setup_;
  const LoopProblem& problem_;
  const Machine& machine_;
  const LoopMapping& mapping_;
  const Nest& nest_;
  const ExactResult& exact_;
  const TimeloopResult& timeloop_;
  const bool is_exact_;
  std::string text_ = {};
};

}  // namespace

std::string Explain(const Setup& setup, const LoopMapping& mapping, const Workspace& workspace) {
  return Explainer(setup, mapping, workspace).Text();
}

}  // namespace tessera::loopnest
