// Loop spaces with constraints: whether they leave a legal point, and the way back to one.
//
// Dimensions meet only in fan-outs, memories and ratios. So each dimension's splits over the levels
// are listed by themselves, those that another one makes superfluous are dropped, and what is left
// is combined dimension by dimension, with the smallest tiles of those that are still to come.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "tessera/space/loop_space.h"
#include "tessera/space/loop_space_factors.h"

namespace tessera {
namespace {

// Splits of a dimension and combinations of them that are looked at before the question is left
// open. A dimension of 2^16 over six levels has about 50,000 splits.
constexpr int64_t kMostSplits = 400'000;
constexpr int64_t kMostCombinations = 400'000;

}  // namespace

class LoopSpace::Legality {
 public:
  explicit Legality(const LoopSpace& space) : space_(space), levels_(space.levels_.size()) {}

  enum class Answer { kFound, kNone, kUnknown };

  Answer Run(Point& point) {
    point_ = &point;
    for (size_t d = 0; d < space_.dims_.size(); ++d) {
      splits_.emplace_back();
      if (!ListSplits(d)) complete_ = false;
      if (splits_.back().empty()) return complete_ ? Answer::kNone : Answer::kUnknown;
      KeepMinimal(d);
      AddLeast(d);
    }
    chosen_.assign(space_.dims_.size(), nullptr);
    if (Combine(0)) return Answer::kFound;
    return complete_ ? Answer::kNone : Answer::kUnknown;
  }

 private:
  using PerLevel = std::array<int64_t, LoopMapping::kMaxLevels>;

  struct Split {
    PerLevel temporal, x, y;  // factors; a parallel one lies on one axis
    PerLevel extent;          // of the tile of a level
  };

  // All splits of a dimension that its decisions allow; false if there are too many.
  bool ListSplits(size_t d) {
    Split split;
    for (PerLevel* values : {&split.temporal, &split.x, &split.y, &split.extent}) values->fill(1);
    left_ = kMostSplits;
    if (MayBeOutside(d)) {
      // Nothing inside needs the least of everything, so no other split is of use.
      split.temporal[levels_ - 1] = split.extent[levels_ - 1] = space_.dims_[d].bound;
      splits_.back().push_back(split);
      return true;
    }
    Level(d, 0, space_.dims_[d].bound, split);
    return left_ > 0;
  }

  // Whether a dimension may have all of its loops at the outermost level, and no ratio with others.
  bool MayBeOutside(size_t d) const {
    const Dim& dim = space_.dims_[d];
    if (space_.least_parallel_ > 1) return false;
    if (space_.leftovers_[d].Find(dim.bound) < 0 || Bonded(space_.size() + d)) return false;
    for (size_t i = 0; i < levels_; ++i) {
      for (const size_t decision : {dim.temporal[i], dim.spatial[i]}) {
        if (decision == kNone) continue;
        if (Bonded(decision) || space_.decisions()[decision].Find(1) < 0) return false;
      }
    }
    return true;
  }

  void Level(size_t d, size_t level, int64_t rest, Split& split) {
    if (left_ <= 0) return;
    const Dim& dim = space_.dims_[d];
    const auto temporal = [&](int64_t left, int64_t parallel) {
      const int64_t inside = level == 0 ? 1 : split.extent[level - 1];
      if (level + 1 == levels_) {
        --left_;
        if (space_.leftovers_[d].Find(left) < 0) return;
        split.temporal[level] = left;
        split.extent[level] = dim.bound;
        splits_.back().push_back(split);
        return;
      }
      const Decision& factors = space_.decisions()[dim.temporal[level]];
      for (int32_t i = 0; i < factors.size() && left_ > 0; ++i) {
        if (left % factors.value(i) != 0) continue;
        split.temporal[level] = factors.value(i);
        split.extent[level] = inside * parallel * factors.value(i);
        Level(d, level + 1, left / factors.value(i), split);
      }
    };
    if (dim.spatial[level] == kNone) return temporal(rest, 1);
    const Decision& factors = space_.decisions()[dim.spatial[level]];
    for (int32_t i = 0; i < factors.size() && left_ > 0; ++i) {
      const int64_t factor = factors.value(i);
      if (rest % factor != 0) continue;
      for (const bool on_y : {false, true}) {
        if (factor == 1 ? on_y : !MayLie(d, level, on_y, factor)) continue;
        (on_y ? split.y : split.x)[level] = factor;
        temporal(rest / factor, factor);
        (on_y ? split.y : split.x)[level] = 1;
      }
    }
  }

  bool MayLie(size_t d, size_t level, bool on_y, int64_t factor) const {
    const auto& machine = space_.levels_[level];
    if (factor > (on_y ? machine.fan_y : machine.fan_x)) return false;
    const size_t axis = space_.dims_[d].axis[level];
    return axis == kNone || space_.decisions()[axis].Find(on_y ? 1 : 0) >= 0;
  }

  double Parallel(const Split& split) const {
    double product = 1;
    for (size_t i = 0; i < levels_; ++i) product *= static_cast<double>(split.x[i] * split.y[i]);
    return product;
  }

  // Whether a split is part of a ratio with the same number as another one, and keeps as many MACs
  // busy.
  bool SameInBonds(size_t d, const Split& a, const Split& b) const {
    if (space_.least_parallel_ > 1 && Parallel(a) < Parallel(b)) return false;
    for (size_t i = 0; i < levels_; ++i) {
      const Dim& dim = space_.dims_[d];
      const size_t temporal = i + 1 == levels_ ? space_.size() + d : dim.temporal[i];
      if (Bonded(temporal) && a.temporal[i] != b.temporal[i]) return false;
      if (Bonded(dim.spatial[i]) && a.x[i] * a.y[i] != b.x[i] * b.y[i]) return false;
    }
    return true;
  }

  bool Bonded(size_t variable) const {
    return variable != kNone &&
           std::any_of(space_.bonds_.begin(), space_.bonds_.end(), [&](const Bond& bond) {
             return bond.over == variable || bond.under == variable;
           });
  }

  // Whether `a` fits wherever `b` does.
  bool Dominates(const Split& a, const Split& b) const {
    for (size_t i = 0; i < levels_; ++i) {
      if (a.extent[i] > b.extent[i] || a.x[i] > b.x[i] || a.y[i] > b.y[i]) return false;
    }
    return true;
  }

  void KeepMinimal(size_t d) {
    std::vector<Split>& all = splits_[d];
    const auto size = [&](const Split& split) {
      double sum = 0;
      for (size_t i = 0; i < levels_; ++i) {
        sum += std::log2(static_cast<double>(split.extent[i] * split.x[i] * split.y[i]));
      }
      return sum;
    };
    std::vector<std::pair<double, size_t>> order;
    for (size_t k = 0; k < all.size(); ++k) order.emplace_back(size(all[k]), k);
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Split> minimal;
    for (const auto& [sum, k] : order) {
      const bool superfluous = std::any_of(minimal.begin(), minimal.end(), [&](const Split& kept) {
        return Dominates(kept, all[k]) && SameInBonds(d, kept, all[k]);
      });
      if (!superfluous) minimal.push_back(all[k]);
    }
    all = std::move(minimal);
  }

  // The least that any split of a dimension needs, number by number.
  void AddLeast(size_t d) {
    Split least = splits_[d].front();
    for (const Split& split : splits_[d]) {
      for (size_t i = 0; i < levels_; ++i) {
        least.extent[i] = std::min(least.extent[i], split.extent[i]);
        least.x[i] = std::min(least.x[i], split.x[i]);
        least.y[i] = std::min(least.y[i], split.y[i]);
      }
    }
    least_.push_back(least);
    double most = 1;
    for (const Split& split : splits_[d]) most = std::max(most, Parallel(split));
    most_parallel_.push_back(most);
  }

  bool Combine(size_t d) {
    if (d == chosen_.size()) return Finish();
    for (const Split& split : splits_[d]) {
      if (++combinations_ > kMostCombinations) {
        complete_ = false;
        return false;
      }
      chosen_[d] = &split;
      if (Fits(d + 1) && Combine(d + 1)) return true;
    }
    chosen_[d] = nullptr;
    return false;
  }

  const Split& At(size_t d, size_t count) const { return d < count ? *chosen_[d] : least_[d]; }

  // Whether the first `count` dimensions as chosen leave room for the least of the others.
  bool Fits(size_t count) const {
    for (size_t i = 0; i < levels_; ++i) {
      const auto& level = space_.levels_[i];
      double x = 1, y = 1;
      std::array<int64_t, kMaxDims> extent;
      extent.fill(1);
      for (size_t d = 0; d < chosen_.size(); ++d) {
        const Split& split = At(d, count);
        x *= static_cast<double>(split.x[i]);
        y *= static_cast<double>(split.y[i]);
        extent[static_cast<size_t>(space_.dims_[d].index)] = split.extent[i];
      }
      if (x > static_cast<double>(level.fan_x) || y > static_cast<double>(level.fan_y))
        return false;
      if (level.entries && space_.LeastUnits(i, extent) > *level.entries) return false;
    }
    double parallel = 1;
    for (size_t d = 0; d < chosen_.size(); ++d) {
      parallel *= d < count ? Parallel(*chosen_[d]) : most_parallel_[d];
    }
    if (parallel < static_cast<double>(space_.least_parallel_)) return false;
    return std::all_of(space_.bonds_.begin(), space_.bonds_.end(),
                       [&](const Bond& bond) { return MayHold(bond, count); });
  }

  bool MayHold(const Bond& bond, size_t count) const {
    const std::optional<int64_t> over = Value(bond.over, count), under = Value(bond.under, count);
    return !over || !under ||
           bond.relation.Holds(static_cast<double>(*over), static_cast<double>(*under));
  }

  // The number of a decision or leftover, if its dimension is chosen.
  std::optional<int64_t> Value(size_t variable, size_t count) const {
    if (variable == kNone) return 1;
    for (size_t d = 0; d < count; ++d) {
      const Dim& dim = space_.dims_[d];
      if (variable == space_.size() + d) return chosen_[d]->temporal[levels_ - 1];
      for (size_t i = 0; i < levels_; ++i) {
        if (dim.temporal[i] == variable) return chosen_[d]->temporal[i];
        if (dim.spatial[i] == variable) return chosen_[d]->x[i] * chosen_[d]->y[i];
      }
    }
    return std::nullopt;
  }

  // Writes the choice into the point; levels then pass by what they need not hold and have no room
  // for.
  bool Finish() {
    Point& point = *point_;
    const auto set = [&](size_t decision, int64_t value) {
      if (decision != kNone) point[decision] = space_.decisions()[decision].Find(value);
    };
    for (size_t d = 0; d < chosen_.size(); ++d) {
      const Dim& dim = space_.dims_[d];
      for (size_t i = 0; i < levels_; ++i) {
        const int64_t x = chosen_[d]->x[i], y = chosen_[d]->y[i];
        if (i + 1 < levels_) set(dim.temporal[i], chosen_[d]->temporal[i]);
        set(dim.spatial[i], x * y);
        if (dim.axis[i] != kNone && x * y > 1) set(dim.axis[i], y > 1 ? 1 : 0);
      }
    }
    space_.DropWhatDoesNotFit(point);
    return space_.Check(point).ok();
  }

  const LoopSpace& space_;
  const size_t levels_;
  std::vector<std::vector<Split>> splits_;  // by dimension
  std::vector<Split> least_;
  std::vector<double> most_parallel_;
  std::vector<const Split*> chosen_;
  Point* point_ = nullptr;
  int64_t left_ = 0, combinations_ = 0;
  bool complete_ = true;
};

bool LoopSpace::FindLegal() {
  Point point(size());
  const Legality::Answer answer = Legality(*this).Run(point);
  if (answer == Legality::Answer::kFound) legal_ = point;
  return answer != Legality::Answer::kNone;
}

// Words of the tensors that a level has to hold.
int64_t LoopSpace::LeastUnits(size_t level, const std::array<int64_t, kMaxDims>& extent) const {
  int64_t units = 0;
  for (size_t t = 0; t < problem_.tensor_view().size(); ++t) {
    const size_t decision = levels_[level].keep_decision[t];
    const bool must =
        decision == kNone ? (levels_[level].keep >> t & 1) != 0 : decisions()[decision].Find(1) < 0;
    if (must) units += WordsOf(t, extent) * levels_[level].widths.units[t];
  }
  return units;
}

void LoopSpace::DropWhatDoesNotFit(Point& point) const {
  const Factors factors = FactorsOf(point);
  for (size_t i = 0; i < levels_.size(); ++i) {
    while (levels_[i].entries && TileUnits(point, factors, i) > *levels_[i].entries) {
      if (!PassBy(point, i)) break;
    }
  }
}

void LoopSpace::Bind(std::vector<Relation> relations) {
  relations_ = std::move(relations);
  const auto find = [&](const std::string& name) {
    const size_t decision = Find(name);
    if (decision < size()) return decision;
    for (size_t d = 0; d < leftovers_.size(); ++d) {
      if (leftovers_[d].name() == name) return size() + d;
    }
    return kNone;
  };
  for (const Relation& relation : relations_) {
    if (relation.over == kUtilization) {
      double units = 1;
      for (const Level& level : levels_) units *= static_cast<double>(level.fan_x * level.fan_y);
      constexpr double kRounding = 1e-9;  // of parts such as 0.1
      const auto least = static_cast<int64_t>(std::ceil(relation.min * units - kRounding));
      least_parallel_ = std::max(least_parallel_, least);
      continue;
    }
    bonds_.push_back({find(relation.over), find(relation.under), relation});
  }
}

double LoopSpace::ValueAt(const Point& point, const Factors& factors, size_t variable) const {
  if (variable == kNone) return 1;
  if (variable < size()) return static_cast<double>(decisions()[variable].value(point[variable]));
  return static_cast<double>(factors.temporal[levels_.size() - 1][variable - size()]);
}

std::string LoopSpace::BrokenConstraint(const Point& point, const Factors& factors) const {
  for (size_t d = 0; d < dims_.size(); ++d) {
    const int64_t left = factors.temporal[levels_.size() - 1][d];
    if (leftovers_[d].Find(left) >= 0) continue;
    return fmt::format("{} = {}, which is not allowed", leftovers_[d].name(), left);
  }
  int64_t parallel = 1;
  for (size_t i = 0; i < levels_.size(); ++i) {
    for (size_t d = 0; d < dims_.size(); ++d) parallel *= factors.spatial[i][d];
  }
  if (parallel < least_parallel_) {
    return fmt::format("{} MACs are used, but at least {} have to be", parallel, least_parallel_);
  }
  for (const Bond& bond : bonds_) {
    const double over = ValueAt(point, factors, bond.over);
    const double under = ValueAt(point, factors, bond.under);
    if (bond.relation.Holds(over, under)) continue;
    return fmt::format("{} / {} = {} / {}, which is not allowed", bond.relation.over,
                       bond.relation.under, over, under);
  }
  return "";
}

// Gives the decision over the line the value next to its own that suits the one below.
void LoopSpace::FitRelations(Point& point) const {
  for (const Bond& bond : bonds_) {
    if (bond.over >= size()) continue;
    const Decision& over = decisions()[bond.over];
    const double under = bond.under < size()
                             ? static_cast<double>(decisions()[bond.under].value(point[bond.under]))
                             : 1;
    if (bond.under != kNone && bond.under >= size()) continue;
    const auto holds = [&](int32_t i) {
      return i >= 0 && i < over.size() &&
             bond.relation.Holds(static_cast<double>(over.value(i)), under);
    };
    for (int32_t step = 0; step < over.size(); ++step) {
      const int32_t below = point[bond.over] - step, above = point[bond.over] + step;
      if (!holds(below) && !holds(above)) continue;
      point[bond.over] = holds(below) ? below : above;
      break;
    }
  }
}

// A point that is still not legal becomes the one that is known to be, with as many of its own
// dimensions as fit. Orders are its own.
void LoopSpace::ReturnToLegal(Point& point) const {
  if (!legal_ || Check(point)) return;
  const Point wanted = point;
  const auto copy = [&](const Point& from, size_t decision) {
    if (decision != kNone) point[decision] = from[decision];
  };
  const auto take = [&](const Point& from, size_t d) {
    for (size_t i = 0; i < levels_.size(); ++i) {
      for (const size_t decision : {dims_[d].temporal[i], dims_[d].spatial[i], dims_[d].axis[i]}) {
        copy(from, decision);
      }
    }
  };
  for (size_t d = 0; d < dims_.size(); ++d) take(*legal_, d);
  for (const Level& level : levels_) {
    for (const size_t decision : level.keep_decision) copy(*legal_, decision);
  }
  for (size_t d = 0; d < dims_.size(); ++d) {
    const Point before = point;
    take(wanted, d);
    if (!Check(point)) point = before;
  }
}

}  // namespace tessera
