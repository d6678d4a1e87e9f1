// Which decisions go together: Pearson's correlation of every two decisions, and of each with the
// reward, over the best trials of a search (steps 2 and 3 of Algorithm 1).
#ifndef TESSERA_AGENTS_CORRELATION_H_
#define TESSERA_AGENTS_CORRELATION_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/result.h"
#include "tessera/space.h"

namespace tessera {

enum class OrderColumns : uint8_t {
  kLehmer,     // a loop order is one number, its Lehmer index
  kPositions,  // a loop order is one column per loop, its place
};

enum class RewardScale : uint8_t {
  kInverse,  // 1 / objective, as in the paper
  kLog,      // -log objective
};

struct CorrelationOptions {
  // Part of the feasible trials that is kept, those with the highest reward. Default: 0.15.
  double top = 0.15;

  // How a loop order enters. Default: kLehmer.
  OrderColumns orders = OrderColumns::kLehmer;

  // What the reward is. Default: kInverse.
  RewardScale reward = RewardScale::kInverse;
};

// A symmetric matrix over the choices of a space, its decisions with more than one value, with the
// reward as last row and column.
struct CorrelationMatrix {
  std::vector<std::string> names;      // of the choices, in their order
  std::vector<double> values;          // (decisions + 1)^2 numbers in -1..1, row by row
  std::vector<std::string> constant;   // decisions with one value, which are not among the names
  std::vector<std::string> unchanged;  // choices that never changed; their correlations are 0
  int64_t trials = 0;                  // that the numbers come from
  int64_t collected = 0;               // trials given, infeasible ones included

  size_t decisions() const { return names.size(); }
  size_t width() const { return names.size() + 1; }
  double at(size_t row, size_t column) const { return values[row * width() + column]; }
  double with_reward(size_t decision) const { return at(decision, decisions()); }
};

// Numbers enter as they are, a choice as the code of its label. A decision with several columns
// counts by the one with the largest |r|. Errors: fewer than two feasible trials remain.
Result<CorrelationMatrix> Correlate(const DecisionSpace& space, std::span<const Trial> trials,
                                    const CorrelationOptions& options = {});

// Pearson's r; 0 if either is constant.
double Pearson(std::span<const double> a, std::span<const double> b);

}  // namespace tessera

#endif  // TESSERA_AGENTS_CORRELATION_H_
