// Groups of machines with lower bounds: one machine that is at least as good as each member stands
// for all of them, until the group is divided.
#ifndef TESSERA_EXPLORE_GROUPS_H_
#define TESSERA_EXPLORE_GROUPS_H_

#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "tessera/explore/explorer.h"

namespace tessera {

struct Group {
  std::vector<size_t> members = {};  // places among the candidates
  Accelerator machine = {};          // at least as good as each member
  std::vector<LayerLow> lows = {};   // of that machine
  Low low = {};
  double looseness = 0;
  double asked =
      std::numeric_limits<double>::infinity();  // the gain for which bounds were asked last
  bool closed = false;
  bool stuck = false;  // nothing is left to try, though something may be better
};

class Groups {
 public:
  using TwoHalves = std::pair<std::vector<size_t>, std::vector<size_t>>;  // members

  // Everything outlives it.
  Groups(const ExploreJob& job, const Machines& machines, std::vector<Objective> objectives)
      : job_(job), machines_(machines), objectives_(std::move(objectives)) {}

  std::vector<Group>& all() { return groups_; }
  const std::vector<Group>& all() const { return groups_; }
  Group& operator[](size_t g) { return groups_[g]; }

  // One group for all machines that one can stand for.
  void MakeRoots();

  // By the field whose halves differ most in their bounds.
  TwoHalves Halves(const Group& group) const;
  // Replaces a group by its halves.
  void Split(size_t g);

  // What is known of some machines without search.
  Low FirstLow(const std::vector<size_t>& members) const;
  // The same of one machine, as one number for all objectives.
  double Weight(const Candidate& candidate) const;

 private:
  Group Make(std::vector<size_t> members, const std::vector<LayerLow>& known) const;
  std::vector<LayerLow> FirstBounds(const std::vector<size_t>& members) const;
  double LoosenessOf(const Group& group) const;

  const ExploreJob& job_;
  const Machines& machines_;
  const std::vector<Objective> objectives_;
  std::vector<Group> groups_;
};

}  // namespace tessera

#endif  // TESSERA_EXPLORE_GROUPS_H_
