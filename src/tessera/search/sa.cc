// Simulated annealing: several chains that step to neighbours, accept what is better, and what is
// worse with a chance that falls with the temperature. The temperature follows the budget.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "tessera/search.h"
#include "tessera/search/log_cost.h"

namespace tessera {
namespace {

struct SaOptions {
  int64_t chains = 1;
  double hot = 1.0;
  double cold = 0.003;
  double restart = 0.01;
};

class SaSearcher final : public Searcher {
 public:
  SaSearcher(const SearchSetup& setup, const SaOptions& options)
      : space_(setup.space),
        options_(options),
        seed_(setup.seed),
        samples_(setup.samples),
        chains_(static_cast<size_t>(options.chains)) {}

  std::vector<Point> Propose(int64_t n) override {
    std::vector<Point> points;
    const size_t count = std::min(chains_.size(), static_cast<size_t>(n));
    for (size_t i = 0; i < count; ++i) {
      const Chain& chain = chains_[(next_ + i) % chains_.size()];
      CounterRng rng(seed_, StreamId("search.sa.propose"), drawn_++);
      points.push_back(chain.point ? space_.Neighbor(*chain.point, rng) : space_.Sample(rng, 0));
    }
    return points;
  }

  void Observe(std::span<const Trial> trials) override {
    for (const Trial& trial : trials) {
      Chain& chain = chains_[next_];
      next_ = (next_ + 1) % chains_.size();
      CounterRng rng(seed_, StreamId("search.sa.accept"), observed_++);
      Step(chain, trial, rng);
    }
  }

 private:
  struct Chain {
    std::optional<Point> point;
    double cost = std::numeric_limits<double>::infinity();
  };

  void Step(Chain& chain, const Trial& trial, CounterRng& rng) {
    const double cost = OrderedCost(trial.outcome);
    if (cost < best_.cost) best_ = {trial.point, cost};
    // A point that is not feasible is left only for lack of a better one.
    const bool better = cost <= chain.cost;
    if (better || rng.Uniform() < std::exp((chain.cost - cost) / Temperature())) {
      chain = {trial.point, cost};
    }
    if (chain.cost > best_.cost && rng.Uniform() < options_.restart * Progress()) chain = best_;
  }

  double Progress() const {
    return std::min(1.0, static_cast<double>(observed_) / static_cast<double>(samples_));
  }
  double Temperature() const {
    return options_.hot * std::pow(options_.cold / options_.hot, Progress());
  }

  const DecisionSpace& space_;
  const SaOptions options_;
  const uint64_t seed_;
  const int64_t samples_;
  std::vector<Chain> chains_;
  Chain best_;
  size_t next_ = 0;
  uint64_t drawn_ = 0, observed_ = 0;
};

}  // namespace

MethodInfo SaMethod() {
  return DeclareMethod<SaSearcher, SaOptions>(
      {.name = "sa",
       .summary = "simulated annealing on the logarithm of the cost, cooled over the budget"},
      {{"chains", &SaOptions::chains, Range{1, 1024}, "independent chains"},
       {"hot", &SaOptions::hot, Range{1e-6, 100}, "first temperature: a ratio of e^hot is small"},
       {"cold", &SaOptions::cold, Range{1e-9, 100}, "last temperature"},
       {"restart", &SaOptions::restart, Range{0, 1},
        "chance per step, times the part of the budget spent, to go back to the best point"}});
}

}  // namespace tessera
