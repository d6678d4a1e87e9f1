// Legality of loop-nest points, and their mappings.
#include "tessera/space/loop_space.h"
#include "tessera/space/loop_space_factors.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "tessera/base/divisors.h"
#include "tessera/cost/loopnest/touched.h"

namespace tessera {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

Error Broken(std::string inequality) {
  return Error{.kind = ErrorKind::kInfeasible, .message = std::move(inequality)};
}

// Words of a window that slides by more than one, for what searches ask most; none: not in closed
// form.
std::optional<int64_t> WindowWords(const TensorRank& rank,
                                   const std::array<int64_t, LoopSpace::kMaxDims>& extent) {
  if (rank.num_terms != 2) return std::nullopt;
  const RankTerm* coarse = &rank.terms[0];
  const RankTerm* fine = &rank.terms[1];
  if (coarse->coefficient < fine->coefficient) std::swap(coarse, fine);
  if (fine->coefficient != 1) return std::nullopt;
  const int64_t steps = extent[static_cast<size_t>(coarse->dimension)],
                width = extent[static_cast<size_t>(fine->dimension)];
  return (steps - 1) * std::min(coarse->coefficient, width) + width;
}

// Items of an order, outermost first, turned into all dimensions of a problem, innermost first.
std::array<uint8_t, LoopProblem::kMaxDimensions> InnermostFirst(const std::vector<uint8_t>& order,
                                                                size_t dimensions) {
  std::array<uint8_t, LoopProblem::kMaxDimensions> result{};
  std::array<bool, LoopProblem::kMaxDimensions> placed{};
  size_t next = 0;
  for (auto item = order.rbegin(); item != order.rend(); ++item) {
    result[next++] = *item;
    placed[*item] = true;
  }
  for (size_t d = 0; d < LoopProblem::kMaxDimensions; ++d) {
    // Dimensions of bound 1 do not loop; they go outside, in the problem's order.
    if (d >= dimensions || !placed[d]) result[next++] = static_cast<uint8_t>(d);
  }
  return result;
}

}  // namespace

// The outermost temporal factor is what the others leave over, 0 if they do not divide the bound.
// Returns the first dimension of that kind, or dims_.size(). `stop` there leaves the rest unset:
// most random points fail so, and finding out is what random search spends its time on.
size_t LoopSpace::FillFactors(const Point& point, bool stop, Factors& factors) const {
  size_t failed = dims_.size();
  const auto value = [&](size_t decision) {
    return decision == kNone ? 1 : decisions()[decision].value(point[decision]);
  };
  for (size_t d = 0; d < dims_.size(); ++d) {
    int64_t rest = dims_[d].bound;
    for (size_t i = 0; i < levels_.size(); ++i) {
      factors.spatial[i][d] = value(dims_[d].spatial[i]);
      factors.temporal[i][d] = value(dims_[d].temporal[i]);
      for (const int64_t factor : {factors.spatial[i][d], factors.temporal[i][d]}) {
        if (factor == 1) continue;  // Most are, and divisions are what takes time here.
        if (rest % factor == 0) {
          rest /= factor;
          continue;
        }
        rest = 0;
        failed = std::min(failed, d);
        if (stop) return failed;
      }
    }
    factors.temporal[levels_.size() - 1][d] = rest;
  }
  return failed;
}

LoopSpace::Factors LoopSpace::FactorsOf(const Point& point) const {
  Factors factors;
  FillFactors(point, /*stop=*/false, factors);
  return factors;
}

bool LoopSpace::OnX(const Point& point, size_t dim, size_t level) const {
  const size_t axis = dims_[dim].axis[level];
  if (axis == kNone) return levels_[level].fan_x > 1;
  return decisions()[axis].value(point[axis]) == 0;
}

uint8_t LoopSpace::KeepAt(const Point& point, size_t level) const {
  uint8_t keep = levels_[level].keep;
  for (size_t t = 0; t < LoopProblem::kMaxTensors; ++t) {
    const size_t decision = levels_[level].keep_decision[t];
    if (decision == kNone) continue;
    const bool kept = decisions()[decision].value(point[decision]) == 0;
    keep = static_cast<uint8_t>(kept ? keep | 1u << t : keep & ~(1u << t));
  }
  return keep;
}

int64_t LoopSpace::RankWords(const TensorRank& rank,
                             const std::array<int64_t, kMaxDims>& extent) const {
  int64_t span = 1;
  bool holes = false;
  for (const RankTerm& term : rank.view()) {
    span += term.coefficient * (extent[static_cast<size_t>(term.dimension)] - 1);
    holes = holes || term.coefficient > 1;
  }
  if (store_holes_ || !holes) return span;
  if (const std::optional<int64_t> words = WindowWords(rank, extent)) return *words;
  const loopnest::RankShape shape = loopnest::MakeRankShape(rank);
  loopnest::TouchedBox box;
  for (int k = 0; k < shape.num_terms; ++k) {
    box.widths[k] = extent[static_cast<size_t>(shape.dims[k])];
  }
  loopnest::TouchedScratch scratch;
  return CountTouched(shape, box, scratch);
}

int64_t LoopSpace::WordsOf(size_t tensor, const std::array<int64_t, kMaxDims>& extent) const {
  int64_t words = 1;
  for (const TensorRank& rank : problem_.tensors[tensor].view()) words *= RankWords(rank, extent);
  return words;
}

// Words that a level holds: the tiles of the tensors that it keeps, one after another.
int64_t LoopSpace::TileUnits(const Point& point, const Factors& factors, size_t level,
                             std::string* names) const {
  std::array<int64_t, kMaxDims> extent;
  extent.fill(1);
  for (size_t d = 0; d < dims_.size(); ++d) {
    int64_t& size = extent[static_cast<size_t>(dims_[d].index)];
    for (size_t i = 0; i <= level; ++i) size *= factors.temporal[i][d] * factors.spatial[i][d];
  }
  const uint8_t keep = KeepAt(point, level);
  int64_t units = 0;
  for (size_t t = 0; t < problem_.tensor_view().size(); ++t) {
    if ((keep >> t & 1) == 0) continue;
    const int64_t tile = WordsOf(t, extent);
    units += tile * levels_[level].widths.units[t];
    if (names == nullptr) continue;
    *names +=
        fmt::format("{}{} {}", names->empty() ? "" : ", ", problem_.tensors[t].name.view(), tile);
  }
  return units;
}

Result<void> LoopSpace::Check(const Point& point) const {
  if (Result<void> range = CheckRange(point); !range) return range;
  Factors factors;
  if (const size_t d = FillFactors(point, /*stop=*/true, factors); d < dims_.size()) {
    return Broken(fmt::format("product of the factors of {} divides {}",
                              problem_.dimensions[static_cast<size_t>(dims_[d].index)].name.view(),
                              dims_[d].bound));
  }
  for (size_t i = 0; i < levels_.size(); ++i) {
    int64_t x = 1, y = 1;
    for (size_t d = 0; d < dims_.size(); ++d) {
      (OnX(point, d, i) ? x : y) *= factors.spatial[i][d];
    }
    const Level& level = levels_[i];
    if (x > level.fan_x)
      return Broken(fmt::format("{}: fan-out X {} <= {}", level.name, x, level.fan_x));
    if (y > level.fan_y)
      return Broken(fmt::format("{}: fan-out Y {} <= {}", level.name, y, level.fan_y));
    if (!level.entries) continue;
    const int64_t units = TileUnits(point, factors, i);
    if (units > *level.entries) {
      std::string names;
      TileUnits(point, factors, i, &names);
      const bool plain = level.widths.plain(problem_.num_tensors);
      const int64_t scale = plain ? 1 : level.widths.unit_bits;
      return Broken(fmt::format("{}: capacity {} <= {}{} ({})", level.name, units * scale,
                                *level.entries * scale, plain ? "" : " bits", names));
    }
  }
  if (!constrained_) return {};
  std::string broken = BrokenConstraint(point, factors);
  return broken.empty() ? Result<void>() : Broken(std::move(broken));
}

// The allowed value nearest below that divides `rest` and is at most `most`, or the least that
// does, or the same value if none does.
int32_t LoopSpace::Fit(const Decision& decision, int32_t index, int64_t rest, int64_t most) const {
  const auto fits = [&](int32_t i) {
    return decision.value(i) <= most && rest % decision.value(i) == 0;
  };
  for (int32_t i = index; i >= 0; --i) {
    if (fits(i)) return i;
  }
  for (int32_t i = index + 1; i < decision.size(); ++i) {
    if (fits(i)) return i;
  }
  return index;
}

void LoopSpace::Repair(Point& point) const {
  if (!bonds_.empty()) FitRelations(point);
  FitFactors(point);
  FitMemories(point);
  if (constrained_) ReturnToLegal(point);
}

void LoopSpace::FitFactors(Point& point) const {
  const size_t outermost = levels_.size() - 1;
  std::array<int64_t, kMaxDims> rest{};
  const auto open = [&](size_t decision) {
    return decision != kNone && decisions()[decision].size() > 1;
  };
  const auto take = [&](size_t d, size_t decision) {
    const int64_t factor = decisions()[decision].value(point[decision]);
    if (rest[d] % factor == 0) rest[d] /= factor;
    return factor;
  };
  // What constraints fix is taken first; everything else has to fit around it.
  for (size_t d = 0; d < dims_.size(); ++d) {
    rest[d] = dims_[d].bound;
    for (size_t i = 0; i <= outermost; ++i) {
      for (const size_t decision : {dims_[d].spatial[i], dims_[d].temporal[i]}) {
        if (decision != kNone && !open(decision)) take(d, decision);
      }
    }
  }
  for (size_t i = 0; i <= outermost; ++i) {
    FitAxes(point, i);
    int64_t used_x = 1, used_y = 1;
    for (size_t d = 0; d < dims_.size(); ++d) {
      (OnX(point, d, i) ? used_x : used_y) *= LeastParallel(d, i);
    }
    for (size_t d = 0; d < dims_.size(); ++d) {
      const size_t decision = dims_[d].spatial[i];
      if (!open(decision)) continue;
      const bool on_x = OnX(point, d, i);
      int64_t& used = on_x ? used_x : used_y;
      used /= LeastParallel(d, i);
      const int64_t most = (on_x ? levels_[i].fan_x : levels_[i].fan_y) / used;
      point[decision] = Fit(decisions()[decision], point[decision], rest[d], most);
      used *= take(d, decision);
    }
  }
  for (size_t i = 0; i < outermost; ++i) {
    for (size_t d = 0; d < dims_.size(); ++d) {
      const size_t decision = dims_[d].temporal[i];
      if (!open(decision)) continue;
      point[decision] = Fit(decisions()[decision], point[decision], rest[d], kNoLimit);
      take(d, decision);
    }
  }
}

// The least factor that a dimension may have in parallel at a level: constraints can ask for more
// than 1.
int64_t LoopSpace::LeastParallel(size_t dim, size_t level) const {
  const size_t decision = dims_[dim].spatial[level];
  return decision == kNone ? 1 : decisions()[decision].value(0);
}

// Constraints may ask for parallel factors and say nothing about their axes: if they do not fit
// where the point puts them, the axes with the fewest changes on which they do are taken.
void LoopSpace::FitAxes(Point& point, size_t level) const {
  std::vector<size_t> movable;
  for (size_t d = 0; d < dims_.size(); ++d) {
    const size_t axis = dims_[d].axis[level];
    const bool open = axis != kNone && decisions()[axis].size() > 1;
    if (open && LeastParallel(d, level) > 1) movable.push_back(d);
  }
  if (movable.empty()) return;
  const auto fits = [&](uint32_t moved) {
    int64_t x = 1, y = 1;
    for (size_t d = 0; d < dims_.size(); ++d) {
      const auto at = std::find(movable.begin(), movable.end(), d) - movable.begin();
      const bool moves = (moved >> at & 1) != 0;
      (OnX(point, d, level) != moves ? x : y) *= LeastParallel(d, level);
    }
    return x <= levels_[level].fan_x && y <= levels_[level].fan_y;
  };
  if (fits(0)) return;
  uint32_t best = 0;
  for (uint32_t moved = 1; moved < 1u << movable.size(); ++moved) {
    const bool fewer = best == 0 || std::popcount(moved) < std::popcount(best);
    if (fewer && fits(moved)) best = moved;
  }
  for (size_t k = 0; k < movable.size(); ++k) {
    if ((best >> k & 1) == 0) continue;
    int32_t& axis = point[dims_[movable[k]].axis[level]];
    axis = 1 - axis;
  }
}

void LoopSpace::FitMemories(Point& point) const {
  for (size_t i = 0; i + 1 < levels_.size(); ++i) {
    if (!levels_[i].entries) continue;
    while (TileUnits(point, FactorsOf(point), i) > *levels_[i].entries) {
      if (!MoveOutward(point, i) && !PassBy(point, i)) break;
    }
  }
}

// Tiles cannot get smaller: the largest tensor that the level need not hold passes it by.
bool LoopSpace::PassBy(Point& point, size_t level) const {
  const Factors factors = FactorsOf(point);
  const int64_t all = TileUnits(point, factors, level);
  size_t largest = kNone;
  int64_t most = 0;
  for (size_t t = 0; t < problem_.tensor_view().size(); ++t) {
    const size_t decision = levels_[level].keep_decision[t];
    if (decision == kNone || decisions()[decision].value(point[decision]) != 0) continue;
    const int32_t bypass = decisions()[decision].Find(1);
    if (bypass < 0) continue;
    Point without = point;
    without[decision] = bypass;
    const int64_t units = all - TileUnits(without, factors, level);
    if (units <= most) continue;
    most = units;
    largest = decision;
  }
  if (largest == kNone) return false;
  point[largest] = decisions()[largest].Find(1);
  return true;
}

// Makes the tile of a level smaller by one prime factor of its largest loop, which the next level
// outward takes over, so that tiles further out stay as they are.
bool LoopSpace::MoveOutward(Point& point, size_t level) const {
  const auto smaller = [&](size_t decision) {
    const Decision& made = decisions()[decision];
    const int64_t factor = made.value(point[decision]);
    return factor == 1 ? -1 : made.Find(factor / SmallestPrime(factor));
  };
  const auto shrink = [&](size_t d, size_t decision) {
    const Decision& made = decisions()[decision];
    const int64_t prime = SmallestPrime(made.value(point[decision]));
    point[decision] = smaller(decision);
    const size_t outer = level + 1 < levels_.size() - 1 ? dims_[d].temporal[level + 1] : kNone;
    if (outer == kNone) return;  // The outermost level takes what is left over.
    const int32_t grown = decisions()[outer].Find(decisions()[outer].value(point[outer]) * prime);
    if (grown >= 0) point[outer] = grown;
  };
  // Temporal loops of the level itself first, then those inside, then parallel ones.
  for (const bool spatial : {false, true}) {
    for (size_t i = level + 1; i-- > 0;) {
      size_t largest = kNone, at = kNone;
      int64_t most = 1;
      for (size_t d = 0; d < dims_.size(); ++d) {
        const size_t decision = spatial ? dims_[d].spatial[i] : dims_[d].temporal[i];
        if (decision == kNone || smaller(decision) < 0) continue;
        const int64_t factor = decisions()[decision].value(point[decision]);
        if (factor <= most) continue;
        most = factor;
        largest = d;
        at = decision;
      }
      if (largest == kNone) continue;
      shrink(largest, at);
      return true;
    }
  }
  return false;
}

Mapping LoopSpace::Decode(const Point& point) const {
  const Factors factors = FactorsOf(point);
  const size_t dimensions = problem_.dims().size();
  LoopMapping mapping;
  mapping.num_levels = static_cast<int32_t>(levels_.size());
  const auto items = [&](size_t decision) {
    std::vector<uint8_t> order;
    if (decision == kNone) {
      for (const Dim& dim : dims_) order.push_back(static_cast<uint8_t>(dim.index));
      return order;
    }
    const Permutation permutation = decisions()[decision].OrderAt(point[decision]);
    for (const uint8_t item : permutation.order()) {
      order.push_back(static_cast<uint8_t>(dims_[item].index));
    }
    return order;
  };
  for (size_t i = 0; i < levels_.size(); ++i) {
    LoopLevel& level = mapping.levels[i];
    std::array<bool, kMaxDims> on_y{};
    for (size_t d = 0; d < dims_.size(); ++d) {
      const size_t index = static_cast<size_t>(dims_[d].index);
      level.temporal[index] = static_cast<int32_t>(factors.temporal[i][d]);
      level.spatial[index] = static_cast<int32_t>(factors.spatial[i][d]);
      on_y[index] = factors.spatial[i][d] > 1 && !OnX(point, d, i);
    }
    level.temporal_order = InnermostFirst(items(levels_[i].order), dimensions);
    level.spatial_order = InnermostFirst(items(levels_[i].spatial_order), dimensions);
    const auto split =
        std::stable_partition(level.spatial_order.begin(),
                              level.spatial_order.begin() + static_cast<std::ptrdiff_t>(dimensions),
                              [&](uint8_t index) { return !on_y[index]; });
    level.split = static_cast<uint8_t>(split - level.spatial_order.begin());
    level.keep = KeepAt(point, i);
  }
  return mapping;
}

Result<Point> LoopSpace::Encode(const Mapping& mapping) const {
  const auto outside = [](std::string_view message) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("the mapping is not in the space: {}", message)};
  };
  const LoopMapping* loops = std::get_if<LoopMapping>(&mapping);
  if (loops == nullptr) return outside("it is not a loop nest");
  if (static_cast<size_t>(loops->num_levels) != levels_.size()) {
    return outside(fmt::format("it has {} levels, not {}", loops->num_levels, levels_.size()));
  }
  Point point(size());
  for (size_t i = 0; i < levels_.size(); ++i) {
    for (size_t d = 0; d < dims_.size(); ++d) {
      if (EncodeFactors(loops->levels[i], i, d, point)) continue;
      const size_t index = static_cast<size_t>(dims_[d].index);
      return outside(fmt::format("factors {} and, in parallel, {} of {} at {}",
                                 loops->levels[i].temporal[index], loops->levels[i].spatial[index],
                                 problem_.dimensions[index].name.view(), levels_[i].name));
    }
    EncodeOrder(levels_[i].order, loops->levels[i].temporal_order, point);
    EncodeOrder(levels_[i].spatial_order, loops->levels[i].spatial_order, point);
    for (size_t t = 0; t < problem_.tensor_view().size(); ++t) {
      const size_t decision = levels_[i].keep_decision[t];
      if (decision == kNone) continue;
      const bool kept = loops->levels[i].Keeps(static_cast<int>(t));
      point[decision] = std::max(0, decisions()[decision].Find(kept ? 0 : 1));
    }
  }
  if (const Result<void> legal = Check(point); !legal) return outside(legal.error().message);
  return point;
}

// Whether the factors of a dimension at a level are values of its decisions, which they become.
bool LoopSpace::EncodeFactors(const LoopLevel& level, size_t at, size_t d, Point& point) const {
  const Dim& dim = dims_[d];
  const size_t index = static_cast<size_t>(dim.index);
  const auto set = [&](size_t decision, int64_t factor) {
    if (decision == kNone) return factor == 1;
    point[decision] = decisions()[decision].Find(factor == 0 ? dim.bound : factor);
    return point[decision] >= 0;
  };
  const bool outermost = at + 1 == levels_.size();
  if (!outermost && !set(dim.temporal[at], level.temporal[index])) return false;
  if (!set(dim.spatial[at], level.spatial[index])) return false;
  if (dim.axis[at] != kNone) {
    const auto place = std::find(level.spatial_order.begin(), level.spatial_order.end(), index);
    const bool on_y = place - level.spatial_order.begin() >= level.split;
    point[dim.axis[at]] = std::max(0, decisions()[dim.axis[at]].Find(on_y ? 1 : 0));
  }
  return true;
}

void LoopSpace::EncodeOrder(size_t decision, const std::array<uint8_t, kMaxDims>& innermost_first,
                            Point& point) const {
  if (decision == kNone) return;
  Permutation permutation;
  for (size_t k = problem_.dims().size(); k-- > 0;) {
    for (size_t d = 0; d < dims_.size(); ++d) {
      if (static_cast<size_t>(dims_[d].index) != innermost_first[k]) continue;
      permutation.items[permutation.size++] = static_cast<uint8_t>(d);
    }
  }
  point[decision] = decisions()[decision].IndexOfOrder(permutation);
}

}  // namespace tessera
