// Generations.
#include "tessera/search/evolution.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tessera/search/log_cost.h"

namespace tessera {
namespace {

bool Better(const Trial& a, const Trial& b) {
  if (a.outcome.feasible() && b.outcome.feasible()) return a.outcome.value < b.outcome.value;
  return OrderedCost(a.outcome) < OrderedCost(b.outcome);
}

}  // namespace

EvolutionarySearcher::EvolutionarySearcher(const SearchSetup& setup, int64_t population,
                                           int64_t survivors)
    : space_(setup.space),
      seed_(setup.seed),
      population_(static_cast<size_t>(population)),
      survivors_(static_cast<size_t>(survivors)) {}

std::vector<Point> EvolutionarySearcher::Propose(int64_t n) {
  if (queue_.empty()) StartGeneration();
  const size_t count = std::min(queue_.size(), static_cast<size_t>(n));
  std::vector<Point> points;
  for (size_t i = 0; i < count; ++i) {
    points.push_back(queue_.back());
    queue_.pop_back();
  }
  return points;
}

void EvolutionarySearcher::Observe(std::span<const Trial> trials) {
  children_.insert(children_.end(), trials.begin(), trials.end());
}

void EvolutionarySearcher::StartGeneration() {
  // Parents come first, so that of equal ones the older survives.
  std::move(children_.begin(), children_.end(), std::back_inserter(parents_));
  children_.clear();
  std::stable_sort(parents_.begin(), parents_.end(), Better);
  if (parents_.size() > survivors_) parents_.resize(survivors_);
  // Nothing is to be learned from points of which all that is known is that they do not work.
  if (!parents_.empty() && !std::isfinite(OrderedCost(parents_.front().outcome))) parents_.clear();

  constexpr int kTries = 16;  // for a child that was not seen before
  for (size_t i = 0; i < population_; ++i) {
    CounterRng rng(seed_, StreamId("search.evolution"), drawn_++);
    Point child;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      child = parents_.empty() ? space_.Sample(rng, 0) : Breed(parents_, rng);
      space_.Repair(child);
      if (seen_.insert(PointHash()(child)).second) break;
    }
    queue_.push_back(child);
  }
}

}  // namespace tessera
