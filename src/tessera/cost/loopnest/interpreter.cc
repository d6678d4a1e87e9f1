// The walk itself. Indices are vectors with one entry per loop; an element of a tensor is the
// vector of its coordinates, written as one number.
#include "tessera/cost/loopnest/interpreter.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace tessera {
namespace {

using Elements = std::vector<int64_t>;  // a set: ascending, no repetitions
using Index = std::vector<int64_t>;

struct WalkLoop {
  int dim, level;
  int64_t count, step;
  bool on_y;
};

class Interpreter {
 public:
  Interpreter(const LoopProblem& problem, const Hierarchy& machine, const LoopMapping& mapping,
              const std::vector<int>& homes)
      : problem_(problem),
        machine_(machine),
        mapping_(mapping),
        homes_(homes),
        num_levels_(static_cast<int>(machine.levels.size())) {}

  Interpreted Run() {
    out_.levels.resize(static_cast<size_t>(num_levels_));
    for (InterpretedLevel& level : out_.levels) {
      level.tensors.resize(static_cast<size_t>(problem_.num_tensors));
      level.network.resize(static_cast<size_t>(problem_.num_tensors));
    }
    MakeLoops();
    if (out_.error.empty()) CheckLimits();
    if (!out_.error.empty() || !out_.rejection.empty()) return out_;
    counts_.resize(static_cast<size_t>(num_levels_));
    for (int v = 0; v < problem_.num_tensors; ++v) {
      int child = -1;
      for (int i = 0; i < num_levels_; ++i) {
        if (!Keeps(i, v)) continue;
        Transfer(v, child, i);
        child = i;
      }
    }
    CountOperations();
    Price();
    return out_;
  }

 private:
  struct Counts {
    int64_t reads = 0, fills = 0, updates = 0;
  };

  bool Keeps(int level, int v) const {
    return mapping_.levels[static_cast<size_t>(level)].Keeps(v);
  }
  int HomeOf(int v) const {
    return homes_.empty() ? num_levels_ - 1 : homes_[static_cast<size_t>(v)];
  }
  int64_t Bound(int dim) const { return problem_.dims()[static_cast<size_t>(dim)].bound; }
  const LoopTensor& TensorOf(int v) const { return problem_.tensors[static_cast<size_t>(v)]; }
  const MemoryLevel& Level(int i) const { return machine_.levels[static_cast<size_t>(i)]; }

  void MakeLoops() {
    std::vector<int64_t> extent(static_cast<size_t>(problem_.num_dimensions), 1);
    for (int i = 0; i < num_levels_; ++i) {
      const LoopLevel& level = mapping_.levels[static_cast<size_t>(i)];
      for (const bool spatial : {true, false}) {
        for (int k = 0; k < problem_.num_dimensions; ++k) {
          const auto& order = spatial ? level.spatial_order : level.temporal_order;
          const auto& factors = spatial ? level.spatial : level.temporal;
          const int dim = order[static_cast<size_t>(k)];
          int64_t& inner = extent[static_cast<size_t>(dim)];
          const int64_t factor = factors[static_cast<size_t>(dim)] == 0
                                     ? Bound(dim)
                                     : factors[static_cast<size_t>(dim)];
          const int64_t count = std::min(factor, (Bound(dim) + inner - 1) / inner);
          if (count <= 1) continue;
          (spatial ? spatial_ : temporal_)
              .push_back({dim, i, count, inner, spatial && k >= level.split});
          inner *= count;
        }
      }
      extents_.push_back(extent);
    }
    for (int d = 0; d < problem_.num_dimensions; ++d) {
      if (extent[static_cast<size_t>(d)] < Bound(d)) out_.error = "factors below the bound";
    }
    for (int v = 0; v < problem_.num_tensors; ++v) {
      for (int i = HomeOf(v); i < num_levels_; ++i) {
        if (Keeps(i, v) == (i == HomeOf(v))) continue;
        out_.error = "a tensor's home, or the outermost level, is not its outermost holder";
      }
    }
  }

  void CheckLimits() {
    for (int i = 0; i < num_levels_; ++i) {
      int64_t x = 1, y = 1, words = 0, bits = 0;
      for (const WalkLoop& loop : spatial_) {
        if (loop.level == i) (loop.on_y ? y : x) *= loop.count;
      }
      for (int v = 0; v < problem_.num_tensors; ++v) {
        if (!Keeps(i, v)) continue;
        InterpretedTensor& tensor =
            out_.levels[static_cast<size_t>(i)].tensors[static_cast<size_t>(v)];
        tensor.capacity = std::ssize(
            TileOf(v, i, std::vector<int64_t>(static_cast<size_t>(problem_.num_dimensions), 0)));
        if (HomeOf(v) != i || i + 1 == num_levels_) {
          words += tensor.capacity;
          bits += tensor.capacity * BitsAt(i, v);
        }
      }
      out_.levels[static_cast<size_t>(i)].fanout = x * y;
      const std::string& name = Level(i).name;
      const int64_t fan_x = FanoutX(machine_, static_cast<size_t>(i));
      const int64_t fan_y = FanoutY(machine_, static_cast<size_t>(i));
      // floor(bits / buffers), with the number of buffers as it was written.
      const int64_t room =
          Level(i).entries
              ? Level(i).multiple_buffering.FloorQuotient(*Level(i).entries * Level(i).word_bits)
              : bits;
      if (x > fan_x) {
        out_.rejection = fmt::format("{}: fan-out X {} > {}", name, x, fan_x);
      } else if (y > fan_y) {
        out_.rejection = fmt::format("{}: fan-out Y {} > {}", name, y, fan_y);
      } else if (bits > room) {
        out_.rejection = HasWidths(i) ? fmt::format("{}: capacity {} > {} bits", name, bits, room)
                                      : fmt::format("{}: capacity {} > {}", name, words,
                                                    room / Level(i).word_bits);
      }
      if (!out_.rejection.empty()) return;
    }
  }

  // All index vectors of some loops, the first loop's index running fastest.
  static std::vector<Index> AllIndices(const std::vector<WalkLoop>& loops) {
    std::vector<Index> all = {Index(loops.size(), 0)};
    for (size_t k = 0; k < loops.size(); ++k) {
      std::vector<Index> more;
      for (int64_t i = 0; i < loops[k].count; ++i) {
        for (Index index : all) {
          index[k] = i;
          more.push_back(index);
        }
      }
      all = std::move(more);
    }
    return all;
  }

  static std::vector<WalkLoop> LoopsAbove(const std::vector<WalkLoop>& loops, int level) {
    std::vector<WalkLoop> above;
    for (const WalkLoop& loop : loops) {
      if (loop.level > level) above.push_back(loop);
    }
    return above;
  }

  // The elements of tensor v in the iterations that start at `base` and extend over the tile of
  // `level` (-1: one iteration). Empty if there is no such iteration.
  Elements TileOf(int v, int level, const std::vector<int64_t>& base) const {
    std::vector<std::pair<int64_t, int64_t>> ranges;
    for (int d = 0; d < problem_.num_dimensions; ++d) {
      const int64_t extent =
          level < 0 ? 1 : extents_[static_cast<size_t>(level)][static_cast<size_t>(d)];
      const int64_t begin = base[static_cast<size_t>(d)];
      if (begin >= Bound(d)) return {};
      ranges.emplace_back(begin, std::min(begin + extent, Bound(d)));
    }
    std::set<int64_t> elements = {0};
    for (const TensorRank& rank : TensorOf(v).view()) {
      std::set<int64_t> coordinates = {0};
      int64_t size = 1;  // coordinates that the whole tensor has here
      for (const RankTerm& term : rank.view()) {
        std::set<int64_t> sums;
        const auto& [begin, end] = ranges[static_cast<size_t>(term.dimension)];
        for (const int64_t coordinate : coordinates) {
          for (int64_t i = begin; i < end; ++i) sums.insert(coordinate + term.coefficient * i);
        }
        coordinates = std::move(sums);
        size += term.coefficient * (Bound(term.dimension) - 1);
      }
      std::set<int64_t> product;
      for (const int64_t element : elements) {
        for (const int64_t coordinate : coordinates) product.insert(element * size + coordinate);
      }
      elements = std::move(product);
    }
    return {elements.begin(), elements.end()};
  }

  std::vector<int64_t> BaseOf(const std::vector<WalkLoop>& spatial, const Index& place,
                              const std::vector<WalkLoop>& temporal, const Index& step) const {
    std::vector<int64_t> base(static_cast<size_t>(problem_.num_dimensions), 0);
    for (size_t k = 0; k < spatial.size(); ++k) {
      base[static_cast<size_t>(spatial[k].dim)] += place[k] * spatial[k].step;
    }
    for (size_t k = 0; k < temporal.size(); ++k) {
      base[static_cast<size_t>(temporal[k].dim)] += step[k] * temporal[k].step;
    }
    return base;
  }

  // The part of an instance's index that names the instance of an outer level it lies under.
  static Index Ancestor(const std::vector<WalkLoop>& loops, const Index& place, int level) {
    Index ancestor;
    for (size_t k = 0; k < loops.size(); ++k) {
      if (loops[k].level > level) ancestor.push_back(place[k]);
    }
    return ancestor;
  }

  // Column and row of an instance of level i-1 below its instance of level i.
  static std::pair<int64_t, int64_t> PlaceBelow(const std::vector<WalkLoop>& loops,
                                                const Index& place, int i) {
    int64_t x = 0, y = 0, width = 1, height = 1;
    for (size_t k = 0; k < loops.size(); ++k) {
      if (loops[k].level != i) continue;
      (loops[k].on_y ? y : x) += place[k] * (loops[k].on_y ? height : width);
      (loops[k].on_y ? height : width) *= loops[k].count;
    }
    return {x, y};
  }

  double Hops(const std::set<std::pair<int64_t, int64_t>>& places, int i) const {
    const bool spread =
        std::ranges::any_of(spatial_, [&](const WalkLoop& loop) { return loop.level == i; });
    if (!spread) return 0;
    const double centre = (static_cast<double>(FanoutY(machine_, static_cast<size_t>(i))) - 1) / 2;
    std::map<int64_t, std::set<int64_t>> columns;
    for (const auto& [x, y] : places) columns[x].insert(y);
    double hops = static_cast<double>(columns.rbegin()->first);
    for (const auto& [x, rows] : columns) {
      hops += std::max(0.0, centre - static_cast<double>(*rows.begin())) +
              std::max(0.0, static_cast<double>(*rows.rbegin()) - centre);
    }
    return hops;
  }

  static Elements Minus(const Elements& a, const Elements& b) {
    Elements difference;
    std::ranges::set_difference(a, b, std::back_inserter(difference));
    return difference;
  }

  // A child in one step.
  struct Request {
    size_t child;
    Elements words;
  };

  // Moves tensor v between the level `parent` and the level `child` (-1: the MACs).
  void Transfer(int v, int child, int parent) {
    const std::vector<WalkLoop> spatial = LoopsAbove(spatial_, child);
    const std::vector<WalkLoop> temporal = LoopsAbove(temporal_, child);
    const std::vector<Index> children = AllIndices(spatial);
    const bool read_write = TensorOf(v).read_write;
    std::vector<Elements> held(children.size());  // the tile of the last visit
    std::vector<std::set<int64_t>> got(children.size());
    std::map<Index, std::set<int64_t>> parent_got;
    for (const Index& step : AllIndices(temporal)) {
      std::vector<Request> requests;
      std::vector<Elements> tiles(children.size());
      for (size_t e = 0; e < children.size(); ++e) {
        tiles[e] = TileOf(v, child, BaseOf(spatial, children[e], temporal, step));
        if (tiles[e].empty()) {
          out_.idle = true;
          continue;
        }
        Elements words = child < 0 ? tiles[e] : Minus(tiles[e], held[e]);
        if (child >= 0) {
          Counts& counts = CountsOf(child, v, children[e]);
          for (const int64_t word : words) {
            counts.fills += read_write && got[e].insert(word).second ? 0 : 1;
          }
        }
        if (!words.empty()) requests.push_back({e, std::move(words)});
      }
      if (machine_.links && !read_write && child >= 0 && parent == child + 1) {
        ServeByNeighbours(v, parent, spatial, children, held, requests);
      }
      for (int i = child + 1; i <= parent; ++i) {
        PassThrough(v, i, parent, spatial, children, requests, parent_got);
      }
      for (const Request& request : requests) {
        std::set<int64_t>& seen = parent_got[Ancestor(spatial, children[request.child], parent)];
        seen.insert(request.words.begin(), request.words.end());
      }
      for (size_t e = 0; e < children.size(); ++e) {
        if (!tiles[e].empty()) held[e] = tiles[e];
      }
    }
    for (const auto& [instance, elements] : parent_got) {
      Counts& counts = CountsOf(parent, v, instance);
      if (read_write) counts.reads = counts.updates - std::ssize(elements);
    }
  }

  // Removes the groups all of whose members find what they need at a neighbour.
  void ServeByNeighbours(int v, int parent, const std::vector<WalkLoop>& spatial,
                         const std::vector<Index>& children, const std::vector<Elements>& held,
                         std::vector<Request>& requests) {
    std::map<std::pair<Index, std::pair<int64_t, int64_t>>, size_t> at;  // by parent and place
    for (size_t e = 0; e < children.size(); ++e) {
      at[{Ancestor(spatial, children[e], parent), PlaceBelow(spatial, children[e], parent)}] = e;
    }
    const auto helper = [&](const Request& request) -> int64_t {
      const Index above = Ancestor(spatial, children[request.child], parent);
      const auto [x, y] = PlaceBelow(spatial, children[request.child], parent);
      for (const std::pair<int64_t, int64_t>& place :
           {std::pair(x - 1, y), std::pair(x + 1, y), std::pair(x, y - 1), std::pair(x, y + 1)}) {
        const auto neighbour = at.find({above, place});
        if (neighbour != at.end() &&
            std::ranges::includes(held[neighbour->second], request.words)) {
          return static_cast<int64_t>(neighbour->second);
        }
      }
      return -1;
    };
    std::map<std::pair<Index, Elements>, std::vector<size_t>> groups;
    for (size_t k = 0; k < requests.size(); ++k) {
      groups[{Ancestor(spatial, children[requests[k].child], parent), requests[k].words}].push_back(
          k);
    }
    std::set<size_t> served;
    for (const auto& [key, members] : groups) {
      const bool all =
          std::ranges::all_of(members, [&](size_t k) { return helper(requests[k]) >= 0; });
      if (!all) continue;
      for (const size_t k : members) {
        const int64_t words = std::ssize(requests[k].words);
        const size_t neighbour = static_cast<size_t>(helper(requests[k]));
        CountsOf(parent - 1, v, children[neighbour]).reads += words;
        NetworkOf(parent, v).link_transfers += words;
        served.insert(k);
      }
    }
    std::vector<Request> left;
    for (size_t k = 0; k < requests.size(); ++k) {
      if (!served.contains(k)) left.push_back(std::move(requests[k]));
    }
    requests = std::move(left);
  }

  // One step of the network below level i.
  void PassThrough(int v, int i, int parent, const std::vector<WalkLoop>& spatial,
                   const std::vector<Index>& children, const std::vector<Request>& requests,
                   const std::map<Index, std::set<int64_t>>& parent_got) {
    struct Group {
      size_t member = 0;
      std::set<Index> reached = {};  // instances of level i-1
      std::set<std::pair<int64_t, int64_t>> places = {};
    };
    std::map<std::pair<Index, Elements>, Group> groups;
    for (const Request& request : requests) {
      const Index& place = children[request.child];
      Group& group = groups[{Ancestor(spatial, place, i), request.words}];
      group.member = request.child;
      group.reached.insert(Ancestor(spatial, place, i - 1));
      group.places.insert(PlaceBelow(spatial, place, i));
    }
    InterpretedNetwork& network = NetworkOf(i, v);
    for (const auto& [key, group] : groups) {
      const Elements& words = key.second;
      const int64_t size = std::ssize(words), multicast = std::ssize(group.reached);
      network.ingresses[multicast] += size;
      network.hops += Hops(group.places, i) * static_cast<double>(size);
      if (TensorOf(v).read_write) network.spatial_reductions += (multicast - 1) * size;
      const Index above = Ancestor(spatial, children[group.member], parent);
      if (TensorOf(v).read_write && !Level(parent).reduces_in_place) {
        const auto seen = parent_got.find(above);
        for (const int64_t word : words) {
          network.down_words += seen != parent_got.end() && seen->second.contains(word) ? 1 : 0;
        }
      }
      if (i != parent) continue;
      Counts& counts = CountsOf(parent, v, above);
      (TensorOf(v).read_write ? counts.updates : counts.reads) += size;
    }
  }

  void CountOperations() {
    const std::vector<Index> macs = AllIndices(spatial_);
    for (const Index& step : AllIndices(temporal_)) {
      int64_t working = 0;
      for (const Index& mac : macs) {
        const std::vector<int64_t> base = BaseOf(spatial_, mac, temporal_, step);
        bool works = true;
        for (int d = 0; d < problem_.num_dimensions; ++d) {
          works = works && base[static_cast<size_t>(d)] < Bound(d);
        }
        working += works ? 1 : 0;
      }
      out_.computes += working;
      out_.compute_cycles += working > 0 ? 1 : 0;
    }
  }

  // Bits of an element at a level: as the problem says, else the machine, else a word. A read-write
  // tensor is partial sums everywhere but at the outermost level.
  int64_t BitsAt(int i, int v) const {
    const LoopTensor& tensor = TensorOf(v);
    int64_t own = tensor.bits, machine = 0, sums = tensor.sum_bits;
    if (tensor.role == TensorRole::kWeight) machine = machine_.bits.weights;
    if (tensor.role == TensorRole::kInput) machine = machine_.bits.inputs;
    if (tensor.role == TensorRole::kOutput) machine = machine_.bits.outputs;
    if (tensor.role == TensorRole::kOutput && sums == 0) sums = machine_.bits.partial_sums;
    if (tensor.read_write && i + 1 < num_levels_ && sums != 0) return sums;
    if (own != 0) return own;
    return machine != 0 ? machine : Level(i).word_bits;
  }
  double ElementWords(int i, int v) const {
    return static_cast<double>(BitsAt(i, v)) / static_cast<double>(Level(i).word_bits);
  }
  bool HasWidths(int i) const {
    bool widths = false;
    for (int v = 0; v < problem_.num_tensors; ++v) {
      widths = widths || BitsAt(i, v) != Level(i).word_bits;
    }
    return widths;
  }

  static int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

  void Price() {
    out_.energy = static_cast<double>(out_.computes) * machine_.arithmetic.mac_pj.ToDouble();
    int64_t slowest = out_.compute_cycles, latency = 0;
    for (int i = 0; i < num_levels_; ++i) {
      PriceLevel(i);
      PriceNetwork(i);
      const InterpretedLevel& level = out_.levels[static_cast<size_t>(i)];
      out_.energy += level.energy + level.network_energy;
      slowest = std::max(slowest, level.cycles);
      latency += Level(i).network.fill_latency_cycles + Level(i).network.drain_latency_cycles;
    }
    out_.cycles = slowest + latency;
    out_.utilization = static_cast<double>(out_.computes) /
                       static_cast<double>(machine_.arithmetic.instances()) /
                       static_cast<double>(out_.cycles);
  }

  void PriceLevel(int i) {
    const MemoryLevel& machine = Level(i);
    InterpretedLevel& level = out_.levels[static_cast<size_t>(i)];
    for (const WalkLoop& loop : spatial_) level.instances *= loop.level > i ? loop.count : 1;
    level.clusters = std::min(level.instances, machine.instances() / machine.cluster_size);
    const double share = static_cast<double>(level.clusters) / static_cast<double>(level.instances);
    for (auto& [instance, tensors] : counts_[static_cast<size_t>(i)]) {
      int64_t reads = 0, writes = 0;
      for (int v = 0; v < problem_.num_tensors; ++v) {
        const Counts& counts = tensors[v];
        InterpretedTensor& tensor = level.tensors[static_cast<size_t>(v)];
        tensor.reads += counts.reads;
        tensor.fills += counts.fills;
        tensor.updates += counts.updates;
        const auto vectors = [&](int64_t words) {
          return static_cast<double>(CeilDivide(words, machine.block_words));
        };
        tensor.energy += (vectors(counts.reads) * machine.read_pj.ToDouble() +
                          vectors(counts.fills) * machine.fill_pj.ToDouble() +
                          vectors(counts.updates) * machine.update_pj.ToDouble()) *
                         share * ElementWords(i, v);
        reads += counts.reads * BitsAt(i, v);
        writes += (counts.fills + counts.updates) * BitsAt(i, v);
      }
      level.busiest_reads = std::max(level.busiest_reads, reads);
      level.busiest_writes = std::max(level.busiest_writes, writes);
      level.busiest_both = std::max(level.busiest_both, reads + writes);
    }
    for (int v = 0; v < problem_.num_tensors; ++v) {
      InterpretedTensor& tensor = level.tensors[static_cast<size_t>(v)];
      const int64_t addresses =
          tensor.fills + (TensorOf(v).read_write ? tensor.updates : tensor.reads);
      tensor.address_energy =
          static_cast<double>(addresses) * machine.address_pj.ToDouble() * share;
      level.energy += tensor.energy + tensor.address_energy;
    }
    level.cycles = out_.compute_cycles;
    const std::pair<std::optional<Decimal>, int64_t> limits[] = {
        {machine.read_words_per_cycle, level.busiest_reads},
        {machine.write_words_per_cycle, level.busiest_writes},
        {machine.shared_words_per_cycle, level.busiest_both}};
    // Whole words where all elements are words; else bits at so many bits per cycle.
    const int64_t width = machine.word_bits;
    for (const auto& [rate, bits] : limits) {
      if (rate) level.cycles = std::max(level.cycles, CeilDivide(rate->CeilQuotient(bits), width));
    }
    if (HasWidths(i)) return;
    level.busiest_reads /= width;
    level.busiest_writes /= width;
    level.busiest_both /= width;
  }

  void PriceNetwork(int i) {
    const LevelNetwork& machine = Level(i).network;
    for (int v = 0; v < problem_.num_tensors; ++v) {
      InterpretedNetwork& network = NetworkOf(i, v);
      int64_t words = network.down_words;
      for (const auto& [multicast, count] : network.ingresses) words += count;
      network.avg_hops = words == 0 ? 0 : network.hops / static_cast<double>(words);
      network.energy = (network.hops * machine.hop_pj.ToDouble() +
                        (1 + std::floor(network.avg_hops)) * static_cast<double>(words) *
                            machine.router_pj.ToDouble() +
                        static_cast<double>(words) * machine.ingress_pj.ToDouble()) *
                       ElementWords(i, v);
      network.link_energy = static_cast<double>(network.link_transfers) *
                            (machine.hop_pj.ToDouble() + 2 * machine.router_pj.ToDouble()) *
                            ElementWords(i, v);
      out_.levels[static_cast<size_t>(i)].network_energy += network.energy + network.link_energy;
    }
  }

  Counts& CountsOf(int level, int v, const Index& instance) {
    return counts_[static_cast<size_t>(level)][instance][v];
  }
  InterpretedNetwork& NetworkOf(int level, int v) {
    return out_.levels[static_cast<size_t>(level)].network[static_cast<size_t>(v)];
  }

  const LoopProblem& problem_;
  const Hierarchy& machine_;
  const LoopMapping& mapping_;
  const std::vector<int>& homes_;
  const int num_levels_;
  std::vector<WalkLoop> spatial_, temporal_;                    // inner to outer
  std::vector<std::vector<int64_t>> extents_;                   // by level and dimension
  std::vector<std::map<Index, std::map<int, Counts>>> counts_;  // by level, instance and tensor
  Interpreted out_;
};

}  // namespace

Interpreted Interpret(const LoopProblem& problem, const Hierarchy& hierarchy,
                      const LoopMapping& mapping, const std::vector<int>& homes) {
  return Interpreter(problem, hierarchy, mapping, homes).Run();
}

}  // namespace tessera
