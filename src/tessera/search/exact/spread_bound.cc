// All splits of all arrays, from the outermost one inwards; what cannot be less than the best so
// far is left out. docs/optimality.md, B23.
#include "tessera/search/exact/spread_bound.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "tessera/search/exact/parallel.h"

namespace tessera::exact {
namespace {

// Splits of one array; where there are more, nothing is known.
constexpr size_t kMostSplits = 5'000;
// Splits of all arrays together that are looked at for one choice of kept tensors.
constexpr int64_t kMostSpreads = 400'000;

// Doubles may round up; a bound must not.
constexpr double kSlack = 1 - 1e-12;

// Whether parallel factors fit the axes of a level, each on one of them.
bool FitAxes(const Model& model, const int32_t* factors, int d, int64_t x, int64_t y) {
  while (d < model.num_dims && factors[d] == 1) ++d;
  if (d == model.num_dims) return true;
  return (factors[d] <= x && FitAxes(model, factors, d + 1, x / factors[d], y)) ||
         (factors[d] <= y && FitAxes(model, factors, d + 1, x, y / factors[d]));
}

// Tiles are equal or disjoint.
bool IsSimple(const TensorFacts& tensor) {
  for (int r = 0; r < tensor.num_ranks; ++r) {
    if (tensor.ranks[r].num_terms > 1) return false;
  }
  return true;
}

// The way of a tensor's words from a level that holds it to the next one further in that does, or
// to the MACs. A region is what lies outside so many arrays.
struct Pair {
  int v = 0;
  int child = -1, parent = 0;  // levels; -1: the MACs
  int inner = 0, outer = 0;    // their regions
  bool sums = false, come_back = false;
  double fill_pj = 0, hand_pj = 0, back_pj = 0;
  double enter_pj[kMaxLevels + 1] = {};  // by region: of the networks on the way
  double room = kInfinity;               // words of the child
};

}  // namespace

SpreadBound::SpreadBound(const Model& model, LeastHops& hops) : model_(model), hops_(hops) {
  if (!model.exact || model.any) return;
  loopnest::TouchedScratch scratch;
  for (int v = 0; v < model.num_tensors; ++v) {
    const TensorFacts& tensor = model.tensors[v];
    if (tensor.shares || (tensor.read_write && !IsSimple(tensor))) return;
    for (int r = 0; r < tensor.num_ranks; ++r) {
      if (tensor.ranks[r].num_terms > 2) return;
    }
    elements_[v] = TileWords(model, v, model.bounds, scratch);
    for (int b = 0; b < model.num_tensors; ++b) meets_[v][b] = v != b && Meet(v, b);
  }
  for (int i = 0; i < model.num_levels; ++i) {
    if (model.levels[i].fan <= 1) continue;
    Array array{.level = i};
    if (!List(array)) {
      arrays_.clear();
      return;
    }
    arrays_.push_back(std::move(array));
  }
}

// Whether an element of `a` and one of `b`, which is simple, belong to one operation at most: the
// indices that b does not give follow from the coordinates of a, one from each.
bool SpreadBound::Meet(int a, int b) const {
  if (!IsSimple(model_.tensors[b])) return false;
  uint32_t known = model_.tensors[b].dims;
  for (int r = 0; r < model_.tensors[a].num_ranks; ++r) {
    const RankTerms& rank = model_.tensors[a].ranks[r];
    uint32_t open = 0;
    for (int k = 0; k < rank.num_terms; ++k) open |= 1u << rank.dims[k];
    open &= ~model_.tensors[b].dims;
    if ((open & (open - 1)) == 0) known |= open;
  }
  for (int d = 0; d < model_.num_dims; ++d) {
    if (model_.bounds[d] > 1 && !Has(known, d)) return false;
  }
  return true;
}

// Every way to give an array factors that fit it, those with most children first.
bool SpreadBound::List(Array& array) const {
  const LevelFacts& level = model_.levels[array.level];
  Split split;
  const auto choose = [&](const auto& self, int d, double room) -> void {
    if (array.splits.size() > kMostSplits) return;
    if (d == model_.num_dims) {
      if (!FitAxes(model_, split.factors, 0, level.fan_x, level.fan_y)) return;
      array.splits.push_back(split);
      return;
    }
    for (const int32_t factor : model_.divisors[d].values) {
      if (factor > room) break;
      split.factors[d] = factor;
      self(self, d + 1, room / factor);
    }
  };
  choose(choose, 0, level.fan);
  for (Split& one : array.splits) {
    one.product = 1;
    for (int d = 0; d < model_.num_dims; ++d) one.product *= one.factors[d];
    array.most_product = std::max(array.most_product, one.product);
    for (int v = 0; v < model_.num_tensors; ++v) {
      double shared = one.product;
      for (int d = 0; d < model_.num_dims && IsSimple(model_.tensors[v]); ++d) {
        if (Has(model_.tensors[v].dims, d)) shared /= one.factors[d];
      }
      array.most_shared[v] = std::max(array.most_shared[v], shared);
    }
  }
  std::ranges::stable_sort(array.splits, std::greater(), &Split::product);
  return array.splits.size() <= kMostSplits;
}

// One choice of kept tensors.
class SpreadBound::Search {
 public:
  Search(SpreadBound& bound, const Model& choice, Goal goal, const Bound& least, double enough)
      : Search(bound, choice, goal, choice.num_levels) {
    least_ = least;
    best_ = enough;
    fixed_pj_ = model_.macs * model_.setup->machine.mac_pj;
  }

  // Of what is inside a level only. B21.
  Search(SpreadBound& bound, const Model& choice, Goal goal, int inside)
      : bound_(bound), model_(choice), goal_(goal) {
    regions_ = static_cast<int>(std::ssize(bound.arrays_)) + 1;
    for (int v = 0; v < model_.num_tensors; ++v) AddPairs(v, inside);
    std::fill_n(outside_[regions_ - 1], model_.num_dims, 1.0);
    used_[regions_ - 1] = 1;
  }

  double Run() {
    Spread(regions_ - 2, 0);
    return spreads_ > kMostSpreads ? 0 : best_;
  }

  // What it costs, as a front, if everything else costs `outside_pj` at least; ways to spread the
  // problem that are then worth `enough` or more are looked at no further.
  OperandFront Front(double outside_pj, double enough) {
    OperandFront front;
    front_ = &front;
    outside_pj_ = outside_pj;
    best_ = enough;
    Spread(regions_ - 2, 0);
    return spreads_ > kMostSpreads ? OperandFront() : front;
  }

 private:
  int RegionOf(int level) const {
    int region = 0;
    for (const Array& array : bound_.arrays_) region += array.level <= level ? 1 : 0;
    return region;
  }

  // Those whose child is inside a level.
  void AddPairs(int v, int inside) {
    const TensorFacts& tensor = model_.tensors[v];
    for (int parent = 0, child = -1; parent <= model_.home[v] && child < inside; ++parent) {
      if (!model_.Keeps(parent, v)) continue;
      const LevelFacts& level = model_.levels[parent];
      const ElementFacts& word = level.of[v];
      Pair pair{.v = v,
                .child = child,
                .parent = parent,
                .inner = child < 0 ? 0 : RegionOf(child),
                .outer = RegionOf(parent),
                .sums = tensor.read_write,
                .come_back = tensor.read_write && !level.reduces,
                .hand_pj = level.least_share * (tensor.read_write ? word.update_pj : word.read_pj),
                .back_pj = tensor.read_write ? level.least_share * word.read_rw_pj : 0};
      if (child >= 0) {
        pair.fill_pj = model_.levels[child].least_share * model_.levels[child].of[v].fill_pj;
        pair.room = model_.most_words[child][v];
      }
      for (int i = child + 1; i <= parent; ++i) {
        pair.enter_pj[RegionOf(i)] += model_.levels[i].of[v].enter_pj;
      }
      pairs_.push_back(pair);
      child = parent;
    }
  }

  // Words that an instance in a region needs of a tensor, at least.
  double Words(int v, int region) const {
    if (region + 1 == regions_) return bound_.elements_[v];
    const TensorFacts& tensor = model_.tensors[v];
    double words = 1;
    for (int r = 0; r < tensor.num_ranks; ++r) {
      double sums = 1;
      for (int k = 0; k < tensor.ranks[r].num_terms; ++k) {
        const int d = tensor.ranks[r].dims[k];
        sums += model_.bounds[d] / outside_[region][d] - 1;
      }
      words *= sums;
    }
    return words;
  }

  // Instances in region `inner` below one in region `outer` that need different words, at least.
  double Groups(int v, int inner, int outer) const {
    const TensorFacts& tensor = model_.tensors[v];
    double groups = 1;
    for (int r = 0; r < tensor.num_ranks; ++r) {
      double sums = 1;
      for (int k = 0; k < tensor.ranks[r].num_terms; ++k) {
        const int d = tensor.ranks[r].dims[k];
        sums += outside_[inner][d] / outside_[outer][d] - 1;
      }
      groups *= sums;
    }
    return groups;
  }

  // The same, at most.
  double MostGroups(int v, int inner, int outer) const {
    double groups = 1;
    for (int d = 0; d < model_.num_dims; ++d) {
      if (Has(model_.tensors[v].dims, d)) groups *= outside_[inner][d] / outside_[outer][d];
    }
    return groups;
  }

  // Whether instances that differ in a tensor's dimensions always ask for different words.
  bool TellsApart(int v, int inner, int outer) const {
    double factors[kMaxDims];
    for (int d = 0; d < model_.num_dims; ++d) {
      factors[d] = outside_[inner][d] / outside_[outer][d];
    }
    return TellsChildrenApart(model_.tensors[v], factors);
  }

  double ValueOf(double energy_pj, double cycles) const {
    cycles = std::max(least_.cycles, CeilCycles(cycles) + model_.latency_cycles);
    energy_pj = std::max(least_.energy_pj, outside_pj_ + energy_pj + model_.leakage_pj * cycles);
    return Bound{.energy_pj = energy_pj * kSlack, .cycles = cycles}.Value(goal_);
  }

  // Of what a child of the pair gets, words that come to a region on their way.
  double Asked(const Pair& pair, int region) const {
    return used_[region] * Groups(pair.v, pair.inner, region);
  }

  // What the words of a pair cost at least, if the arrays inside `array` can be anything.
  double LeastOf(const Pair& pair, int array) const {
    const int v = pair.v;
    if (pair.child >= 0) {
      double pj = 0;
      for (int r = std::max(array, pair.inner); r <= pair.outer; ++r) {
        pj += used_[r] * Words(v, r) * (pair.enter_pj[r] + (r == pair.outer ? pair.hand_pj : 0));
      }
      if (pair.inner >= array && !pair.sums)
        pj += used_[pair.inner] * Words(v, pair.inner) * pair.fill_pj;
      return pj;
    }
    double pj = 0, asked = model_.macs;
    for (int r = 0; r <= pair.outer; ++r) {
      double words = asked;
      if (r >= array) words *= used_[r] * Groups(v, array, r) / used_[array];
      pj += words * (pair.enter_pj[r] + (r == pair.outer ? pair.hand_pj : 0));
      if (r < array) asked /= bound_.arrays_[static_cast<size_t>(r)].most_shared[v];
    }
    return pj;
  }

  // Chooses a split of this array and of all inside it; with those outside it is worth `outside`.
  void Spread(int array, double outside) {
    const Array& facts = bound_.arrays_[static_cast<size_t>(array)];
    for (size_t k = 0; k < facts.splits.size() && spreads_ <= kMostSpreads; ++k) {
      const Split& split = facts.splits[k];
      bool divides = true;
      for (int d = 0; d < model_.num_dims && divides; ++d) {
        outside_[array][d] = outside_[array + 1][d] * split.factors[d];
        divides = model_.bounds[d] % static_cast<int32_t>(outside_[array][d]) == 0;
      }
      if (!divides) continue;
      used_[array] = used_[array + 1] * split.product;
      chosen_[array] = k;
      ++spreads_;
      if (array == 0) {
        Price(outside);
        continue;
      }
      double pj = fixed_pj_, cycles = model_.macs / used_[array];
      for (const Pair& pair : pairs_) pj += LeastOf(pair, array);
      for (int inside = 0; inside < array; ++inside) {
        cycles /= bound_.arrays_[static_cast<size_t>(inside)].most_product;
      }
      const double value = std::max(outside, ValueOf(pj, cycles));
      if (!IsEnough(pj, cycles, value)) Spread(array - 1, value);
    }
  }

  OperandPoint PointOf(double energy_pj, double cycles) const {
    return {.more_pj = energy_pj * kSlack, .cycles = CeilCycles(cycles)};
  }

  // Whether nothing else about the arrays' factors has to be known, if they cost at least so much.
  bool IsEnough(double energy_pj, double cycles, double value) {
    if (front_ != nullptr && front_->Covers(PointOf(energy_pj, cycles))) return true;
    if (value < best_) return false;
    if (front_ != nullptr) front_->Add(PointOf(energy_pj, cycles));
    return true;
  }

  // All arrays have their factors.
  void Price(double outside) {
    double pj = fixed_pj_, cycles = model_.macs / used_[0];
    for (size_t k = 0; k < pairs_.size(); ++k) pj += PriceOf(pairs_[k], k);
    if (goal_ != Goal::kEnergy) cycles = std::max(cycles, BusiestCycles());
    if (IsEnough(pj, cycles, ValueOf(pj, cycles))) return;
    for (size_t k = 0; k < pairs_.size(); ++k) pj += HopsOf(pairs_[k], k);
    if (IsEnough(pj, cycles, ValueOf(pj, cycles))) return;
    pj += Again();
    if (front_ != nullptr) return front_->Add(PointOf(pj, cycles));
    best_ = std::min(best_, std::max(outside, ValueOf(pj, cycles)));
  }

  // Energy of a pair's words if each child gets what it needs, and sets what a word more for each
  // of them costs.
  double PriceOf(const Pair& pair, size_t k) {
    const int v = pair.v;
    words_[k] = pair.child < 0 ? model_.macs / used_[0] : Words(v, pair.inner);
    double word_pj = used_[pair.inner] * pair.fill_pj, first_pj = 0;
    for (int r = pair.inner; r <= pair.outer; ++r) {
      if (pair.enter_pj[r] == 0) continue;
      word_pj += Asked(pair, r) * pair.enter_pj[r] * (pair.come_back ? 2 : 1);
      // First sums do not come back down.
      if (pair.come_back) first_pj += used_[r] * Words(v, r) * pair.enter_pj[r];
    }
    word_pj += Asked(pair, pair.outer) * (pair.hand_pj + pair.back_pj);
    if (pair.sums) {
      first_pj += used_[pair.outer] * Words(v, pair.outer) * pair.back_pj;
      if (pair.child >= 0) first_pj += used_[pair.inner] * words_[k] * pair.fill_pj;
    }
    word_pj_[k] = word_pj;
    return word_pj * words_[k] - first_pj;
  }

  // What they pay for the distance, at each array on the way.
  double HopsOf(const Pair& pair, size_t k) {
    double word_pj = 0;
    for (int r = pair.inner + 1; r <= pair.outer; ++r) {
      const int array = r - 1;
      Array& facts = bound_.arrays_[static_cast<size_t>(array)];
      const LevelFacts& level = model_.levels[facts.level];
      if (!level.placement_matters || !TellsApart(pair.v, pair.inner, r)) continue;
      Split& split = facts.splits[chosen_[array]];
      if (split.hops == nullptr) split.hops = &bound_.hops_.Of(facts.level, split.factors);
      const double hops = (*split.hops)[static_cast<size_t>(pair.v)];
      // As HopCost: sums that come back down may travel for nothing.
      word_pj += Asked(pair, r) *
                 (level.of[pair.v].hop_pj * hops +
                  level.of[pair.v].router_pj * std::floor((pair.come_back ? 0.5 : 1) * hops));
    }
    word_pj_[k] += word_pj;
    return word_pj * words_[k];
  }

  // Of one instance of the busiest level.
  double BusiestCycles() const {
    double reads[kMaxLevels] = {}, writes[kMaxLevels] = {}, cycles = 0;
    for (size_t k = 0; k < pairs_.size(); ++k) {
      const Pair& pair = pairs_[k];
      const double asked = Groups(pair.v, pair.inner, pair.outer) * words_[k] *
                           model_.levels[pair.parent].of[pair.v].units;
      if (pair.sums) {
        const double first =
            Words(pair.v, pair.outer) * model_.levels[pair.parent].of[pair.v].units;
        writes[pair.parent] += asked;
        reads[pair.parent] += std::max(0.0, asked - first);
      } else {
        reads[pair.parent] += asked;
        if (pair.child >= 0) {
          writes[pair.child] += words_[k] * model_.levels[pair.child].of[pair.v].units;
        }
      }
    }
    for (int i = 0; i < model_.num_levels; ++i) {
      const LevelFacts& level = model_.levels[i];
      cycles = std::max({cycles, reads[i] / level.read_bw, writes[i] / level.write_bw,
                         (reads[i] + writes[i]) / level.shared_bw});
    }
    return cycles;
  }

  // What comes again at least because memories are small: of pairs of tensors that meet, those that
  // say most, each tensor's words at a level once.
  double Again() const {
    struct Gain {
      double pj;
      size_t a, b;
    };
    std::vector<Gain> gains;
    for (size_t a = 0; a < pairs_.size(); ++a) {
      for (size_t b = 0; b < pairs_.size(); ++b) {
        if (pairs_[a].child < 0 || pairs_[b].child < 0) continue;
        if (!bound_.meets_[pairs_[a].v][pairs_[b].v]) continue;
        if (const double pj = AgainOf(a, b); pj > 0) gains.push_back({pj, a, b});
      }
    }
    std::ranges::stable_sort(gains, std::greater(), &Gain::pj);
    uint64_t taken = 0;
    double pj = 0;
    for (const Gain& gain : gains) {
      const uint64_t both = uint64_t{1} << gain.a | uint64_t{1} << gain.b;
      if ((taken & both) != 0) continue;
      taken |= both;
      pj += gain.pj;
    }
    return pj;
  }

  // Tensor `b` is simple: while its tile stays, an element of it meets one of `a` once.
  double AgainOf(size_t a, size_t b) const {
    const Pair &one = pairs_[a], &other = pairs_[b];
    const int region = std::max(one.inner, other.inner);
    const double operations = model_.macs / used_[region];
    const double parts_a = MostGroups(one.v, one.inner, region);
    const double parts_b = MostGroups(other.v, other.inner, region);
    // Where there is no room for a word, there is no mapping.
    const double room_a = parts_a * std::max(1.0, one.room);
    const double room_b = parts_b * std::max(1.0, other.room);
    if (room_a * room_b >= operations) return 0;
    const double pj_a = word_pj_[a] / parts_a, pj_b = word_pj_[b] / parts_b;
    const double least_a = parts_a * words_[a], least_b = parts_b * words_[b];
    const auto cost = [&](double words_b) {
      return pj_a * std::max(least_a, (operations - room_a * words_b) / room_b) + pj_b * words_b;
    };
    double least = cost(least_b);
    const double enough_b = (operations - room_b * least_a) / room_a;
    if (enough_b > least_b) least = std::min(least, cost(enough_b));
    return least - pj_a * least_a - pj_b * least_b;
  }

  SpreadBound& bound_;
  const Model& model_;
  const Goal goal_;
  Bound least_ = {};
  double best_ = kInfinity;
  double fixed_pj_ = 0, outside_pj_ = 0;
  OperandFront* front_ = nullptr;
  int regions_ = 0;
  std::vector<Pair> pairs_;
  double outside_[kMaxLevels + 1][kMaxDims] = {};  // by region: factors of the arrays outside it
  double used_[kMaxLevels + 1] = {};               // and instances
  size_t chosen_[kMaxLevels] = {};                 // splits
  double words_[kMaxTensors * kMaxLevels] = {};    // by pair: words of each child
  double word_pj_[kMaxTensors * kMaxLevels] = {};  // and what one more for each of them costs
  int64_t spreads_ = 0;
};

double SpreadBound::Least(const Model& choice, Goal goal, const Bound& least, double enough) {
  if (arrays_.empty() || choice.linked_level) return 0;
  return Search(*this, choice, goal, least, enough).Run();
}

OperandFront SpreadBound::Inside(const Model& choice, Goal goal, int level, double outside_pj,
                                 double enough) {
  if (arrays_.empty() || choice.linked_level || goal == Goal::kCycles) return OperandFront();
  return Search(*this, choice, goal, level).Front(outside_pj, enough);
}

}  // namespace tessera::exact
