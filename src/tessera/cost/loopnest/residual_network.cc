// Counting with imperfect factors: the words that pass the network between two levels, how many
// children each reaches, and how far it goes. Children that differ in the tensor's dimensions ask
// for different words, those that differ in others for the same ones. So the words, and where in
// the array they are needed, are products over the tensor's components, and how far each spreads is
// a product over the other dimensions (docs/cost-loopnest.md, C5).
#include <algorithm>
#include <bit>

#include "tessera/cost/loopnest/exact_count.h"
#include "tessera/cost/loopnest/residual_counter.h"

namespace tessera::loopnest {
namespace {

NetworkBelow MakeNetwork(const Transfer& transfer, int i) {
  NetworkBelow network{.level = i, .spreads = !transfer.input.SpatialLoops(i).empty()};
  std::fill_n(network.places, transfer.num_dims(), 1);
  int64_t stride[2] = {1, 1};
  for (const Loop& loop : transfer.input.SpatialLoops(i)) {
    network.places[loop.dim] = loop.count;
    network.stride[loop.dim] = stride[loop.on_y];
    network.step[loop.dim] = loop.step;
    network.on_y[loop.dim] = loop.on_y;
    stride[loop.on_y] *= loop.count;
  }
  for (int k = 0; k < transfer.tensor().num_components; ++k) {
    if (MayCoincide(transfer, i, k)) network.joint |= 1u << k;
  }
  return network;
}

// Where children and instances of the level lie; the same at all visits.
void ListChildren(const Transfer& transfer, int i) {
  ResidualScratch& own = transfer.own();
  for (int d = 0; d < transfer.num_dims(); ++d) {
    const DimWalk& walk = own.walks[d];
    ListPlacements(walk, i, transfer.child + 1, transfer.parent, own.placements[d]);
    ListPlacements(walk, i, transfer.child + 1, i, own.below[d]);
    ListPlacements(walk, i, i + 1, transfer.parent, own.above[d]);
  }
}

// own().reached[n]: how often n children of an instance of the level have something left in
// dimension d, over all visits and all instances below the parent.
void CountReached(const NetworkVisit& at, int d) {
  ResidualScratch& own = at.own();
  const int64_t places = at.network.places[d], step = at.network.step[d];
  own.reached.assign(static_cast<size_t>(places) + 1, 0);
  for (const VisitKind& kind : at.visit.Kinds(d)) {
    for (const Placement& placement : own.above[d]) {
      const int64_t left = kind.left - at.parents.base[d] - placement.shift;
      if (left <= 0) continue;
      const int64_t n = step == 0 ? 1 : std::min(places, (left - 1) / step + 1);
      own.reached[static_cast<size_t>(n)] += kind.times;
    }
  }
}

// Ways in which one word spreads over the dimensions that the tensor does not have: how many
// children of the level are at work there, over all visits and all instances of the level.
void ListSpreads(const NetworkVisit& at) {
  ResidualScratch& own = at.own();
  own.spreads.assign(1, {});
  for (int d = 0; d < at.transfer.num_dims(); ++d) {
    if (at.transfer.Uses(d)) continue;
    CountReached(at, d);
    own.more_spreads.clear();
    for (int64_t n = 1; n <= at.network.places[d]; ++n) {
      const int64_t times = own.reached[static_cast<size_t>(n)];
      if (times == 0) continue;
      for (Spread spread : own.spreads) {
        spread.times *= times;
        spread.children *= n;
        if (at.network.on_y[d]) {
          spread.depth += (n - 1) * at.network.stride[d];
        } else {
          spread.last_column += (n - 1) * at.network.stride[d];
          spread.columns *= n;
        }
        own.more_spreads.push_back(spread);
      }
    }
    std::swap(own.spreads, own.more_spreads);
  }
}

// Moves sums by row, of one family, by the places of a component on Y.
void SpreadRows(const std::vector<int64_t>& weights, size_t stride, std::vector<int64_t>& rows,
                std::vector<int64_t>& sums) {
  sums.assign(rows.size() + (weights.size() - 1) * stride, 0);
  for (size_t p = 0; p < weights.size(); ++p) {
    for (size_t y = 0; y < rows.size(); ++y) sums[y + p * stride] += rows[y] * weights[p];
  }
  std::swap(rows, sums);
}

// Takes own().weights, those of one component by its place in dimension `spread` (-1: it has one
// place), into the product that own().groups is.
void Multiply(const NetworkVisit& at, int spread) {
  ResidualScratch& own = at.own();
  GroupWeights& groups = own.groups;
  const int64_t stride = spread < 0 ? 0 : at.network.stride[spread];
  const bool on_y = spread >= 0 && at.network.on_y[spread];
  for (int f = 0; f < kFamilies; ++f) {
    int64_t sum = 0, moment = 0;
    for (size_t p = 0; p < own.weights[f].size(); ++p) {
      sum += own.weights[f][p];
      moment += own.weights[f][p] * static_cast<int64_t>(p) * stride;
    }
    groups.columns[f] *= sum;
    if (!on_y) groups.columns[f] += groups.total[f] * moment;
    groups.total[f] *= sum;
    if (on_y) {
      SpreadRows(own.weights[f], static_cast<size_t>(stride), groups.rows[f], own.row_sums);
    } else {
      for (int64_t& row : groups.rows[f]) row *= sum;
    }
  }
}

void ClearWeights(const NetworkVisit& at, int64_t places) {
  for (std::vector<int64_t>& weights : at.own().weights) {
    weights.assign(static_cast<size_t>(places), 0);
  }
}

// A component of one dimension: tiles are equal or disjoint, so what overlaps is the same.
void TakeSimpleComponent(const NetworkVisit& at, int d) {
  ResidualScratch& own = at.own();
  ClearWeights(at, at.network.places[d]);
  for (const VisitKind& kind : at.visit.Kinds(d)) {
    for (const Placement& placement : own.placements[d]) {
      const auto place = static_cast<size_t>(placement.place);
      AddSimpleTile(at.visit, d, kind.left - at.parents.base[d] - placement.shift, kind.times,
                    own.weights[kTile][place], own.weights[kSame][place]);
    }
  }
  own.weights[kOverlapping] = own.weights[kSame];
  own.weights[kCommon] = own.weights[kSame];
  Multiply(at, at.network.places[d] > 1 ? d : -1);
}

// A component of several dimensions, at most one of which has children to choose from here: with
// two, they could coincide, and it would be a joint one.
void TakeComponent(const NetworkVisit& at, int k) {
  ResidualScratch& own = at.own();
  const uint32_t dims = at.transfer.tensor().component_dims[k];
  int spread = -1;
  for (uint32_t rest = dims; rest != 0; rest &= rest - 1) {
    const int d = std::countr_zero(rest);
    ListShapes(at.visit, d, at.parents.base[d], own.placements[d], at.network.places[d],
               own.shapes[d]);
    if (at.network.places[d] > 1) spread = d;
  }
  const int64_t places = spread < 0 ? 1 : at.network.places[spread];
  ClearWeights(at, places);
  for (size_t place = 0; place < static_cast<size_t>(places); ++place) {
    const PlaceChoice choice{.dim = spread, .place = place, .places = static_cast<size_t>(places)};
    const FamilySums sums = SumTiles(at.transfer, at.visit, k, choice);
    for (int f = 0; f < kFamilies; ++f) own.weights[f][place] = sums[f];
  }
  Multiply(at, spread);
}

// Sums over the groups that the components outside the joint ones make: product of totals, and
// where they lie.
void SumComponents(const NetworkVisit& at) {
  GroupWeights& groups = at.own().groups;
  for (int f = 0; f < kFamilies; ++f) {
    groups.total[f] = 1;
    groups.columns[f] = 0;
    groups.rows[f].assign(1, 1);
  }
  const TensorData& tensor = at.transfer.tensor();
  for (int k = 0; k < tensor.num_components; ++k) {
    if ((at.network.joint >> k & 1) != 0) continue;
    if (at.transfer.IsSimple(k)) {
      TakeSimpleComponent(at, std::countr_zero(tensor.component_dims[k]));
    } else {
      TakeComponent(at, k);
    }
  }
}

// Groups are the indices in the tensor's dimensions.
int64_t AddSimpleGroups(const NetworkVisit& at) {
  const Transfer& transfer = at.transfer;
  const GroupWeights& groups = at.own().groups;
  const int64_t words = groups.total[kTile] - groups.total[kCommon];
  const int64_t columns = groups.columns[kTile] - groups.columns[kCommon];
  ExactNetworkTensor& network = transfer.result.levels[at.network.level].network[transfer.v];
  const int64_t centre = transfer.input.machine.levels[at.network.level].fan_y - 1;
  int64_t all = 0;
  for (const Spread& spread : at.own().spreads) {
    AddIngress(network, spread.children, at.parents.count * spread.times * words);
    all += spread.times * words;
    if (!at.network.spreads) continue;
    int64_t half_hops = 2 * (columns + spread.last_column * words);
    for (size_t y = 0; y < groups.rows[kTile].size(); ++y) {
      const auto row = static_cast<int64_t>(y);
      half_hops += (groups.rows[kTile][y] - groups.rows[kCommon][y]) * spread.columns *
                   VerticalHalfHops(centre, row, row + spread.depth);
    }
    network.half_hops += at.parents.count * spread.times * half_hops;
  }
  return all;
}

}  // namespace

bool MayCoincide(const Transfer& transfer, int i, int k) {
  const TensorData& tensor = transfer.tensor();
  const Nest& nest = transfer.nest();
  if (transfer.IsSimple(k)) return false;
  uint32_t spread = 0;
  for (int s = nest.first_spatial[transfer.child + 1]; s < nest.first_spatial[i + 1]; ++s) {
    spread |= 1u << nest.spatial[s].dim & tensor.component_dims[k];
  }
  if (!std::has_single_bit(tensor.component_ranks[k])) return spread != 0;
  return spread != 0 && !std::has_single_bit(spread);
}

int64_t CountNetwork(const Transfer& transfer, const AlikeInstances& parents, int i) {
  const NetworkBelow network = MakeNetwork(transfer, i);
  ListChildren(transfer, i);
  int64_t words = 0;
  ForEachMovingVisit(transfer, [&](const TileVisit& visit) {
    const NetworkVisit at{transfer, network, parents, visit};
    ListSpreads(at);
    if (transfer.own().spreads.empty()) return;
    SumComponents(at);
    words += network.joint == 0 ? AddSimpleGroups(at) : AddJointGroups(at);
  });
  return words;
}

}  // namespace tessera::loopnest
