// Weights by rank: logarithms that fall with the place.
#include "tessera/base/rank_weights.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace tessera {
namespace {

std::vector<size_t> Ascending(std::span<const double> costs) {
  std::vector<size_t> order(costs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return costs[a] < costs[b]; });
  return order;
}

}  // namespace

std::vector<double> RankWeights(std::span<const double> costs, double top) {
  const std::vector<size_t> order = Ascending(costs);
  const size_t best =
      std::max<size_t>(1, static_cast<size_t>(top * static_cast<double>(costs.size())));
  std::vector<double> weights(costs.size(), 0.0);
  double sum = 0;
  for (size_t rank = 0; rank < best && rank < order.size(); ++rank) {
    if (!std::isfinite(costs[order[rank]])) break;
    sum += weights[order[rank]] =
        std::log(static_cast<double>(best) + 0.5) - std::log(static_cast<double>(rank) + 1.0);
  }
  if (sum == 0) return weights;
  for (double& weight : weights) weight = weight / sum - 1.0 / static_cast<double>(costs.size());
  return weights;
}

std::vector<double> EvenRankWeights(std::span<const double> costs, double top, double tolerance) {
  const std::vector<size_t> order = Ascending(costs);
  std::vector<double> weights = RankWeights(costs, top);
  double squares = 0;
  for (size_t first = 0, end = 0; first < order.size(); first = end) {
    double sum = 0;
    for (; end < order.size() && costs[order[end]] <= costs[order[first]] + tolerance; ++end) {
      sum += weights[order[end]];
    }
    const double share = sum / static_cast<double>(end - first);
    for (size_t i = first; i < end; ++i) weights[order[i]] = share;
    squares += share * sum;
  }
  const double deviation =
      std::sqrt(squares / static_cast<double>(std::max<size_t>(1, costs.size())));
  constexpr double kNone = 1e-9;  // what rounding leaves where all are equals
  for (double& weight : weights) weight = deviation > kNone ? weight / deviation : 0.0;
  return weights;
}

}  // namespace tessera
