// Points as vectors of numbers between 0 and 1, for methods that learn a model of the cost: a
// number by its logarithm, a choice as one column per label, an order as the place of each item.
#ifndef TESSERA_SPACE_FEATURES_H_
#define TESSERA_SPACE_FEATURES_H_

#include <cstddef>
#include <span>
#include <vector>

#include "tessera/space.h"

namespace tessera {

// The space must outlive the features. Decisions with one value have no columns.
class Features {
 public:
  struct Column {
    size_t decision;
    DecisionKind kind;
  };

  explicit Features(const DecisionSpace& space);

  std::span<const Column> columns() const { return columns_; }
  size_t size() const { return columns_.size(); }

  // Writes size() numbers.
  void Encode(const Point& point, std::span<double> out) const;

 private:
  const DecisionSpace& space_;
  std::vector<Column> columns_;
  std::vector<std::vector<double>> ordinals_;  // by decision and index: the scaled logarithm
};

}  // namespace tessera

#endif  // TESSERA_SPACE_FEATURES_H_
