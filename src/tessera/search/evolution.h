// What evolutionary methods share: generations, ranking, survival, and no point evaluated twice.
#ifndef TESSERA_SEARCH_EVOLUTION_H_
#define TESSERA_SEARCH_EVOLUTION_H_

#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "tessera/part.h"
#include "tessera/search.h"

namespace tessera {

// A method derives from this and says how a child is made.
class EvolutionarySearcher : public Searcher {
 public:
  std::vector<Point> Propose(int64_t n) final;
  void Observe(std::span<const Trial> trials) final;

 protected:
  // `population` children per generation; the best `survivors` of all so far are the next parents.
  EvolutionarySearcher(const SearchSetup& setup, int64_t population, int64_t survivors);

  // A child of the parents, best first and never empty. It is repaired by the caller.
  virtual Point Breed(std::span<const Trial> parents, CounterRng& rng) const = 0;

  const DecisionSpace& space() const { return space_; }

 private:
  void StartGeneration();

  const DecisionSpace& space_;
  const uint64_t seed_;
  const size_t population_, survivors_;
  uint64_t drawn_ = 0;
  std::vector<Point> queue_;  // of this generation, handed out from the back
  std::vector<Trial> parents_;
  std::vector<Trial> children_;
  std::unordered_set<size_t> seen_;
};

}  // namespace tessera

#endif  // TESSERA_SEARCH_EVOLUTION_H_
