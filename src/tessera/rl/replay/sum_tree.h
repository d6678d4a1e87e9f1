// Weights with their sum, and draws in proportion to them, in logarithmic time.
#ifndef TESSERA_RL_REPLAY_SUM_TREE_H_
#define TESSERA_RL_REPLAY_SUM_TREE_H_

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

class SumTree {
 public:
  explicit SumTree(int64_t size)
      : leaves_(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(size)))),
        nodes_(static_cast<size_t>(2 * leaves_)) {}

  double total() const { return nodes_[1]; }
  double Get(int64_t index) const { return nodes_[static_cast<size_t>(leaves_ + index)]; }

  void Set(int64_t index, double weight) {
    size_t node = static_cast<size_t>(leaves_ + index);
    nodes_[node] = weight;
    while ((node /= 2) >= 1) nodes_[node] = nodes_[2 * node] + nodes_[2 * node + 1];
  }

  // The index where the running sum of weights passes `mass`, 0 <= mass < total(). Its weight is
  // positive even if rounding leads the search astray.
  int64_t Find(double mass) const {
    size_t node = 1;
    while (node < static_cast<size_t>(leaves_)) {
      node *= 2;
      if ((mass >= nodes_[node] && nodes_[node + 1] > 0) || nodes_[node] <= 0) {
        mass -= nodes_[node];
        ++node;
      }
    }
    return static_cast<int64_t>(node) - leaves_;
  }

  // All leaves, for checkpoints; Rebuild after they were changed.
  std::span<double> leaves() { return std::span(nodes_).subspan(static_cast<size_t>(leaves_)); }
  std::span<const double> leaves() const {
    return std::span(nodes_).subspan(static_cast<size_t>(leaves_));
  }
  void Rebuild() {
    for (size_t node = static_cast<size_t>(leaves_) - 1; node >= 1; --node) {
      nodes_[node] = nodes_[2 * node] + nodes_[2 * node + 1];
    }
  }

 private:
  int64_t leaves_;
  std::vector<double> nodes_;  // node i has children 2i and 2i+1; leaves are the upper half
};

}  // namespace tessera

#endif  // TESSERA_RL_REPLAY_SUM_TREE_H_
