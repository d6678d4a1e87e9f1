// All tiles are translates of one set S. At a visit that moves the tile by d, a child at offset o
// needs (S + o) minus (S + o - d); its neighbour at offset n holds S + n - d. A subset of a product
// is one in every rank, so the test is done rank by rank (docs/cost-loopnest.md, C9).
#include "tessera/cost/loopnest/exact_links.h"

#include <algorithm>
#include <numeric>

namespace tessera::loopnest {
namespace {

class LinkCounter {
 public:
  LinkCounter(const ExactInput& input, int v, int child, ExactScratch& scratch,
              ExactNetworkTensor& network, std::vector<int64_t>& reads_by_place)
      : input_(input),
        nest_(input.nest),
        tensor_(input.data.tensors[v]),
        num_ranks_(input.tensor(v).num_ranks),
        child_(child),
        scratch_(scratch),
        network_(network),
        reads_by_place_(reads_by_place) {
    for (int r = 0; r < num_ranks_; ++r) {
      const RankShape& rank = tensor_.ranks[r];
      for (int k = 0; k < rank.num_terms; ++k) {
        boxes_[r].widths[k] = nest_.extent[child][rank.dims[k]];
      }
      touched_[r] = CountTouched(rank, boxes_[r], scratch.touched);
      tile_words_ *= touched_[r];
    }
    SetOffsets();
  }

  int64_t Run() {
    int64_t outer = 1;  // iterations of the loops outside the one that advances
    for (int j = nest_.first_temporal[child_ + 1]; j < nest_.num_temporal(); ++j) {
      outer *= nest_.temporal[j].count;
    }
    AddPlain(tile_words_);
    int64_t passed[kMaxRanks] = {};
    for (int j = nest_.first_temporal[child_ + 1]; j < nest_.num_temporal(); ++j) {
      const Loop& loop = nest_.temporal[j];
      outer /= loop.count;
      for (int r = 0; r < num_ranks_; ++r) {
        const int64_t step = tensor_.ranks[r].CoefficientOf(loop.dim) * loop.step;
        moved_[r] = step - passed[r];
        passed[r] += step * (loop.count - 1);
      }
      Visit((loop.count - 1) * outer);
    }
    return words_;
  }

 private:
  int parent() const { return child_ + 1; }
  int64_t width() const { return nest_.fanout_x[parent()]; }

  // Offsets of the children, rank by rank and packed into one number.
  void SetOffsets() {
    FanLoop loops[kMaxDims];
    const std::span<const Loop> spatial = input_.SpatialLoops(parent());
    std::vector<int64_t>& offsets = scratch_.places;
    offsets.clear();
    for (size_t k = 0; k < spatial.size(); ++k) loops[k] = {.count = spatial[k].count};
    int64_t weight = 1;
    for (int r = 0; r < num_ranks_; ++r) {
      int64_t reach = 0;
      FanLoop rank_loops[kMaxDims];
      for (size_t k = 0; k < spatial.size(); ++k) {
        const int64_t step = spatial[k].step * tensor_.ranks[r].CoefficientOf(spatial[k].dim);
        rank_loops[k] = {.count = spatial[k].count, .key_step = step};
        loops[k].key_step += weight * step;
        reach += (spatial[k].count - 1) * step;
      }
      weight *= reach + 1;
      SetKeys({rank_loops, spatial.size()}, scratch_.fan);
      offsets.insert(offsets.end(), scratch_.fan.keys.begin(), scratch_.fan.keys.end());
    }
    SetKeys({loops, spatial.size()}, scratch_.fan);
    num_children_ = std::ssize(scratch_.fan.keys);
    reads_by_place_.resize(static_cast<size_t>(num_children_));
  }

  int64_t Offset(int64_t child, int r) const {
    return scratch_.places[static_cast<size_t>(r * num_children_ + child)];
  }

  // One kind of visit, which occurs `times` times below each parent.
  void Visit(int64_t times) {
    int64_t common = 1;
    int changed = 0;
    for (int r = 0; r < num_ranks_; ++r) {
      if (moved_[r] != 0) {
        changed_rank_ = r;
        ++changed;
      }
      common *= moved_[r] == 0 ? touched_[r]
                               : CountCommon(tensor_.ranks[r], boxes_[r], boxes_[r], moved_[r],
                                             scratch_.touched);
    }
    if (changed == 0) return;
    one_changed_ = changed == 1;
    const int64_t words = (tile_words_ - common) * times;
    if (!MarkServed()) {
      AddPlain(words);
      return;
    }
    int64_t served = 0;
    for (int64_t e = 0; e < num_children_; ++e) {
      if (scratch_.fan.linked[static_cast<size_t>(e)] == 0) continue;
      reads_by_place_[static_cast<size_t>(Helper(e))] += words;
      ++served;
    }
    network_.link_transfers += served * words * nest_.used[parent()];
    AddGroups(/*skip_linked=*/true, words);
  }

  void AddPlain(int64_t words) { AddGroups(/*skip_linked=*/false, words); }

  void AddGroups(bool skip_linked, int64_t words) {
    const FanGrid grid{.width = width(), .height = input_.machine.levels[parent()].fan_y};
    scratch_.groups.clear();
    words_ += words * GroupByKey(grid, skip_linked, scratch_.fan, scratch_.groups);
    for (const GroupClass& group : scratch_.groups) {
      AddIngress(network_, group.size, nest_.used[parent()] * group.groups * words);
      network_.half_hops += nest_.used[parent()] * group.half_hops * words;
    }
  }

  // Marks the children of groups that need no parent; false if there are none.
  bool MarkServed() {
    std::vector<uint8_t>& linked = scratch_.fan.linked;
    linked.assign(static_cast<size_t>(num_children_), 0);
    scratch_.known_links.clear();
    bool any = false;
    for (int64_t e = 0; e < num_children_; ++e) {
      const bool helped = Helper(e) >= 0;
      linked[static_cast<size_t>(e)] = helped ? 1 : 0;
      any = any || helped;
    }
    if (!any) return false;
    // A group with a member that finds no neighbour goes to the parent as a whole.
    std::vector<int64_t>& order = scratch_.keys;
    order.resize(linked.size());
    std::iota(order.begin(), order.end(), 0);
    const std::vector<int64_t>& keys = scratch_.fan.keys;
    std::ranges::sort(order, {}, [&](int64_t e) { return keys[static_cast<size_t>(e)]; });
    any = false;
    for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
      uint8_t all = 1;
      const int64_t key = keys[static_cast<size_t>(order[begin])];
      for (; end < order.size() && keys[static_cast<size_t>(order[end])] == key; ++end) {
        all &= linked[static_cast<size_t>(order[end])];
      }
      for (size_t k = begin; k < end; ++k) linked[static_cast<size_t>(order[k])] = all;
      any = any || all != 0;
    }
    return any;
  }

  // The first neighbour that holds what child e needs; -1: none.
  int64_t Helper(int64_t e) {
    const int64_t x = e % width(), y = e / width(), height = num_children_ / width();
    if (x > 0 && Holds(e - 1, e)) return e - 1;
    if (x + 1 < width() && Holds(e + 1, e)) return e + 1;
    if (y > 0 && Holds(e - width(), e)) return e - width();
    if (y + 1 < height && Holds(e + width(), e)) return e + width();
    return -1;
  }

  bool Holds(int64_t neighbour, int64_t e) {
    for (int r = 0; r < num_ranks_; ++r) {
      const int64_t shift = Offset(e, r) - Offset(neighbour, r) + moved_[r];
      // In the only rank that changed, the new elements alone must be there.
      const bool only_new = one_changed_ && r == changed_rank_;
      if (only_new ? !HoldsNew(r, shift) : shift != 0) return false;
    }
    return true;
  }

  // Whether the elements of S that S moved back by d lacks, moved by `shift`, are all in S.
  bool HoldsNew(int r, int64_t shift) {
    for (const auto& [known_shift, holds] : scratch_.known_links) {
      if (known_shift == shift) return holds;
    }
    std::vector<int64_t>& set = scratch_.touched.a;
    ListTouched(tensor_.ranks[r], boxes_[r], set);
    const bool holds = std::ranges::all_of(set, [&](int64_t element) {
      return std::ranges::binary_search(set, element + moved_[r]) ||
             std::ranges::binary_search(set, element + shift);
    });
    scratch_.known_links.emplace_back(shift, holds);
    return holds;
  }

  const ExactInput& input_;
  const Nest& nest_;
  const TensorData& tensor_;
  const int num_ranks_;
  const int child_;
  ExactScratch& scratch_;
  ExactNetworkTensor& network_;
  std::vector<int64_t>& reads_by_place_;
  TouchedBox boxes_[kMaxRanks];
  int64_t touched_[kMaxRanks];
  int64_t tile_words_ = 1;
  int64_t num_children_ = 1;
  int64_t moved_[kMaxRanks];
  bool one_changed_ = false;
  int changed_rank_ = 0;
  int64_t words_ = 0;
};

}  // namespace

bool HasLinks(const ExactInput& input, int v, int child, int parent) {
  return input.machine.links && child >= 0 && parent == child + 1 && !input.tensor(v).read_write &&
         input.nest.HasSpatial(parent);
}

int64_t CountLinked(const ExactInput& input, int v, int child, ExactScratch& scratch,
                    ExactNetworkTensor& network, std::vector<int64_t>& reads_by_place) {
  return LinkCounter(input, v, child, scratch, network, reads_by_place).Run();
}

}  // namespace tessera::loopnest
