#include "tessera/explore/known_front.h"

#include <algorithm>
#include <limits>

namespace tessera {

bool KnownFront::Counts(const Candidate& candidate) const {
  if (!machines_.Mapped(candidate)) return false;
  const std::optional<double>& most = machines_.limits().power_w;
  return !most || machines_.PowerMw(machines_.Costs(candidate)) <= *most * 1e3;
}

bool KnownFront::Beats(size_t a, size_t b) const {
  bool less = false;
  for (const Objective objective : objectives_) {
    const double first = points_[a].Of(objective), second = points_[b].Of(objective);
    if (first > second) return false;
    less |= first < second;
  }
  // Of equal machines the smaller one counts, then the first.
  const auto order = [&](size_t k) {
    return std::pair(points_[k].area_um2, machines_.candidates()[places_[k]].number);
  };
  return less || order(a) < order(b);
}

void KnownFront::Find(const std::vector<size_t>& looked_at) {
  points_.clear();
  places_.clear();
  for (const size_t i : looked_at) {
    const Candidate& candidate = machines_.candidates()[i];
    if (!Counts(candidate)) continue;
    points_.push_back(machines_.Costs(candidate));
    places_.push_back(i);
  }
  std::vector<size_t> front;
  for (size_t k = 0; k < points_.size(); ++k) {
    bool beaten = false;
    for (size_t other = 0; other < points_.size() && !beaten; ++other) {
      beaten = other != k && Beats(other, k);
    }
    if (!beaten) front.push_back(k);
  }
  std::ranges::stable_sort(front, {}, [&](size_t k) { return points_[k].Of(objectives_.front()); });
  std::vector<Low> points;
  std::vector<size_t> places;
  for (const size_t k : front) {
    points.push_back(points_[k]);
    places.push_back(places_[k]);
  }
  points_ = std::move(points);
  places_ = std::move(places);
}

size_t KnownFront::Nearest(const Low& low) const {
  size_t nearest = 0;
  double least = std::numeric_limits<double>::infinity();
  for (size_t k = 0; k < points_.size(); ++k) {
    const double gain = PossibleGain(objectives_, low, {points_[k]});
    if (gain >= least) continue;
    least = gain;
    nearest = k;
  }
  return places_[nearest];
}

}  // namespace tessera
