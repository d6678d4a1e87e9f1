// Drawing from and learning of agents' policies.
#include "tessera/search/policy.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/result.h"

namespace tessera {
namespace {

// Scores beyond this are as good as certain; the limit keeps what was learned reversible.
constexpr double kMostScore = 12.0;

void Softmax(std::span<double> scores) {
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - most);
  for (double& score : scores) score /= sum;
}

// An index drawn by weights that add up to `total`; zero weights are never drawn.
size_t Pick(std::span<const double> weights, double total, CounterRng& rng) {
  double left = rng.Uniform() * total;
  size_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    last = i;
    left -= weights[i];
    if (left < 0) break;
  }
  return last;
}

}  // namespace

SoftmaxPolicy::SoftmaxPolicy(const DecisionSpace& space,
                             const std::vector<std::vector<size_t>>& agents,
                             const PolicyOptions& options)
    : space_(space), options_(options) {
  size_t parameters = 0;
  for (const std::vector<size_t>& agent : agents) {
    const size_t first = heads_.size();
    for (const size_t decision : agent) {
      const Decision& drawn = space.decisions()[decision];
      if (drawn.size() < 2) continue;
      Head head{.decision = decision,
                .order = drawn.kind() == DecisionKind::kPermutation,
                .ordinal = drawn.kind() == DecisionKind::kOrdinal};
      head.size = head.order ? drawn.labels().size() : static_cast<size_t>(drawn.size());
      head.offset = parameters;
      parameters += head.size;
      for (size_t i = first; i < heads_.size(); ++i) {
        head.conditions.push_back({.decision = heads_[i].decision, .offset = parameters});
        parameters += heads_[i].size * head.size;
      }
      heads_.push_back(std::move(head));
    }
  }
  parameters_.assign(parameters, 0.0);
}

// Which column of a condition a point selects: the value, or the innermost loop of an order, which
// decides what stays in place.
size_t SoftmaxPolicy::Row(size_t decision, const Point& point) const {
  const Decision& given = space_.decisions()[decision];
  if (given.kind() != DecisionKind::kPermutation) return static_cast<size_t>(point[decision]);
  const Permutation order = given.OrderAt(point[decision]);
  return order.items[order.size - 1];
}

std::span<const double> SoftmaxPolicy::Scores(const Head& head, const Point& point,
                                              std::vector<double>& scratch) const {
  scratch.assign(parameters_.begin() + static_cast<std::ptrdiff_t>(head.offset),
                 parameters_.begin() + static_cast<std::ptrdiff_t>(head.offset + head.size));
  for (const Condition& condition : head.conditions) {
    const double* column =
        parameters_.data() + condition.offset + Row(condition.decision, point) * head.size;
    for (size_t i = 0; i < head.size; ++i) scratch[i] += column[i];
  }
  Softmax(scratch);
  return scratch;
}

Point SoftmaxPolicy::Draw(double explore, CounterRng& rng) const {
  Point point(space_.size());
  std::vector<double> scratch;
  for (const Head& head : heads_) {
    const Decision& decision = space_.decisions()[head.decision];
    Scores(head, point, scratch);
    if (head.order) {
      Permutation order{.size = head.size};
      double total = 1;
      for (size_t place = 0; place < head.size; ++place) {
        const size_t item = Pick(scratch, total, rng);
        order.items[place] = static_cast<uint8_t>(item);
        scratch[item] = 0;
        total = std::accumulate(scratch.begin(), scratch.end(), 0.0);
        // Nearly certain policies round small chances to zero; what is left is then equally likely.
        if (total > 0 || place + 1 == head.size) continue;
        for (size_t i = 0; i < head.size; ++i) {
          const auto end = order.items.begin() + static_cast<std::ptrdiff_t>(place + 1);
          scratch[i] = std::find(order.items.begin(), end, i) == end ? 1 : 0;
          total += scratch[i];
        }
      }
      point[head.decision] = decision.IndexOfOrder(order);
    } else {
      point[head.decision] = static_cast<int32_t>(Pick(scratch, 1.0, rng));
    }
    if (rng.Uniform() < explore) space_.Mutate(point, head.decision, rng);
  }
  space_.Repair(point);
  return point;
}

// Adds weight * gradient of log(probability of the point's value).
void SoftmaxPolicy::Accumulate(const Head& head, const Point& point, double weight,
                               std::span<double> gradient, std::vector<double>& scratch) const {
  Scores(head, point, scratch);
  std::vector<double> slope(head.size, 0.0);
  if (head.order) {
    const Permutation order = space_.decisions()[head.decision].OrderAt(point[head.decision]);
    double total = 1;
    // Later places are more and more decided by earlier ones; all together count as one choice.
    const double share = 2.0 * weight / static_cast<double>(head.size);
    for (size_t place = 0; place + 1 < head.size && total > 1e-9; ++place) {
      for (size_t i = 0; i < head.size; ++i) slope[i] -= share * scratch[i] / total;
      slope[order.items[place]] += share;
      total -= scratch[order.items[place]];
      scratch[order.items[place]] = 0;
    }
  } else {
    for (size_t i = 0; i < head.size; ++i) slope[i] -= weight * scratch[i];
    const size_t value = static_cast<size_t>(point[head.decision]);
    const double spread = head.ordinal ? options_.smooth / 2 : 0.0;
    slope[value] += weight * (1 - 2 * spread);
    slope[value > 0 ? value - 1 : value] += weight * spread;
    slope[value + 1 < head.size ? value + 1 : value] += weight * spread;
  }
  const auto add = [&](size_t offset) {
    for (size_t i = 0; i < head.size; ++i) gradient[offset + i] += slope[i];
  };
  add(head.offset);
  for (const Condition& condition : head.conditions) {
    add(condition.offset + Row(condition.decision, point) * head.size);
  }
}

void SoftmaxPolicy::Learn(std::span<const Point> points, std::span<const double> weights) {
  TESSERA_CHECK(points.size() == weights.size());
  gradient_.assign(parameters_.size(), 0.0);
  std::vector<double> scratch;
  for (size_t i = 0; i < points.size(); ++i) {
    if (weights[i] == 0) continue;
    for (const Head& head : heads_) Accumulate(head, points[i], weights[i], gradient_, scratch);
  }
  for (size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i] = std::clamp(parameters_[i] + gradient_[i], -kMostScore, kMostScore);
  }
}

std::vector<double> SoftmaxPolicy::Probabilities(size_t decision) const {
  for (const Head& head : heads_) {
    if (head.decision != decision) continue;
    std::vector<double> scores(
        parameters_.begin() + static_cast<std::ptrdiff_t>(head.offset),
        parameters_.begin() + static_cast<std::ptrdiff_t>(head.offset + head.size));
    Softmax(scores);
    return scores;
  }
  return {1.0};
}

double SoftmaxPolicy::Entropy() const {
  double sum = 0;
  for (const Head& head : heads_) {
    double entropy = 0;
    for (const double p : Probabilities(head.decision)) entropy -= p > 0 ? p * std::log(p) : 0;
    sum += entropy / std::log(static_cast<double>(head.size));
  }
  return heads_.empty() ? 0 : sum / static_cast<double>(heads_.size());
}

std::string Describe(const DecisionSpace& space, const std::vector<std::vector<size_t>>& agents) {
  std::string text;
  for (const std::vector<size_t>& agent : agents) {
    if (!text.empty()) text += " | ";
    for (size_t i = 0; i < agent.size(); ++i) {
      text += (i == 0 ? "" : " ") + space.decisions()[agent[i]].name();
    }
  }
  return text;
}

}  // namespace tessera
