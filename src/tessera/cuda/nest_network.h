// Groups of children that ask for the same words, and how far those words travel, for perfect
// factors: what cost/loopnest/exact_perfect.cc, hops.cc and fan.cc count, without lists of
// children.
//
// The place of a child and the offset of its tile are sums over the loops that spread it. Loops
// belong to different ranks of the tensor, or to none, and everything about a group follows from
// what happens rank by rank: the number of offsets multiplies, columns and rows add up.
#ifndef TESSERA_CUDA_NEST_NETWORK_H_
#define TESSERA_CUDA_NEST_NETWORK_H_

#include "tessera/cuda/nest_window.h"

namespace tessera::cuda {

// The loops of a mapping.
struct NestLoops {
  // Of level i: [first[i], first[i + 1]).
  uint8_t first_temporal[kNestLevels + 1], first_spatial[kNestLevels + 1];
  uint8_t on_x[kNestLevels], keep[kNestLevels];
  uint8_t temporal_dim[kMostNestLoops], spatial_dim[kMostNestLoops];
  int32_t temporal_count[kMostNestLoops], spatial_count[kMostNestLoops];
  int32_t temporal_step[kMostNestLoops], spatial_step[kMostNestLoops];
  int64_t used[kNestLevels];  // instances of each level

  TESSERA_HOST_DEVICE bool Uses(uint32_t dims, int s) const {
    return (dims >> spatial_dim[s] & 1) != 0;
  }
};

// Different offsets of one rank below an instance: the least and the largest place of the children
// that have each, along one axis.
inline constexpr int kMostOffsets = 1024;
struct OffsetList {
  int32_t size = 0;
  int16_t least[kMostOffsets], most[kMostOffsets];
};

// Of numbers that are not negative; 64-bit divisions take a device four times as long.
TESSERA_HOST_DEVICE inline int32_t GreatestCommonDivisor(int32_t a, int32_t b) {
  while (b != 0) {
    const int32_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// The sum of all numbers from first to end - 1.
TESSERA_HOST_DEVICE inline int64_t SumFromTo(int64_t first, int64_t end) {
  return end <= first ? 0 : (first + end - 1) * (end - first) / 2;
}

// Two loops whose offsets i step[0] + j step[1] can coincide, with places i stride[0] + j stride[1]
// for i < count[0] and j < count[1]. (i, j) has the offset of (i + across, j - down) and of no
// nearer pair, so that pairs with one offset are a chain in that direction; along it places rise or
// fall evenly, and the first and the last of a chain have its least and its largest place.
struct TwoLoops {
  int64_t count[2], stride[2], across, down;

  TESSERA_HOST_DEVICE bool Rises() const { return across * stride[0] >= down * stride[1]; }
  TESSERA_HOST_DEVICE bool HasNext(int64_t i, int64_t j) const {
    return i + across < count[0] && j >= down;
  }
  TESSERA_HOST_DEVICE bool HasPrevious(int64_t i, int64_t j) const {
    return i >= across && j + down < count[1];
  }
  // Chains.
  TESSERA_HOST_DEVICE int64_t Offsets() const {
    return count[0] * count[1] - Most(0, count[0] - across) * Most(0, count[1] - down);
  }
  // The sum of places where first_i <= i < end_i, and the same for j.
  TESSERA_HOST_DEVICE int64_t Places(int64_t first_i, int64_t end_i, int64_t first_j,
                                     int64_t end_j) const {
    if (end_i <= first_i || end_j <= first_j) return 0;
    return stride[0] * SumFromTo(first_i, end_i) * (end_j - first_j) +
           stride[1] * SumFromTo(first_j, end_j) * (end_i - first_i);
  }
  // The largest places of all chains, summed up: those of all pairs but of those that another one
  // of their chain surpasses.
  TESSERA_HOST_DEVICE int64_t MostPlaces() const {
    const int64_t all = Places(0, count[0], 0, count[1]);
    return all - (Rises() ? Places(0, count[0] - across, down, count[1])
                          : Places(across, count[0], 0, count[1] - down));
  }
};

// The loops of a rank of which one has a place, the outermost of its term; each term moves in equal
// steps, so that it is one index: i of the term with the place, which is i / unit, and j of the
// other one. Chains as in TwoLoops; places do not fall where i rises.
struct OnePlaced {
  int64_t unit, places, stride;  // indices for each place, places, and how far they are apart
  int64_t others;                // values of j
  int64_t across, down;

  TESSERA_HOST_DEVICE int64_t indices() const { return unit * places; }
  // Pairs that have a next one have this many values of j for each i below indices() - across.
  TESSERA_HOST_DEVICE int64_t LinkedOthers() const { return Most(0, others - down); }
  TESSERA_HOST_DEVICE int64_t Offsets() const {
    return indices() * others - Most(0, indices() - across) * LinkedOthers();
  }
  // i / unit summed up for all i below `end`.
  TESSERA_HOST_DEVICE int64_t SumOfPlaces(int64_t end) const {
    if (end <= 0) return 0;
    const int64_t whole = unit == 1 ? end : end / unit;
    return unit * SumFromTo(0, whole) + whole * (end - whole * unit);
  }
  // As TwoLoops::MostPlaces.
  TESSERA_HOST_DEVICE int64_t MostPlaces() const {
    return stride * (SumOfPlaces(indices()) * others -
                     (LinkedOthers() == 0 ? 0 : SumOfPlaces(indices() - across) * LinkedOthers()));
  }
  // Chains whose largest and whose least place is number p.
  TESSERA_HOST_DEVICE int64_t MostAt(int64_t p) const {
    const int64_t linked = Most(0, Least((p + 1) * unit, indices() - across) - p * unit);
    return unit * others - linked * LinkedOthers();
  }
  TESSERA_HOST_DEVICE int64_t LeastAt(int64_t p) const {
    const int64_t linked = Most(0, (p + 1) * unit - Most(p * unit, across));
    return unit * others - linked * LinkedOthers();
  }
};

// The loops that spread one rank below level i, with strides along an axis of that level.
struct RankLoops {
  int32_t size = 0;
  int64_t combinations = 1;
  int32_t count[kMostNestLoops], offset_step[kMostNestLoops], stride[kMostNestLoops];
  uint8_t term[kMostNestLoops];  // of the rank

  TESSERA_HOST_DEVICE void Add(int32_t n, int64_t step, int32_t place_stride, int own_term = 0) {
    count[size] = n;
    offset_step[size] = static_cast<int32_t>(step);
    term[size] = static_cast<uint8_t>(own_term);
    stride[size++] = place_stride;
    combinations *= n;
  }

  // Whether any has a place.
  TESSERA_HOST_DEVICE bool Placed() const {
    for (int32_t j = 0; j < size; ++j) {
      if (stride[j] != 0) return true;
    }
    return false;
  }

  // Different offsets, if each term moves in equal steps; else 0.
  TESSERA_HOST_DEVICE int64_t CountEven() const {
    int32_t steps[kNestTerms] = {}, counts[kNestTerms] = {1, 1};
    for (int32_t j = 0; j < size; ++j) {
      const int k = term[j];
      if (steps[k] == 0) steps[k] = offset_step[j];
      if (offset_step[j] != int64_t{steps[k]} * counts[k]) return 0;
      counts[k] *= count[j];
    }
    if (steps[0] == 0 || steps[1] == 0) return combinations;
    const int32_t divisor = GreatestCommonDivisor(steps[0], steps[1]);
    return int64_t{counts[0]} * counts[1] -
           Most(0, counts[0] - steps[1] / divisor) * Most(0, counts[1] - steps[0] / divisor);
  }

  // Whether they are what OnePlaced says.
  TESSERA_HOST_DEVICE bool AsOnePlaced(OnePlaced& one) const {
    int32_t steps[kNestTerms] = {}, counts[kNestTerms] = {1, 1};
    int placed = -1;  // the term
    for (int32_t j = 0; j < size; ++j) {
      const int k = term[j];
      if (k == placed) return false;
      if (steps[k] == 0) steps[k] = offset_step[j];
      if (offset_step[j] != int64_t{steps[k]} * counts[k]) return false;
      if (stride[j] != 0) {
        if (placed >= 0) return false;
        placed = k;
        one.unit = counts[k];
        one.places = count[j];
        one.stride = stride[j];
      }
      counts[k] *= count[j];
    }
    if (placed < 0) return false;
    one.others = counts[1 - placed];
    const bool alone = steps[1 - placed] == 0;
    const int32_t divisor = alone ? 1 : GreatestCommonDivisor(steps[0], steps[1]);
    one.across = alone ? one.indices() : steps[1 - placed] / divisor;
    one.down = steps[placed] / divisor;
    return true;
  }

  // Whether they are one loop of each term.
  TESSERA_HOST_DEVICE bool AreTwo() const { return size == 2 && term[0] != term[1]; }
  TESSERA_HOST_DEVICE TwoLoops Two() const {
    const int32_t divisor = GreatestCommonDivisor(offset_step[0], offset_step[1]);
    return {{count[0], count[1]},
            {stride[0], stride[1]},
            offset_step[1] / divisor,
            offset_step[0] / divisor};
  }

  // Forgets the loops that have no place and returns how many combinations they make.
  TESSERA_HOST_DEVICE int64_t DropUnplaced() {
    const int64_t all = combinations;
    const int32_t before = size;
    size = 0;
    combinations = 1;
    for (int32_t j = 0; j < before; ++j) {
      if (stride[j] != 0) Add(count[j], offset_step[j], stride[j], term[j]);
    }
    return all / combinations;
  }

  // use(offset, place) for every combination of indices, offsets in units of `unit`.
  template <typename Use>
  TESSERA_HOST_DEVICE void ForEach(int32_t unit, const Use& use) const {
    if (size <= 2) {
      const int32_t inner = size > 0 ? count[0] : 1, outer = size > 1 ? count[1] : 1;
      const int32_t steps[] = {size > 0 ? offset_step[0] / unit : 0,
                               size > 1 ? offset_step[1] / unit : 0};
      const int32_t strides[] = {size > 0 ? stride[0] : 0, size > 1 ? stride[1] : 0};
      for (int32_t j = 0; j < outer; ++j) {
        for (int32_t i = 0; i < inner; ++i) {
          use(i * steps[0] + j * steps[1], i * strides[0] + j * strides[1]);
        }
      }
      return;
    }
    int32_t index[kMostNestLoops], step[kMostNestLoops];
    for (int j = 0; j < size; ++j) {
      index[j] = 0;
      step[j] = offset_step[j] / unit;
    }
    int32_t offset = 0, place = 0;
    for (int64_t k = 0; k < combinations; ++k) {
      use(offset, place);
      for (int j = 0; j < size; ++j) {
        if (++index[j] < count[j]) {
          offset += step[j];
          place += stride[j];
          break;
        }
        offset -= (count[j] - 1) * step[j];
        place -= (count[j] - 1) * stride[j];
        index[j] = 0;
      }
    }
  }

  // All different offsets; `collide`: different combinations can have equal ones. False if there
  // are too many.
  TESSERA_HOST_DEVICE bool List(bool collide, OffsetList& list) const {
    list.size = 0;
    if (collide && AreTwo()) return ListChains(Two(), list);
    if (!collide) {
      if (combinations > kMostOffsets) return false;
      ForEach(1, [&](int32_t /*offset*/, int32_t place) {
        list.least[list.size] = list.most[list.size] = static_cast<int16_t>(place);
        ++list.size;
      });
      return true;
    }
    int32_t unit = 0;
    int64_t reach = 0;
    for (int j = 0; j < size; ++j) {
      unit = GreatestCommonDivisor(unit, offset_step[j]);
      reach += (count[j] - 1) * int64_t{offset_step[j]};
    }
    const int64_t range = reach / unit + 1;
    constexpr int64_t kMostCombinations = 1 << 15;
    if (range > kMostOffsets || combinations > kMostCombinations) return false;
    for (int64_t k = 0; k < range; ++k) list.most[k] = -1;
    ForEach(unit, [&](int32_t offset, int32_t place) {
      int16_t &least = list.least[offset], &most = list.most[offset];
      if (most < 0 || place < least) least = static_cast<int16_t>(place);
      if (place > most) most = static_cast<int16_t>(place);
    });
    for (int64_t k = 0; k < range; ++k) {
      if (list.most[k] < 0) continue;
      list.least[list.size] = list.least[k];
      list.most[list.size++] = list.most[k];
    }
    return true;
  }

 private:
  // Least and most places in orders of their own: who asks sums over each.
  TESSERA_HOST_DEVICE static bool ListChains(const TwoLoops& two, OffsetList& list) {
    if (two.Offsets() > kMostOffsets) return false;
    const bool rises = two.Rises();
    int32_t least = 0;
    for (int32_t j = 0; j < two.count[1]; ++j) {
      for (int32_t i = 0; i < two.count[0]; ++i) {
        const auto place = static_cast<int16_t>(i * two.stride[0] + j * two.stride[1]);
        if (!(rises ? two.HasNext(i, j) : two.HasPrevious(i, j))) list.most[list.size++] = place;
        if (!(rises ? two.HasPrevious(i, j) : two.HasNext(i, j))) list.least[least++] = place;
      }
    }
    return true;
  }
};

// One tensor's way from `child` (-1: the MACs) through the network below level i.
struct NetworkWay {
  const NestPlan& plan;
  const NestLoops& loops;
  const NestTensor& tensor;
  int child, i;

  TESSERA_HOST_DEVICE int begin() const { return loops.first_spatial[child + 1]; }
  TESSERA_HOST_DEVICE int here() const { return loops.first_spatial[i]; }
  TESSERA_HOST_DEVICE int end() const { return loops.first_spatial[i + 1]; }
  TESSERA_HOST_DEVICE int first_on_y() const { return here() + loops.on_x[i]; }

  // Dimensions that spread children between the two.
  TESSERA_HOST_DEVICE uint32_t SpreadDims() const {
    uint32_t dims = 0;
    for (int s = begin(); s < end(); ++s) dims |= 1u << loops.spatial_dim[s];
    return dims;
  }

  // Whether children with different indices can have equal offsets in a rank.
  TESSERA_HOST_DEVICE static bool CollidesIn(const NestRank& rank, uint32_t spread) {
    return rank.num_terms == 2 && (spread >> rank.dims[0] & spread >> rank.dims[1] & 1) != 0;
  }
  TESSERA_HOST_DEVICE bool Collides(uint32_t spread) const {
    if (tensor.simple) return false;
    for (int r = 0; r < tensor.num_ranks; ++r) {
      if (CollidesIn(tensor.ranks[r], spread)) return true;
    }
    return false;
  }
};

// What the network of one tensor below one level comes to, below one instance.
struct NetworkCount {
  int64_t groups = 1;
  int64_t half_hops = 0;  // of one word for each group
  bool known = true;
};

// Half hops along a column from the centre line to the first and the last row of a group, summed up
// over `count` groups that are `step` rows apart.
TESSERA_HOST_DEVICE inline int64_t SumHalfRows(int32_t centre, int32_t first, int32_t last,
                                               int32_t step, int32_t count) {
  // Terms above - 2 step k until they are negative, and below + 2 step k from where they are not.
  const int32_t above = centre - 2 * first, below = 2 * last - centre, twice = 2 * step;
  int64_t sum = 0;
  if (above > 0) {
    const int32_t most = (above - 1) / twice + 1, terms = most < count ? most : count;
    sum += int64_t{terms} * above - twice * SumFromTo(0, terms);
  }
  const int32_t from = below > 0 ? 0 : (twice - 1 - below) / twice;
  if (from < count) {
    sum += int64_t{count - from} * below + twice * SumFromTo(from, count);
  }
  return sum;
}

// Where different indices mean different offsets.
TESSERA_HOST_DEVICE inline NetworkCount CountPlainNetwork(const NetworkWay& way, bool hops) {
  const NestLoops& loops = way.loops;
  const uint32_t dims = way.tensor.dims;
  int64_t below = 1;
  for (int s = way.begin(); s < way.here(); ++s) {
    if (loops.Uses(dims, s)) below *= loops.spatial_count[s];
  }
  if (way.here() == way.end()) return {.groups = below};
  int64_t starts = 1, columns = 1, first_columns = 0, last_column = 0, stride = 1;
  for (int s = way.here(); s < way.first_on_y(); ++s) {
    const int64_t count = loops.spatial_count[s], reach = (count - 1) * stride;
    if (loops.Uses(dims, s)) {
      starts *= count;
      first_columns += reach;
    } else {
      columns *= count;
      last_column += reach;
    }
    stride *= count;
  }
  int64_t rows = 1, depth = 0;
  stride = 1;
  for (int s = way.first_on_y(); s < way.end(); ++s) {
    const int64_t count = loops.spatial_count[s];
    if (loops.Uses(dims, s)) {
      rows *= count;
    } else {
      depth += (count - 1) * stride;
    }
    stride *= count;
  }
  const int64_t groups = below * starts * rows;
  if (!hops) return {.groups = groups};
  const auto centre = static_cast<int32_t>(way.plan.levels[way.i].fan_y - 1);  // in half rows
  RankLoops relevant;  // but the first of them, which is summed up at once
  int32_t row_stride = 1, first_stride = 1, first_count = 1;
  for (int s = way.first_on_y(); s < way.end(); ++s) {
    const int32_t count = loops.spatial_count[s];
    if (loops.Uses(dims, s)) {
      if (first_count > 1) {
        relevant.Add(count, 0, row_stride);
      } else {
        first_count = count;
        first_stride = row_stride;
      }
    }
    row_stride *= count;
  }
  int64_t vertical = 0;
  const auto far = static_cast<int32_t>(depth);
  relevant.ForEach(1, [&](int32_t /*offset*/, int32_t row) {
    vertical += SumHalfRows(centre, row, row + far, first_stride, first_count);
  });
  const int64_t horizontal = starts * (first_columns + 2 * last_column);
  return {.groups = groups, .half_hops = below * (rows * horizontal + starts * columns * vertical)};
}

// How many groups begin or end at each row, over the ranks so far.
inline constexpr int kMostRows = 128;
struct RowCounts {
  int32_t size = 1;  // rows that can be reached
  int32_t first[kMostRows], last[kMostRows];
};

// All combinations with the rows of one more rank.
TESSERA_HOST_DEVICE inline bool AddRows(const OffsetList& list, RowCounts& rows) {
  int32_t reach = 0;
  for (int k = 0; k < list.size; ++k) reach = list.most[k] > reach ? list.most[k] : reach;
  if (rows.size + reach > kMostRows) return false;
  RowCounts more;
  more.size = rows.size + reach;
  for (int k = 0; k < more.size; ++k) more.first[k] = more.last[k] = 0;
  for (int k = 0; k < list.size; ++k) {
    for (int row = 0; row < rows.size; ++row) {
      more.first[row + list.least[k]] += rows.first[row];
      more.last[row + list.most[k]] += rows.last[row];
    }
  }
  rows.size = more.size;
  for (int k = 0; k < more.size; ++k) {
    rows.first[k] = more.first[k];
    rows.last[k] = more.last[k];
  }
  return true;
}

// The same for a rank with one placed loop, in place: from the last row on, what a row held is
// added to rows behind it.
TESSERA_HOST_DEVICE inline bool AddRows(const OnePlaced& one, RowCounts& rows) {
  const int64_t reach = (one.places - 1) * one.stride;
  if (rows.size + reach > kMostRows) return false;
  const int32_t end = rows.size + static_cast<int32_t>(reach);
  for (int32_t row = rows.size; row < end; ++row) rows.first[row] = rows.last[row] = 0;
  for (int32_t row = rows.size - 1; row >= 0; --row) {
    const int32_t first = rows.first[row], last = rows.last[row];
    rows.first[row] = first * static_cast<int32_t>(one.LeastAt(0));
    rows.last[row] = last * static_cast<int32_t>(one.MostAt(0));
    for (int32_t p = 1; p < one.places; ++p) {
      const int32_t to = row + p * static_cast<int32_t>(one.stride);
      rows.first[to] += first * static_cast<int32_t>(one.LeastAt(p));
      rows.last[to] += last * static_cast<int32_t>(one.MostAt(p));
    }
  }
  rows.size = end;
  return true;
}

// The loops of a rank: below level i with no place, at level i with their strides along one axis.
TESSERA_HOST_DEVICE inline void CollectRank(const NetworkWay& way, const NestRank& rank,
                                            bool with_x, bool place_on_y, RankLoops& collected) {
  const NestLoops& loops = way.loops;
  collected.size = 0;
  collected.combinations = 1;
  int32_t stride = 1;
  for (int s = way.begin(); s < way.end(); ++s) {
    if (s == way.here() || s == way.first_on_y()) stride = 1;
    const bool on_y = s >= way.first_on_y(), on_x = s >= way.here() && !on_y;
    for (int k = 0; k < rank.num_terms; ++k) {
      if (rank.dims[k] != loops.spatial_dim[s] || (on_x && !with_x)) continue;
      const bool placed = place_on_y ? on_y : on_x;
      collected.Add(loops.spatial_count[s], rank.coefficients[k] * loops.spatial_step[s],
                    placed ? stride : 0, k);
    }
    stride *= loops.spatial_count[s];
  }
}

// Where offsets can coincide. In every column the same offsets are reached, moved by the column's
// own, so that rows are counted once; a group's farthest column is the sum over its ranks.
TESSERA_HOST_DEVICE inline NetworkCount CountCollidingNetwork(const NetworkWay& way,
                                                              uint32_t spread, bool hops) {
  const NestLoops& loops = way.loops;
  NetworkCount count;
  OffsetList list;
  RankLoops collected;
  int64_t twice_far = 0;  // the farthest columns of all groups, twice
  for (int r = 0; r < way.tensor.num_ranks; ++r) {
    CollectRank(way, way.tensor.ranks[r], /*with_x=*/true, /*place_on_y=*/false, collected);
    if (collected.size == 0) continue;
    int64_t offsets = collected.combinations, far = 0;
    if (!NetworkWay::CollidesIn(way.tensor.ranks[r], spread)) {
      for (int j = 0; j < collected.size; ++j) {
        far += (collected.count[j] - 1) * int64_t{collected.stride[j]};
      }
      far *= offsets;
    } else if (OnePlaced one; hops && collected.AsOnePlaced(one)) {
      offsets = one.Offsets();
      far = 2 * one.MostPlaces();
    } else if (hops && collected.AreTwo()) {
      const TwoLoops two = collected.Two();
      offsets = two.Offsets();
      far = 2 * two.MostPlaces();
    } else if ((hops && collected.Placed()) || (offsets = collected.CountEven()) == 0) {
      if (!collected.List(/*collide=*/true, list)) return {.known = false};
      for (int k = 0; k < list.size; ++k) far += 2 * list.most[k];
      offsets = list.size;
    }
    twice_far = twice_far * offsets + far * count.groups;
    count.groups *= offsets;
  }
  if (!hops || way.here() == way.end()) return count;
  int32_t last_column = 0, depth = 0, stride = 1;
  for (int s = way.here(); s < way.end(); ++s) {
    if (s == way.first_on_y()) stride = 1;
    if (!loops.Uses(way.tensor.dims, s)) {
      (s < way.first_on_y() ? last_column : depth) += (loops.spatial_count[s] - 1) * stride;
    }
    stride *= loops.spatial_count[s];
  }
  RowCounts rows;  // of none so far
  rows.first[0] = rows.last[0] = 1;
  int64_t alike = 1;  // groups with the same rows
  for (int r = 0; r < way.tensor.num_ranks; ++r) {
    CollectRank(way, way.tensor.ranks[r], /*with_x=*/false, /*place_on_y=*/true, collected);
    const bool collide = NetworkWay::CollidesIn(way.tensor.ranks[r], spread);
    if (!collide) alike *= collected.DropUnplaced();
    if (collected.size == 0) continue;
    const bool placed = collected.Placed();
    if (const int64_t offsets = placed ? 0 : collected.CountEven(); offsets > 0) {
      alike *= offsets;
      continue;
    }
    if (OnePlaced one; collected.AsOnePlaced(one)) {
      if (!AddRows(one, rows)) return {.known = false};
      continue;
    }
    if (!collected.List(collide, list)) return {.known = false};
    if (!placed) {
      alike *= list.size;
    } else if (!AddRows(list, rows)) {
      return {.known = false};
    }
  }
  const int64_t centre = way.plan.levels[way.i].fan_y - 1;  // in half rows
  int64_t vertical = 0;
  for (int32_t row = 0; row < rows.size; ++row) {
    vertical += rows.first[row] * Most(0, centre - 2 * row) +
                rows.last[row] * Most(0, 2 * int64_t{row + depth} - centre);
  }
  int64_t columns = 1;
  for (int s = way.here(); s < way.first_on_y(); ++s) columns *= loops.spatial_count[s];
  count.half_hops = twice_far + 2 * last_column * count.groups + columns * alike * vertical;
  return count;
}

}  // namespace tessera::cuda

#endif  // TESSERA_CUDA_NEST_NETWORK_H_
