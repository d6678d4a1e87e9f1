// Fronts of parallel factors. Factors that divide the extents either are the extents themselves, or
// divide extents that are less by a prime: so a front is that of its lesser ones and one more
// point.
#include "tessera/search/exact/parallel.h"

#include <algorithm>

#include "tessera/search/exact/frame.h"
#include "tessera/search/exact/word_cost.h"

namespace tessera::exact {
namespace {

// Fronts of one table, at most: each takes some hundred bytes.
constexpr uint64_t kMostFronts = 200'000;
// Points of a front; more are replaced by fewer that cover them.
constexpr size_t kMostPoints = 48;

void AddPoint(const ParallelPoint& point, int num_tensors, std::vector<ParallelPoint>& points) {
  for (const ParallelPoint& other : points) {
    if (other.Covers(point, num_tensors)) return;
  }
  std::erase_if(points,
                [&](const ParallelPoint& other) { return point.Covers(other, num_tensors); });
  points.push_back(point);
}

// Neighbours by product become one that covers both.
void Thin(int num_tensors, std::vector<ParallelPoint>& points) {
  std::ranges::stable_sort(points, {}, &ParallelPoint::product);
  std::vector<ParallelPoint> fewer;
  for (size_t k = 0; k + 1 < points.size(); k += 2) {
    ParallelPoint both = points[k + 1];
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

ParallelFronts::ParallelFronts(const Model& model) : model_(model) {
  ParallelPoint anything{.product = kInfinity};
  std::fill_n(anything.multicast, kMaxTensors, kInfinity);
  anything_ = {anything};
  uint64_t fronts = 1;
  known_ = !model.any;
  for (int d = 0; d < model.num_dims && known_; ++d) {
    strides_[d] = fronts;
    fronts *= model.divisors[d].values.size();
    known_ = fronts <= kMostFronts;
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

ParallelFronts::Table& ParallelFronts::TableOf(int level, uint32_t tensors) {
  // Levels with one child have no factors.
  while (level > 0 && model_.levels[level - 1].fan <= 1) --level;
  return tables_[{level, tensors}];
}

std::span<const ParallelPoint> ParallelFronts::Of(Table& table, int level, uint32_t tensors,
                                                  const int16_t* positions) {
  if (!known_) return anything_;
  int16_t copy[kMaxDims];
  uint64_t key = 0;
  for (int d = 0; d < model_.num_dims; ++d) {
    copy[d] = positions[d];
    key += strides_[d] * static_cast<uint64_t>(positions[d]);
  }
  return Find(table, level, tensors, copy, key);
}

const std::vector<ParallelPoint>& ParallelFronts::Find(Table& table, int level, uint32_t tensors,
                                                       int16_t* positions, uint64_t key) {
  const auto found = table.find(key);
  if (found != table.end()) return found->second;
  std::vector<ParallelPoint> points;
  const bool fits = Fits(level, positions);
  if (fits) points.push_back(PointOf(tensors, positions));
  // What fits as it is covers all that is less.
  for (int d = 0; d < model_.num_dims && !fits; ++d) {
    const auto whole = static_cast<size_t>(positions[d]);
    for (const int16_t part : lesser_[d][whole]) {
      positions[d] = part;
      const uint64_t less = key - strides_[d] * (whole - static_cast<size_t>(part));
      for (const ParallelPoint& point : Find(table, level, tensors, positions, less)) {
        AddPoint(point, model_.num_tensors, points);
      }
    }
    positions[d] = static_cast<int16_t>(whole);
  }
  while (points.size() > kMostPoints) Thin(model_.num_tensors, points);
  return table.emplace(key, std::move(points)).first->second;
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

ParallelPoint ParallelFronts::PointOf(uint32_t tensors, const int16_t* positions) const {
  ParallelPoint point;
  double factors[kMaxDims];
  for (int d = 0; d < model_.num_dims; ++d) {
    factors[d] = model_.divisors[d].values[static_cast<size_t>(positions[d])];
    point.product *= factors[d];
  }
  for (int v = 0; v < model_.num_tensors; ++v) {
    point.multicast[v] = 1;
    if (!Has(tensors, v)) continue;
    const TensorFacts& tensor = model_.tensors[v];
    for (int d = 0; d < model_.num_dims; ++d) {
      if (!Has(tensor.dims, d)) point.multicast[v] *= factors[d];
    }
    if (tensor.simple) continue;
    const bool windows_known = model_.exact && !tensor.shares;
    if (windows_known) {
      point.multicast[v] *= WindowMulticast(model_, v, factors);
    } else {
      point.multicast[v] = point.product;
    }
  }
  return point;
}

}  // namespace tessera::exact
