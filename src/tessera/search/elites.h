// The best points of a search, and lessons drawn from good points.
#ifndef TESSERA_SEARCH_ELITES_H_
#define TESSERA_SEARCH_ELITES_H_

#include <cstddef>
#include <span>
#include <vector>

#include "tessera/space.h"

namespace tessera {

// Up to `capacity` distinct points of finite cost, best first; of equal ones the older. Infeasible
// ones (OrderedCost) leave when the first feasible one comes.
class Elites {
 public:
  struct Entry {
    Point point;
    double cost;
  };

  explicit Elites(size_t capacity) : capacity_(capacity) {}

  void Add(const Point& point, double cost);
  std::span<const Entry> entries() const { return entries_; }

  // Appends all points with weights that add up to `total` and fall as 1 / rank.
  void Append(double total, std::vector<Point>& points, std::vector<double>& weights) const;

 private:
  size_t capacity_;
  std::vector<Entry> entries_;
};

// A weight for every cost by its rank: positive for the best part `top`, falling with the rank and
// adding up to 1, less 1/n for all. Infinite costs are never in the best part; if all are infinite,
// the weights are 0.
std::vector<double> RankWeights(std::span<const double> costs, double top);

}  // namespace tessera

#endif  // TESSERA_SEARCH_ELITES_H_
