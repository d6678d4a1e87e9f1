// The walk of all children of one parent through all steps: what a reader of the rules would do by
// hand, kept for the two cases that have no closed form (docs/cost-loopnest.md, C8 and C9).
#include "tessera/cost/loopnest/exact_walk.h"

#include <algorithm>

namespace tessera::loopnest {
namespace {

class PairWalk {
 public:
  PairWalk(const ExactInput& input, int v, int child, int level, int parent, const int64_t* base,
           ExactScratch& scratch)
      : input_(input),
        nest_(input.nest),
        tensor_(input.data.tensors[v]),
        num_ranks_(input.tensor(v).num_ranks),
        child_(child),
        level_(level),
        parent_(parent),
        scratch_(scratch),
        joint_(scratch.residual.joint) {
    for (int d = 0; d < nest_.num_dims; ++d) base_[d] = base[d];
    for (int r = 0; r < num_ranks_; ++r) ranks_[r] = &tensor_.ranks[r];
    MakeChildren();
    StartGroups(joint_);
  }

  // Calls visit() after each step's requests have been collected in active_ and requests().
  template <typename Visit>
  void Run(const Visit& visit) {
    Steps(nest_.num_temporal() - 1, visit);
  }

  struct Child {
    int64_t shift[kMaxDims] = {};  // from the parent's base
    int64_t column = 0, row = 0;   // below its instance of level_
    int64_t instance = 0;          // of level_ below the parent
    bool visited = false;
    int64_t start[kMaxDims] = {}, width[kMaxDims] = {};  // of its last tile
  };

  std::vector<Child>& children() { return children_; }
  const std::vector<int32_t>& active() const { return active_; }
  const std::vector<JointChild>& requests() const { return scratch_.residual.children; }
  std::span<const RankShape* const> ranks() const {
    return {ranks_, static_cast<size_t>(num_ranks_)};
  }

  // The elements of rank r of a tile, or of what is new in it.
  void ListTile(const JointChild& request, int r, std::vector<int64_t>& elements) const {
    ListTouched(*ranks_[r], request.ranks[r].box, elements);
    for (int64_t& element : elements) element += request.ranks[r].start;
  }
  void ListPrevious(const JointChild& request, int r, std::vector<int64_t>& elements) const {
    elements.clear();
    if (!request.ranks[r].has_previous) return;
    ListTouched(*ranks_[r], request.ranks[r].previous, elements);
    for (int64_t& element : elements) {
      element += request.ranks[r].start + request.ranks[r].previous_shift;
    }
  }
  // The elements of rank r of the tile that a child held last.
  void ListHeld(const Child& child, int r, std::vector<int64_t>& elements) const {
    TouchedBox box;
    int64_t start = 0;
    for (int t = 0; t < ranks_[r]->num_terms; ++t) {
      box.widths[t] = child.width[ranks_[r]->dims[t]];
      start += ranks_[r]->coefficients[t] * child.start[ranks_[r]->dims[t]];
    }
    ListTouched(*ranks_[r], box, elements);
    for (int64_t& element : elements) element += start;
  }

 private:
  void MakeChildren() {
    children_.assign(1, {});
    int64_t stride[2] = {1, 1}, instances = 1;
    for (int s = nest_.first_spatial[child_ + 1]; s < nest_.first_spatial[parent_ + 1]; ++s) {
      const Loop& loop = nest_.spatial[s];
      const size_t inner = children_.size();
      for (int64_t n = 1; n < loop.count; ++n) {
        for (size_t c = 0; c < inner; ++c) {
          Child child = children_[c];
          child.shift[loop.dim] += n * loop.step;
          if (loop.level == level_) {
            (loop.on_y ? child.row : child.column) += n * stride[loop.on_y];
          } else if (loop.level > level_) {
            child.instance += n * instances;
          }
          children_.push_back(child);
        }
      }
      if (loop.level == level_) stride[loop.on_y] *= loop.count;
      if (loop.level > level_) instances *= loop.count;
    }
  }

  template <typename Visit>
  void Steps(int j, const Visit& visit) {
    if (j < nest_.first_temporal[child_ + 1]) {
      Collect();
      visit();
      Remember();
      return;
    }
    const Loop& loop = nest_.temporal[j];
    for (int64_t n = 0; n < loop.count; ++n) {
      base_[loop.dim] += n * loop.step;
      // Nothing further out in this dimension is left for any child.
      if (base_[loop.dim] < input_.bound(loop.dim)) Steps(j - 1, visit);
      base_[loop.dim] -= n * loop.step;
    }
  }

  int64_t Extent(int d) const { return child_ < 0 ? 1 : nest_.extent[child_][d]; }

  // What each child that has work asks for.
  void Collect() {
    active_.clear();
    scratch_.residual.children.clear();
    for (size_t c = 0; c < children_.size(); ++c) {
      const Child& child = children_[c];
      bool idle = false;
      for (int d = 0; d < nest_.num_dims; ++d) {
        idle = idle || base_[d] + child.shift[d] >= input_.bound(d);
      }
      if (idle) continue;
      active_.push_back(static_cast<int32_t>(c));
      JointChild request{.column = child.column, .row = child.row, .regular = false};
      for (int r = 0; r < num_ranks_; ++r) {
        JointRank& rank = request.ranks[r];
        rank.has_previous = child.visited && child_ >= 0;
        for (int t = 0; t < ranks_[r]->num_terms; ++t) {
          const int d = ranks_[r]->dims[t];
          const int64_t start = base_[d] + child.shift[d];
          rank.start += ranks_[r]->coefficients[t] * start;
          rank.box.widths[t] = std::min(Extent(d), input_.bound(d) - start);
          rank.previous.widths[t] = child.width[d];
          rank.previous_shift += ranks_[r]->coefficients[t] * (child.start[d] - start);
        }
      }
      scratch_.residual.children.push_back(request);
    }
  }

  void Remember() {
    for (const int32_t c : active_) {
      Child& child = children_[static_cast<size_t>(c)];
      child.visited = true;
      for (int d = 0; d < nest_.num_dims; ++d) {
        child.start[d] = base_[d] + child.shift[d];
        child.width[d] = std::min(Extent(d), input_.bound(d) - child.start[d]);
      }
    }
  }

  const ExactInput& input_;
  const Nest& nest_;
  const TensorData& tensor_;
  const int num_ranks_;
  const int child_, level_, parent_;
  ExactScratch& scratch_;
  JointGroups& joint_;
  int64_t base_[kMaxDims] = {};
  const RankShape* ranks_[kMaxRanks] = {};
  std::vector<Child> children_;
  std::vector<int32_t> active_;
};

// Finds neighbours that can serve a child.
class Neighbours {
 public:
  Neighbours(const ExactInput& input, int child, PairWalk& walk)
      : width_(input.nest.fanout_x[child + 1]),
        height_(input.nest.fanout_y[child + 1]),
        walk_(walk) {}

  // The child that holds all new elements of a request; -1: none.
  int64_t Find(size_t request) {
    const int64_t e = walk_.active()[request];
    const int64_t x = e % width_, y = e / width_;
    SetNeeds(walk_.requests()[request]);
    if (x > 0 && Holds(e - 1)) return e - 1;
    if (x + 1 < width_ && Holds(e + 1)) return e + 1;
    if (y > 0 && Holds(e - width_)) return e - width_;
    if (y + 1 < height_ && Holds(e + width_)) return e + width_;
    return -1;
  }

 private:
  // The coordinates that occur in the new elements, rank by rank: of the whole tile, except in a
  // rank that alone has changed.
  void SetNeeds(const JointChild& request) {
    const auto num_ranks = static_cast<int>(walk_.ranks().size());
    int changed = 0, last_changed = 0;
    for (int r = 0; r < num_ranks; ++r) {
      walk_.ListTile(request, r, needs_[r]);
      walk_.ListPrevious(request, r, list_);
      if (std::ranges::includes(list_, needs_[r])) continue;
      ++changed;
      last_changed = r;
    }
    if (changed != 1) return;
    walk_.ListPrevious(request, last_changed, list_);
    std::erase_if(needs_[last_changed],
                  [&](int64_t element) { return std::ranges::binary_search(list_, element); });
  }

  bool Holds(int64_t neighbour) {
    const PairWalk::Child& child = walk_.children()[static_cast<size_t>(neighbour)];
    if (!child.visited) return false;
    for (int r = 0; r < static_cast<int>(walk_.ranks().size()); ++r) {
      walk_.ListHeld(child, r, list_);
      if (!std::ranges::includes(list_, needs_[r])) return false;
    }
    return true;
  }

  const int64_t width_, height_;
  PairWalk& walk_;
  std::vector<int64_t> needs_[kMaxRanks], list_;
};

int64_t HalfHops(const JointGroup& group, const JointGroups& groups, int64_t centre) {
  int64_t half_hops = 2 * group.last_column;
  for (size_t c = 0; c < group.num_columns; ++c) {
    const JointColumn& column = groups.columns[group.first_column + c];
    half_hops += std::max<int64_t>(0, centre - 2 * column.top) +
                 std::max<int64_t>(0, 2 * column.bottom - centre);
  }
  return half_hops;
}

// Elements of a tensor as numbers from 0 to size() - 1.
class TensorCodes {
 public:
  TensorCodes(const ExactInput& input, const PairWalk& walk) {
    for (size_t r = 0; r < walk.ranks().size(); ++r) {
      const RankShape& rank = *walk.ranks()[r];
      sizes_[r] = 1;
      for (int t = 0; t < rank.num_terms; ++t) {
        sizes_[r] += rank.coefficients[t] * (input.bound(rank.dims[t]) - 1);
      }
      size_ *= sizes_[r];
    }
  }

  int64_t size() const { return size_; }

  // The elements of the tile that a child asks for.
  void List(const PairWalk& walk, const JointChild& request, std::vector<int64_t>& codes) const {
    std::vector<int64_t> more, coordinates;
    codes.assign(1, 0);
    for (size_t r = 0; r < walk.ranks().size(); ++r) {
      walk.ListTile(request, static_cast<int>(r), coordinates);
      more.clear();
      for (const int64_t code : codes) {
        for (const int64_t coordinate : coordinates) {
          more.push_back(code * sizes_[r] + coordinate);
        }
      }
      std::swap(codes, more);
    }
  }

 private:
  int64_t sizes_[kMaxRanks] = {};
  int64_t size_ = 1;
};

}  // namespace

double VisitsToWalk(const ExactInput& input, int child) {
  const Nest& nest = input.nest;
  double visits = 1;
  for (int j = nest.first_temporal[child + 1]; j < nest.num_temporal(); ++j) {
    visits *= static_cast<double>(nest.temporal[j].count);
  }
  return visits * static_cast<double>(child < 0 ? nest.used_macs : nest.used[child]);
}

int64_t WalkLinked(const ExactInput& input, int v, int child, const int64_t* base,
                   int64_t instances, ExactScratch& scratch, ExactNetworkTensor& network,
                   std::vector<int64_t>& reads_by_child) {
  const int parent = child + 1;
  PairWalk walk(input, v, child, parent, parent, base, scratch);
  Neighbours neighbours(input, child, walk);
  JointGroups& joint = scratch.residual.joint;
  reads_by_child.assign(walk.children().size(), 0);
  int64_t words = 0;
  walk.Run([&] {
    GroupChildren(walk.requests(), walk.ranks(), Sameness::kNew, joint);
    for (size_t g = 0; g < joint.groups.size(); ++g) {
      const JointGroup& group = joint.groups[g];
      const int64_t size = group.tile - group.common;
      const std::span<const int32_t> members(
          joint.members.data() + joint.group_start[g],
          static_cast<size_t>(joint.group_start[g + 1] - joint.group_start[g]));
      const bool served = std::ranges::all_of(members, [&](int32_t request) {
        return neighbours.Find(static_cast<size_t>(request)) >= 0;
      });
      if (served) {
        for (const int32_t request : members) {
          const int64_t helper = neighbours.Find(static_cast<size_t>(request));
          reads_by_child[static_cast<size_t>(helper)] += size;
          network.link_transfers += instances * size;
        }
        continue;
      }
      words += size;
      AddIngress(network, group.reached, instances * size);
      network.half_hops +=
          instances * size * HalfHops(group, joint, input.machine.levels[parent].fan_y - 1);
    }
  });
  return words;
}

int64_t WalkFirstWords(const ExactInput& input, int v, int child, int i, int parent,
                       const int64_t* base, ExactScratch& scratch) {
  PairWalk walk(input, v, child, i, parent, base, scratch);
  JointGroups& joint = scratch.residual.joint;
  const TensorCodes tensor(input, walk);
  std::vector<uint8_t>& seen = scratch.first_words.seen;
  seen.assign(static_cast<size_t>(tensor.size()), 0);
  std::vector<JointChild> requests;
  std::vector<int64_t> codes, fresh;
  int64_t words = 0;
  walk.Run([&] {
    const int64_t instances = walk.children().back().instance + 1;
    for (int64_t instance = 0; instance < instances; ++instance) {
      requests.clear();
      for (size_t k = 0; k < walk.active().size(); ++k) {
        const size_t c = static_cast<size_t>(walk.active()[k]);
        if (walk.children()[c].instance == instance) requests.push_back(walk.requests()[k]);
      }
      GroupChildren(requests, walk.ranks(), Sameness::kNew, joint);
      for (size_t g = 0; g < joint.groups.size(); ++g) {
        const int32_t first = joint.members[static_cast<size_t>(joint.group_start[g])];
        tensor.List(walk, requests[static_cast<size_t>(first)], codes);
        // What the child had before was seen before, so only new elements can be unseen.
        for (const int64_t code : codes) {
          if (seen[static_cast<size_t>(code)] == 0) fresh.push_back(code);
        }
      }
    }
    words += std::ssize(fresh);
    for (const int64_t code : fresh) seen[static_cast<size_t>(code)] = 1;
    fresh.clear();
  });
  return words;
}

}  // namespace tessera::loopnest
