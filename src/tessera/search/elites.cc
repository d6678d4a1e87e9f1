// Elites and rank weights.
#include "tessera/search/elites.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/search/log_cost.h"

namespace tessera {

void Elites::Add(const Point& point, double cost) {
  if (!std::isfinite(cost) || capacity_ == 0) return;
  if (cost < kInfeasibleCost && !entries_.empty() && entries_.front().cost >= kInfeasibleCost) {
    entries_.clear();
  }
  if (entries_.size() == capacity_ && cost >= entries_.back().cost) return;
  const auto at = std::upper_bound(entries_.begin(), entries_.end(), cost,
                                   [](double c, const Entry& entry) { return c < entry.cost; });
  // Equal points have equal costs, so they stand right before.
  for (auto same = at; same != entries_.begin() && (same - 1)->cost == cost; --same) {
    if ((same - 1)->point == point) return;
  }
  entries_.insert(at, {point, cost});
  if (entries_.size() > capacity_) entries_.pop_back();
}

void Elites::Append(double total, std::vector<Point>& points, std::vector<double>& weights) const {
  double sum = 0;
  for (size_t i = 0; i < entries_.size(); ++i) sum += 1.0 / static_cast<double>(i + 1);
  for (size_t i = 0; i < entries_.size(); ++i) {
    points.push_back(entries_[i].point);
    weights.push_back(total / static_cast<double>(i + 1) / sum);
  }
}

}  // namespace tessera
