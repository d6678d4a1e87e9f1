// The critic of method `team`: predicts what points cost before they are evaluated, and how sure
// it is.
#ifndef TESSERA_SEARCH_CRITIC_H_
#define TESSERA_SEARCH_CRITIC_H_

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/search/gp.h"
#include "tessera/space/features.h"
#include "tessera/space/nest_features.h"

namespace tessera {

struct CriticOptions {
  // Whether it sees what a mapping amounts to (nest_features.h) beside the bare decisions.
  // Default: true.
  bool nest = true;

  // Weight of the bare decisions beside the above. Default: 0.3.
  double raw = 0.3;
};

// What a point costs, as the logarithms of two factors that are learned apart because they follow
// different rules, such as cycles and energy. Infinite where a point is not feasible.
struct CriticCost {
  double first = 0, second = 0;

  double total() const { return first + second; }
};

// Gaussian processes on the same rows: one for each factor of the cost of feasible points, one of
// whether a point is feasible. Deterministic; used by one thread at a time.
class Critic {
 public:
  Critic(const DecisionSpace& space, const CriticOptions& options, uint64_t seed);

  size_t columns() const { return width_; }
  // Writes the row of each point, one after the other.
  void Encode(std::span<const Point> points, std::vector<double>& rows) const;
  // The largest tile of a row, over levels, by how it ranks among random points: 0 is smallest.
  double SizeRank(std::span<const double> row) const;
  // How good a row looks before anything is known; lower is better.
  double Guess(std::span<const double> row) const;

  // Equal for points that amount to the same loop nest, which mostly cost the same: loops of one
  // step may stand anywhere.
  size_t Signature(std::span<const double> row) const;

  // Learns from rows and their costs, replacing what it knew.
  void Fit(std::span<const double> rows, std::span<const CriticCost> costs);

  // Starts to consider candidates.
  void Consider(std::span<const double> rows);
  double mean(size_t candidate) const;
  double deviation(size_t candidate) const;
  // Between 0 and 1.
  double feasible(size_t candidate) const;
  // Counts a candidate as measured, so that a batch does not ask the same question twice.
  void Believe(size_t candidate);

 private:
  // One factor of the cost, with what the evidence says of how fast it changes along each group of
  // columns and how much of it columns do not explain.
  struct Factor {
    explicit Factor(size_t columns) : process(columns) {}
    GaussianProcess process;
    std::array<double, kNestGroups + 1> weights = {0.5, 0.5, 0.25, 0.25, 0.5, 2};
    double noise = 1e-3;
    bool constant = true;
    double level = 0;  // where it is constant
  };
  // Memories: tiles up to `fits` have fitted.
  struct Capacity {
    size_t column;
    double fits = -INFINITY;
    std::vector<double> failures = {};  // that nothing else explains
    std::vector<double> sorted = {};    // of random points
  };

  void LearnCapacities(std::span<const double> rows, std::span<const CriticCost> costs);
  void LearnFactor(Factor& factor, std::span<const double> rows, std::span<const double> costs);
  std::vector<double> Weighted(std::span<const double> rows, const Factor& factor) const;
  double Fits(std::span<const double> row) const;

  const DecisionSpace& space_;
  const CriticOptions options_;
  Features raw_;
  NestFeatures nest_;
  size_t width_;
  std::vector<double> shift_, scale_;  // by column: rows have mean 0 and similar widths
  std::vector<size_t> group_;          // by column
  std::array<Factor, 2> factors_;
  GaussianProcess feasibility_;
  bool any_infeasible_ = false;
  std::vector<Capacity> capacities_;
  std::vector<double> considered_;
  int64_t fits_ = 0;
};

}  // namespace tessera

#endif  // TESSERA_SEARCH_CRITIC_H_
