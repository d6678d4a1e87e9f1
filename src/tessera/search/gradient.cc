// Descent through a learned critic: a network learns the logarithm of the cost from the samples so
// far, and good points are moved downhill along its gradient, relaxed to real numbers and rounded
// back (the idea of Mind Mappings, with a critic that is trained during the search).
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_set>
#include <vector>

#include "tessera/base/stop.h"
#include "tessera/nn/adam.h"
#include "tessera/nn/init.h"
#include "tessera/nn/mlp.h"
#include "tessera/search.h"
#include "tessera/search/elites.h"
#include "tessera/search/log_cost.h"
#include "tessera/space/features.h"

namespace tessera {
namespace {

struct GradientOptions {
  int64_t start = 64;
  int64_t batch = 16;
  int64_t lessons = 80;
  int64_t hidden = 48;
  double learning_rate = 0.01;
  int64_t steps = 24;
  double rate = 0.01;
  double noise = 0.1;
  double fresh = 0.1;
  int64_t elites = 32;
};

constexpr int64_t kRows = kBlockRows;  // of a lesson

class GradientSearcher final : public Searcher {
 public:
  GradientSearcher(const SearchSetup& setup, const GradientOptions& options)
      : space_(setup.space),
        options_(options),
        seed_(setup.seed),
        features_(space_),
        width_(std::max<int64_t>(1, static_cast<int64_t>(features_.size()))),
        layout_({.inputs = width_, .hidden = {options.hidden, options.hidden}, .outputs = 1}),
        pass_(BestKernels(), layout_, InputMap::Range(0, width_), kRows),
        adam_(BestKernels(), layout_.tensors(), {.learning_rate = options.learning_rate}),
        parameters_(layout_.Allocate()),
        gradient_(layout_.Allocate()),
        x_(width_, kRows),
        output_gradient_(1, kRows),
        elites_(static_cast<size_t>(options.elites)) {
    InitGlorotUniform(layout_, seed_, StreamId("search.gradient.init"), parameters_.span());
  }

  std::vector<Point> Propose(int64_t n) override {
    const bool learned = std::ssize(costs_) >= options_.start && !elites_.entries().empty();
    CounterRng rng(seed_, StreamId("search.gradient"), rounds_++);
    std::vector<Point> points;
    if (!learned || features_.size() == 0) {
      for (int64_t i = 0; i < std::min(n, options_.start); ++i) {
        points.push_back(space_.Sample(rng, 0));
      }
    } else {
      for (int64_t i = 0; i < options_.lessons && !Abandoned(); ++i) Lesson(rng);
      points = Descend(std::min({n, options_.batch, kRows}), rng);
    }
    for (const Point& point : points) seen_.insert(PointHash()(point));
    return points;
  }

  void Observe(std::span<const Trial> trials) override {
    std::vector<double> row(features_.size());
    for (const Trial& trial : trials) {
      const double cost = LogCost(trial.outcome);
      elites_.Add(trial.point, cost);
      features_.Encode(trial.point, row);
      rows_.insert(rows_.end(), row.begin(), row.end());
      costs_.push_back(cost);
      if (!std::isfinite(cost)) continue;
      worst_ = std::max(worst_, cost);
      ++feasible_;
      const double step = cost - mean_;
      mean_ += step / feasible_;
      squares_ += step * (cost - mean_);
    }
  }

 private:
  // What the network should say: 0 on average, 1 is one deviation; infeasible is worse than all.
  double Target(double cost) const {
    const double deviation = feasible_ > 1 ? std::sqrt(squares_ / (feasible_ - 1)) : 0;
    const double scale = deviation > 1e-9 ? deviation : 1.0;
    return ((std::isfinite(cost) ? cost : worst_) - mean_) / scale + !std::isfinite(cost);
  }

  // One step of Adam on squared errors of random samples, half of them from the latest quarter.
  void Lesson(CounterRng& rng) {
    const int64_t known = std::ssize(costs_);
    std::vector<double> targets;
    x_.set_rows(kRows);
    for (int64_t row = 0; row < kRows; ++row) {
      const int64_t among = row % 2 == 0 ? known : std::max<int64_t>(1, known / 4);
      const size_t pick = static_cast<size_t>(known - 1 - rng.UniformInt(among));
      for (int64_t f = 0; f < width_; ++f) {
        x_.Set(row, f, static_cast<float>(rows_[pick * features_.size() + static_cast<size_t>(f)]));
      }
      targets.push_back(Target(costs_[pick]));
    }
    pass_.Bind(parameters_.data());
    pass_.Forward(x_);
    output_gradient_.set_rows(kRows);
    for (int64_t row = 0; row < kRows; ++row) {
      const double error = pass_.output().Get(row, 0) - targets[static_cast<size_t>(row)];
      output_gradient_.Set(row, 0, static_cast<float>(2 * error / kRows));
    }
    pass_.Backward(x_, output_gradient_, gradient_.data());
    adam_.Step(gradient_.data(), parameters_.data());
  }

  std::vector<Point> Descend(int64_t n, CounterRng& rng) {
    Start(n, rng);
    output_gradient_.set_rows(n);
    for (int64_t row = 0; row < kRows; ++row) output_gradient_.Set(row, 0, row < n ? 1.0f : 0.0f);
    std::vector<float> slope(static_cast<size_t>(width_ * kBlockRows));
    pass_.Bind(parameters_.data());
    for (int64_t step = 0; step < options_.steps && !Abandoned(); ++step) {
      pass_.Forward(x_);
      pass_.Backward(x_, output_gradient_, nullptr);
      pass_.InputGradient(0, 0, width_, slope.data());
      for (int64_t row = 0; row < n; ++row) Step(row, slope);
    }
    std::vector<Point> points;
    constexpr int kTries = 8;  // for a point that was not tried before
    for (int64_t row = 0; row < n; ++row) {
      Point point = Round(row);
      for (int i = 0; i < kTries && seen_.contains(PointHash()(point)); ++i) {
        point = space_.Neighbor(point, rng);
      }
      seen_.insert(PointHash()(point));
      points.push_back(point);
    }
    return points;
  }

  // Good points and a few random ones, shaken.
  void Start(int64_t n, CounterRng& rng) {
    std::vector<double> row(features_.size());
    const int64_t good = std::ssize(elites_.entries());
    x_.set_rows(n);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t anchor = std::min(rng.UniformInt(good), rng.UniformInt(good));
      const Point point = rng.Uniform() < options_.fresh
                              ? space_.Sample(rng, 0)
                              : elites_.entries()[static_cast<size_t>(anchor)].point;
      features_.Encode(point, row);
      for (size_t f = 0; f < row.size(); ++f) {
        x_.Set(i, static_cast<int64_t>(f),
               static_cast<float>(row[f] + options_.noise * rng.Normal()));
      }
    }
  }

  // One step downhill of equal length for all rows, within the box of features.
  void Step(int64_t row, const std::vector<float>& slope) {
    double norm = 0;
    for (int64_t f = 0; f < width_; ++f) {
      const double s = slope[static_cast<size_t>(f * kBlockRows + row)];
      norm += s * s;
    }
    if (norm < 1e-20) return;
    const double scale = options_.rate * std::sqrt(static_cast<double>(width_) / norm);
    for (int64_t f = 0; f < width_; ++f) {
      const double moved =
          x_.Get(row, f) - scale * slope[static_cast<size_t>(f * kBlockRows + row)];
      x_.Set(row, f, static_cast<float>(std::clamp(moved, 0.0, 1.0)));
    }
  }

  // The nearest point: numbers by their place, choices by the largest column, orders by sorting.
  Point Round(int64_t row) const {
    Point point(space_.size());
    int64_t column = 0;
    for (const size_t i : space_.open()) {
      const Decision& decision = space_.decisions()[i];
      if (decision.kind() == DecisionKind::kOrdinal) {
        point[i] = NearestNumber(decision, x_.Get(row, column++));
        continue;
      }
      const size_t labels = decision.labels().size();
      std::vector<uint8_t> order(labels);
      std::iota(order.begin(), order.end(), uint8_t{0});
      std::stable_sort(order.begin(), order.end(), [&](uint8_t a, uint8_t b) {
        return x_.Get(row, column + a) < x_.Get(row, column + b);
      });
      if (decision.kind() == DecisionKind::kPermutation) {
        Permutation permutation{.size = labels};
        std::copy(order.begin(), order.end(), permutation.items.begin());
        point[i] = decision.IndexOfOrder(permutation);
      } else {
        // Labels that constraints removed are skipped.
        while (order.size() > 1 && decision.Find(order.back()) < 0) order.pop_back();
        point[i] = std::max(0, decision.Find(order.back()));
      }
      column += static_cast<int64_t>(labels);
    }
    space_.Repair(point);
    return point;
  }

  static int32_t NearestNumber(const Decision& decision, double place) {
    const double least = static_cast<double>(decision.value(0));
    const double most = static_cast<double>(decision.value(decision.size() - 1));
    if (least <= 0) {
      return static_cast<int32_t>(std::lround(std::clamp(place, 0.0, 1.0) * (decision.size() - 1)));
    }
    return decision.Nearest(least * std::pow(most / least, std::clamp(place, 0.0, 1.0)));
  }

  const DecisionSpace& space_;
  const GradientOptions options_;
  const uint64_t seed_;
  const Features features_;
  const int64_t width_;
  const MlpLayout layout_;
  MlpPass pass_;
  Adam adam_;
  AlignedBuffer<float> parameters_, gradient_;
  FeatureBatch x_, output_gradient_;
  Elites elites_;
  uint64_t rounds_ = 0;
  std::vector<double> rows_, costs_;
  double feasible_ = 0, mean_ = 0, squares_ = 0;
  double worst_ = -std::numeric_limits<double>::infinity();
  std::unordered_set<size_t> seen_;
};

}  // namespace

MethodInfo GradientMethod() {
  using O = GradientOptions;
  return DeclareMethod<GradientSearcher, O>(
      {.name = "gradient",
       .summary = "descent through a critic network that is trained during the search"},
      {{"start", &O::start, Range{1, 100'000}, "random samples before the first descent"},
       {"batch", &O::batch, Range{1, 64}, "points moved downhill at a time"},
       {"lessons", &O::lessons, Range{1, 1000}, "steps of learning per batch"},
       {"hidden", &O::hidden, Range{1, 1024}, "width of the critic's two hidden layers"},
       {"learning_rate", &O::learning_rate, Range{1e-7, 1}, "of the critic"},
       {"steps", &O::steps, Range{0, 1000}, "steps downhill"},
       {"rate", &O::rate, Range{0, 1}, "length of a step per feature"},
       {"noise", &O::noise, Range{0, 1}, "how much start points are shaken"},
       {"fresh", &O::fresh, Range{0, 1}, "part of the start points that is random"},
       {"elites", &O::elites, Range{1, 10'000}, "best points to start from"}});
}

}  // namespace tessera
