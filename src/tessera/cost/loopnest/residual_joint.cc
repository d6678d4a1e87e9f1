// Counting with imperfect factors where a window moves with several spatial loops: children with
// different indices may ask for the same words, so their sets are compared (residual_groups.cc).
// Which sets have to be equal depends on the tensor's other components, whose groups are known as
// sums: that gives three ways of grouping (docs/cost-loopnest.md, C6).
#include <bit>

#include "tessera/cost/loopnest/exact_count.h"
#include "tessera/cost/loopnest/residual_counter.h"

namespace tessera::loopnest {
namespace {

// The joint components of a tensor at one visit, taken together.
struct JointVisit : NetworkVisit {
  uint32_t dims = 0;
  int num_ranks = 0;
  const RankShape* ranks[kMaxRanks] = {};
  int64_t left[kMaxDims] = {};  // indices that remain to the instance of the level at hand
};

void SetRanks(JointVisit& joint) {
  const TensorData& tensor = joint.transfer.tensor();
  for (int k = 0; k < tensor.num_components; ++k) {
    if ((joint.network.joint >> k & 1) == 0) continue;
    joint.dims |= tensor.component_dims[k];
    for (uint32_t ranks = tensor.component_ranks[k]; ranks != 0; ranks &= ranks - 1) {
      joint.ranks[joint.num_ranks++] = &tensor.ranks[std::countr_zero(ranks)];
    }
  }
}

// Adds the term of dimension d to a rank of a child that lies `shift` along it.
void AddTerm(const JointVisit& joint, const RankShape& rank, int d, int64_t shift,
             const DimTile& tile, JointRank& child) {
  for (int t = 0; t < rank.num_terms; ++t) {
    if (rank.dims[t] != d) continue;
    child.start += rank.coefficients[t] * shift;
    child.box.widths[t] = tile.width;
    child.has_previous = joint.visit.HasPrevious();
    child.previous.widths[t] = tile.previous_width;
    child.previous_shift += rank.coefficients[t] * tile.previous_shift;
  }
}

// Multiplies own().children by the children in dimension d; those without work are dropped.
void AddDimension(const JointVisit& joint, int d) {
  std::vector<JointChild>& children = joint.own().children;
  const DimVisit& step = joint.visit.steps[d].visit;
  const size_t before = children.size();
  for (const Placement& placement : joint.own().below[d]) {
    const int64_t left = joint.left[d] - placement.shift;
    if (left <= 0) continue;
    const DimTile tile = TileAt(step, left);
    for (size_t c = 0; c < before; ++c) {
      JointChild child = children[c];
      (joint.network.on_y[d] ? child.row : child.column) +=
          placement.place * joint.network.stride[d];
      child.regular = child.regular && left >= step.regular_left;
      for (int r = 0; r < joint.num_ranks; ++r) {
        AddTerm(joint, *joint.ranks[r], d, placement.shift, tile, child.ranks[r]);
      }
      children.push_back(child);
    }
  }
  children.erase(children.begin(), children.begin() + static_cast<std::ptrdiff_t>(before));
}

// One group of the joint components, combined with all groups of the others: `weights` say how much
// a group counts with those of each family. Occurs `times` times.
int64_t AddGroup(const JointVisit& joint, const JointGroup& group, const FamilySums& weights,
                 int64_t times) {
  const GroupWeights& groups = joint.own().groups;
  const int level = joint.network.level;
  int64_t words = 0, columns = 0;
  for (int f = 0; f < kFamilies; ++f) {
    words += weights[f] * groups.total[f];
    columns += weights[f] * groups.columns[f];
  }
  ExactNetworkTensor& network = joint.transfer.result.levels[level].network[joint.transfer.v];
  const int64_t centre = joint.transfer.input.machine.levels[level].fan_y - 1;
  int64_t all = 0;
  for (const Spread& spread : joint.own().spreads) {
    const int64_t all_times = times * spread.times;
    AddIngress(network, spread.children * group.reached, joint.parents.count * all_times * words);
    all += all_times * words;
    if (!joint.network.spreads) continue;
    int64_t half_hops = 2 * (columns + (spread.last_column + group.last_column) * words);
    for (size_t y = 0; y < groups.rows[kTile].size(); ++y) {
      int64_t here = 0;
      for (int f = 0; f < kFamilies; ++f) here += weights[f] * groups.rows[f][y];
      if (here == 0) continue;
      const auto row = static_cast<int64_t>(y);
      for (size_t c = 0; c < group.num_columns; ++c) {
        const JointColumn& column = joint.own().joint.columns[group.first_column + c];
        half_hops += here * spread.columns *
                     VerticalHalfHops(centre, row + column.top, row + column.bottom + spread.depth);
      }
    }
    network.half_hops += joint.parents.count * all_times * half_hops;
  }
  return all;
}

// Groups the children below one instance of the level and adds them, `times` times.
int64_t AddInstance(const JointVisit& joint, int64_t times) {
  ResidualScratch& own = joint.own();
  own.children.assign(1, {});
  for (uint32_t dims = joint.dims; dims != 0; dims &= dims - 1) {
    AddDimension(joint, std::countr_zero(dims));
  }
  int64_t words = 0;
  const auto add = [&](Sameness sameness, const auto& weigh) {
    GroupChildren(own.children, {joint.ranks, static_cast<size_t>(joint.num_ranks)}, sameness,
                  own.joint);
    for (const JointGroup& group : own.joint.groups) {
      FamilySums weights;
      weigh(group, weights);
      words += AddGroup(joint, group, weights, times);
    }
  };
  const FamilySums& others = own.groups.total;
  // The other components have nothing in common with before: all of the joint tile is new.
  if (others[kTile] != others[kOverlapping]) {
    add(Sameness::kTile, [](const JointGroup& group, FamilySums& weights) {
      weights[kTile] = group.tile;
      weights[kOverlapping] = -group.tile;
    });
  }
  // They stayed as they were: what is new in the joint tile is new.
  if (others[kSame] != 0) {
    add(Sameness::kNew, [](const JointGroup& group, FamilySums& weights) {
      weights[kSame] = group.tile - group.common;
    });
  }
  // They overlap with before: what is new has a corner cut out, and both sides of it count.
  if (others[kOverlapping] != others[kSame]) {
    add(Sameness::kTileAndOld, [](const JointGroup& group, FamilySums& weights) {
      weights[kOverlapping] = group.tile;
      weights[kCommon] = -group.common;
      weights[kSame] = group.common - group.tile;
    });
  }
  return words;
}

// Goes through the kinds of visits of the dimensions left, and through the instances of the level
// below the parent as far as they differ in these dimensions.
int64_t AddKinds(JointVisit& joint, uint32_t dims_left, int64_t times) {
  if (dims_left == 0) return AddInstance(joint, times);
  const int d = std::countr_zero(dims_left);
  int64_t words = 0;
  for (const VisitKind& kind : joint.visit.Kinds(d)) {
    for (const Placement& instance : joint.own().above[d]) {
      joint.left[d] = kind.left - joint.parents.base[d] - instance.shift;
      if (joint.left[d] <= 0) continue;
      words += AddKinds(joint, dims_left & (dims_left - 1), times * kind.times);
    }
  }
  return words;
}

}  // namespace

int64_t AddJointGroups(const NetworkVisit& at) {
  JointVisit joint{at};
  SetRanks(joint);
  return AddKinds(joint, joint.dims, 1);
}

}  // namespace tessera::loopnest
