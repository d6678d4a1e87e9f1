// Counting with imperfect factors. A visit is named by the loop that advanced; what happens at it
// is a product over dimensions, because each dimension has its own iterations and its own end. So
// sums over visits, instances and children are products of sums over one dimension (or one
// component, where a rank has several), and only classes of iterations are ever enumerated.
//
// What a child asks for is tile minus previous tile, |T| - |common|: two products, summed apart.
// Children with different indices in a tensor's dimensions ask for different words, except where a
// window moves with two spatial loops; those components are grouped by comparing sets.
//
// This file goes from tensor to tensor and from pair of levels to pair of levels; the parts are in
// residual_*.cc, and docs/cost-loopnest.md (C1 to C9) says why each is right.
#include "tessera/cost/loopnest/exact_residual.h"

#include <algorithm>

#include "tessera/cost/loopnest/exact_count.h"
#include "tessera/cost/loopnest/exact_links.h"
#include "tessera/cost/loopnest/exact_walk.h"
#include "tessera/cost/loopnest/residual_counter.h"

namespace tessera::loopnest {

namespace {

// Instances of a level that behave alike: the product of the classes of each dimension. C2.
void MakeClasses(const ExactInput& input, int level, ExactScratch& scratch) {
  ResidualScratch& own = scratch.residual;
  int64_t classes = 1;
  for (int d = 0; d < input.nest.num_dims; ++d) {
    if (input.machine.links) {
      // Neighbours make every instance different.
      ListInstances(own.walks[d], level, own.bases[level][d]);
    } else {
      ListBases(own.walks[d], level, own.bases[level][d]);
    }
    classes *= std::ssize(own.bases[level][d]);
  }
  scratch.classes[level].assign(static_cast<size_t>(classes), {});
  for (int64_t k = 0; k < classes; ++k) {
    InstanceClass& instance = scratch.classes[level][static_cast<size_t>(k)];
    ForEachBase(own, input.nest.num_dims, level, k,
                [&](int, const BaseClass& base) { instance.instances *= base.instances; });
  }
}

// Kinds of visits of the child, all of them; tensors with the same child share them. C1.
void MakeSteps(const Transfer& transfer) {
  ResidualScratch& own = transfer.own();
  std::vector<DimStep>& steps = own.steps[transfer.child + 1];
  if (!steps.empty()) return;
  const int first = transfer.nest().first_temporal[transfer.child + 1];
  ForEachLoop(transfer, first, [&](int loop) {
    for (int d = 0; d < transfer.num_dims(); ++d) {
      const DimWalk& walk = own.walks[d];
      ListKinds(walk, transfer.child, loop, own.some_kinds);
      steps.push_back({.visit = MakeDimVisit(walk, transfer.child, loop, transfer.Extent(d)),
                       .first_kind = own.kinds.size(),
                       .num_kinds = own.some_kinds.size()});
      own.kinds.insert(own.kinds.end(), own.some_kinds.begin(), own.some_kinds.end());
    }
  });
}

// Adds own().handed_on, by child of the parent's instance k, to the reads of those children. C9.
void AddHandedOn(const Transfer& transfer, int64_t k) {
  const ResidualScratch& own = transfer.own();
  const std::vector<BaseClass>* children = own.bases[transfer.child];
  int64_t first[kMaxDims];  // index of the parent's first child, in each dimension
  for (int d = 0; d < transfer.num_dims(); ++d) {
    const int64_t parents = std::ssize(own.bases[transfer.parent][d]);
    first[d] = k % parents * (std::ssize(children[d]) / parents);
    k /= parents;
  }
  for (size_t c = 0; c < own.handed_on.size(); ++c) {
    int64_t index[kMaxDims], rest = static_cast<int64_t>(c);
    std::copy_n(first, transfer.num_dims(), index);
    for (const Loop& loop : transfer.input.SpatialLoops(transfer.parent)) {
      index[loop.dim] += rest % loop.count;
      rest /= loop.count;
    }
    int64_t place = 0;
    for (int d = transfer.num_dims() - 1; d >= 0; --d) {
      place = place * std::ssize(children[d]) + index[d];
    }
    InstanceClass& child = transfer.scratch.classes[transfer.child][static_cast<size_t>(place)];
    child.tensors[transfer.v].reads += own.handed_on[c];
  }
}

// Words below each level between child and parent, over all instances, and those of them that are
// the first of their elements.
struct WordsByLevel {
  int64_t words[kMaxLevels] = {}, first[kMaxLevels] = {};
};

// Words that one of the parent's instances hands out if neighbours help. C9.
int64_t HandOutLinked(const Transfer& transfer, const AlikeInstances& parents, size_t k) {
  const int64_t words = WalkLinked(
      transfer.input, transfer.v, transfer.child, parents.base, parents.count, transfer.scratch,
      transfer.result.levels[transfer.parent].network[transfer.v], transfer.own().handed_on);
  AddHandedOn(transfer, static_cast<int64_t>(k));
  return words;
}

// The same if they do not: what goes into the outermost network that spreads, or, if none does,
// what the only child receives.
int64_t HandOut(const Transfer& transfer, const AlikeInstances& parents, size_t k, bool both_ways,
                WordsByLevel& below) {
  int64_t words = transfer.own().raw_words[k];
  for (int i = transfer.child + 1; i <= transfer.parent; ++i) {
    if (transfer.nest().HasSpatial(i)) {
      words = CountNetwork(transfer, parents, i);
      below.words[i] += parents.count * words;
    }
    if (both_ways) below.first[i] += parents.count * FirstWords(transfer, i, parents.base);
  }
  return words;
}

// Networks with one child, and what comes back down, are known once all instances are counted.
void FinishNetworks(const Transfer& transfer, int64_t raw_words, bool both_ways,
                    const WordsByLevel& below) {
  int64_t passing = raw_words;
  for (int i = transfer.child + 1; i <= transfer.parent; ++i) {
    ExactNetworkTensor& network = transfer.result.levels[i].network[transfer.v];
    if (transfer.nest().HasSpatial(i)) {
      passing = below.words[i];
    } else {
      // One child only: what comes out of the network below goes on as it is.
      AddIngress(network, 1, passing);
    }
    if (both_ways) network.down_words += passing - below.first[i];
  }
}

void CountTransfer(const Transfer& transfer) {
  const ExactInput& input = transfer.input;
  const int v = transfer.v, parent = transfer.parent;
  MakeSteps(transfer);
  const int64_t raw_words = CountFills(transfer);
  StartGroups(transfer.own().joint);
  const bool read_write = input.tensor(v).read_write;
  const bool both_ways = read_write && !input.machine.levels[parent].reduces;
  const bool linked = HasLinks(input, v, transfer.child, parent);
  WordsByLevel below;
  for (size_t k = 0; k < transfer.scratch.classes[parent].size(); ++k) {
    const AlikeInstances parents = InstancesOf(transfer, parent, k);
    const int64_t words = linked ? HandOutLinked(transfer, parents, k)
                                 : HandOut(transfer, parents, k, both_ways, below);
    InstanceCounts& counts = transfer.scratch.classes[parent][k].tensors[v];
    (read_write ? counts.updates : counts.reads) = words;
    // The first update of each element needs no read. C7.
    if (read_write) counts.reads = words - DistinctWords(transfer, parent, parents.base);
  }
  if (!linked) FinishNetworks(transfer, raw_words, both_ways, below);
}

}  // namespace

void Reserve(size_t children, size_t usual, ResidualScratch& scratch) {
  // Room for common cases, so that evaluations do not allocate; lists that need more grow once.
  constexpr size_t kUsualShapes = 8;  // different tiles of one dimension
  constexpr size_t kUsualVisits = 4;  // times `usual`: dimensions of all visits of a child
  constexpr size_t kUsualKinds = 64;  // times `usual`: kinds of all visits, all children
  for (auto& level : scratch.bases) {
    for (std::vector<BaseClass>& bases : level) bases.reserve(usual);
  }
  for (int d = 0; d < kMaxDims; ++d) {
    scratch.placements[d].reserve(children);
    scratch.below[d].reserve(children);
    scratch.above[d].reserve(children);
    scratch.shapes[d].tiles.reserve(usual);
    scratch.shapes[d].times.reserve(kUsualShapes * children);
  }
  for (int f = 0; f < kFamilies; ++f) {
    scratch.weights[f].reserve(children);
    scratch.groups.rows[f].reserve(children);
  }
  for (std::vector<DimStep>& steps : scratch.steps) steps.reserve(kUsualVisits * usual);
  scratch.kinds.reserve(kUsualKinds * usual);
  scratch.some_kinds.reserve(usual);
  scratch.raw_words.reserve(usual);
  for (ComponentFactor& factor : scratch.factors) {
    factor.tile.reserve(usual);
    factor.common.reserve(usual);
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
  ResidualScratch& own = scratch.residual;
  for (int d = 0; d < input.nest.num_dims; ++d) {
    own.walks[d] = MakeDimWalk(input.nest, d, input.bound(d));
  }
  for (int i = 0; i < input.nest.num_levels; ++i) MakeClasses(input, i, scratch);
  own.kinds.clear();
  for (std::vector<DimStep>& steps : own.steps) steps.clear();
  input.ForEachTransfer([&](int v, int child, int parent) {
    CountTransfer({.input = input,
                   .scratch = scratch,
                   .result = result,
                   .v = v,
                   .child = child,
                   .parent = parent});
  });
}

}  // namespace tessera::loopnest
