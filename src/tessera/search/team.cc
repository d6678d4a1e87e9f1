// Few samples by prediction: a critic that knows what a loop nest amounts to predicts the costs of
// many points, and only what is promising or informative is evaluated. Solved layers of the same
// kind are tried first. It once had a team of agents that proposed a part of the points, hence its
// name; without them it needs no more samples (docs/results/marl-mapping.md), so they left.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tessera/base/stop.h"
#include "tessera/search.h"
#include "tessera/search/critic.h"
#include "tessera/search/elites.h"
#include "tessera/search/history.h"
#include "tessera/search/log_cost.h"

namespace tessera {
namespace {

struct TeamOptions {
  int64_t start = 12;
  int64_t batch = 4;
  int64_t pool = 512;
  int64_t refine = 2;
  double fresh = 0.4;
  bool critic = true;
  bool nest = true;
  bool guess = true;
  double informative = 0.03;
  int64_t elites = 24;
  int64_t history = 160;
  int64_t patience = 400;
  int64_t hints = 4;
};

class TeamSearcher final : public Searcher {
 public:
  static Result<std::unique_ptr<Searcher>> Make(const SearchSetup& setup,
                                                const TeamOptions& options) {
    return std::unique_ptr<Searcher>(new TeamSearcher(setup, options));
  }

  std::vector<Point> Propose(int64_t n) override {
    CounterRng rng(seed_, StreamId("search.team"), rounds_++);
    // Batches grow with what is known: the first samples teach the most.
    constexpr int64_t kGrowth = 24, kMost = 64;
    const int64_t grown = std::clamp<int64_t>(std::ssize(trials_) / kGrowth, options_.batch, kMost);
    const int64_t count = std::min(n, grown);
    std::vector<Point> points;
    if (std::ssize(trials_) < std::ssize(hints_)) {
      points = Hints(count);
    } else if (std::ssize(trials_) < options_.start + std::ssize(hints_) ||
               champions_.entries().empty()) {
      points = Start(count, rng);
    } else {
      points = Choose(count, rng);
    }
    std::vector<double> rows;
    critic_.Encode(points, rows);
    for (size_t i = 0; i < points.size(); ++i) {
      seen_.insert(PointHash()(points[i]));
      nests_.insert(critic_.Signature(Row(rows, i)));
    }
    return points;
  }

  void Observe(std::span<const Trial> trials) override {
    for (const Trial& trial : trials) {
      // A life that has seen nothing feasible learns what comes closer.
      const double cost =
          BestOfLife() < kInfeasibleCost ? LogCost(trial.outcome) : OrderedCost(trial.outcome);
      if (cost < BestOfLife() - kGain) improved_ = std::ssize(trials_);
      elites_.Add(trial.point, cost);
      champions_.Add(trial.point, cost);
      trials_.push_back(trial);
      if (trial.outcome.feasible()) product_ = product_ && IsProduct(trial.outcome);
      costs_.push_back(cost);
    }
    if (std::ssize(trials_) - improved_ >= options_.patience) StartLife();
  }

  std::vector<Note> Notes() const override { return {{"lives", lives_}}; }

 private:
  static constexpr double kGain = 1e-6;  // of the logarithm of the cost: what counts as better
  static constexpr double kNothing = std::numeric_limits<double>::infinity();

  TeamSearcher(const SearchSetup& setup, const TeamOptions& options)
      : space_(setup.space),
        options_(options),
        seed_(setup.seed),
        hints_(setup.hints),
        critic_(setup.space, {.nest = options.nest}, setup.seed),
        elites_(static_cast<size_t>(options.elites)),
        champions_(static_cast<size_t>(options.elites)) {
    if (std::ssize(hints_) > options.hints) hints_.resize(static_cast<size_t>(options.hints));
  }

  double BestOfLife() const {
    return elites_.entries().empty() ? kNothing : elites_.entries().front().cost;
  }

  std::span<const double> Row(std::span<const double> rows, size_t i) const {
    return rows.subspan(i * critic_.columns(), critic_.columns());
  }

  static bool IsProduct(const Outcome& outcome) {
    const double product = outcome.cycles * outcome.energy_pj;
    return product > 0 && std::abs(outcome.value - product) <= 1e-9 * product;
  }

  // Good points of solved layers.
  std::vector<Point> Hints(int64_t n) const {
    const auto first = hints_.begin() + std::ssize(trials_);
    const auto last = first + std::min<int64_t>(n, hints_.end() - first);
    return std::vector<Point>(first, last);
  }

  // The first points: those that look best before anything is known, within sizes that fall from
  // point to point and again from batch to batch, so that something fits the memories soon.
  std::vector<Point> Start(int64_t n, CounterRng& rng) {
    std::vector<Point> points, pool;
    if (!options_.guess) {
      for (int64_t i = 0; i < n; ++i) points.push_back(space_.Sample(rng, 0));
      return points;
    }
    constexpr int64_t kPerPoint = 128;
    for (int64_t i = 0; i < kPerPoint * n; ++i) pool.push_back(space_.Sample(rng, 0));
    std::vector<double> rows;
    critic_.Encode(pool, rows);
    std::vector<std::pair<double, size_t>> order;
    for (size_t i = 0; i < pool.size(); ++i) order.push_back({critic_.Guess(Row(rows, i)), i});
    std::sort(order.begin(), order.end());
    constexpr int64_t kSizes = 4;
    for (int64_t i = 0; i < n; ++i) {
      const double most = size_limit_ * std::pow(0.5, static_cast<double>(i % kSizes));
      auto pick = std::find_if(order.begin(), order.end(), [&](const auto& entry) {
        return critic_.SizeRank(Row(rows, entry.second)) <= most;
      });
      if (pick == order.end()) pick = order.begin();
      points.push_back(pool[pick->second]);
      order.erase(pick);
    }
    size_limit_ /= 2;
    return points;
  }

  std::vector<Point> Choose(int64_t n, CounterRng& rng) {
    std::vector<Point> pool = Pool(rng);
    if (!options_.critic) {
      pool.resize(std::min(pool.size(), static_cast<size_t>(n)));
      return pool;
    }
    FitCritic(rng);
    Consider(pool);
    for (int64_t i = 0; i < options_.refine && !Abandoned(); ++i) {
      Refine(pool, rng);
      Consider(pool);
    }
    return Pick(pool, n);
  }

  // Changed good points, and some from anywhere; none was tried before.
  std::vector<Point> Pool(CounterRng& rng) const {
    std::vector<Point> pool;
    std::unordered_set<size_t> fresh;
    constexpr int64_t kTriesEach = 8;
    for (int64_t i = 0; i < kTriesEach * options_.pool; ++i) {
      if (std::ssize(pool) == options_.pool || Abandoned()) break;
      const bool anywhere = rng.Uniform() < options_.fresh || elites_.entries().empty();
      const Point point = anywhere ? space_.Sample(rng, 0) : Changed(elites_.entries(), rng);
      const size_t hash = PointHash()(point);
      if (!seen_.contains(hash) && fresh.insert(hash).second) pool.push_back(point);
    }
    if (pool.empty()) pool.push_back(space_.Sample(rng, 0));  // All is known.
    return pool;
  }

  // A good point, perhaps crossed with another, and a few steps away.
  Point Changed(std::span<const Elites::Entry> good, CounterRng& rng) const {
    const auto pick = [&]() -> const Point& {
      const int64_t most = std::ssize(good);
      return good[static_cast<size_t>(std::min(rng.UniformInt(most), rng.UniformInt(most)))].point;
    };
    constexpr double kCross = 0.3;
    constexpr int64_t kMostSteps = 4;
    Point point = pick();
    if (rng.Uniform() < kCross) {
      const Point& other = pick();
      for (const size_t i : space_.open()) {
        if (rng.Bits32() & 1) point[i] = other[i];
      }
      space_.Repair(point);
    }
    for (int64_t steps = 1 + rng.UniformInt(kMostSteps); steps > 0; --steps) {
      point = space_.Neighbor(point, rng);
    }
    return point;
  }

  // The critic learns from the best samples, the latest ones and a random rest, and from failures.
  void FitCritic(CounterRng& rng) {
    // How far infeasible points are matters only as long as there are no others.
    const bool lost = champions_.entries().front().cost >= kInfeasibleCost;
    std::vector<size_t> known, failed;
    for (size_t i = 0; i < trials_.size(); ++i) {
      (lost || costs_[i] < kInfeasibleCost ? known : failed).push_back(i);
    }
    const size_t limit = static_cast<size_t>(options_.history);
    std::vector<Point> points;
    std::vector<CriticCost> costs;
    const auto cost = [&](size_t i) { return costs_[known[i]]; };
    for (const size_t i : ChooseHistory(known.size(), limit, limit / 2, cost, rng)) {
      points.push_back(trials_[known[i]].point);
      costs.push_back(Factors(known[i]));
    }
    const auto equal = [](size_t /*i*/) { return 0.0; };
    for (const size_t i : ChooseHistory(failed.size(), limit / 2, 0, equal, rng)) {
      points.push_back(trials_[failed[i]].point);
      costs.push_back({.first = kNothing});
    }
    std::vector<double> rows;
    critic_.Encode(points, rows);
    critic_.Fit(rows, costs);
  }

  // Cycles and energy where the objective is their product, otherwise the objective alone.
  CriticCost Factors(size_t i) const {
    const Outcome& outcome = trials_[i].outcome;
    if (!product_ || !outcome.feasible()) return {.first = costs_[i]};
    const double cycles = std::log(outcome.cycles);
    return {.first = cycles, .second = costs_[i] - cycles};
  }

  void Consider(const std::vector<Point>& pool) {
    std::vector<double> rows;
    critic_.Encode(pool, rows);
    critic_.Consider(rows);
    // What amounts to something that was tried is hardly worth a sample.
    constexpr double kAgain = 0.1;
    novelty_.clear();
    for (size_t i = 0; i < pool.size(); ++i) {
      novelty_.push_back(nests_.contains(critic_.Signature(Row(rows, i))) ? kAgain : 1.0);
    }
  }

  // What a candidate has to beat; finite, so that products with it are numbers.
  double Incumbent() const { return std::min(BestOfLife(), 1e300); }

  // How much better than `best` a candidate is expected to be.
  double Gain(size_t i, double best) const {
    return novelty_[i] * critic_.feasible(i) *
           ExpectedImprovement(best, critic_.mean(i), critic_.deviation(i));
  }

  std::vector<std::pair<double, size_t>> Ranked(size_t count) const {
    std::vector<std::pair<double, size_t>> ranked;
    for (size_t i = 0; i < count; ++i) ranked.push_back({-Gain(i, Incumbent()), i});
    std::sort(ranked.begin(), ranked.end());
    return ranked;
  }

  // Replaces what the critic thinks little of by neighbours of what it likes.
  void Refine(std::vector<Point>& pool, CounterRng& rng) const {
    constexpr size_t kKept = 64;
    const std::vector<std::pair<double, size_t>> ranked = Ranked(pool.size());
    std::vector<Point> next;
    std::unordered_set<size_t> fresh;
    for (size_t i = 0; i < std::min(kKept, pool.size()); ++i) {
      next.push_back(pool[ranked[i].second]);
      fresh.insert(PointHash()(next.back()));
    }
    const int64_t kept = std::ssize(next);
    for (int64_t i = 0; i < 4 * options_.pool && std::ssize(next) < options_.pool; ++i) {
      Point point = next[static_cast<size_t>(std::min(rng.UniformInt(kept), rng.UniformInt(kept)))];
      for (int64_t steps = 1 + rng.UniformInt(2); steps > 0; --steps) {
        point = space_.Neighbor(point, rng);
      }
      const size_t hash = PointHash()(point);
      if (!seen_.contains(hash) && fresh.insert(hash).second) next.push_back(point);
    }
    pool = std::move(next);
  }

  // The candidate of the highest score that is not taken.
  template <typename Score>
  static size_t Highest(const std::vector<bool>& taken, const Score& score) {
    size_t winner = taken.size();
    double most = -kNothing;
    for (size_t i = 0; i < taken.size(); ++i) {
      if (taken[i]) continue;
      const double value = score(i);
      if (winner < taken.size() && !(value > most)) continue;
      most = value;
      winner = i;
    }
    return winner;
  }

  // What promises the largest gain. Where little is promised, every second
  // point is one that could be good for all that the critic knows.
  std::vector<Point> Pick(const std::vector<Point>& pool, int64_t n) {
    std::vector<Point> chosen;
    std::vector<bool> taken(pool.size());
    double best = Incumbent();
    const auto promise = [&](size_t i) { return Gain(i, best); };
    const auto hope = [&](size_t i) {
      constexpr double kBold = 2.0;  // deviations
      const double most = best - critic_.mean(i) + kBold * critic_.deviation(i);
      return novelty_[i] * critic_.feasible(i) * std::max(0.0, most);
    };
    while (std::ssize(chosen) < n && chosen.size() < pool.size() && !Abandoned()) {
      size_t winner = Highest(taken, promise);
      const bool inform = chosen.size() % 2 == 0 && promise(winner) < options_.informative;
      if (inform) winner = Highest(taken, hope);
      taken[winner] = true;
      chosen.push_back(pool[winner]);
      critic_.Believe(winner);
      // Once it is believed, only what is better still promises a gain.
      best = std::min(best, critic_.mean(winner));
    }
    return chosen;
  }

  // Who finds nothing better looks elsewhere; every second time it returns to the best points of
  // all lives. The critic keeps what it knows.
  void StartLife() {
    ++lives_;
    improved_ = std::ssize(trials_);
    elites_ = lives_ % 2 == 0 ? Elites(static_cast<size_t>(options_.elites)) : champions_;
  }

  const DecisionSpace& space_;
  const TeamOptions options_;
  const uint64_t seed_;
  std::vector<Point> hints_;
  Critic critic_;
  Elites elites_;        // of this life
  Elites champions_;     // of all lives
  bool product_ = true;  // whether the objective is cycles times energy
  double size_limit_ = 0.5;
  uint64_t rounds_ = 0;
  int64_t improved_ = 0, lives_ = 1;
  std::vector<Trial> trials_;
  std::vector<double> costs_;  // of trials_
  std::unordered_set<size_t> seen_;
  std::unordered_set<size_t> nests_;  // the signatures of what was tried
  std::vector<double> novelty_;       // of the candidates considered
};

}  // namespace

MethodInfo TeamMethod() {
  using O = TeamOptions;
  return DeclareMethod<TeamSearcher, O>(
      {.name = "team",
       .summary =
           "few samples: a critic predicts what points cost, the most promising are evaluated",
       .takes_hints = true},
      {{"start", &O::start, Range{1, 10'000}, "samples before the first prediction"},
       {"batch", &O::batch, Range{1, 1000}, "points chosen at a time at first"},
       {"pool", &O::pool, Range{1, 100'000}, "points that the critic compares"},
       {"refine", &O::refine, Range{0, 20}, "times that the pool is improved before the choice"},
       {"fresh", &O::fresh, Range{0, 1},
        "part of the pool that is random, the rest changed elites"},
       {"critic", &O::critic, "whether a critic chooses; otherwise all of the pool is evaluated"},
       {"nest", &O::nest, "whether the critic sees what a loop nest amounts to"},
       {"guess", &O::guess, "whether the first points are those that look good, not random ones"},
       {"informative", &O::informative, Range{0, 1},
        "expected gain, as a part of the cost, below which every second point is one that the "
        "critic is unsure of"},
       {"elites", &O::elites, Range{1, 10'000}, "best points kept"},
       {"history", &O::history, Range{8, 2000}, "points that the critic learns from"},
       {"patience", &O::patience, Range{1, 1e9},
        "samples without a better point after which it looks elsewhere"},
       {"hints", &O::hints, Range{0, 1000}, "points of solved layers that are tried first"}});
}

}  // namespace tessera
