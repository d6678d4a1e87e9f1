// A genetic algorithm over configurations: tournaments, uniform crossover, mutation of single
// knobs.
#include <algorithm>

#include "tessera/coopt/group.h"
#include "tessera/search.h"

namespace tessera::coopt {
namespace {

struct GaOptions {
  int64_t population = 32;
  int64_t tournament = 3;
  double crossover = 0.7;
  double mutations = 1.5;
};

class GaTuner final : public GroupTuner {
 public:
  GaTuner(const Group& group, const GaOptions& options) : group_(group), options_(options) {}

  std::vector<Configuration> Propose() override {
    std::vector<Configuration> children;
    for (int64_t misses = 0; std::ssize(children) < options_.population && misses < 10'000;) {
      CounterRng rng(group_.setup().seed, StreamId("coopt.ga"), draws_++);
      // After many children that were seen before, fresh blood.
      Configuration child =
          parents_.empty() || misses > 20 * options_.population ? group_.Sample(rng) : Breed(rng);
      if (seen_.insert(HashOf(child)).second) {
        children.push_back(std::move(child));
      } else {
        ++misses;
      }
    }
    return children;
  }

  void Observe(std::span<const ConfigurationOutcome> outcomes) override {
    for (const ConfigurationOutcome& outcome : outcomes) {
      if (outcome.valid()) parents_.push_back(outcome);
    }
    std::stable_sort(parents_.begin(), parents_.end(),
                     [](const auto& a, const auto& b) { return a.value() < b.value(); });
    const auto most = static_cast<size_t>(options_.population);
    if (parents_.size() > most) parents_.resize(most);
  }

 private:
  Configuration Breed(CounterRng& rng) const {
    Configuration child = Pick(rng);
    if (rng.Uniform() < options_.crossover) {
      const Configuration& other = Pick(rng);
      for (size_t knob = 0; knob < group_.knobs(); ++knob) {
        const int64_t index = group_.KnobIndex(other, knob);
        const bool take = rng.Uniform() < 0.5;
        if (take && index < group_.KnobSize(child, knob)) group_.Set(child, knob, index, rng);
      }
    }
    const double chance = options_.mutations / static_cast<double>(group_.knobs());
    for (size_t knob = 0; knob < group_.knobs(); ++knob) {
      if (rng.Uniform() >= chance) continue;
      group_.Set(child, knob, rng.UniformInt(group_.KnobSize(child, knob)), rng);
    }
    return child;
  }

  // The best of a few drawn at random; parents are sorted, so the least index wins.
  const Configuration& Pick(CounterRng& rng) const {
    int64_t best = std::ssize(parents_);
    for (int64_t i = 0; i < options_.tournament; ++i) {
      best = std::min(best, rng.UniformInt(std::ssize(parents_)));
    }
    return parents_[static_cast<size_t>(best)].configuration;
  }

  const Group& group_;
  const GaOptions options_;
  uint64_t draws_ = 0;
  std::vector<ConfigurationOutcome> parents_;
  std::unordered_set<uint64_t> seen_;
};

class GaSearcher final : public GroupSearcher {
 public:
  GaSearcher(const JointSetup& setup, const GaOptions& options) : GroupSearcher(setup) {
    AddTuners([&](const Group& group) { return std::make_unique<GaTuner>(group, options); });
  }
};

}  // namespace

MethodInfo JointGaMethod() {
  return DeclareMethod<GaSearcher, GaOptions>(
      {.name = "ga-joint",
       .summary = "ga for hardware and all schedules together",
       .joint_version_of = "ga"},
      {{"population", &GaOptions::population, Range{2, 10'000}, "children per generation"},
       {"tournament", &GaOptions::tournament, Range{1, 100}, "parents that compete"},
       {"crossover", &GaOptions::crossover, Range{0, 1}, "chance of a second parent"},
       {"mutations", &GaOptions::mutations, Range{0, 100}, "mutated knobs per child"}});
}

}  // namespace tessera::coopt
