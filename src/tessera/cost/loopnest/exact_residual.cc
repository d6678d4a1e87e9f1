// Counting with imperfect factors. A visit is named by the loop that advanced; what happens at it
// is a product over dimensions, because each dimension has its own iterations and its own end. So
// sums over visits, instances and children are products of sums over one dimension (or one
// component, where a rank has several), and only classes of iterations are ever enumerated.
//
// What a child asks for is tile minus previous tile, |T| - |common|: two products, summed apart.
// Children with different indices in a tensor's dimensions ask for different words, except where a
// window moves with two spatial loops; those components are grouped by comparing sets.
#include "tessera/cost/loopnest/exact_residual.h"

#include <algorithm>

#include "tessera/cost/loopnest/exact_count.h"
#include "tessera/cost/loopnest/exact_links.h"
#include "tessera/cost/loopnest/exact_walk.h"
#include "tessera/cost/loopnest/residual_counter.h"

namespace tessera::loopnest {

void ResidualCounter::Run() {
  for (int d = 0; d < num_dims_; ++d) {
    own_.walks[d] = MakeDimWalk(nest_, d, input_.bound(d));
  }
  for (int i = 0; i < nest_.num_levels; ++i) MakeClasses(i);
  own_.kinds.clear();
  for (std::vector<DimStep>& steps : own_.steps) steps.clear();
  input_.ForEachTransfer([&](int v, int child, int parent) { Transfer(v, child, parent); });
}

void ResidualCounter::MakeClasses(int level) {
  int64_t classes = 1;
  for (int d = 0; d < num_dims_; ++d) {
    if (input_.machine.links) {
      // Neighbours make every instance different.
      ListInstances(own_.walks[d], level, own_.bases[level][d]);
    } else {
      ListBases(own_.walks[d], level, own_.bases[level][d]);
    }
    classes *= std::ssize(own_.bases[level][d]);
  }
  scratch_.classes[level].assign(static_cast<size_t>(classes), {});
  for (int64_t k = 0; k < classes; ++k) {
    InstanceClass& instance = scratch_.classes[level][static_cast<size_t>(k)];
    ForEachBase(level, k,
                [&](int, const BaseClass& base) { instance.instances *= base.instances; });
  }
}

void ResidualCounter::Transfer(int v, int child, int parent) {
  v_ = v;
  child_ = child;
  parent_ = parent;
  MakeSteps();
  const int64_t raw_words = CountFills();
  StartGroups(own_.joint);
  // Words below each level, over all instances, and those of them that are the first of their
  // elements.
  int64_t words[kMaxLevels] = {}, first_words[kMaxLevels] = {};
  const bool read_write = input_.tensor(v).read_write;
  const bool both_ways = read_write && !input_.machine.levels[parent].reduces;
  const bool linked = HasLinks(input_, v, child, parent);
  for (size_t k = 0; k < scratch_.classes[parent].size(); ++k) {
    InstanceClass& instance = scratch_.classes[parent][k];
    ForEachBase(parent, static_cast<int64_t>(k),
                [&](int d, const BaseClass& base) { base_[d] = base.base; });
    instances_ = instance.instances;
    int64_t handed_out = own_.raw_words[k];  // if the parent has one child
    if (linked) {
      handed_out = WalkLinked(input_, v, child, base_, instances_, scratch_,
                              result_.levels[parent].network[v], own_.handed_on);
      AddHandedOn(static_cast<int64_t>(k));
    }
    for (int i = child + 1; i <= parent && !linked; ++i) {
      if (nest_.HasSpatial(i)) {
        handed_out = Network(i);
        words[i] += instances_ * handed_out;
      }
      if (both_ways) first_words[i] += instances_ * FirstWords(i);
    }
    InstanceCounts& counts = instance.tensors[v];
    (read_write ? counts.updates : counts.reads) = handed_out;
    if (read_write) counts.reads = handed_out - DistinctWords(parent);
  }
  int64_t passing = raw_words;
  for (int i = child + 1; i <= parent && !linked; ++i) {
    ExactNetworkTensor& network = result_.levels[i].network[v];
    if (nest_.HasSpatial(i)) {
      passing = words[i];
    } else {
      // One child only: what comes out of the network below goes on as it is.
      AddIngress(network, 1, passing);
    }
    if (both_ways) network.down_words += passing - first_words[i];
  }
}

void ResidualCounter::AddHandedOn(int64_t k) {
  int64_t first[kMaxDims];  // index of the parent's first child, in each dimension
  for (int d = 0; d < num_dims_; ++d) {
    const int64_t parents = std::ssize(own_.bases[parent_][d]);
    first[d] = k % parents * (std::ssize(own_.bases[child_][d]) / parents);
    k /= parents;
  }
  for (size_t c = 0; c < own_.handed_on.size(); ++c) {
    int64_t index[kMaxDims], rest = static_cast<int64_t>(c);
    for (int d = 0; d < num_dims_; ++d) index[d] = first[d];
    for (const Loop& loop : input_.SpatialLoops(parent_)) {
      index[loop.dim] += rest % loop.count;
      rest /= loop.count;
    }
    int64_t place = 0;
    for (int d = num_dims_ - 1; d >= 0; --d) {
      place = place * std::ssize(own_.bases[child_][d]) + index[d];
    }
    scratch_.classes[child_][static_cast<size_t>(place)].tensors[v_].reads += own_.handed_on[c];
  }
}

void ResidualCounter::MakeSteps() {
  std::vector<DimStep>& steps = own_.steps[child_ + 1];
  if (!steps.empty()) return;
  ForEachVisit([&](int visit) {
    for (int d = 0; d < num_dims_; ++d) {
      ListKinds(own_.walks[d], child_, visit, own_.some_kinds);
      steps.push_back({.visit = MakeDimVisit(own_.walks[d], child_, visit, Extent(d)),
                       .first_kind = own_.kinds.size(),
                       .num_kinds = own_.some_kinds.size()});
      own_.kinds.insert(own_.kinds.end(), own_.some_kinds.begin(), own_.some_kinds.end());
    }
  });
}

void Reserve(size_t children, size_t usual, ResidualScratch& scratch) {
  for (auto& level : scratch.bases) {
    for (std::vector<BaseClass>& bases : level) bases.reserve(usual);
  }
  for (int d = 0; d < kMaxDims; ++d) {
    scratch.placements[d].reserve(children);
    scratch.shapes[d].reserve(usual);
    scratch.times[d].reserve(8 * children);
  }
  for (int f = 0; f < kFamilies; ++f) {
    scratch.weights[f].reserve(children);
    scratch.groups.rows[f].reserve(children);
  }
  for (std::vector<DimStep>& steps : scratch.steps) steps.reserve(4 * usual);
  scratch.kinds.reserve(64 * usual);
  scratch.some_kinds.reserve(usual);
  scratch.raw_words.reserve(usual);
  for (auto& factor : scratch.factors) {
    for (std::vector<int64_t>& part : factor) part.reserve(usual);
  }
  scratch.row_sums.reserve(children);
  scratch.spreads.reserve(usual);
  scratch.more_spreads.reserve(usual);
  scratch.reached.reserve(children);
  scratch.children.reserve(2 * children);
  Reserve(children, scratch.joint);
}

bool IsTooLong(const ExactInput& input, ExactResult& result) {
  for (int v = 0; v < input.data.problem.num_tensors; ++v) {
    int child = -1;
    for (int i = 0; i < input.nest.num_levels; ++i) {
      if (!input.Keeps(i, v)) continue;
      const bool windows = input.tensor(v).read_write && !input.data.tensors[v].simple &&
                           !input.machine.levels[i].reduces;
      if ((HasLinks(input, v, child, i) || windows) &&
          VisitsToWalk(input, child) > kMaxVisitsToWalk) {
        result.status = ExactResult::Status::kTooLong;
        result.level = i;
        result.tensor = v;
        result.have = static_cast<int64_t>(std::min(VisitsToWalk(input, child), 9e18));
        result.limit = static_cast<int64_t>(kMaxVisitsToWalk);
        return true;
      }
      child = i;
    }
  }
  return false;
}

void CountResidual(const ExactInput& input, ExactScratch& scratch, ExactResult& result) {
  ResidualCounter(input, scratch, result).Run();
}

}  // namespace tessera::loopnest
