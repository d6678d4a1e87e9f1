// Counting with imperfect factors where a window moves with several spatial loops: children with
// different indices may ask for the same words, so their sets are compared.
#include <bit>

#include "tessera/cost/loopnest/exact_count.h"
#include "tessera/cost/loopnest/residual_counter.h"

namespace tessera::loopnest {

int64_t ResidualCounter::AddJointGroups() {
  const TensorData& tensor = input_.data.tensors[v_];
  joint_dims_ = 0;
  num_joint_ranks_ = 0;
  for (int k = 0; k < tensor.num_components; ++k) {
    if ((joint_ >> k & 1) == 0) continue;
    joint_dims_ |= tensor.component_dims[k];
    for (uint32_t ranks = tensor.component_ranks[k]; ranks != 0; ranks &= ranks - 1) {
      joint_ranks_[num_joint_ranks_++] = &tensor.ranks[std::countr_zero(ranks)];
    }
  }
  return AddJointKinds(joint_dims_, 1);
}

int64_t ResidualCounter::AddJointKinds(uint32_t dims_left, int64_t times) {
  if (dims_left == 0) return AddJointVisit(times);
  const int d = std::countr_zero(dims_left);
  int64_t words = 0;
  for (size_t k = 0; k < Kinds(d).size(); ++k) {
    // Listed anew each time, because the dimensions further in use the same memory.
    ListPlacements(d, level_ + 1, parent_);
    const size_t instances = own_.placements[d].size();
    for (size_t p = 0; p < instances; ++p) {
      ListPlacements(d, level_ + 1, parent_);
      const VisitKind kind = Kinds(d)[k];
      joint_left_[d] = kind.left - base_[d] - own_.placements[d][p].shift;
      if (joint_left_[d] <= 0) continue;
      words += AddJointKinds(dims_left & (dims_left - 1), times * kind.times);
    }
  }
  return words;
}

int64_t ResidualCounter::AddJointVisit(int64_t times) {
  own_.children.assign(1, {});
  for (uint32_t dims = joint_dims_; dims != 0; dims &= dims - 1) {
    AddJointDimension(std::countr_zero(dims));
  }
  const GroupWeights& groups = own_.groups;
  int64_t words = 0;
  const auto add = [&](Sameness sameness, const auto& weigh) {
    GroupChildren(own_.children, {joint_ranks_, static_cast<size_t>(num_joint_ranks_)}, sameness,
                  own_.joint);
    for (const JointGroup& group : own_.joint.groups) {
      int64_t weights[kFamilies] = {};
      weigh(group, weights);
      words += AddJointGroup(group, weights, times);
    }
  };
  // Which sets must be equal depends on the other components, so each case has its own groups.
  if (groups.total[kTile] != groups.total[kOverlapping]) {
    add(Sameness::kTile, [](const JointGroup& group, int64_t* weights) {
      weights[kTile] = group.tile;
      weights[kOverlapping] = -group.tile;
    });
  }
  if (groups.total[kSame] != 0) {
    add(Sameness::kNew, [](const JointGroup& group, int64_t* weights) {
      weights[kSame] = group.tile - group.common;
    });
  }
  if (groups.total[kOverlapping] != groups.total[kSame]) {
    add(Sameness::kTileAndOld, [](const JointGroup& group, int64_t* weights) {
      weights[kOverlapping] = group.tile;
      weights[kCommon] = -group.common;
      weights[kSame] = group.common - group.tile;
    });
  }
  return words;
}

void ResidualCounter::AddJointDimension(int d) {
  ListPlacements(d, child_ + 1, level_);
  const size_t before = own_.children.size();
  for (const Placement& placement : own_.placements[d]) {
    const int64_t left = joint_left_[d] - placement.shift;
    if (left <= 0) continue;
    const DimTile tile = TileAt(steps_[d].visit, left);
    for (size_t c = 0; c < before; ++c) {
      JointChild child = own_.children[c];
      (on_y_[d] ? child.row : child.column) += placement.place * stride_[d];
      child.regular = child.regular && left >= steps_[d].visit.regular_left;
      for (int r = 0; r < num_joint_ranks_; ++r) {
        AddJointTerm(*joint_ranks_[r], d, placement.shift, tile, child.ranks[r]);
      }
      own_.children.push_back(child);
    }
  }
  own_.children.erase(own_.children.begin(),
                      own_.children.begin() + static_cast<std::ptrdiff_t>(before));
}

void ResidualCounter::AddJointTerm(const RankShape& rank, int d, int64_t shift, const DimTile& tile,
                                   JointRank& child) const {
  for (int t = 0; t < rank.num_terms; ++t) {
    if (rank.dims[t] != d) continue;
    child.start += rank.coefficients[t] * shift;
    child.box.widths[t] = tile.width;
    child.has_previous = HasPrevious(visit_);
    child.previous.widths[t] = tile.previous_width;
    child.previous_shift += rank.coefficients[t] * tile.previous_shift;
  }
}

int64_t ResidualCounter::AddJointGroup(const JointGroup& group, const int64_t* weights,
                                       int64_t times) {
  const GroupWeights& groups = own_.groups;
  int64_t words = 0, columns = 0;
  for (int f = 0; f < kFamilies; ++f) {
    words += weights[f] * groups.total[f];
    columns += weights[f] * groups.columns[f];
  }
  ExactNetworkTensor& network = result_.levels[level_].network[v_];
  const int64_t centre = input_.machine.levels[level_].fan_y - 1;
  int64_t all = 0;
  for (const Spread& spread : own_.spreads) {
    AddIngress(network, spread.children * group.reached, instances_ * times * spread.times * words);
    all += times * spread.times * words;
    if (!Spreads()) continue;
    int64_t half_hops = 2 * (columns + (spread.last_column + group.last_column) * words);
    for (size_t y = 0; y < groups.rows[kTile].size(); ++y) {
      int64_t here = 0;
      for (int f = 0; f < kFamilies; ++f) here += weights[f] * groups.rows[f][y];
      if (here == 0) continue;
      const auto row = static_cast<int64_t>(y);
      for (size_t c = 0; c < group.num_columns; ++c) {
        const JointColumn& column = own_.joint.columns[group.first_column + c];
        half_hops += here * spread.columns *
                     Vertical(centre, row + column.top, row + column.bottom + spread.depth);
      }
    }
    network.half_hops += instances_ * times * spread.times * half_hops;
  }
  return all;
}

}  // namespace tessera::loopnest
