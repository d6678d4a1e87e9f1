#include "tessera/search/exact/least_hops.h"

#include <algorithm>

#include "tessera/cost/loopnest/hops.h"
#include "tessera/search/exact/frame.h"

namespace tessera::exact {
namespace {

// Loops of which all orders are tried.
constexpr int kFewLoops = 4;

}  // namespace

const LeastHops::Hops& LeastHops::Of(int level, const int32_t* spatial) {
  std::array<int32_t, kMaxDims + 1> key = {level};
  std::copy_n(spatial, model_.num_dims, key.begin() + 1);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  return known_.emplace(key, Find(level, spatial)).first->second;
}

LeastHops::Hops LeastHops::Find(int level, const int32_t* spatial) {
  const LevelFacts& facts = model_.levels[level];
  std::vector<loopnest::Loop> loops;
  for (int d = 0; d < model_.num_dims; ++d) {
    if (spatial[d] > 1) loops.push_back({.dim = d, .level = level, .count = spatial[d]});
  }
  Hops least = {};
  if (loops.empty() || std::ssize(loops) > kFewLoops) return least;
  least.fill(kInfinity);
  const auto less = [](const loopnest::Loop& a, const loopnest::Loop& b) { return a.dim < b.dim; };
  // X and Y have strides of their own, so the order of all loops is one of each.
  for (uint32_t axes = 0; axes < 1u << loops.size(); ++axes) {
    std::ranges::sort(loops, less);
    int64_t used[2] = {1, 1};
    for (size_t k = 0; k < loops.size(); ++k) {
      loops[k].on_y = Has(axes, static_cast<int>(k));
      used[loops[k].on_y ? 1 : 0] *= loops[k].count;
    }
    if (used[0] > facts.fan_x || used[1] > facts.fan_y) continue;
    do {
      for (int v = 0; v < model_.num_tensors; ++v) {
        const int64_t half = SumHalfHops(loops, model_.tensors[v].dims, facts.fan_y, places_);
        least[static_cast<size_t>(v)] =
            std::min(least[static_cast<size_t>(v)], static_cast<double>(half) / 2);
      }
    } while (std::next_permutation(loops.begin(), loops.end(), less));
  }
  for (int v = 0; v < model_.num_tensors; ++v) {
    double groups = 1;
    for (const loopnest::Loop& loop : loops) {
      if (Has(model_.tensors[v].dims, loop.dim)) groups *= static_cast<double>(loop.count);
    }
    // Where the loops do not fit, nothing is asked.
    double& hops = least[static_cast<size_t>(v)];
    hops = hops == kInfinity ? 0 : hops / groups;
  }
  return least;
}

}  // namespace tessera::exact
