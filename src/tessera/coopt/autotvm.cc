// AutoTVM's tuner with XGBoost and simulated annealing, with the constants of its source: 64
// measurements between fits, the first 64 at random, 128 chains of 500 steps, 5 % random points.
#include <algorithm>
#include <cmath>
#include <set>

#include "tessera/base/stop.h"
#include "tessera/coopt/tuner_model.h"
#include "tessera/search.h"

namespace tessera::coopt {
namespace {

struct AutotvmOptions {
  std::string features = "loop";
  int64_t plan = 64;
  int64_t chains = 128;
  int64_t steps = 500;
  int64_t patience = 50;
  double random_share = 0.05;
};

class AutotvmTuner final : public GroupTuner {
 public:
  AutotvmTuner(const Group& group, const AutotvmOptions& options)
      : group_(group),
        options_(options),
        model_(group, options.features == "knob" ? FeatureKind::kKnob : FeatureKind::kLoop,
               options.plan) {}

  std::vector<Configuration> Propose() override {
    std::vector<Configuration> plan;
    if (model_.fitted()) {
      Anneal();
      const auto share = static_cast<size_t>(
          std::ceil((1 - options_.random_share) * static_cast<double>(options_.plan)));
      for (auto best = heap_.rbegin(); best != heap_.rend() && plan.size() < share; ++best) {
        if (visited_.insert(HashOf(best->configuration)).second) {
          plan.push_back(best->configuration);
        }
      }
    }
    for (int64_t misses = 0; std::ssize(plan) < options_.plan && misses < 10'000;) {
      CounterRng rng(group_.setup().seed, StreamId("coopt.autotvm.random"), draws_++);
      Configuration configuration = group_.Sample(rng);
      if (visited_.insert(HashOf(configuration)).second) {
        plan.push_back(std::move(configuration));
      } else {
        ++misses;
      }
    }
    return plan;
  }

  void Observe(std::span<const ConfigurationOutcome> outcomes) override {
    for (const ConfigurationOutcome& outcome : outcomes) model_.Add(outcome);
    model_.Fit();
    for (Chain& chain : chains_) Score(chain);
  }

 private:
  struct Chain {
    Configuration configuration;
    std::vector<double> layers;  // predicted, by layer
    double score = 0;
  };
  struct Candidate {
    double score;
    uint64_t hash;  // of equal scores one order, whatever the run
    Configuration configuration;
    bool operator<(const Candidate& other) const {
      return score != other.score ? score < other.score : hash < other.hash;
    }
  };

  void Score(Chain& chain) const {
    const Configuration& configuration = chain.configuration;
    chain.layers.resize(configuration.points.size());
    for (size_t layer = 0; layer < chain.layers.size(); ++layer) {
      chain.layers[layer] =
          model_.PredictLayer(configuration.hardware, layer, configuration.points[layer]);
    }
    chain.score = model_.Combine(chain.layers);
  }

  // The heap keeps the best that were not measured yet.
  bool Offer(const Chain& chain) {
    const auto most = static_cast<size_t>(options_.plan);
    if (heap_.size() == most && chain.score <= heap_.begin()->score) return false;
    const uint64_t hash = HashOf(chain.configuration);
    if (visited_.contains(hash) || !in_heap_.insert(hash).second) return false;
    heap_.insert({chain.score, hash, chain.configuration});
    if (heap_.size() > most) {
      in_heap_.erase(heap_.begin()->hash);
      heap_.erase(heap_.begin());
    }
    return true;
  }

  void Anneal() {
    heap_.clear();
    in_heap_.clear();
    CounterRng rng(group_.setup().seed, StreamId("coopt.autotvm.chains"), rounds_++);
    while (std::ssize(chains_) < options_.chains && !Abandoned()) {
      chains_.push_back({group_.Sample(rng), {}, 0});
      Score(chains_.back());
    }
    for (const Chain& chain : chains_) Offer(chain);
    // A step changes one knob; a group of many layers gets as many steps for each of them.
    const int64_t layers = std::ssize(group_.layers());
    int64_t idle = 0;
    for (int64_t step = 0; step < options_.steps && idle < options_.patience && !Abandoned();
         ++step) {
      const double temperature =
          1.0 - static_cast<double>(step) / static_cast<double>(options_.steps);
      bool changed = false;
      for (Chain& chain : chains_) {
        for (int64_t i = 0; i < layers; ++i) changed |= Move(chain, temperature, rng);
      }
      idle = changed ? 0 : idle + 1;
    }
  }

  bool Move(Chain& chain, double temperature, CounterRng& rng) {
    Chain next = chain;
    const auto knob = static_cast<size_t>(rng.UniformInt(static_cast<int64_t>(group_.knobs())));
    const int64_t index = rng.UniformInt(group_.KnobSize(next.configuration, knob));
    if (index == group_.KnobIndex(next.configuration, knob)) return false;
    if (!group_.Set(next.configuration, knob, index, rng)) return false;
    if (knob < group_.hardware_knobs()) {
      Score(next);
    } else {
      const size_t layer = (knob - group_.hardware_knobs()) / group_.schedule_knobs();
      next.layers[layer] =
          model_.PredictLayer(next.configuration.hardware, layer, next.configuration.points[layer]);
      next.score = model_.Combine(next.layers);
    }
    const double gain = (next.score - chain.score) / (temperature + 1e-5);
    if (rng.Uniform() >= std::exp(std::min(gain, 1.0))) return false;
    chain = std::move(next);
    return Offer(chain);
  }

  const Group& group_;
  const AutotvmOptions options_;
  TunerModel model_;
  uint64_t draws_ = 0, rounds_ = 0;
  std::vector<Chain> chains_;
  std::set<Candidate> heap_;
  std::unordered_set<uint64_t> in_heap_, visited_;
};

class AutotvmSearcher final : public GroupSearcher {
 public:
  AutotvmSearcher(const JointSetup& setup, const AutotvmOptions& options) : GroupSearcher(setup) {
    AddTuners([&](const Group& group) { return std::make_unique<AutotvmTuner>(group, options); });
  }
};

}  // namespace

MethodInfo AutotvmMethod() {
  using O = AutotvmOptions;
  return DeclareMethod<AutotvmSearcher, O>(
      {.name = "autotvm", .summary = "boosted trees and simulated annealing, as AutoTVM tunes"},
      {{"features", &O::features, Choices{"loop", "knob"}, "what the trees see of a schedule"},
       {"plan", &O::plan, Range{1, 10'000}, "measurements per layer between fits"},
       {"chains", &O::chains, Range{1, 10'000}, "parallel chains of the annealing"},
       {"steps", &O::steps, Range{1, 100'000}, "steps of a chain"},
       {"patience", &O::patience, Range{1, 100'000}, "steps without a better plan that end it"},
       {"random_share", &O::random_share, Range{0, 1}, "part of a plan that is random"}});
}

}  // namespace tessera::coopt
