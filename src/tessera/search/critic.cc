// Encoding and fitting of the critic.
#include "tessera/search/critic.h"

#include <algorithm>
#include <cmath>

#include "tessera/part.h"
#include "tessera/search/log_cost.h"

namespace tessera {

Critic::Critic(const DecisionSpace& space, const CriticOptions& options, uint64_t seed)
    : space_(space),
      options_(options),
      raw_(space),
      nest_(space),
      width_(std::max<size_t>(1, raw_.size() + (options.nest ? nest_.size() : 0))),
      shift_(width_, 0.0),
      scale_(width_, 1.0),
      group_(width_, 0),
      factors_{Factor(width_), Factor(width_)},
      feasibility_(width_) {
  if (options.nest) {
    for (const size_t column : nest_.WordsColumns()) {
      capacities_.push_back({.column = raw_.size() + column});
    }
  }
  for (size_t c = raw_.size(); c < width_ && options.nest; ++c) {
    group_[c] = 1 + nest_.Group(c - raw_.size());
  }
  constexpr uint64_t kDraws = 256;
  std::vector<Point> points;
  for (uint64_t i = 0; i < kDraws; ++i) {
    CounterRng rng(seed, StreamId("search.critic"), i);
    points.push_back(space.Sample(rng, 0));
  }
  std::vector<double> rows;
  Encode(points, rows);
  const double raw = options.nest && nest_.size() > 0 ? options.raw : 1.0;
  for (size_t c = 0; c < width_; ++c) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < points.size(); ++i) {
      const double value = rows[i * width_ + c];
      sum += value;
      squares += value * value;
    }
    const double mean = sum / static_cast<double>(kDraws);
    const double variance = squares / static_cast<double>(kDraws) - mean * mean;
    const bool is_raw = c < raw_.size();
    const double weight = (is_raw ? raw : 1.0) / std::sqrt(static_cast<double>(width_) / 4);
    shift_[c] = mean;
    scale_[c] = variance > 1e-12 ? weight / std::sqrt(variance) : 0.0;
  }
  for (Capacity& capacity : capacities_) {
    const size_t c = capacity.column;
    for (size_t i = 0; i < points.size(); ++i) {
      capacity.sorted.push_back((rows[i * width_ + c] - shift_[c]) * scale_[c]);
    }
    std::sort(capacity.sorted.begin(), capacity.sorted.end());
  }
}

void Critic::Encode(std::span<const Point> points, std::vector<double>& rows) const {
  rows.resize(points.size() * width_);
  for (size_t i = 0; i < points.size(); ++i) {
    const std::span<double> row(rows.data() + i * width_, width_);
    raw_.Encode(points[i], row.first(raw_.size()));
    if (options_.nest && nest_.size() > 0) nest_.Encode(points[i], row.subspan(raw_.size()));
    for (size_t c = 0; c < width_; ++c) row[c] = (row[c] - shift_[c]) * scale_[c];
  }
}

double Critic::SizeRank(std::span<const double> row) const {
  double most = 0;
  for (const Capacity& capacity : capacities_) {
    const auto above = std::lower_bound(capacity.sorted.begin(), capacity.sorted.end(),
                                        row[capacity.column] - 1e-9);
    most = std::max(most, static_cast<double>(above - capacity.sorted.begin()) /
                              static_cast<double>(capacity.sorted.size()));
  }
  return most;
}

double Critic::Guess(std::span<const double> row) const {
  if (!options_.nest || nest_.size() == 0) return 0;
  std::vector<double> plain(nest_.size());
  for (size_t c = 0; c < plain.size(); ++c) {
    const size_t at = raw_.size() + c;
    plain[c] = scale_[at] > 0 ? row[at] / scale_[at] + shift_[at] : shift_[at];
  }
  return nest_.Guess(plain);
}

size_t Critic::Signature(std::span<const double> row) const {
  const bool nest = options_.nest && nest_.size() > 0;
  size_t hash = 0;
  for (const double value : row.subspan(nest ? raw_.size() : 0)) {
    const auto rounded = static_cast<uint64_t>(std::llround(value * 1e6));
    hash = (hash ^ rounded) * size_t{0x9E3779B97F4A7C15};
    hash ^= hash >> 29;
  }
  return hash;
}

// A tile no larger than one that fitted fits. Where all others fit, the one that does not is to
// blame.
void Critic::LearnCapacities(std::span<const double> rows, std::span<const CriticCost> costs) {
  for (Capacity& capacity : capacities_) capacity.failures.clear();
  for (size_t i = 0; i < costs.size(); ++i) {
    if (costs[i].total() >= kInfeasibleCost) continue;
    for (Capacity& capacity : capacities_) {
      capacity.fits = std::max(capacity.fits, rows[i * width_ + capacity.column]);
    }
  }
  for (size_t i = 0; i < costs.size(); ++i) {
    if (costs[i].total() < kInfeasibleCost) continue;
    Capacity* culprit = nullptr;
    int suspects = 0;
    for (Capacity& capacity : capacities_) {
      if (rows[i * width_ + capacity.column] <= capacity.fits) continue;
      culprit = &capacity;
      ++suspects;
    }
    if (suspects == 1) culprit->failures.push_back(rows[i * width_ + culprit->column]);
  }
}

// The more has failed between what is known to fit and a tile, the less likely the tile fits. A
// single failure may have had another reason.
double Critic::Fits(std::span<const double> row) const {
  double chance = 1;
  for (const Capacity& capacity : capacities_) {
    const double words = row[capacity.column];
    if (words <= capacity.fits) continue;
    constexpr double kUnknown = 0.7;
    const auto below = std::count_if(capacity.failures.begin(), capacity.failures.end(),
                                     [&](double failed) { return failed <= words; });
    chance *= kUnknown / static_cast<double>(1 + 2 * below);
  }
  return chance;
}

void Critic::Fit(std::span<const double> rows, std::span<const CriticCost> costs) {
  LearnCapacities(rows, costs);
  std::vector<double> feasible_rows, first, second, labels;
  any_infeasible_ = false;
  for (size_t i = 0; i < costs.size(); ++i) {
    const std::span<const double> row = rows.subspan(i * width_, width_);
    const bool good = std::isfinite(costs[i].total());
    any_infeasible_ = any_infeasible_ || !good;
    if (good) {
      feasible_rows.insert(feasible_rows.end(), row.begin(), row.end());
      first.push_back(costs[i].first);
      second.push_back(costs[i].second);
    }
    labels.push_back(good ? 1.0 : 0.0);
  }
  LearnFactor(factors_[0], feasible_rows, first);
  LearnFactor(factors_[1], feasible_rows, second);
  ++fits_;
  if (any_infeasible_) {
    feasibility_.Fit(rows, labels, {.length = 1.0, .noise = 0.05, .slope = 0.5});
  }
}

std::vector<double> Critic::Weighted(std::span<const double> rows, const Factor& factor) const {
  std::vector<double> weighted(rows.begin(), rows.end());
  for (size_t at = 0; at < weighted.size(); ++at) {
    weighted[at] *= factor.weights[group_[at % width_]];
  }
  return weighted;
}

void Critic::LearnFactor(Factor& factor, std::span<const double> rows,
                         std::span<const double> costs) {
  const auto [least, most] = std::minmax_element(costs.begin(), costs.end());
  factor.constant = *most - *least < 1e-12;
  factor.level = *least;
  if (factor.constant) return;
  const auto fit = [&] {
    return factor.process.Fit(Weighted(rows, factor), costs,
                              {.length = 1.0, .noise = factor.noise, .slope = 0.5});
  };
  // Weights and noise change slowly: from time to time a step of each is tried.
  constexpr int64_t kEvery = 4;
  double evidence = fit();
  if (fits_ % kEvery != 0) return;
  const auto step = [&](double& setting, double by, double least_value, double most_value) {
    for (const double way : {by, 1 / by}) {
      const double before = setting;
      setting = std::clamp(before * way, least_value, most_value);
      const double now = setting == before ? evidence : fit();
      if (now > evidence) {
        evidence = now;
        return;
      }
      setting = before;
    }
  };
  for (double& weight : factor.weights) step(weight, 2.0, 1.0 / 32, 32.0);
  step(factor.noise, 10.0, 1e-6, 0.1);
  fit();
}

void Critic::Consider(std::span<const double> rows) {
  considered_.assign(rows.begin(), rows.end());
  for (Factor& factor : factors_) {
    if (!factor.constant) factor.process.Consider(Weighted(rows, factor));
  }
  if (any_infeasible_) feasibility_.Consider(rows);
}

double Critic::mean(size_t candidate) const {
  double sum = 0;
  for (const Factor& factor : factors_) {
    sum += factor.constant ? factor.level : factor.process.mean(candidate);
  }
  return sum;
}

double Critic::deviation(size_t candidate) const {
  double sum = 0;
  for (const Factor& factor : factors_) {
    if (!factor.constant) sum += std::pow(factor.process.deviation(candidate), 2);
  }
  return std::sqrt(sum);
}

double Critic::feasible(size_t candidate) const {
  if (!any_infeasible_) return 1;
  // The process says 1 for feasible; between 0 and 1 it is unsure by about a third.
  constexpr double kUnsure = 0.35;
  const double lean = (feasibility_.mean(candidate) - 0.5) / (kUnsure * std::sqrt(2.0));
  const double chance = 0.5 * std::erfc(-lean);
  return chance * Fits(std::span<const double>(considered_).subspan(candidate * width_, width_));
}

void Critic::Believe(size_t candidate) {
  for (Factor& factor : factors_) {
    if (!factor.constant) factor.process.Believe(candidate);
  }
}

}  // namespace tessera
