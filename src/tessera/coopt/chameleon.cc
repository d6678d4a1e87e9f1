// CHAMELEON: PPO walks over the cost model to find candidates (adaptive exploration), clusters of
// the candidates decide what is measured (adaptive sampling). Constants are those of its code; its
// value network has one layer more than ours, and we update after a fixed number of steps of
// several walkers instead of after each episode of one.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tessera/base/stop.h"
#include "tessera/coopt/knob_policy.h"
#include "tessera/coopt/tuner_model.h"
#include "tessera/search.h"

namespace tessera::coopt {
namespace {

struct ChameleonOptions {
  std::string features = "loop";
  bool sampling = true;
  int64_t plan = 64;
  int64_t episodes = 128;
  int64_t steps = 500;
};

constexpr int64_t kWalkers = 16;
constexpr int64_t kClusterStep = 8;
constexpr int64_t kClusterRounds = 100;
constexpr double kLossRatio = 2.5;

const PpoOptions kPpo = {.hidden = 20,
                         .layers = 2,
                         .steps = 32,
                         .epochs = 3,
                         .minibatches = 16,
                         .gamma = 0.9,
                         .lambda = 0.99,
                         .clip = 0.2,
                         .entropy = 0.3,
                         .actor_rate = 1e-3,
                         .critic_rate = 1e-3,
                         .clip_norm = 1e6};

// Points of a plane with integer coordinates.
using Place = std::array<int64_t, 2>;

double Distance(const Place& a, const Place& b) {
  const auto x = static_cast<double>(a[0] - b[0]), y = static_cast<double>(a[1] - b[1]);
  return x * x + y * y;
}

struct Clusters {
  std::vector<Place> centroids;
  double loss = 0;
};

Clusters KMeans(const std::vector<Place>& places, int64_t count, CounterRng& rng) {
  Clusters clusters;
  const auto random = [&] {
    return places[static_cast<size_t>(rng.UniformInt(std::ssize(places)))];
  };
  for (int64_t i = 0; i < count; ++i) clusters.centroids.push_back(random());
  std::vector<size_t> nearest(places.size());
  for (int64_t round = 0; round < kClusterRounds; ++round) {
    clusters.loss = 0;
    for (size_t i = 0; i < places.size(); ++i) {
      const auto best = std::min_element(clusters.centroids.begin(), clusters.centroids.end(),
                                         [&](const Place& a, const Place& b) {
                                           return Distance(a, places[i]) < Distance(b, places[i]);
                                         });
      nearest[i] = static_cast<size_t>(best - clusters.centroids.begin());
      clusters.loss += Distance(*best, places[i]);
    }
    bool moved = false;
    for (size_t c = 0; c < clusters.centroids.size(); ++c) {
      Place sum = {};
      int64_t members = 0;
      for (size_t i = 0; i < places.size(); ++i) {
        if (nearest[i] != c) continue;
        sum[0] += places[i][0];
        sum[1] += places[i][1];
        ++members;
      }
      const Place centre = members == 0 ? random() : Place{sum[0] / members, sum[1] / members};
      moved = moved || (members > 0 && centre != clusters.centroids[c]);
      clusters.centroids[c] = centre;
    }
    if (!moved) break;
  }
  return clusters;
}

class ChameleonTuner final : public GroupTuner {
 public:
  ChameleonTuner(const Group& group, const ChameleonOptions& options)
      : group_(group),
        options_(options),
        model_(group, options.features == "knob" ? FeatureKind::kKnob : FeatureKind::kLoop,
               options.plan),
        policy_(group, kWalkers, kPpo, group.setup().seed) {}

  std::vector<Configuration> Propose() override {
    CounterRng rng(group_.setup().seed, StreamId("coopt.chameleon"), rounds_++);
    std::vector<Configuration> plan;
    if (model_.fitted()) {
      plan = Explore(rng);
      if (options_.sampling && !plan.empty()) plan = Sample(plan, rng);
    }
    // The first plan, and one that found nothing new, is random.
    for (int64_t misses = 0;
         plan.empty() || (!model_.fitted() && std::ssize(plan) < options_.plan);) {
      Configuration configuration = group_.Sample(rng);
      if (visited_.insert(HashOf(configuration)).second) {
        plan.push_back(std::move(configuration));
      } else if (++misses == 10'000) {
        break;
      }
    }
    return plan;
  }

  void Observe(std::span<const ConfigurationOutcome> outcomes) override {
    for (const ConfigurationOutcome& outcome : outcomes) model_.Add(outcome);
    model_.Fit();
  }

 private:
  double Score(const Configuration& configuration) const {
    std::vector<double> layers;
    for (size_t layer = 0; layer < configuration.points.size(); ++layer) {
      layers.push_back(
          model_.PredictLayer(configuration.hardware, layer, configuration.points[layer]));
    }
    return model_.Combine(layers);
  }

  // The best predictions that the walks came by and that were not measured yet.
  std::vector<Configuration> Explore(CounterRng& rng) {
    std::map<uint64_t, std::pair<double, Configuration>> found;
    int64_t episodes = 0;
    std::vector<int64_t> steps(kWalkers);
    for (int64_t walker = 0; walker < kWalkers; ++walker)
      policy_.Restart(walker, group_.Sample(rng));
    std::vector<bool> ends;
    while (episodes < options_.episodes && !Abandoned()) {
      policy_.Move(rng, ends);
      std::vector<float> rewards;
      for (int64_t walker = 0; walker < kWalkers; ++walker) {
        const Configuration& configuration = policy_.at(walker);
        const double score = Score(configuration);
        rewards.push_back(static_cast<float>(score));
        const uint64_t hash = HashOf(configuration);
        if (!visited_.contains(hash)) found.try_emplace(hash, score, configuration);
        if (++steps[static_cast<size_t>(walker)] >= options_.steps) {
          ends[static_cast<size_t>(walker)] = true;
        }
      }
      policy_.Reward(rewards, ends);
      for (int64_t walker = 0; walker < kWalkers; ++walker) {
        if (!ends[static_cast<size_t>(walker)]) continue;
        ++episodes;
        steps[static_cast<size_t>(walker)] = 0;
        policy_.Restart(walker, group_.Sample(rng));
      }
    }
    std::vector<std::pair<double, Configuration>> sorted;
    for (auto& [hash, item] : found) sorted.push_back(std::move(item));
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Configuration> plan;
    for (auto& [score, configuration] : sorted) {
      if (std::ssize(plan) == options_.plan) break;
      plan.push_back(std::move(configuration));
    }
    if (!options_.sampling) {
      for (const Configuration& configuration : plan) visited_.insert(HashOf(configuration));
    }
    return plan;
  }

  // Clusters of the candidates in the plane of the two knobs with the most values; a measurement
  // for each centroid, its other knobs drawn from the candidates.
  std::vector<Configuration> Sample(const std::vector<Configuration>& candidates, CounterRng& rng) {
    std::vector<size_t> knobs(group_.knobs());
    std::iota(knobs.begin(), knobs.end(), size_t{0});
    const Configuration& first = candidates.front();
    std::stable_sort(knobs.begin(), knobs.end(), [&](size_t a, size_t b) {
      return group_.KnobSize(first, a) > group_.KnobSize(first, b);
    });
    std::vector<Place> places;
    for (const Configuration& candidate : candidates) {
      places.push_back(
          {group_.KnobIndex(candidate, knobs[0]), group_.KnobIndex(candidate, knobs[1])});
    }
    Clusters clusters = KMeans(places, kClusterStep, rng);
    for (int64_t count = 2 * kClusterStep; count <= options_.plan && !Abandoned();
         count += kClusterStep) {
      Clusters next = KMeans(places, count, rng);
      const bool enough = next.loss >= clusters.loss / kLossRatio;
      clusters = std::move(next);
      if (enough) break;
    }
    std::vector<Configuration> plan;
    for (const Place& centroid : clusters.centroids) {
      for (int tries = 0; tries < 200; ++tries) {
        Configuration drawn =
            candidates[static_cast<size_t>(rng.UniformInt(std::ssize(candidates)))];
        for (size_t i = 2; i < knobs.size(); ++i) {
          const Configuration& donor =
              candidates[static_cast<size_t>(rng.UniformInt(std::ssize(candidates)))];
          SetKnob(drawn, knobs[i], group_.KnobIndex(donor, knobs[i]), rng);
        }
        const bool set = SetKnob(drawn, knobs[0], centroid[0], rng) &&
                         SetKnob(drawn, knobs[1], centroid[1], rng);
        if (!set || !visited_.insert(HashOf(drawn)).second) continue;
        plan.push_back(std::move(drawn));
        break;
      }
    }
    return plan;
  }

  bool SetKnob(Configuration& configuration, size_t knob, int64_t index, CounterRng& rng) const {
    if (index >= group_.KnobSize(configuration, knob)) return false;
    return index == group_.KnobIndex(configuration, knob) ||
           group_.Set(configuration, knob, index, rng);
  }

  const Group& group_;
  const ChameleonOptions options_;
  TunerModel model_;
  KnobPolicy policy_;
  uint64_t rounds_ = 0;
  std::unordered_set<uint64_t> visited_;
};

class ChameleonSearcher final : public GroupSearcher {
 public:
  ChameleonSearcher(const JointSetup& setup, const ChameleonOptions& options)
      : GroupSearcher(setup) {
    AddTuners([&](const Group& group) { return std::make_unique<ChameleonTuner>(group, options); });
  }
};

}  // namespace

MethodInfo ChameleonMethod() {
  using O = ChameleonOptions;
  return DeclareMethod<ChameleonSearcher, O>(
      {.name = "chameleon",
       .summary = "one PPO agent on a cost model, measurements by clusters, as CHAMELEON tunes"},
      {{"features", &O::features, Choices{"loop", "knob"}, "what the trees see of a schedule"},
       {"sampling", &O::sampling, "adaptive sampling; off, the best candidates are measured"},
       {"plan", &O::plan, Range{8, 10'000}, "candidates per round"},
       {"episodes", &O::episodes, Range{1, 10'000}, "walks per round"},
       {"steps", &O::steps, Range{1, 100'000}, "steps of a walk at most"}});
}

}  // namespace tessera::coopt
