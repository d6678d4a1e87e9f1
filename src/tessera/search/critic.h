// The critic of a team: predicts what points cost before they are evaluated, and how sure it is.
#ifndef TESSERA_SEARCH_CRITIC_H_
#define TESSERA_SEARCH_CRITIC_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/search/gp.h"
#include "tessera/search/nest_features.h"
#include "tessera/space/features.h"

namespace tessera {

struct CriticOptions {
  // Whether it sees what a mapping amounts to (nest_features.h) beside the bare decisions.
  // Default: true.
  bool nest = true;

  // Weight of the bare decisions beside the above. Default: 0.3.
  double raw = 0.3;

  // Points that it learns from at a time. Default: 160.
  int64_t history = 160;
};

// Two Gaussian processes on the same rows: one of the cost of feasible points, one of whether a
// point is feasible. Deterministic; used by one thread at a time.
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

  // Learns from rows and their costs, infinite where a point is not feasible, replacing what it
  // knew. The first ones are the best.
  void Fit(std::span<const double> rows, std::span<const double> costs);

  // Starts to consider candidates.
  void Consider(std::span<const double> rows);
  double mean(size_t candidate) const { return costs_.mean(candidate); }
  double deviation(size_t candidate) const { return costs_.deviation(candidate); }
  // Between 0 and 1.
  double feasible(size_t candidate) const;
  // Counts a candidate as measured, so that a batch does not ask the same question twice.
  void Believe(size_t candidate);

 private:
  const DecisionSpace& space_;
  const CriticOptions options_;
  Features raw_;
  NestFeatures nest_;
  size_t width_;
  std::vector<double> shift_, scale_;  // by column: rows have mean 0 and similar widths
  GaussianProcess costs_, feasibility_;
  bool any_infeasible_ = false;
  // Memories, by level: tiles up to `fits` have fitted, those from `fails` on have not.
  struct Capacity {
    size_t column;
    double fits, fails;
    std::vector<double> sorted;  // of random points
  };
  std::vector<Capacity> capacities_;
  void LearnCapacities(std::span<const double> rows, std::span<const double> costs);
  double Fits(std::span<const double> row) const;
  std::vector<double> considered_;
  double length_ = 1.0;
  int64_t fits_ = 0;
};

}  // namespace tessera

#endif  // TESSERA_SEARCH_CRITIC_H_
