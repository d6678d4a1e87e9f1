// Clustering against a slow oracle that recomputes every group distance from its definition.
#include "tessera/agents/clustering.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "tessera/part.h"

namespace tessera {
namespace {

using Group = std::vector<size_t>;

struct Plane {
  std::vector<double> x, y;
  size_t size() const { return x.size(); }
  double Distance(size_t a, size_t b) const { return std::hypot(x[a] - x[b], y[a] - y[b]); }
  std::vector<double> Matrix() const {
    std::vector<double> all;
    for (size_t i = 0; i < size(); ++i) {
      for (size_t j = 0; j < size(); ++j) all.push_back(Distance(i, j));
    }
    return all;
  }
};

Plane RandomPlane(size_t points, uint64_t seed) {
  CounterRng rng(seed, 1);
  Plane plane;
  for (size_t i = 0; i < points; ++i) {
    plane.x.push_back(rng.Uniform());
    plane.y.push_back(rng.Uniform());
  }
  return plane;
}

double GroupDistance(const Plane& plane, const Group& a, const Group& b, Linkage linkage) {
  if (linkage == Linkage::kWard) {
    // sqrt(2 |a||b| / (|a|+|b|)) times the distance of the means.
    const auto mean = [](const std::vector<double>& values, const Group& group) {
      double sum = 0;
      for (const size_t i : group) sum += values[i];
      return sum / static_cast<double>(group.size());
    };
    const double na = static_cast<double>(a.size()), nb = static_cast<double>(b.size());
    return std::sqrt(2 * na * nb / (na + nb)) *
           std::hypot(mean(plane.x, a) - mean(plane.x, b), mean(plane.y, a) - mean(plane.y, b));
  }
  double least = std::numeric_limits<double>::infinity(), most = 0, sum = 0;
  for (const size_t i : a) {
    for (const size_t j : b) {
      least = std::min(least, plane.Distance(i, j));
      most = std::max(most, plane.Distance(i, j));
      sum += plane.Distance(i, j);
    }
  }
  if (linkage == Linkage::kSingle) return least;
  if (linkage == Linkage::kComplete) return most;
  return sum / static_cast<double>(a.size() * b.size());
}

// Heights of all merges, by definition.
std::vector<double> SlowHeights(const Plane& plane, Linkage linkage) {
  std::vector<Group> groups;
  for (size_t i = 0; i < plane.size(); ++i) groups.push_back({i});
  std::vector<double> heights;
  while (groups.size() > 1) {
    size_t best_i = 0, best_j = 1;
    for (size_t i = 0; i < groups.size(); ++i) {
      for (size_t j = i + 1; j < groups.size(); ++j) {
        if (GroupDistance(plane, groups[i], groups[j], linkage) <
            GroupDistance(plane, groups[best_i], groups[best_j], linkage)) {
          best_i = i;
          best_j = j;
        }
      }
    }
    heights.push_back(GroupDistance(plane, groups[best_i], groups[best_j], linkage));
    groups[best_i].insert(groups[best_i].end(), groups[best_j].begin(), groups[best_j].end());
    groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(best_j));
  }
  return heights;
}

TEST(Cluster, AgreesWithTheDefinitionsOfAllLinkages) {
  for (const Linkage linkage :
       {Linkage::kSingle, Linkage::kComplete, Linkage::kAverage, Linkage::kWard}) {
    for (const uint64_t seed : {1u, 2u, 3u}) {
      const Plane plane = RandomPlane(14, seed);
      const Dendrogram tree = Cluster(plane.Matrix(), plane.size(), linkage);
      const std::vector<double> expected = SlowHeights(plane, linkage);
      ASSERT_EQ(tree.merges.size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(tree.merges[i].height, expected[i], 1e-12);
      }
      EXPECT_EQ(tree.merges.back().size, plane.size());
    }
  }
}

TEST(Cluster, CutsIntoAnyNumberOfGroups) {
  const Plane plane = RandomPlane(10, 7);
  const Dendrogram tree = Cluster(plane.Matrix(), 10, Linkage::kWard);
  for (size_t groups = 1; groups <= 10; ++groups) {
    const std::vector<size_t> cut = tree.Cut(groups);
    EXPECT_EQ(*std::max_element(cut.begin(), cut.end()) + 1, groups);
    EXPECT_EQ(cut[0], 0u);
    // Between the merge that made these groups and the one that would make one less.
    const size_t done = tree.items - groups;
    const double below = done > 0 ? tree.merges[done - 1].height : 0.0;
    const double above = done < tree.merges.size() ? tree.merges[done].height : 1e9;
    EXPECT_EQ(tree.CutAt(above * 0.5 + below * 0.5), cut);
  }
  std::vector<size_t> order = tree.DrawingOrder();
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < 10; ++i) EXPECT_EQ(order[i], i);
}

TEST(Cluster, BreaksTiesByTheSmallestItems) {
  const Dendrogram tree = Cluster({0, 1, 1, 1, 0, 1, 1, 1, 0}, 3, Linkage::kAverage);
  EXPECT_EQ(tree.merges[0].left, 0u);
  EXPECT_EQ(tree.merges[0].right, 1u);
  EXPECT_EQ(tree.Cut(2), (std::vector<size_t>{0, 0, 1}));
}

TEST(Cluster, CopesWithOneItem) {
  const Dendrogram tree = Cluster({0}, 1, Linkage::kWard);
  EXPECT_TRUE(tree.merges.empty());
  EXPECT_EQ(tree.Cut(1), std::vector<size_t>{0});
}

TEST(Distances, AreRowsOrOneMinusR) {
  const CorrelationMatrix matrix{.names = {"a", "b"},
                                 .values = {1, -0.5, 0.2, -0.5, 1, 0.1, 0.2, 0.1, 1},
                                 .constant = {},
                                 .unchanged = {}};
  EXPECT_NEAR(Distances(matrix, CorrelationDistance::kRows)[1],
              std::sqrt(1.5 * 1.5 + 1.5 * 1.5 + 0.1 * 0.1), 1e-12);
  EXPECT_NEAR(Distances(matrix, CorrelationDistance::kOneMinusR)[1], 0.5, 1e-12);
}

TEST(Linkage, IsFoundByName) {
  EXPECT_EQ(*FindLinkage("average"), Linkage::kAverage);
  EXPECT_EQ(ToString(FindLinkage("wards").error()),
            "unknown linkage 'wards'; did you mean 'ward'?");
  EXPECT_EQ(*FindDistance("rows"), CorrelationDistance::kRows);
}

}  // namespace
}  // namespace tessera
