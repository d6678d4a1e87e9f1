// Depth-first search, decision by decision; a value is tried if it suits the values chosen so far
// and leaves one to every decision that is still open.
#include "tessera/space/relation_search.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera {
namespace {

constexpr int64_t kMostTries = 200'000;

class Search {
 public:
  Search(std::span<const Decision> decisions, std::span<const DecisionPair> pairs, Point& point)
      : decisions_(decisions), pairs_(pairs), point_(point) {
    for (const DecisionPair& pair : pairs) {
      for (const size_t decision : {pair.over, pair.under}) {
        if (decision == DecisionPair::kOne) continue;
        if (std::ranges::find(order_, decision) == order_.end()) order_.push_back(decision);
      }
    }
    chosen_.resize(decisions.size(), false);
  }

  Found Run() {
    const Point before = point_;
    // Relations without a decision cannot be helped.
    for (const DecisionPair& pair : pairs_) {
      const bool none = pair.over == DecisionPair::kOne && pair.under == DecisionPair::kOne;
      if (none && !pair.relation.Holds(1, 1)) return Found::kNo;
    }
    if (Choose(0)) return Found::kYes;
    point_ = before;
    return tries_ > kMostTries ? Found::kUnknown : Found::kNo;
  }

 private:
  bool Choose(size_t k) {
    if (k == order_.size()) return true;
    const size_t decision = order_[k];
    const int32_t size = decisions_[decision].size(), wanted = point_[decision];
    chosen_[decision] = true;
    // The wanted value first, then its neighbours on both sides.
    for (int32_t step = 0; step < size; ++step) {
      for (const int32_t index : {wanted - step, wanted + step}) {
        if (index < 0 || index >= size || (step == 0 && index != wanted)) continue;
        if (++tries_ > kMostTries) break;
        point_[decision] = index;
        if (Suits(decision) && Choose(k + 1)) return true;
        if (step == 0) break;
      }
    }
    chosen_[decision] = false;
    point_[decision] = wanted;
    return false;
  }

  double Least(size_t decision) const {
    if (decision == DecisionPair::kOne) return 1;
    const Decision& made = decisions_[decision];
    return static_cast<double>(made.value(chosen_[decision] ? point_[decision] : 0));
  }
  double Most(size_t decision) const {
    if (decision == DecisionPair::kOne) return 1;
    const Decision& made = decisions_[decision];
    return static_cast<double>(made.value(chosen_[decision] ? point_[decision] : made.size() - 1));
  }

  // Whether every relation of the decision can still hold.
  bool Suits(size_t decision) const {
    return std::all_of(pairs_.begin(), pairs_.end(), [&](const DecisionPair& pair) {
      if (pair.over != decision && pair.under != decision) return true;
      const Relation at_least{.min = pair.relation.min}, at_most{.max = pair.relation.max};
      return at_least.Holds(Most(pair.over), Least(pair.under)) &&
             at_most.Holds(Least(pair.over), Most(pair.under));
    });
  }

  const std::span<const Decision> decisions_;
  const std::span<const DecisionPair> pairs_;
  Point& point_;
  std::vector<size_t> order_;
  std::vector<bool> chosen_;
  int64_t tries_ = 0;
};

}  // namespace

Found Satisfy(std::span<const Decision> decisions, std::span<const DecisionPair> pairs,
              Point& point) {
  return Search(decisions, pairs, point).Run();
}

}  // namespace tessera
