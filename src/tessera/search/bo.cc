// Bayesian optimization: a Gaussian process of the logarithm of the cost, and the candidates that
// promise the largest improvement. Of a long history it learns from the best points, the latest
// ones and a random rest, so that the time per sample stays bounded.
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "tessera/base/stop.h"
#include "tessera/search.h"
#include "tessera/search/gp.h"
#include "tessera/search/history.h"
#include "tessera/search/log_cost.h"
#include "tessera/space/features.h"

namespace tessera {
namespace {

struct BoOptions {
  int64_t start = 30;
  int64_t history = 192;
  int64_t candidates = 512;
  int64_t batch = 4;
  double local = 0.8;
  double noise = 0.001;
};

// Squared distances of rows add up over decisions; these factors give every decision the same say,
// whatever its kind: two random values of it are about as far apart as two random numbers.
double ColumnWeight(const DecisionSpace& space, const Features::Column& column) {
  switch (column.kind) {
    case DecisionKind::kOrdinal: return 1.0;
    case DecisionKind::kCategorical: return std::sqrt(0.1);
    case DecisionKind::kPermutation: break;
  }
  const double items = static_cast<double>(space.decisions()[column.decision].labels().size());
  return 1.0 / std::sqrt(items);
}

class BoSearcher final : public Searcher {
 public:
  BoSearcher(const SearchSetup& setup, const BoOptions& options)
      : space_(setup.space),
        options_(options),
        seed_(setup.seed),
        features_(space_),
        gp_(std::max<size_t>(1, features_.size())) {
    for (const Features::Column& column : features_.columns()) {
      weights_.push_back(ColumnWeight(space_, column));
    }
  }

  std::vector<Point> Propose(int64_t n) override {
    const bool learned = std::ssize(trials_) >= options_.start && best_ < kNothing;
    if (!learned || features_.size() == 0) return Draw(std::min(n, options_.start));
    // Batches grow with what is known, so that the time per sample falls.
    constexpr int64_t kGrowth = 64, kMost = 16;
    const int64_t grown = std::max(options_.batch, std::min(std::ssize(trials_) / kGrowth, kMost));
    return Choose(std::min(n, grown));
  }

  void Observe(std::span<const Trial> trials) override {
    for (const Trial& trial : trials) {
      const double cost = OrderedCost(trial.outcome);
      // The first feasible point ends the search for one: all others are as bad as the worst.
      if (cost < kInfeasibleCost && best_ >= kInfeasibleCost) worst_ = cost;
      best_ = std::min(best_, cost);
      if (std::isfinite(cost) && (cost < kInfeasibleCost || best_ >= kInfeasibleCost)) {
        worst_ = std::max(worst_, cost);
      }
      trials_.push_back({trial.point, cost});
    }
  }

 private:
  static constexpr double kNothing = std::numeric_limits<double>::infinity();

  struct Known {
    Point point;
    double cost;  // infinite: not feasible
  };

  std::vector<Point> Draw(int64_t n) {
    std::vector<Point> points;
    for (int64_t i = 0; i < n; ++i) {
      CounterRng rng(seed_, StreamId("search.bo.draw"), drawn_++);
      points.push_back(space_.Sample(rng, 0));
      seen_.insert(PointHash()(points.back()));
    }
    return points;
  }

  std::vector<Point> Choose(int64_t n) {
    CounterRng rng(seed_, StreamId("search.bo.choose"), rounds_++);
    const std::vector<size_t> history = History(rng);
    Learn(history);
    const std::vector<Point> candidates = Candidates(history, rng);
    std::vector<Point> chosen;
    if (Abandoned()) return chosen;
    gp_.Consider(Rows(candidates));
    std::vector<bool> taken(candidates.size());
    while (std::ssize(chosen) < n && chosen.size() < candidates.size() && !Abandoned()) {
      size_t winner = candidates.size();
      double most = -1;
      for (size_t i = 0; i < candidates.size(); ++i) {
        if (taken[i]) continue;
        const double gain = ExpectedImprovement(best_, gp_.mean(i), gp_.deviation(i));
        if (gain > most) {
          most = gain;
          winner = i;
        }
      }
      taken[winner] = true;
      chosen.push_back(candidates[winner]);
      seen_.insert(PointHash()(candidates[winner]));
      gp_.Believe(winner);
    }
    return chosen;
  }

  // Indices of the trials to learn from, the best first.
  std::vector<size_t> History(CounterRng& rng) const {
    const size_t limit = static_cast<size_t>(options_.history);
    const auto cost = [&](size_t i) { return trials_[i].cost; };
    return ChooseHistory(trials_.size(), limit, limit / 2, cost, rng);
  }

  void Learn(const std::vector<size_t>& history) {
    std::vector<Point> points;
    std::vector<double> costs;
    for (const size_t i : history) {
      points.push_back(trials_[i].point);
      costs.push_back(std::min(trials_[i].cost, worst_));  // Infeasible is as bad as the worst.
    }
    const std::vector<double> rows = Rows(points);
    // The evidence picks the length; it changes slowly, so neighbouring lengths are tried in turn.
    constexpr int kEvery = 16;
    if (rounds_ % kEvery == 1) {
      double most = -kNothing, chosen = length_;
      for (const double factor : {0.6, 0.8, 1.0, 1.25, 1.6}) {
        if (Abandoned()) return;
        const double length = std::clamp(length_ * factor, 0.1, 10.0);
        const double evidence = gp_.Fit(rows, costs, {.length = length, .noise = options_.noise});
        if (evidence > most) {
          most = evidence;
          chosen = length;
        }
      }
      length_ = chosen;
    }
    gp_.Fit(rows, costs, {.length = length_, .noise = options_.noise});
  }

  // Points not tried yet: near the best ones, or anywhere.
  std::vector<Point> Candidates(const std::vector<size_t>& history, CounterRng& rng) const {
    constexpr int64_t kAnchors = 16, kTriesEach = 8, kMostSteps = 4;
    const int64_t anchors = std::min<int64_t>(kAnchors, std::ssize(history));
    std::vector<Point> candidates;
    std::unordered_set<size_t> fresh;
    for (int64_t i = 0; i < kTriesEach * options_.candidates; ++i) {
      if (std::ssize(candidates) == options_.candidates || Abandoned()) break;
      Point point;
      if (rng.Uniform() < options_.local) {
        // Two draws, of which the better anchor wins.
        const int64_t anchor = std::min(rng.UniformInt(anchors), rng.UniformInt(anchors));
        point = trials_[history[static_cast<size_t>(anchor)]].point;
        for (int64_t steps = 1 + rng.UniformInt(kMostSteps); steps > 0; --steps) {
          point = space_.Neighbor(point, rng);
        }
      } else {
        point = space_.Sample(rng, 0);
      }
      const size_t hash = PointHash()(point);
      if (!seen_.contains(hash) && fresh.insert(hash).second) candidates.push_back(point);
    }
    if (candidates.empty()) candidates.push_back(space_.Sample(rng, 0));  // All is known.
    return candidates;
  }

  std::vector<double> Rows(const std::vector<Point>& points) const {
    const size_t width = features_.size();
    std::vector<double> rows(points.size() * width);
    for (size_t i = 0; i < points.size(); ++i) {
      const std::span<double> row(rows.data() + i * width, width);
      features_.Encode(points[i], row);
      for (size_t column = 0; column < width; ++column) row[column] *= weights_[column];
    }
    return rows;
  }

  const DecisionSpace& space_;
  const BoOptions options_;
  const uint64_t seed_;
  const Features features_;
  std::vector<double> weights_;
  GaussianProcess gp_;
  double length_ = 1.0;
  uint64_t drawn_ = 0, rounds_ = 0;
  double best_ = kNothing, worst_ = -kNothing;
  std::vector<Known> trials_;
  std::unordered_set<size_t> seen_;
};

}  // namespace

MethodInfo BoMethod() {
  return DeclareMethod<BoSearcher, BoOptions>(
      {.name = "bo",
       .summary =
           "Bayesian optimization: Gaussian process with a mixed kernel, expected improvement"},
      {{"start", &BoOptions::start, Range{2, 100'000}, "random samples before the first model"},
       {"history", &BoOptions::history, Range{8, 2000}, "points that the model learns from"},
       {"candidates", &BoOptions::candidates, Range{1, 100'000}, "points compared per choice"},
       {"batch", &BoOptions::batch, Range{1, 1000}, "points chosen with one model at first"},
       {"local", &BoOptions::local, Range{0, 1}, "part of the candidates near the best points"},
       {"noise", &BoOptions::noise, Range{1e-8, 1}, "variance that the model may leave over"}});
}

}  // namespace tessera
