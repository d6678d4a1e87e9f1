#include "tessera/search/exact/least_hops.h"

#include <algorithm>
#include <limits>
#include <span>

#include "tessera/cost/loopnest/hops.h"
#include "tessera/search/exact/frame.h"

namespace tessera::exact {
namespace {

// Iterations of a set of loops over some dimensions.
int64_t Product(std::span<const loopnest::Loop> loops, uint32_t set, uint32_t dims) {
  int64_t product = 1;
  for (size_t k = 0; k < loops.size(); ++k) {
    if (Has(set, static_cast<int>(k)) && Has(dims, loops[k].dim)) product *= loops[k].count;
  }
  return product;
}

// Least of each set of loops, over all orders of them.
template <typename HalfHops>
std::vector<int64_t> LeastOfSets(std::span<const loopnest::Loop> loops, bool on_y,
                                 const HalfHops& half_hops) {
  const auto less = [](const loopnest::Loop& a, const loopnest::Loop& b) { return a.dim < b.dim; };
  std::vector<int64_t> least;
  for (uint32_t set = 0; set < 1u << loops.size(); ++set) {
    std::vector<loopnest::Loop> chosen;
    for (size_t k = 0; k < loops.size(); ++k) {
      if (!Has(set, static_cast<int>(k))) continue;
      chosen.push_back(loops[k]);
      chosen.back().on_y = on_y;
    }
    int64_t best = std::numeric_limits<int64_t>::max();
    do {
      best = std::min(best, half_hops(chosen));
    } while (std::next_permutation(chosen.begin(), chosen.end(), less));
    least.push_back(best);
  }
  return least;
}

}  // namespace

const LeastHops::Hops& LeastHops::Of(int level, const int32_t* spatial) {
  std::array<int32_t, kMaxDims + 1> key = {level};
  std::copy_n(spatial, model_.num_dims, key.begin() + 1);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  return known_.emplace(key, Find(level, spatial)).first->second;
}

// Columns and rows of a group are apart (SumHalfHops): the sum over all groups is what X loops
// alone have in X for each row at which groups begin, and what Y loops alone have for each column
// in use. So each axis has the order that is best for it.
LeastHops::Hops LeastHops::Find(int level, const int32_t* spatial) {
  const LevelFacts& facts = model_.levels[level];
  std::vector<loopnest::Loop> loops;
  for (int d = 0; d < model_.num_dims; ++d) {
    if (spatial[d] > 1) loops.push_back({.dim = d, .level = level, .count = spatial[d]});
  }
  Hops least = {};
  if (loops.empty()) return least;
  std::vector<int64_t> products;  // of sets of loops
  for (uint32_t set = 0; set < 1u << loops.size(); ++set)
    products.push_back(Product(loops, set, ~0u));
  for (int v = 0; v < model_.num_tensors; ++v) {
    const uint32_t dims = model_.tensors[v].dims;
    const auto all = [&](const std::vector<loopnest::Loop>& chosen) {
      return SumHalfHops(chosen, dims, facts.fan_y, places_);
    };
    const std::vector<int64_t> across = LeastOfSets(loops, false, all);
    const std::vector<int64_t> down = LeastOfSets(loops, true, all);
    double best = kInfinity;
    const size_t none = across.size() - 1;
    for (size_t on_x = 0; on_x < across.size(); ++on_x) {
      const size_t on_y = none ^ on_x;
      if (products[on_x] > facts.fan_x || products[on_y] > facts.fan_y) continue;
      // Without Y loops, words travel up and down half of the rows in each column.
      const int64_t rows = on_x == 0 ? 0 : across[on_x] - products[on_x] * (facts.fan_y - 1);
      const int64_t begin = Product(loops, static_cast<uint32_t>(on_y), dims);
      const int64_t half =
          begin * rows + products[on_x] * (on_y == 0 ? facts.fan_y - 1 : down[on_y]);
      best = std::min(best, static_cast<double>(half) / 2);
    }
    // Where the loops do not fit, nothing is asked.
    const auto groups = static_cast<double>(Product(loops, static_cast<uint32_t>(none), dims));
    least[static_cast<size_t>(v)] = best == kInfinity ? 0 : best / groups;
  }
  return least;
}

}  // namespace tessera::exact
