// GAMMA's evolution: operators that know what a mapping is made of. Crossover trades the tiles of
// one dimension at all levels, mutation redraws a tile within the enclosing one or the parallel
// dimension of a level with its size, loops of a level swap places, levels swap their parallel
// dimensions. Growth and aging of levels, which GAMMA has as well, do nothing here, because spaces
// have a fixed number of levels.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "tessera/search/evolution.h"

namespace tessera {
namespace {

struct GammaOptions {
  int64_t population = 10;
  double parents = 0.2;
  double crossover = 0.57;
  double reorder = 0.2;
  double mutate = 0.53;
  int64_t mutations = 3;
  double swap_parallel = 0.1;
};

class GammaSearcher final : public EvolutionarySearcher {
 public:
  GammaSearcher(const SearchSetup& setup, const GammaOptions& options)
      : EvolutionarySearcher(
            setup, options.population,
            std::max<int64_t>(
                1, std::llround(options.parents * static_cast<double>(options.population)))),
        options_(options) {
    std::map<std::string, size_t> dimensions;
    for (const size_t i : space().open()) {
      const Decision& decision = space().decisions()[i];
      switch (decision.role()) {
        case DecisionRole::kTile:
        case DecisionRole::kFactor: {
          const size_t next = dimensions.size();
          const size_t at = dimensions.try_emplace(decision.dimension(), next).first->second;
          if (at == tiles_.size()) tiles_.emplace_back();
          tiles_[at].push_back(i);
          genes_.push_back(i);
          break;
        }
        case DecisionRole::kOrder: orders_.push_back(i); break;
        case DecisionRole::kParallel:
          parallels_.push_back(i);
          genes_.push_back(i);
          break;
        case DecisionRole::kCount: counts_.push_back(i); break;
        case DecisionRole::kOther: genes_.push_back(i); break;
      }
    }
    if (genes_.empty()) genes_ = counts_;
  }

 private:
  Point Breed(std::span<const Trial> parents, CounterRng& rng) const override {
    Point child = Pick(parents, rng);
    if (rng.Uniform() < options_.crossover) TradeDimension(child, Pick(parents, rng), rng);
    if (rng.Uniform() < options_.reorder && !orders_.empty()) {
      space().Mutate(child, Pick(orders_, rng), rng);
    }
    for (int64_t i = 0; i < options_.mutations; ++i) {
      if (rng.Uniform() < options_.mutate && !genes_.empty()) Redraw(child, Pick(genes_, rng), rng);
    }
    if (rng.Uniform() < options_.swap_parallel && parallels_.size() > 1) SwapParallel(child, rng);
    return child;
  }

  static const Point& Pick(std::span<const Trial> parents, CounterRng& rng) {
    return parents[static_cast<size_t>(rng.UniformInt(std::ssize(parents)))].point;
  }
  static size_t Pick(const std::vector<size_t>& decisions, CounterRng& rng) {
    return decisions[static_cast<size_t>(rng.UniformInt(std::ssize(decisions)))];
  }

  void TradeDimension(Point& child, const Point& other, CounterRng& rng) const {
    if (tiles_.empty()) return;
    const size_t dimension = static_cast<size_t>(rng.UniformInt(std::ssize(tiles_)));
    for (const size_t i : tiles_[dimension]) child[i] = other[i];
  }

  // A new value: of a tile within the enclosing tile, of a parallel dimension together with the
  // number of units.
  void Redraw(Point& child, size_t gene, CounterRng& rng) const {
    const Decision& decision = space().decisions()[gene];
    int32_t values = decision.size();
    if (decision.role() == DecisionRole::kTile) {
      for (const std::vector<size_t>& chain : tiles_) {
        const auto at = std::find(chain.begin(), chain.end(), gene);
        if (at == chain.end() || at == chain.begin()) continue;
        const size_t outer = *(at - 1);
        values = decision.AtMost(space().decisions()[outer].value(child[outer])) + 1;
      }
    }
    child[gene] = static_cast<int32_t>(rng.UniformInt(values));
    if (decision.role() == DecisionRole::kParallel && !counts_.empty()) {
      const size_t count = Pick(counts_, rng);
      child[count] = static_cast<int32_t>(rng.UniformInt(space().decisions()[count].size()));
    }
  }

  void SwapParallel(Point& child, CounterRng& rng) const {
    const size_t first = static_cast<size_t>(rng.UniformInt(std::ssize(parallels_) - 1));
    const size_t a = parallels_[first], b = parallels_[first + 1];
    const Decision& decision_a = space().decisions()[a];
    const Decision& decision_b = space().decisions()[b];
    const int32_t to_a = decision_a.Find(decision_b.value(child[b]));
    const int32_t to_b = decision_b.Find(decision_a.value(child[a]));
    if (to_a < 0 || to_b < 0) return;  // A constraint keeps them apart.
    child[a] = to_a;
    child[b] = to_b;
  }

  const GammaOptions options_;
  std::vector<std::vector<size_t>> tiles_;  // by dimension, outer level first
  std::vector<size_t> orders_, parallels_, counts_;
  std::vector<size_t> genes_;  // what mutation may pick
};

}  // namespace

MethodInfo GammaMethod() {
  return DeclareMethod<GammaSearcher, GammaOptions>(
      {.name = "gamma",
       .summary =
           "GAMMA's genetic operators for mappings (growth and aging need a space with levels)"},
      {{"population", &GammaOptions::population, Range{1, 100'000}, "children per generation"},
       {"parents", &GammaOptions::parents, Range{0, 1}, "part of the population that breeds"},
       {"crossover", &GammaOptions::crossover, Range{0, 1}, "chance to trade a dimension's tiles"},
       {"reorder", &GammaOptions::reorder, Range{0, 1}, "chance to swap two loops of a level"},
       {"mutate", &GammaOptions::mutate, Range{0, 1}, "chance of each try to redraw a gene"},
       {"mutations", &GammaOptions::mutations, Range{0, 100}, "tries to redraw a gene"},
       {"swap_parallel", &GammaOptions::swap_parallel, Range{0, 1},
        "chance to swap the parallel dimensions of two levels"}});
}

}  // namespace tessera
