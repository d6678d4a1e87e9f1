// Uniform random search, the baseline that every method has to beat; a random walk if walk > 0.
#include <optional>

#include "tessera/search.h"

namespace tessera {
namespace {

struct RandomOptions {
  int64_t redraws = 8;
  double walk = 0.2;
};

class RandomSearcher final : public Searcher {
 public:
  RandomSearcher(const SearchSetup& setup, const RandomOptions& options)
      : space_(setup.space), options_(options), seed_(setup.seed) {}

  std::vector<Point> Propose(int64_t n) override {
    std::vector<Point> points;
    while (std::ssize(points) < n) {
      // One step per draw, so that a resumed run draws what it would have drawn.
      CounterRng rng(seed_, StreamId("search.random"), draws_++);
      const bool step = last_ && rng.Uniform() < options_.walk;
      last_ = step ? space_.Neighbor(*last_, rng) : space_.Sample(rng, options_.redraws);
      points.push_back(*last_);
    }
    return points;
  }

  void Observe(std::span<const Trial> /*trials*/) override {}  // Draws ignore costs.

 private:
  const DecisionSpace& space_;
  const RandomOptions options_;
  const uint64_t seed_;
  uint64_t draws_ = 0;
  std::optional<Point> last_;
};

}  // namespace

MethodInfo RandomMethod() {
  return DeclareMethod<RandomSearcher, RandomOptions>(
      {.name = "random",
       .summary = "uniform samples or a random walk; the baseline at equal budget"},
      {{"redraws", &RandomOptions::redraws, Range{0, 10'000}, "tries for a legal point"},
       {"walk", &RandomOptions::walk, Range{0.0, 1.0}, "chance to step from the last point"}});
}

}  // namespace tessera
