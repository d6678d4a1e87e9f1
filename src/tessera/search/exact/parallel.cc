// Fronts of parallel factors. Factors that divide the extents either are the extents themselves, or
// divide extents that are less by a prime: so a front is that of its lesser ones and one more
// point.
#include "tessera/search/exact/parallel.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "tessera/search/exact/frame.h"
#include "tessera/search/exact/word_cost.h"

namespace tessera::exact {
namespace {

// Fronts of one table, at most.
constexpr uint64_t kMostFronts = 200'000;
// Splits of one level; where there are more, they are not looked at one by one.
constexpr size_t kMostSplits = 2'000;
// Points of a front; more are replaced by fewer that cover them.
constexpr size_t kMostPoints = 32;

void AddPoint(const ParallelPoint& point, int num_tensors, ParallelFront& points) {
  for (const ParallelPoint& other : points) {
    if (other.Covers(point, num_tensors)) return;
  }
  std::erase_if(points,
                [&](const ParallelPoint& other) { return point.Covers(other, num_tensors); });
  points.push_back(point);
}

// Neighbours by product become one that covers both.
void Thin(int num_tensors, ParallelFront& points) {
  std::ranges::stable_sort(points, {}, &ParallelPoint::product);
  ParallelFront fewer;
  for (size_t k = 0; k + 1 < points.size(); k += 2) {
    ParallelPoint both = points[k + 1];
    both.hop_pj = std::min(both.hop_pj, points[k].hop_pj);
    for (int v = 0; v < num_tensors; ++v) {
      both.multicast[v] = std::max(both.multicast[v], points[k].multicast[v]);
    }
    AddPoint(both, num_tensors, fewer);
  }
  if (points.size() % 2 == 1) AddPoint(points.back(), num_tensors, fewer);
  points = std::move(fewer);
}

}  // namespace

// Points stay sorted by energy. Two that are next to each other become one where there is no room.
void OperandFront::Add(const OperandPoint& point) {
  int place = 0;
  while (place < count && points[place].more_pj <= point.more_pj) {
    if (points[place++].cycles <= point.cycles) return;
  }
  int rest = place;
  while (rest < count && points[rest].cycles >= point.cycles) ++rest;
  if (rest == place && count == kMost) {
    const int other = place == kMost ? place - 1 : place;
    points[other].more_pj = std::min(points[other].more_pj, point.more_pj);
    points[other].cycles = std::min(points[other].cycles, point.cycles);
    return;
  }
  if (rest == place) {
    std::copy_backward(points + place, points + count, points + count + 1);
    ++count;
  } else if (rest > place + 1) {
    std::copy(points + rest, points + count, points + place + 1);
    count -= rest - place - 1;
  }
  points[place] = point;
}

bool OperandFront::Covers(const OperandPoint& point) const {
  return std::any_of(points, points + count, [&](const OperandPoint& other) {
    return other.more_pj <= point.more_pj && other.cycles <= point.cycles;
  });
}

ParallelFronts::ParallelFronts(const Model& model, bool detailed, LeastHops& hops,
                               std::function<bool()> stopped)
    : model_(model), detailed_(detailed), hops_(hops), stopped_(std::move(stopped)) {
  ParallelPoint anything{.product = kInfinity};
  std::fill_n(anything.multicast, kMaxTensors, kInfinity);
  anything_ = {anything};
  known_ = !model.any;
  for (int d = 0; d < model.num_dims && known_; ++d) {
    strides_[d] = extents_;
    extents_ *= model.divisors[d].values.size();
    known_ = extents_ <= kMostFronts;
  }
  for (int d = 0; d < model.num_dims && known_; ++d) {
    const DivisorTable& table = model.divisors[d];
    for (size_t k = 0; k < table.values.size(); ++k) {
      std::vector<int16_t>& lesser = lesser_[d].emplace_back();
      // Of its proper divisors, those that divide no other one of them.
      for (const int16_t part : table.parts[k]) {
        const bool divides = std::ranges::any_of(table.parts[k], [&](int16_t other) {
          const int32_t value = table.values[static_cast<size_t>(other)];
          return other != part && value != table.values[k] &&
                 value % table.values[static_cast<size_t>(part)] == 0;
        });
        if (static_cast<size_t>(part) != k && !divides) lesser.push_back(part);
      }
    }
  }
}

ParallelFronts::Table& ParallelFronts::TableOf(int level, const int* operands_from) {
  // Levels with one child have no factors.
  while (level > 0 && model_.levels[level - 1].fan <= 1) --level;
  std::array<int, kMaxTensors + 1> key = {level};
  for (int v = 0; v < kMaxTensors; ++v) {
    const bool matters = v < model_.num_tensors && operands_from[v] >= 0;
    key[static_cast<size_t>(v) + 1] = matters ? std::min(operands_from[v], level - 1) : -1;
    // Without details it is all one.
    if (matters && !detailed_) key[static_cast<size_t>(v) + 1] = level - 1;
  }
  const auto [place, added] = tables_.try_emplace(key);
  Table& table = place->second;
  if (!added) return table;
  table.level = level;
  for (int v = 0; v < model_.num_tensors; ++v) {
    table.from[v] = key[static_cast<size_t>(v) + 1];
    if (table.from[v] < 0 || !detailed_) continue;
    table.by_level |= table.from[v] < level - 1;
    for (int i = 0; i <= table.from[v]; ++i) table.by_level |= model_.levels[i].placement_matters;
  }
  return table;
}

std::span<const ParallelPoint> ParallelFronts::Of(Table& table, const int16_t* positions) {
  if (!known_) return anything_;
  int16_t copy[kMaxDims];
  uint64_t key = 0;
  for (int d = 0; d < model_.num_dims; ++d) {
    copy[d] = positions[d];
    key += strides_[d] * static_cast<uint64_t>(positions[d]);
  }
  cut_ = false;
  return Find(table, copy, key);
}

const ParallelFront*& ParallelFronts::PlaceOf(Table& table, uint64_t key) {
  if (table.pages.empty()) {
    table.pages.resize(extents_ / Table::kPage + 1);
    bytes_ += static_cast<int64_t>(table.pages.size() * sizeof(table.pages[0]));
  }
  auto& page = table.pages[key / Table::kPage];
  if (!page) {
    page = std::make_unique<std::array<const ParallelFront*, Table::kPage>>();
    bytes_ += static_cast<int64_t>(sizeof(*page));
  }
  return (*page)[key % Table::kPage];
}

size_t ParallelFronts::HashOfFront::operator()(const ParallelFront& front) const {
  size_t hash = front.size();
  const auto add = [&hash](double value) {
    constexpr size_t kFactor = 0x9e3779b97f4a7c15;
    hash = (hash ^ std::hash<double>()(value)) * kFactor;
    hash ^= hash >> 32;
  };
  for (const ParallelPoint& point : front) {
    add(point.product);
    add(point.hop_pj);
    for (const double multicast : point.multicast) add(multicast);
  }
  return hash;
}

const ParallelFront* ParallelFronts::Keep(ParallelFront front) {
  front.shrink_to_fit();
  const auto [place, added] = fronts_.insert(std::move(front));
  constexpr size_t kOfNode = sizeof(ParallelFront) + 4 * sizeof(void*);
  if (added) bytes_ += static_cast<int64_t>(kOfNode + place->size() * sizeof(ParallelPoint));
  return &*place;
}

const ParallelFront& ParallelFronts::Find(Table& table, int16_t* positions, uint64_t key) {
  const ParallelFront*& known = PlaceOf(table, key);
  if (known != nullptr) return *known;
  constexpr uint32_t kLooks = 64;
  if (++looks_ % kLooks == 0 && stopped_ && stopped_()) cut_ = true;
  if (cut_) return anything_;
  ParallelFront points;
  bool whole = false;
  if (table.by_level) {
    AddSplits(table, positions, points);
  } else if (Fits(table.level, positions)) {
    points.push_back(PointOf(table, positions));
    whole = true;  // It covers all that is less.
  }
  for (int d = 0; d < model_.num_dims && !whole; ++d) {
    const auto all = static_cast<size_t>(positions[d]);
    for (const int16_t part : lesser_[d][all]) {
      positions[d] = part;
      const uint64_t less = key - strides_[d] * (all - static_cast<size_t>(part));
      for (const ParallelPoint& point : Find(table, positions, less)) {
        AddPoint(point, model_.num_tensors, points);
      }
    }
    positions[d] = static_cast<int16_t>(all);
  }
  if (cut_) return anything_;
  while (points.size() > kMostPoints) Thin(model_.num_tensors, points);
  known = Keep(std::move(points));
  return *known;
}

// Whether the levels can have these factors together: those of a dimension at one level lie on one
// axis.
bool ParallelFronts::Fits(int level, const int16_t* positions) const {
  double product = 1;
  for (int d = 0; d < model_.num_dims; ++d) {
    product *= model_.divisors[d].values[static_cast<size_t>(positions[d])];
  }
  if (product > model_.fan_below[level]) return false;
  int64_t x[kMaxLevels], y[kMaxLevels];
  for (int i = 0; i < level; ++i) {
    x[i] = model_.levels[i].fan_x;
    y[i] = model_.levels[i].fan_y;
  }
  // The rest of dimension `d` has to be split among the levels from `i` on.
  const auto place = [&](const auto& self, int d, int i, int16_t rest) -> bool {
    while (i < level && model_.levels[i].fan <= 1) ++i;
    while (d < model_.num_dims && rest == 0) {
      if (++d == model_.num_dims) break;
      rest = positions[d];
      i = 0;
      while (i < level && model_.levels[i].fan <= 1) ++i;
    }
    if (d == model_.num_dims) return true;
    if (i == level) return false;
    const DivisorTable& table = model_.divisors[d];
    const std::vector<int16_t>& parts = table.parts[static_cast<size_t>(rest)];
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      const int64_t factor = table.values[static_cast<size_t>(*part)];
      const int16_t left = table.quotients[static_cast<size_t>(rest)][static_cast<size_t>(*part)];
      for (int64_t* const axis : {&x[i], &y[i]}) {
        if (factor > *axis) continue;
        const int64_t before = *axis;
        *axis /= factor;
        const bool fits = self(self, d, i + 1, left);
        *axis = before;
        if (fits) return true;
        if (factor == 1) break;
      }
    }
    return false;
  };
  return place(place, 0, 0, positions[0]);
}

bool ParallelFronts::FitsLevel(int level, const int32_t* factors) const {
  const auto place = [&](const auto& self, int d, int64_t x, int64_t y) -> bool {
    while (d < model_.num_dims && factors[d] == 1) ++d;
    if (d == model_.num_dims) return true;
    return (factors[d] <= x && self(self, d + 1, x / factors[d], y)) ||
           (factors[d] <= y && self(self, d + 1, x, y / factors[d]));
  };
  return place(place, 0, model_.levels[level].fan_x, model_.levels[level].fan_y);
}

// Children that a word of a tensor can serve, if they differ by these factors. B4.
double ParallelFronts::MulticastOf(int v, const double* factors) const {
  const TensorFacts& tensor = model_.tensors[v];
  double idle = 1, product = 1;
  for (int d = 0; d < model_.num_dims; ++d) {
    if (!Has(tensor.dims, d)) idle *= factors[d];
    product *= factors[d];
  }
  if (tensor.simple) return idle;
  const bool windows_known = model_.exact && !tensor.shares;
  return windows_known ? idle * WindowMulticast(model_, v, factors) : product;
}

ParallelPoint ParallelFronts::PointOf(const Table& table, const int16_t* positions) const {
  ParallelPoint point;
  double factors[kMaxDims];
  for (int d = 0; d < model_.num_dims; ++d) {
    factors[d] = model_.divisors[d].values[static_cast<size_t>(positions[d])];
    point.product *= factors[d];
  }
  for (int v = 0; v < model_.num_tensors; ++v) {
    point.multicast[v] = table.from[v] < 0 ? 1 : MulticastOf(v, factors);
  }
  return point;
}

// All ways to split these factors among the levels of a table.
void ParallelFronts::AddSplits(const Table& table, const int16_t* positions,
                               ParallelFront& points) {
  double product = 1;
  for (int d = 0; d < model_.num_dims; ++d) {
    product *= model_.divisors[d].values[static_cast<size_t>(positions[d])];
  }
  if (product > model_.fan_below[table.level]) return;
  Splitting nothing{.point = {.product = product}};
  std::fill_n(nothing.factors, model_.num_dims, 1.0);
  std::fill_n(nothing.point.multicast, model_.num_tensors, 1.0);
  SplitLevel(table, 0, positions, nothing, points);
}

// Gives level `level` and those outside it what is left.
void ParallelFronts::SplitLevel(const Table& table, int level, const int16_t* rest,
                                const Splitting& inside, ParallelFront& points) {
  while (level < table.level && model_.levels[level].fan <= 1) ++level;
  int32_t factors[kMaxDims];
  if (level + 1 >= table.level) {
    for (int d = 0; d < model_.num_dims; ++d) {
      factors[d] = model_.divisors[d].values[static_cast<size_t>(rest[d])];
    }
    Splitting all = inside;
    const bool fits = level >= table.level ? std::all_of(factors, factors + model_.num_dims,
                                                         [](int32_t factor) { return factor == 1; })
                                           : AddLevel(table, level, factors, all);
    if (fits) AddPoint(all.point, model_.num_tensors, points);
    return;
  }
  int16_t left[kMaxDims];
  const auto choose = [&](const auto& self, int d, double room) -> void {
    if (d == model_.num_dims) {
      Splitting next = inside;
      if (AddLevel(table, level, factors, next)) SplitLevel(table, level + 1, left, next, points);
      return;
    }
    const DivisorTable& divisors = model_.divisors[d];
    const auto whole = static_cast<size_t>(rest[d]);
    for (const int16_t part : divisors.parts[whole]) {
      factors[d] = divisors.values[static_cast<size_t>(part)];
      if (factors[d] > room) break;
      left[d] = divisors.quotients[whole][static_cast<size_t>(part)];
      self(self, d + 1, room / factors[d]);
    }
  };
  choose(choose, 0, model_.levels[level].fan);
}

// The network of one level more; false if the factors do not fit it.
bool ParallelFronts::AddLevel(const Table& table, int level, const int32_t* factors,
                              Splitting& splitting) {
  if (!FitsLevel(level, factors)) return false;
  for (int d = 0; d < model_.num_dims; ++d) splitting.factors[d] *= factors[d];
  for (int v = 0; v < model_.num_tensors; ++v) {
    if (table.from[v] < level) continue;
    const double multicast = MulticastOf(v, splitting.factors);
    splitting.point.multicast[v] = multicast;
    const TensorFacts& tensor = model_.tensors[v];
    const bool sums_meet = tensor.read_write && !tensor.simple;
    if (sums_meet || !TellsChildrenApart(tensor, splitting.factors)) continue;
    splitting.point.hop_pj +=
        HopCost(model_, level, v, tensor.read_write, factors, hops_) / multicast;
  }
  return true;
}

// Every way to give a level factors that fit it. B20.
void ParallelFronts::ListSplits(int level, LevelSplits& splits) {
  LevelSplit split;
  const auto choose = [&](const auto& self, int d, double room) -> void {
    if (splits.all.size() > kMostSplits) return;
    if (d < model_.num_dims) {
      const DivisorTable& divisors = model_.divisors[d];
      for (size_t k = 0; k < divisors.values.size() && divisors.values[k] <= room; ++k) {
        split.factors[d] = divisors.values[k];
        split.positions[d] = static_cast<int16_t>(k);
        self(self, d + 1, room / split.factors[d]);
      }
      return;
    }
    if (!FitsLevel(level, split.factors)) return;
    double factors[kMaxDims];
    split.product = 1;
    for (int k = 0; k < model_.num_dims; ++k) {
      factors[k] = split.factors[k];
      split.product *= factors[k];
    }
    for (int v = 0; v < model_.num_tensors; ++v) {
      const TensorFacts& tensor = model_.tensors[v];
      split.serves[v] = MulticastOf(v, factors);
      split.way_pj[v] = 0;
      const bool sums_meet = tensor.read_write && !tensor.simple;
      if (sums_meet || !TellsChildrenApart(tensor, factors)) continue;
      split.way_pj[v] =
          HopCost(model_, level, v, tensor.read_write, split.factors, hops_) / split.serves[v];
    }
    splits.all.push_back(split);
  };
  choose(choose, 0, model_.levels[level].fan);
  bytes_ += static_cast<int64_t>(splits.all.capacity() * sizeof(LevelSplit));
  splits.known = splits.all.size() <= kMostSplits;
  std::ranges::stable_sort(splits.all, std::greater(), &LevelSplit::product);
}

// Whether some dimension could have a larger factor, which serves all purposes at least as well
// where words travel for nothing.
bool ParallelFronts::CanHaveMore(int level, const LevelSplit& split,
                                 const int16_t* positions) const {
  if (model_.levels[level].placement_matters) return false;
  int32_t factors[kMaxDims];
  std::copy_n(split.factors, model_.num_dims, factors);
  for (int d = 0; d < model_.num_dims; ++d) {
    const DivisorTable& table = model_.divisors[d];
    const int16_t rest =
        table.quotients[static_cast<size_t>(positions[d])][static_cast<size_t>(split.positions[d])];
    for (const int16_t part : table.parts[static_cast<size_t>(rest)]) {
      if (part == 0) continue;
      factors[d] = split.factors[d] * table.values[static_cast<size_t>(part)];
      if (FitsLevel(level, factors)) return true;
    }
    factors[d] = split.factors[d];
  }
  return false;
}

std::span<const LevelSplit* const> ParallelFronts::SplitsOf(int level, const int16_t* positions) {
  if (!known_ || !detailed_) return {};
  const auto [place, added] = splits_.try_emplace(level);
  LevelSplits& splits = place->second;
  if (added) ListSplits(level, splits);
  if (!splits.known) return {};
  uint64_t key = 0;
  for (int d = 0; d < model_.num_dims; ++d) {
    key += strides_[d] * static_cast<uint64_t>(positions[d]);
  }
  const auto [found, first] = splits.of.try_emplace(key);
  if (!first) return found->second;
  for (const LevelSplit& split : splits.all) {
    bool divides = true;
    for (int d = 0; d < model_.num_dims && divides; ++d) {
      divides = model_.divisors[d].quotients[static_cast<size_t>(positions[d])]
                                            [static_cast<size_t>(split.positions[d])] >= 0;
    }
    if (divides && !CanHaveMore(level, split, positions)) found->second.push_back(&split);
  }
  found->second.shrink_to_fit();
  constexpr size_t kOfNode = sizeof(*found) + 3 * sizeof(void*);
  bytes_ += static_cast<int64_t>(kOfNode + found->second.size() * sizeof(LevelSplit*));
  return found->second;
}

bool TellsChildrenApart(const TensorFacts& tensor, const double* factors) {
  for (int r = 0; r < tensor.num_ranks && !tensor.simple; ++r) {
    int moved_by = 0;
    for (int k = 0; k < tensor.ranks[r].num_terms; ++k) {
      moved_by += factors[tensor.ranks[r].dims[k]] > 1 ? 1 : 0;
    }
    if (moved_by > 1) return false;
  }
  return !tensor.shares;
}

double HopCost(const Model& model, int level, int v, bool both_ways, const int32_t* spatial,
               LeastHops& hops) {
  const LevelFacts& facts = model.levels[level];
  if (!model.exact || model.any || !facts.placement_matters) return 0;
  const double least = hops.Of(level, spatial)[static_cast<size_t>(v)];
  // Sums that come back down travel for nothing, and routers are those of the average word.
  return facts.of[v].hop_pj * least +
         facts.of[v].router_pj * std::floor((both_ways ? 0.5 : 1) * least);
}

}  // namespace tessera::exact
