// Counting with imperfect factors: the words that pass the network between two levels, how many
// children each reaches, and how far it goes.
#include <algorithm>
#include <bit>

#include "tessera/cost/loopnest/exact_count.h"
#include "tessera/cost/loopnest/residual_counter.h"

namespace tessera::loopnest {

int64_t ResidualCounter::Network(int i) {
  level_ = i;
  const TensorData& tensor = input_.data.tensors[v_];
  joint_ = 0;
  for (int k = 0; k < tensor.num_components; ++k) {
    if (MayCoincide(k)) joint_ |= 1u << k;
  }
  SetPlaces();
  int64_t words = 0;
  ForEachMovingVisit([&](int visit) {
    StartVisit(visit);
    for (int d = 0; d < num_dims_; ++d) ListPlacements(d, child_ + 1, parent_);
    ListSpreads();
    if (own_.spreads.empty()) return;
    SumComponents();
    words += joint_ == 0 ? AddSimpleGroups() : AddJointGroups();
  });
  return words;
}

bool ResidualCounter::MayCoincide(int k) const {
  const TensorData& tensor = input_.data.tensors[v_];
  const uint32_t dims = tensor.component_dims[k];
  if (IsSimple(k)) return false;
  uint32_t spread = 0;
  for (int s = nest_.first_spatial[child_ + 1]; s < nest_.first_spatial[level_ + 1]; ++s) {
    spread |= 1u << nest_.spatial[s].dim & dims;
  }
  if (!std::has_single_bit(tensor.component_ranks[k])) return spread != 0;
  return spread != 0 && !std::has_single_bit(spread);
}

void ResidualCounter::SetPlaces() {
  for (int d = 0; d < num_dims_; ++d) {
    places_[d] = 1;
    stride_[d] = 0;
    on_y_[d] = false;
  }
  int64_t stride[2] = {1, 1};
  for (const Loop& loop : input_.SpatialLoops(level_)) {
    places_[loop.dim] = loop.count;
    stride_[loop.dim] = stride[loop.on_y];
    on_y_[loop.dim] = loop.on_y;
    stride[loop.on_y] *= loop.count;
  }
}

void ResidualCounter::ListPlacements(int d, int first, int last) {
  std::vector<Placement>& placements = own_.placements[d];
  placements.assign(1, {});
  const DimWalk& walk = own_.walks[d];
  for (const bool own_level : {false, true}) {
    for (int k = 0; k < walk.num_loops; ++k) {
      const DimLoop& loop = walk.loops[k];
      if (!loop.spatial || loop.level < first || loop.level > last) continue;
      if ((loop.level == level_) != own_level) continue;
      const size_t inner = placements.size();
      for (int64_t n = 1; n < loop.count; ++n) {
        for (size_t p = 0; p < inner; ++p) {
          placements.push_back(
              {.place = own_level ? n : 0, .shift = placements[p].shift + n * loop.step});
        }
      }
    }
  }
}

void ResidualCounter::ListShapes(int d, int64_t places) {
  std::vector<DimTile>& shapes = own_.shapes[d];
  std::vector<int64_t>& times = own_.times[d];
  shapes.clear();
  times.clear();
  for (const VisitKind& kind : Kinds(d)) {
    for (const Placement& placement : own_.placements[d]) {
      const int64_t left = kind.left - base_[d] - placement.shift;
      if (left <= 0) continue;
      const DimTile tile = TileAt(steps_[d].visit, left);
      size_t s = 0;
      while (s < shapes.size() &&
             (shapes[s].width != tile.width || shapes[s].previous_shift != tile.previous_shift ||
              shapes[s].previous_width != tile.previous_width)) {
        ++s;
      }
      if (s == shapes.size()) {
        shapes.push_back(tile);
        times.resize(times.size() + static_cast<size_t>(places), 0);
      }
      times[s * static_cast<size_t>(places) + static_cast<size_t>(placement.place)] += kind.times;
    }
  }
}

void ResidualCounter::AddComponent(int k, int fixed, int64_t place, int64_t* sums) {
  const uint32_t dims = input_.data.tensors[v_].component_dims[k];
  AddShapes(k, dims, fixed, place, 1, sums);
}

void ResidualCounter::AddShapes(int k, uint32_t dims_left, int fixed, int64_t place, int64_t times,
                                int64_t* sums) {
  if (dims_left == 0) {
    AddTile(k, times, sums);
    return;
  }
  const int d = std::countr_zero(dims_left);
  const size_t places = d == fixed ? static_cast<size_t>(places_[d]) : 1;
  for (size_t s = 0; s < own_.shapes[d].size(); ++s) {
    const int64_t here = own_.times[d][s * places + (d == fixed ? static_cast<size_t>(place) : 0)];
    if (here == 0) continue;
    tile_[d] = own_.shapes[d][s];
    AddShapes(k, dims_left & (dims_left - 1), fixed, place, times * here, sums);
  }
}

void ResidualCounter::AddTile(int k, int64_t times, int64_t* sums) {
  const TensorData& tensor = input_.data.tensors[v_];
  int64_t touched = 1, common = HasPrevious(visit_) ? 1 : 0;
  for (uint32_t ranks = tensor.component_ranks[k]; ranks != 0; ranks &= ranks - 1) {
    const RankShape& rank = tensor.ranks[std::countr_zero(ranks)];
    TouchedBox box, previous;
    int64_t shift = 0;
    for (int t = 0; t < rank.num_terms; ++t) {
      const DimTile& tile = tile_[rank.dims[t]];
      box.widths[t] = tile.width;
      previous.widths[t] = tile.previous_width;
      shift += rank.coefficients[t] * tile.previous_shift;
    }
    touched *= CountTouched(rank, box, scratch_.touched);
    if (common != 0) common *= CountCommon(rank, box, previous, shift, scratch_.touched);
  }
  sums[kTile] += times * touched;
  sums[kCommon] += times * common;
  if (common != 0) sums[kOverlapping] += times * touched;
  if (common == touched) sums[kSame] += times * touched;
}

void ResidualCounter::SumComponents() {
  GroupWeights& groups = own_.groups;
  for (int f = 0; f < kFamilies; ++f) {
    groups.total[f] = 1;
    groups.columns[f] = 0;
    groups.rows[f].assign(1, 1);
  }
  const TensorData& tensor = input_.data.tensors[v_];
  for (int k = 0; k < tensor.num_components; ++k) {
    if ((joint_ >> k & 1) != 0) continue;
    if (IsSimple(k)) {
      SumSimpleComponent(std::countr_zero(tensor.component_dims[k]));
      continue;
    }
    // At most one of the dimensions has children to choose from here.
    int spread = -1;
    for (int d = 0; d < num_dims_; ++d) {
      if ((tensor.component_dims[k] >> d & 1) != 0 && places_[d] > 1) spread = d;
    }
    for (int d = 0; d < num_dims_; ++d) {
      if ((tensor.component_dims[k] >> d & 1) == 0) continue;
      if (d != spread) {
        for (Placement& placement : own_.placements[d]) placement.place = 0;
      }
      ListShapes(d, d == spread ? places_[d] : 1);
    }
    const int64_t places = spread < 0 ? 1 : places_[spread];
    for (std::vector<int64_t>& weights : own_.weights) {
      weights.assign(static_cast<size_t>(places), 0);
    }
    for (int64_t place = 0; place < places; ++place) {
      int64_t sums[kFamilies] = {};
      AddComponent(k, spread, place, sums);
      for (int f = 0; f < kFamilies; ++f) own_.weights[f][static_cast<size_t>(place)] = sums[f];
    }
    Multiply(spread, groups);
  }
}

void ResidualCounter::SumSimpleComponent(int d) {
  for (std::vector<int64_t>& weights : own_.weights) {
    weights.assign(static_cast<size_t>(places_[d]), 0);
  }
  for (const VisitKind& kind : Kinds(d)) {
    for (const Placement& placement : own_.placements[d]) {
      const auto place = static_cast<size_t>(placement.place);
      AddSimpleTile(d, kind.left - base_[d] - placement.shift, kind.times,
                    own_.weights[kTile][place], own_.weights[kSame][place]);
    }
  }
  own_.weights[kOverlapping] = own_.weights[kSame];
  own_.weights[kCommon] = own_.weights[kSame];
  Multiply(places_[d] > 1 ? d : -1, own_.groups);
}

void ResidualCounter::Multiply(int spread, GroupWeights& groups) {
  const int64_t stride = spread < 0 ? 0 : stride_[spread];
  const bool on_y = spread >= 0 && on_y_[spread];
  for (int f = 0; f < kFamilies; ++f) {
    int64_t sum = 0, moment = 0;
    for (size_t p = 0; p < own_.weights[f].size(); ++p) {
      sum += own_.weights[f][p];
      moment += own_.weights[f][p] * static_cast<int64_t>(p) * stride;
    }
    groups.columns[f] *= sum;
    if (!on_y) groups.columns[f] += groups.total[f] * moment;
    groups.total[f] *= sum;
    if (!on_y) {
      for (int64_t& row : groups.rows[f]) row *= sum;
      continue;
    }
    const size_t reach = (own_.weights[f].size() - 1) * static_cast<size_t>(stride);
    own_.row_sums.assign(groups.rows[f].size() + reach, 0);
    for (size_t p = 0; p < own_.weights[f].size(); ++p) {
      for (size_t y = 0; y < groups.rows[f].size(); ++y) {
        own_.row_sums[y + p * static_cast<size_t>(stride)] +=
            groups.rows[f][y] * own_.weights[f][p];
      }
    }
    std::swap(groups.rows[f], own_.row_sums);
  }
}

void ResidualCounter::ListSpreads() {
  own_.spreads.assign(1, {});
  for (int d = 0; d < num_dims_; ++d) {
    if (Uses(v_, d)) continue;
    own_.reached.assign(static_cast<size_t>(places_[d]) + 1, 0);
    CountReached(d);
    own_.more_spreads.clear();
    for (int64_t n = 1; n <= places_[d]; ++n) {
      const int64_t times = own_.reached[static_cast<size_t>(n)];
      if (times == 0) continue;
      for (Spread spread : own_.spreads) {
        spread.times *= times;
        spread.children *= n;
        if (on_y_[d]) {
          spread.depth += (n - 1) * stride_[d];
        } else {
          spread.last_column += (n - 1) * stride_[d];
          spread.columns *= n;
        }
        own_.more_spreads.push_back(spread);
      }
    }
    std::swap(own_.spreads, own_.more_spreads);
  }
}

void ResidualCounter::CountReached(int d) {
  int64_t step = 0;
  for (const Loop& loop : input_.SpatialLoops(level_)) step = loop.dim == d ? loop.step : step;
  ListPlacements(d, level_ + 1, parent_);
  for (const VisitKind& kind : Kinds(d)) {
    for (const Placement& placement : own_.placements[d]) {
      const int64_t left = kind.left - base_[d] - placement.shift;
      if (left <= 0) continue;
      const int64_t n = step == 0 ? 1 : std::min(places_[d], (left - 1) / step + 1);
      own_.reached[static_cast<size_t>(n)] += kind.times;
    }
  }
}

int64_t ResidualCounter::AddSimpleGroups() {
  const GroupWeights& groups = own_.groups;
  const int64_t words = groups.total[kTile] - groups.total[kCommon];
  const int64_t columns = groups.columns[kTile] - groups.columns[kCommon];
  ExactNetworkTensor& network = result_.levels[level_].network[v_];
  const int64_t centre = input_.machine.levels[level_].fan_y - 1;
  int64_t all = 0;
  for (const Spread& spread : own_.spreads) {
    AddIngress(network, spread.children, instances_ * spread.times * words);
    all += spread.times * words;
    if (!Spreads()) continue;
    int64_t half_hops = 2 * (columns + spread.last_column * words);
    for (size_t y = 0; y < groups.rows[kTile].size(); ++y) {
      const auto row = static_cast<int64_t>(y);
      half_hops += (groups.rows[kTile][y] - groups.rows[kCommon][y]) * spread.columns *
                   Vertical(centre, row, row + spread.depth);
    }
    network.half_hops += instances_ * spread.times * half_hops;
  }
  return all;
}

}  // namespace tessera::loopnest
