// The flagship: a team of agents proposes, a critic predicts, and only what is promising or
// informative is evaluated.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <unordered_set>

#include "tessera/agents/assignment.h"
#include "tessera/search/critic.h"
#include "tessera/search/elites.h"
#include "tessera/search/log_cost.h"
#include "tessera/search/method.h"
#include "tessera/search/policy.h"

namespace tessera {
namespace {

struct TeamOptions {
  int64_t start = 4;
  int64_t batch = 4;
  int64_t pool = 384;
  double raw = 0.3;
  bool nest = true;
  bool guess = true;
  bool capacity = true;
  int64_t stages = 2;
  int64_t history = 160;
};

class TeamSearcher final : public Searcher {
 public:
  TeamSearcher(const SearchSetup& setup, const TeamOptions& options)
      : space_(setup.space),
        options_(options),
        seed_(setup.seed),
        samples_(setup.samples),
        critic_(space_,
                {.nest = options.nest,
                 .raw = options.raw,
                 .capacity = options.capacity,
                 .history = options.history},
                seed_),
        elites_(32) {}

  std::vector<Point> Propose(int64_t n) override {
    const bool learned = std::ssize(known_) >= options_.start && best_ < kNothing;
    const int64_t growth = std::ssize(known_) / 16;
    const int64_t count = std::min(n, std::clamp<int64_t>(growth, options_.batch, 64));
    CounterRng rng(seed_, StreamId("search.team"), rounds_++);
    return learned ? Choose(count, rng) : Start(std::min(count, options_.start), rng);
  }

  void Observe(std::span<const Trial> trials) override {
    for (const Trial& trial : trials) {
      const double cost = LogCost(trial.outcome);
      best_ = std::min(best_, cost);
      elites_.Add(trial.point, cost);
      known_.push_back({trial.point, cost});
    }
  }

 private:
  static constexpr double kNothing = std::numeric_limits<double>::infinity();
  struct Known {
    Point point;
    double cost;
  };

  // The first points: those that look good, and unlike each other.
  std::vector<Point> Start(int64_t n, CounterRng& rng) {
    std::vector<Point> pool;
    for (int64_t i = 0; i < (options_.guess ? 64 * n : n); ++i)
      pool.push_back(space_.Sample(rng, 8));
    if (!options_.guess) {
      for (const Point& p : pool) seen_.insert(PointHash()(p));
      return pool;
    }
    std::vector<double> rows;
    critic_.Encode(pool, rows);
    std::vector<std::pair<double, size_t>> order;
    for (size_t i = 0; i < pool.size(); ++i) {
      order.push_back(
          {critic_.Guess(std::span(rows).subspan(i * critic_.columns(), critic_.columns())), i});
    }
    std::sort(order.begin(), order.end());
    std::vector<Point> points;
    std::vector<bool> taken(pool.size());
    for (int64_t i = 0; i < n; ++i) {
      const double limit = size_limit_ * std::pow(0.5, static_cast<double>(i % 4));
      size_t pick = pool.size();
      for (const auto& [guess, at] : order) {
        if (taken[at]) continue;
        const auto row = std::span(rows).subspan(at * critic_.columns(), critic_.columns());
        if (pick == pool.size() || critic_.SizeRank(row) <= limit) pick = at;
        if (critic_.SizeRank(row) <= limit) break;
      }
      taken[pick] = true;
      points.push_back(pool[pick]);
      seen_.insert(PointHash()(points.back()));
    }
    size_limit_ /= 2;
    return points;
  }

  std::vector<Point> Pool(CounterRng& rng) const {
    std::vector<Point> pool;
    std::unordered_set<size_t> fresh;
    const auto entries = elites_.entries();
    for (int64_t i = 0; i < 8 * options_.pool && std::ssize(pool) < options_.pool; ++i) {
      Point point;
      if (rng.Uniform() < 0.75) {
        const int64_t most = std::ssize(entries);
        const int64_t anchor = std::min(rng.UniformInt(most), rng.UniformInt(most));
        point = entries[static_cast<size_t>(anchor)].point;
        if (rng.Uniform() < 0.3) {
          const Point& other = entries[static_cast<size_t>(rng.UniformInt(most))].point;
          for (const size_t d : space_.open()) {
            if (rng.Bits32() & 1) point[d] = other[d];
          }
          space_.Repair(point);
        }
        for (int64_t steps = 1 + rng.UniformInt(4); steps > 0; --steps) {
          point = space_.Neighbor(point, rng);
        }
      } else {
        point = space_.Sample(rng, 8);
      }
      const size_t hash = PointHash()(point);
      if (!seen_.contains(hash) && fresh.insert(hash).second) pool.push_back(point);
    }
    if (pool.empty()) pool.push_back(space_.Sample(rng, 64));
    return pool;
  }

  std::vector<Point> Choose(int64_t n, CounterRng& rng) {
    std::vector<size_t> order(known_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return known_[a].cost < known_[b].cost; });
    // Half best, half others.
    const size_t limit = static_cast<size_t>(options_.history);
    if (order.size() > 2 * limit) {
      for (size_t i = limit / 2; i < 2 * limit; ++i) {
        std::swap(
            order[i],
            order[i + static_cast<size_t>(rng.UniformInt(static_cast<int64_t>(order.size() - i)))]);
      }
      order.resize(2 * limit);
    } else {
      // interleave so that infeasible ones are seen
    }
    std::vector<Point> points;
    std::vector<double> costs, rows;
    for (const size_t i : order) {
      points.push_back(known_[i].point);
      costs.push_back(known_[i].cost);
    }
    critic_.Encode(points, rows);
    critic_.Fit(rows, costs);
    std::vector<Point> pool = Pool(rng);
    critic_.Encode(pool, rows);
    critic_.Consider(rows);
    for (int64_t stage = 1; stage < options_.stages; ++stage) {
      std::vector<std::pair<double, size_t>> ranked;
      for (size_t i = 0; i < pool.size(); ++i) ranked.push_back({-Gain(i), i});
      std::sort(ranked.begin(), ranked.end());
      const size_t keep = std::min<size_t>(pool.size(), 64);
      std::vector<Point> next;
      std::unordered_set<size_t> fresh;
      for (size_t i = 0; i < keep; ++i) {
        next.push_back(pool[ranked[i].second]);
        fresh.insert(PointHash()(next.back()));
      }
      for (int64_t i = 0; i < 4 * options_.pool && std::ssize(next) < options_.pool; ++i) {
        const int64_t most = static_cast<int64_t>(keep);
        Point point =
            next[static_cast<size_t>(std::min(rng.UniformInt(most), rng.UniformInt(most)))];
        for (int64_t steps = 1 + rng.UniformInt(2); steps > 0; --steps) {
          point = space_.Neighbor(point, rng);
        }
        const size_t hash = PointHash()(point);
        if (!seen_.contains(hash) && fresh.insert(hash).second) next.push_back(point);
      }
      pool = std::move(next);
      critic_.Encode(pool, rows);
      critic_.Consider(rows);
    }
    std::vector<Point> chosen;
    std::vector<bool> taken(pool.size());
    while (std::ssize(chosen) < n && chosen.size() < pool.size()) {
      size_t winner = pool.size();
      double most = -1;
      for (size_t i = 0; i < pool.size(); ++i) {
        if (taken[i]) continue;
        const double gain =
            critic_.feasible(i) * ExpectedImprovement(best_, critic_.mean(i), critic_.deviation(i));
        if (gain > most) {
          most = gain;
          winner = i;
        }
      }
      taken[winner] = true;
      chosen.push_back(pool[winner]);
      seen_.insert(PointHash()(pool[winner]));
      critic_.Believe(winner);
    }
    return chosen;
  }

  double Gain(size_t i) const {
    return critic_.feasible(i) * ExpectedImprovement(best_, critic_.mean(i), critic_.deviation(i));
  }

  const DecisionSpace& space_;
  const TeamOptions options_;
  const uint64_t seed_;
  const int64_t samples_;
  Critic critic_;
  Elites elites_;
  double best_ = kNothing;
  double size_limit_ = 0.5;
  uint64_t rounds_ = 0;
  std::vector<Known> known_;
  std::unordered_set<size_t> seen_;
};

}  // namespace

SearcherInfo TeamMethod() {
  using Options = TeamOptions;
  return DeclareMethod<TeamSearcher, Options>(
      "team", "the flagship: agents propose, a critic predicts, the promising is evaluated",
      {{"start", &Options::start, Range{1, 10'000}, "samples before the first prediction"},
       {"batch", &Options::batch, Range{1, 1000}, "points chosen at a time"},
       {"pool", &Options::pool, Range{1, 100'000}, "points compared by the critic"},
       {"raw", &Options::raw, Range{0, 10}, "weight of raw"},
       {"nest", &Options::nest, "features of nests"},
       {"capacity", &Options::capacity, "capacity"},
       {"stages", &Options::stages, Range{1, 10}, "stages"},
       {"guess", &Options::guess, "guess"},
       {"history", &Options::history, Range{8, 2000}, "points that the critic learns from"}});
}

}  // namespace tessera
