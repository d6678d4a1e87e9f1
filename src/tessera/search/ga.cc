// A genetic algorithm that knows nothing about mappings: tournaments, uniform crossover, mutation
// of single decisions.
#include <algorithm>

#include "tessera/search/evolution.h"

namespace tessera {
namespace {

struct GaOptions {
  int64_t population = 10;
  int64_t survivors = 5;
  int64_t tournament = 1;
  double crossover = 0.9;
  double mutations = 1.5;
};

class GaSearcher final : public EvolutionarySearcher {
 public:
  GaSearcher(const SearchSetup& setup, const GaOptions& options)
      : EvolutionarySearcher(setup, options.population, options.survivors), options_(options) {}

 private:
  Point Breed(std::span<const Trial> parents, CounterRng& rng) const override {
    Point child = Pick(parents, rng);
    const std::span<const size_t> open = space().open();
    if (rng.Uniform() < options_.crossover) {
      const Point& other = Pick(parents, rng);
      for (const size_t i : open) {
        if (rng.Bits32() & 1) child[i] = other[i];
      }
    }
    const double chance = options_.mutations / static_cast<double>(open.size());
    for (const size_t i : open) {
      if (rng.Uniform() < chance) space().Mutate(child, i, rng);
    }
    return child;
  }

  // The best of a few drawn at random; parents are sorted, so the least index wins.
  const Point& Pick(std::span<const Trial> parents, CounterRng& rng) const {
    int64_t best = std::ssize(parents);
    for (int64_t i = 0; i < options_.tournament; ++i) {
      best = std::min(best, rng.UniformInt(std::ssize(parents)));
    }
    return parents[static_cast<size_t>(best)].point;
  }

  const GaOptions options_;
};

}  // namespace

MethodInfo GaMethod() {
  return DeclareMethod<GaSearcher, GaOptions>(
      {.name = "ga",
       .summary = "genetic algorithm: tournaments, uniform crossover, mutation; any space"},
      {{"population", &GaOptions::population, Range{1, 100'000}, "children per generation"},
       {"survivors", &GaOptions::survivors, Range{1, 100'000}, "best points kept as parents"},
       {"tournament", &GaOptions::tournament, Range{1, 100}, "parents drawn, of which one wins"},
       {"crossover", &GaOptions::crossover, Range{0, 1}, "chance of a second parent"},
       {"mutations", &GaOptions::mutations, Range{0, 100}, "changed decisions per child, mean"}});
}

}  // namespace tessera
