// The best points of a search.
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

}  // namespace tessera

#endif  // TESSERA_SEARCH_ELITES_H_
