// Closed formulas for perfect factors. All tiles of a level are translates of one another, so a
// step is described by the loop that advances, and children ask for the same words exactly if
// their offsets are equal (docs/cost-loopnest.md, C0).
#include <algorithm>
#include <optional>

#include "tessera/cost/loopnest/exact_count.h"
#include "tessera/cost/loopnest/exact_links.h"
#include "tessera/cost/loopnest/hops.h"

namespace tessera::loopnest {
namespace {

class PerfectCounter {
 public:
  PerfectCounter(const ExactInput& input, ExactScratch& scratch, ExactResult& result)
      : input_(input), nest_(input.nest), scratch_(scratch), result_(result) {}

  void Run() {
    for (int i = 0; i < nest_.num_levels; ++i) {
      SetAlike(scratch_.classes[i], nest_.used[i]);
      for (std::vector<int64_t>& reads : scratch_.link_reads[i]) reads.clear();
    }
    input_.ForEachTransfer([&](int v, int child, int parent) { Transfer(v, child, parent); });
    if (!input_.machine.links) return;
    for (int i = 0; i + 1 < nest_.num_levels; ++i) AddLinkReads(i);
  }

 private:
  // One class without accesses; only tensors that there are get cleared.
  void SetAlike(std::vector<InstanceClass>& classes, int64_t instances) const {
    classes.resize(1);
    classes[0].instances = instances;
    std::fill_n(classes[0].tensors, input_.data.problem.num_tensors, InstanceCounts{});
  }

  // Where neighbours hand words on, instances of a level differ by their place below the parent.
  void AddLinkReads(int level) {
    std::vector<InstanceClass>& classes = scratch_.classes[level];
    const InstanceClass alike = classes[0];
    for (int v = 0; v < input_.data.problem.num_tensors; ++v) {
      const std::vector<int64_t>& reads = scratch_.link_reads[level][v];
      if (reads.empty()) continue;
      if (classes.size() == 1) {
        classes.assign(reads.size(), alike);
        for (InstanceClass& instance : classes) instance.instances = nest_.used[level + 1];
      }
      for (size_t k = 0; k < reads.size(); ++k) classes[k].tensors[v].reads += reads[k];
    }
  }

  InstanceCounts& Counts(int level, int v) { return scratch_.classes[level][0].tensors[v]; }

  // Words between `parent`, which holds tensor v, and the next inner level that does, or the MACs.
  void Transfer(int v, int child, int parent) {
    const bool read_write = input_.tensor(v).read_write;
    const int64_t words = WordsPerChild(v, child);
    if (child >= 0) {
      Counts(child, v).fills = words - (read_write ? DistinctWords(v, child) : 0);
    }
    InstanceCounts& counts = Counts(parent, v);
    if (HasLinks(input_, v, child, parent)) {
      counts.reads = CountLinked(input_, v, child, scratch_, result_.levels[parent].network[v],
                                 scratch_.link_reads[child][v]);
      return;
    }
    int64_t groups = 1;
    for (int i = child + 1; i <= parent; ++i) groups = Network(v, child, i, words);
    if (!read_write) {
      counts.reads = groups * words;
      return;
    }
    const int64_t distinct = DistinctWords(v, parent);
    counts.updates = groups * words;
    counts.reads = counts.updates - distinct;
    if (!input_.machine.levels[parent].reduces) DownWords(v, child, parent);
  }

  // Words that one child receives in all steps.
  int64_t WordsPerChild(int v, int child) {
    if (child < 0) {
      int64_t steps = 1;
      for (int j = 0; j < nest_.num_temporal(); ++j) steps *= nest_.temporal[j].count;
      return steps;
    }
    const TensorData& tensor = input_.data.tensors[v];
    return tensor.simple ? SimpleWords(v, child) : WindowWords(v, child);
  }

  // Tiles are equal or disjoint: the child receives a new one unless only loops over other
  // dimensions, innermost, have advanced.
  int64_t SimpleWords(int v, int child) const {
    int64_t words = 1;  // a rank's coordinates are as many as its dimension's indices
    for (const TensorRank& rank : input_.tensor(v).view()) {
      if (rank.num_terms > 0) words *= nest_.extent[child][rank.terms[0].dimension];
    }
    int j = nest_.first_temporal[child + 1];
    const uint32_t dims = input_.data.tensors[v].dims;
    while (j < nest_.num_temporal() && (dims >> nest_.temporal[j].dim & 1) == 0) ++j;
    for (; j < nest_.num_temporal(); ++j) words *= nest_.temporal[j].count;
    return words;
  }

  // Sums tile minus previous tile over all steps, loop by loop from the innermost.
  int64_t WindowWords(int v, int child) {
    const TensorData& tensor = input_.data.tensors[v];
    const int num_ranks = input_.tensor(v).num_ranks;
    TouchedBox boxes[kMaxRanks];
    int64_t touched[kMaxRanks], passed[kMaxRanks] = {}, tile = 1;
    for (int r = 0; r < num_ranks; ++r) {
      const RankShape& rank = tensor.ranks[r];
      for (int k = 0; k < rank.num_terms; ++k) {
        boxes[r].widths[k] = nest_.extent[child][rank.dims[k]];
      }
      touched[r] = CountTouched(rank, boxes[r], scratch_.touched);
      tile *= touched[r];
    }
    int64_t later = 0;  // words of all visits but the first of the loops so far
    for (int j = nest_.first_temporal[child + 1]; j < nest_.num_temporal(); ++j) {
      const Loop& loop = nest_.temporal[j];
      int64_t common = 1;
      for (int r = 0; r < num_ranks; ++r) {
        const int64_t step = tensor.ranks[r].CoefficientOf(loop.dim) * loop.step;
        const int64_t moved = step - passed[r];
        passed[r] += step * (loop.count - 1);
        if (common == 0) continue;
        common *= moved == 0
                      ? touched[r]
                      : CountCommon(tensor.ranks[r], boxes[r], boxes[r], moved, scratch_.touched);
      }
      later = loop.count * later + (loop.count - 1) * (tile - common);
    }
    return tile + later;
  }

  // The network below level i on the way from `child` to its parent. Returns the number of groups
  // below one instance of level i.
  int64_t Network(int v, int child, int i, int64_t words) {
    if (Collides(v, child, i)) return CollidingNetwork(v, child, i, words);
    ExactNetworkTensor& network = result_.levels[i].network[v];
    const uint32_t dims = input_.data.tensors[v].dims;
    int64_t multicast = 1, groups_here = 1, groups_below = 1;
    for (const Loop& loop : input_.SpatialLoops(i)) {
      ((dims >> loop.dim & 1) != 0 ? groups_here : multicast) *= loop.count;
    }
    for (int k = child + 1; k < i; ++k) {
      for (const Loop& loop : input_.SpatialLoops(k)) {
        if ((dims >> loop.dim & 1) != 0) groups_below *= loop.count;
      }
    }
    const int64_t groups = groups_here * groups_below;
    AddIngress(network, multicast, nest_.used[i] * groups * words);
    network.half_hops +=
        nest_.used[i] * groups_below * words *
        SumHalfHops(input_.SpatialLoops(i), dims, input_.machine.levels[i].fan_y, scratch_.places);
    return groups;
  }

  // Whether children below level i with different indices can have equal offsets: some rank moves
  // with the spatial loops of two dimensions.
  bool Collides(int v, int child, int i) const {
    const TensorData& tensor = input_.data.tensors[v];
    if (tensor.simple) return false;
    for (int r = 0; r < input_.tensor(v).num_ranks; ++r) {
      int moved_by = 0;
      for (int k = 0; k < tensor.ranks[r].num_terms; ++k) {
        const int dim = tensor.ranks[r].dims[k];
        bool spread = false;
        for (int s = nest_.first_spatial[child + 1]; s < nest_.first_spatial[i + 1]; ++s) {
          spread = spread || nest_.spatial[s].dim == dim;
        }
        moved_by += spread ? 1 : 0;
      }
      if (moved_by > 1) return true;
    }
    return false;
  }

  // Offsets as single numbers, unique for each vector of coordinates below level i.
  void SetWeights(int v, int child, int i, int64_t* weights) const {
    const TensorData& tensor = input_.data.tensors[v];
    int64_t weight = 1;
    for (int r = 0; r < input_.tensor(v).num_ranks; ++r) {
      weights[r] = weight;
      int64_t reach = 0;
      for (int s = nest_.first_spatial[child + 1]; s < nest_.first_spatial[i + 1]; ++s) {
        const Loop& loop = nest_.spatial[s];
        reach += (loop.count - 1) * loop.step * tensor.ranks[r].CoefficientOf(loop.dim);
      }
      weight *= reach + 1;
    }
  }

  FanLoop KeyLoop(int v, const Loop& loop, const int64_t* weights) const {
    FanLoop key{.count = loop.count};
    for (int r = 0; r < input_.tensor(v).num_ranks; ++r) {
      key.key_step +=
          weights[r] * loop.step * input_.data.tensors[v].ranks[r].CoefficientOf(loop.dim);
    }
    return key;
  }

  int64_t CollidingNetwork(int v, int child, int i, int64_t words) {
    int64_t weights[kMaxRanks];
    SetWeights(v, child, i, weights);
    FanLoop loops[kMaxLoops];
    size_t num_loops = 0, num_below = 0;
    for (int s = nest_.first_spatial[child + 1]; s < nest_.first_spatial[i + 1]; ++s) {
      if (s < nest_.first_spatial[i]) ++num_below;
      loops[num_loops++] = KeyLoop(v, nest_.spatial[s], weights);
    }
    const GroupQuestion question{
        .below = {loops, num_below},
        .here = {loops + num_below, num_loops - num_below},
        .grid = {.width = nest_.fanout_x[i], .height = input_.machine.levels[i].fan_y}};
    std::optional<int64_t> groups = scratch_.known_groups.Find(question, scratch_.groups);
    if (!groups) {
      groups = CountGroups(question);
      scratch_.known_groups.Keep(question, *groups, scratch_.groups);
    }
    ExactNetworkTensor& network = result_.levels[i].network[v];
    const bool spread = !question.here.empty();
    for (const GroupClass& group : scratch_.groups) {
      AddIngress(network, group.size, nest_.used[i] * group.groups * words);
      if (spread) network.half_hops += nest_.used[i] * group.half_hops * words;
    }
    return *groups;
  }

  // Different offsets below one child of a level, then those of the children themselves.
  int64_t CountGroups(const GroupQuestion& question) {
    SetKeys(question.below, scratch_.fan);
    std::vector<int64_t>& below = scratch_.keys;
    below = scratch_.fan.keys;
    std::ranges::sort(below);
    below.erase(std::ranges::unique(below).begin(), below.end());
    SetKeys(question.here, scratch_.fan);
    scratch_.groups.clear();
    ExpandKeys(below, scratch_.fan);
    return GroupByKey(question.grid, /*skip_linked=*/false, scratch_.fan, scratch_.groups);
  }

  // Different elements that one instance of a level ever holds.
  int64_t DistinctWords(int v, int level) {
    const TensorData& tensor = input_.data.tensors[v];
    int64_t words = 1;
    for (int r = 0; r < input_.tensor(v).num_ranks; ++r) {
      const RankShape& rank = tensor.ranks[r];
      words *= rank.num_terms == 1 ? DistinctIndices(rank.dims[0], level)
                                   : DistinctCoordinates(rank, level);
    }
    return words;
  }

  int64_t DistinctIndices(int dim, int level) const {
    int64_t indices = nest_.extent[level][dim];
    for (int j = nest_.first_temporal[level + 1]; j < nest_.num_temporal(); ++j) {
      if (nest_.temporal[j].dim == dim) indices *= nest_.temporal[j].count;
    }
    return indices;
  }

  int64_t DistinctCoordinates(const RankShape& rank, int level) {
    TouchedBox box;
    for (int k = 0; k < rank.num_terms; ++k) box.widths[k] = nest_.extent[level][rank.dims[k]];
    std::vector<int64_t>& elements = scratch_.keys;
    ListTouched(rank, box, elements);
    for (int j = nest_.first_temporal[level + 1]; j < nest_.num_temporal(); ++j) {
      const Loop& loop = nest_.temporal[j];
      const int64_t step = rank.CoefficientOf(loop.dim) * loop.step;
      if (step == 0) continue;
      const size_t inner = elements.size();
      for (int64_t i = 1; i < loop.count; ++i) {
        for (size_t e = 0; e < inner; ++e) elements.push_back(elements[e] + i * step);
      }
      std::ranges::sort(elements);
      elements.erase(std::ranges::unique(elements).begin(), elements.end());
    }
    return std::ssize(elements);
  }

  // Partial sums that come back down to be added there: all but the first of each element.
  void DownWords(int v, int child, int parent) {
    const TensorData& tensor = input_.data.tensors[v];
    int64_t copies = nest_.used[parent];  // instances of level i that see an element at first
    for (int i = parent; i > child; --i) {
      ExactNetworkTensor& network = result_.levels[i].network[v];
      int64_t words = 0, first = copies;
      for (const ExactIngress& ingress : network.ingresses) words += ingress.words;
      for (int r = 0; r < input_.tensor(v).num_ranks; ++r) {
        first *= FirstCoordinates(tensor.ranks[r], child, i, parent);
      }
      network.down_words += words - first;
      for (const Loop& loop : input_.SpatialLoops(i)) {
        if ((tensor.dims >> loop.dim & 1) == 0) copies *= loop.count;
      }
    }
  }

  int64_t FirstCoordinates(const RankShape& rank, int child, int i, int parent) {
    if (rank.num_terms == 1) return DistinctIndices(rank.dims[0], parent);
    const int64_t base[kMaxDims] = {};
    int64_t bounds[kMaxDims];
    input_.CopyBounds(bounds);
    return CountFirstCoordinates(nest_, rank, bounds, base, child, i, parent, scratch_.first_words);
  }

  const ExactInput& input_;
  const Nest& nest_;
  ExactScratch& scratch_;
  ExactResult& result_;
};

}  // namespace

void AddIngress(ExactNetworkTensor& network, int64_t multicast, int64_t words) {
  if (words == 0) return;
  auto place = network.ingresses.begin();
  while (place != network.ingresses.end() && place->multicast < multicast) ++place;
  if (place == network.ingresses.end() || place->multicast != multicast) {
    place = network.ingresses.insert(place, {.multicast = multicast});
  }
  place->words += words;
}

void CountPerfect(const ExactInput& input, ExactScratch& scratch, ExactResult& result) {
  PerfectCounter(input, scratch, result).Run();
}

}  // namespace tessera::loopnest
