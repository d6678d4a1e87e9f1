// What the best of a few numbers are worth by their order alone.
#ifndef TESSERA_BASE_RANK_WEIGHTS_H_
#define TESSERA_BASE_RANK_WEIGHTS_H_

#include <span>
#include <vector>

namespace tessera {

// A weight for every cost by its rank: positive for the best part `top`, falling with the rank and
// adding up to 1, less 1/n for all. Infinite costs are never in the best part; if all are infinite,
// the weights are 0.
std::vector<double> RankWeights(std::span<const double> costs, double top);

// The same where costs within `tolerance` of the best of their kind are equals, which share what
// they get; in deviations from the mean, so that squares are 1 on average (0 if all are equals).
std::vector<double> EvenRankWeights(std::span<const double> costs, double top, double tolerance);

}  // namespace tessera

#endif  // TESSERA_BASE_RANK_WEIGHTS_H_
