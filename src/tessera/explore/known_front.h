// What an exploration knows so far: of the machines that were mapped, those that no other one is
// better than.
#ifndef TESSERA_EXPLORE_KNOWN_FRONT_H_
#define TESSERA_EXPLORE_KNOWN_FRONT_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "tessera/explore/explorer.h"

namespace tessera {

inline constexpr double kEqual = 1e-9;  // values within this part of each other count as equal

class KnownFront {
 public:
  // The machines outlive it.
  KnownFront(const Machines& machines, std::vector<Objective> objectives)
      : machines_(machines), objectives_(std::move(objectives)) {}

  // Whether a machine may be an answer.
  bool Counts(const Candidate& candidate) const;

  // Looks at these candidates again, by their places.
  void Find(const std::vector<size_t>& looked_at);

  bool empty() const { return points_.empty(); }
  // By the first objective.
  const std::vector<Low>& points() const { return points_; }
  const std::vector<size_t>& places() const { return places_; }  // whose points they are

  // By how much a machine with these bounds could be better than all of it.
  double Gain(const Low& low) const { return PossibleGain(objectives_, low, points_); }
  // The place of the machine to which one with these bounds can gain least.
  size_t Nearest(const Low& low) const;

 private:
  bool Beats(size_t a, size_t b) const;

  const Machines& machines_;
  const std::vector<Objective> objectives_;
  std::vector<Low> points_;
  std::vector<size_t> places_;
};

}  // namespace tessera

#endif  // TESSERA_EXPLORE_KNOWN_FRONT_H_
