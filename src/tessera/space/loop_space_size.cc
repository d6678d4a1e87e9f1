// How many mappings a loop space has.
//
// A level with k loops has k! orders, so the count is a sum over all ways to split the dimensions
// of products of factorials. With k! = integral of x^k exp(-x) the sum factors by dimension, and
// Gauss-Laguerre quadrature with enough nodes gives the integral of such a polynomial exactly.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "tessera/space/loop_space.h"

namespace tessera {
namespace {

struct Node {
  double x, weight;
};

// The roots of the n-th Laguerre polynomial with their weights, by Newton's method.
std::vector<Node> LaguerreNodes(int n) {
  const auto evaluate = [n](double x) {
    double previous = 1, value = 1 - x;
    for (int k = 1; k < n; ++k) {
      const double next = ((2 * k + 1 - x) * value - k * previous) / (k + 1);
      previous = std::exchange(value, next);
    }
    const double slope = n * (value - previous) / x;
    return std::pair(value, slope);
  };
  std::vector<Node> nodes;
  for (int i = 0; i < n; ++i) {
    // Starting values with known roots divided out converge to the next one.
    double x = i == 0 ? 1.0 / n : nodes.back().x * 1.5 + 1.0;
    for (int step = 0; step < 200; ++step) {
      const auto [value, slope] = evaluate(x);
      double deflation = 0;
      for (const Node& node : nodes) deflation += 1 / (x - node.x);
      const double change = value / (slope - value * deflation);
      x -= change;
      if (std::abs(change) < 1e-15 * x) break;
    }
    const double slope = evaluate(x).second;
    nodes.push_back({.x = x, .weight = 1 / (x * slope * slope)});
  }
  return nodes;
}

}  // namespace

// Ways to split a dimension that use the same parallel factors.
struct LoopSpace::Signature {
  std::vector<int64_t> parallel;  // by level and axis: X of level 0, Y of level 0, X of level 1 ...
  // How many there are, by the set of levels with a temporal factor above 1.
  std::vector<std::pair<unsigned, double>> ways;

  // The ways, each weighted by the product of the variables of its loops; those of temporal loops
  // are given by set of levels.
  double Weight(const std::vector<double>& temporal_products,
                const std::vector<double>& parallel_variables) const {
    double sum = 0;
    for (const auto& [loops, number] : ways) sum += number * temporal_products[loops];
    for (size_t i = 0; i < parallel.size(); ++i) {
      if (parallel[i] > 1) sum *= parallel_variables[i];
    }
    return sum;
  }
};

std::vector<LoopSpace::Signature> LoopSpace::SignaturesOf(const Dim& dim) const {
  const size_t count = levels_.size();
  std::map<std::vector<int64_t>, std::map<unsigned, double>> found;
  std::vector<int64_t> parallel(2 * count, 1);
  const std::function<void(size_t, int64_t, unsigned)> split = [&](size_t level, int64_t rest,
                                                                   unsigned loops) {
    if (level == count) {
      if (rest == 1) found[parallel][loops] += 1;
      return;
    }
    const auto temporal = [&](int64_t left) {
      if (level + 1 == count) {
        const size_t d = static_cast<size_t>(&dim - dims_.data());
        if (constrained_ && leftovers_[d].Find(left) < 0) return;
        return split(count, 1, left > 1 ? loops | 1u << level : loops);
      }
      const Decision& factors = decisions()[dim.temporal[level]];
      for (int32_t i = 0; i < factors.size(); ++i) {
        const int64_t factor = factors.value(i);
        if (left % factor != 0) continue;
        split(level + 1, left / factor, factor > 1 ? loops | 1u << level : loops);
      }
    };
    if (dim.spatial[level] == kNone) return temporal(rest);
    const Decision& factors = decisions()[dim.spatial[level]];
    for (int32_t i = 0; i < factors.size(); ++i) {
      const int64_t factor = factors.value(i);
      if (rest % factor != 0) continue;
      for (const size_t axis : {0u, 1u}) {
        const int64_t fan = axis == 0 ? levels_[level].fan_x : levels_[level].fan_y;
        const size_t decided = dim.axis[level];
        const bool allowed =
            decided == kNone || decisions()[decided].Find(static_cast<int64_t>(axis)) >= 0;
        // A factor of 1 lies on no axis; it is counted once, as if on X.
        if (factor == 1 ? axis == 1 : factor > fan || !allowed) continue;
        parallel[2 * level + axis] = factor;
        temporal(rest / factor);
        parallel[2 * level + axis] = 1;
      }
    }
  };
  split(0, dim.bound, 0);
  std::vector<Signature> signatures;
  for (const auto& [factors, ways] : found) {
    signatures.push_back({factors, {ways.begin(), ways.end()}});
  }
  return signatures;
}

double LoopSpace::Log10Size() const {
  const size_t count = levels_.size();
  // Products of parallel factors that fit the fan-outs, dimension by dimension, and which split of
  // a dimension leads from which product to which.
  struct Split {
    size_t from, signature, to;
  };
  std::vector<std::vector<Signature>> dims;
  std::vector<std::vector<Split>> steps;
  std::vector<std::vector<int64_t>> products = {std::vector<int64_t>(2 * count, 1)};
  std::vector<size_t> sizes;
  for (const Dim& dim : dims_) {
    dims.push_back(SignaturesOf(dim));
    steps.emplace_back();
    std::map<std::vector<int64_t>, size_t> next;
    for (size_t s = 0; s < dims.back().size(); ++s) {
      for (size_t from = 0; from < products.size(); ++from) {
        std::vector<int64_t> grown = products[from];
        bool fits = true;
        for (size_t i = 0; i < 2 * count; ++i) {
          grown[i] *= dims.back()[s].parallel[i];
          fits &= grown[i] <= (i % 2 == 0 ? levels_[i / 2].fan_x : levels_[i / 2].fan_y);
        }
        if (!fits) continue;
        const size_t to = next.try_emplace(std::move(grown), next.size()).first->second;
        steps.back().push_back({.from = from, .signature = s, .to = to});
      }
    }
    products.resize(next.size());
    for (const auto& [product, index] : next) products[index] = product;
    sizes.push_back(next.size());
  }

  // One variable per order that is decided: temporal ones by level, parallel ones by level and
  // axis.
  double log10_size = 0;
  std::vector<double> temporal(count, 1.0), parallel(2 * count, 1.0);
  std::vector<double*> variables;
  for (size_t i = 0; i < count; ++i) {
    if (levels_[i].order != kNone) variables.push_back(&temporal[i]);
    if (levels_[i].spatial_order != kNone) {
      if (levels_[i].fan_x > 1) variables.push_back(&parallel[2 * i]);
      if (levels_[i].fan_y > 1) variables.push_back(&parallel[2 * i + 1]);
    }
    for (const size_t order : {levels_[i].order, levels_[i].spatial_order}) {
      if (order == kNone) continue;  // Constraints leave only a part of the orders.
      log10_size += std::log10(static_cast<double>(decisions()[order].size()) /
                               static_cast<double>(Factorial(dims_.size())));
    }
    for (const size_t keep : levels_[i].keep_decision) {
      if (keep != kNone) log10_size += std::log10(decisions()[keep].size());
    }
  }

  // The number of splits, weighted by the variables of the loops that they have.
  std::vector<double> products_of(size_t{1} << count, 1.0);
  const auto weighted = [&] {
    for (size_t set = 1; set < products_of.size(); ++set) {
      const size_t level = static_cast<size_t>(std::countr_zero(set));
      products_of[set] = products_of[set & (set - 1)] * temporal[level];
    }
    std::vector<double> sums = {1.0}, next, weights;
    for (size_t d = 0; d < dims.size(); ++d) {
      weights.clear();
      for (const Signature& signature : dims[d]) {
        weights.push_back(signature.Weight(products_of, parallel));
      }
      next.assign(sizes[d], 0);
      for (const Split& step : steps[d]) next[step.to] += sums[step.from] * weights[step.signature];
      std::swap(sums, next);
    }
    return std::accumulate(sums.begin(), sums.end(), 0.0);
  };
  const std::vector<Node> nodes = LaguerreNodes(static_cast<int>(dims_.size()) / 2 + 1);
  const std::function<double(size_t)> integrate = [&](size_t variable) {
    if (variable == variables.size()) return weighted();
    double sum = 0;
    for (const Node& node : nodes) {
      *variables[variable] = node.x;
      sum += node.weight * integrate(variable + 1);
    }
    return sum;
  };
  return log10_size + std::log10(integrate(0));
}

}  // namespace tessera
