// Columns of the best trials, and their correlations.
#include "tessera/agents/correlation.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace tessera {
namespace {

// One or more columns of numbers that stand for one decision, or for the reward.
using Columns = std::vector<std::vector<double>>;

double Reward(double value, RewardScale scale) {
  return scale == RewardScale::kInverse ? 1.0 / value : -std::log(value);
}

// The best trials, best first; of equal ones the earlier.
std::vector<const Trial*> Select(std::span<const Trial> trials, double top) {
  std::vector<const Trial*> kept;
  for (const Trial& trial : trials) {
    if (trial.outcome.feasible()) kept.push_back(&trial);
  }
  std::stable_sort(kept.begin(), kept.end(), [](const Trial* a, const Trial* b) {
    return a->outcome.value < b->outcome.value;
  });
  const double wanted = std::ceil(top * static_cast<double>(kept.size()));
  kept.resize(std::min(kept.size(), static_cast<size_t>(wanted)));
  return kept;
}

Columns ColumnsOf(const Decision& decision, size_t index, const std::vector<const Trial*>& trials,
                  OrderColumns orders) {
  const bool positions =
      decision.kind() == DecisionKind::kPermutation && orders == OrderColumns::kPositions;
  Columns columns(positions ? decision.labels().size() : 1);
  for (const Trial* trial : trials) {
    if (!positions) {
      columns[0].push_back(static_cast<double>(decision.value(trial->point[index])));
      continue;
    }
    const Permutation order = decision.OrderAt(trial->point[index]);
    for (size_t place = 0; place < order.size; ++place) {
      columns[order.items[place]].push_back(static_cast<double>(place));
    }
  }
  return columns;
}

double Strongest(const Columns& a, const Columns& b) {
  double strongest = 0;
  for (const std::vector<double>& x : a) {
    for (const std::vector<double>& y : b) {
      const double r = Pearson(x, y);
      if (std::abs(r) > std::abs(strongest)) strongest = r;
    }
  }
  return strongest;
}

bool IsConstant(const Columns& columns) {
  return std::all_of(columns.begin(), columns.end(), [](const std::vector<double>& column) {
    return std::all_of(column.begin(), column.end(), [&](double v) { return v == column[0]; });
  });
}

}  // namespace

double Pearson(std::span<const double> a, std::span<const double> b) {
  const double count = static_cast<double>(a.size());
  double mean_a = 0, mean_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    mean_a += a[i] / count;
    mean_b += b[i] / count;
  }
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  // Sums of a constant column are rounding errors, which must not be divided by each other.
  const auto constant = [](std::span<const double> column) {
    return std::all_of(column.begin(), column.end(), [&](double v) { return v == column[0]; });
  };
  if (a.empty() || constant(a) || constant(b)) return 0;
  return std::clamp(ab / std::sqrt(aa * bb), -1.0, 1.0);
}

Result<CorrelationMatrix> Correlate(const DecisionSpace& space, std::span<const Trial> trials,
                                    const CorrelationOptions& options) {
  const std::vector<const Trial*> kept = Select(trials, options.top);
  if (kept.size() < 2) {
    return Error{.kind = ErrorKind::kBudget,
                 .message = fmt::format("the best {}% of {} trials are {} feasible ones, but a "
                                        "correlation needs at least 2",
                                        100 * options.top, trials.size(), kept.size()),
                 .hint = "collect more samples"};
  }
  CorrelationMatrix matrix{.names = {},
                           .values = {},
                           .constant = {},
                           .unchanged = {},
                           .trials = std::ssize(kept),
                           .collected = std::ssize(trials)};
  std::vector<Columns> columns;
  for (size_t i = 0; i < space.size(); ++i) {
    const Decision& decision = space.decisions()[i];
    if (decision.size() < 2) {
      matrix.constant.push_back(decision.name());
      continue;
    }
    columns.push_back(ColumnsOf(decision, i, kept, options.orders));
    matrix.names.push_back(decision.name());
    if (IsConstant(columns.back())) matrix.unchanged.push_back(decision.name());
  }
  columns.emplace_back(1);
  for (const Trial* trial : kept) {
    columns.back()[0].push_back(Reward(trial->outcome.value, options.reward));
  }
  const size_t width = columns.size();
  matrix.values.assign(width * width, 0);
  for (size_t i = 0; i < width; ++i) {
    matrix.values[i * width + i] = IsConstant(columns[i]) ? 0 : 1;
    for (size_t j = 0; j < i; ++j) {
      const double r = Strongest(columns[i], columns[j]);
      matrix.values[i * width + j] = matrix.values[j * width + i] = r;
    }
  }
  return matrix;
}

}  // namespace tessera
