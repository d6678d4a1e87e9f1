// Clustering by the Lance-Williams update, which has one formula per linkage.
#include "tessera/agents/clustering.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/result.h"

namespace tessera {
namespace {

template <typename Enum, size_t kCount>
Result<Enum> FindByName(std::string_view what, std::string_view name,
                        const std::array<std::string_view, kCount>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<Enum>(found - names.begin());
  return Error{.kind = ErrorKind::kUsage,
               .message = fmt::format("unknown {} {}", what, Quoted(name)),
               .hint = DidYouMean(name, names)};
}

struct Group {
  size_t node;
  double size;
};

// The distance of group k from the union of groups i and j.
double Updated(Linkage linkage, double ik, double jk, double ij, double i, double j, double k) {
  switch (linkage) {
    case Linkage::kSingle: return std::min(ik, jk);
    case Linkage::kComplete: return std::max(ik, jk);
    case Linkage::kAverage: return (i * ik + j * jk) / (i + j);
    case Linkage::kWard: break;
  }
  const double squared = ((i + k) * ik * ik + (j + k) * jk * jk - k * ij * ij) / (i + j + k);
  return std::sqrt(std::max(0.0, squared));
}

// Numbers groups by their first item.
std::vector<size_t> Renumbered(const std::vector<size_t>& roots) {
  std::vector<size_t> order, groups;
  for (const size_t root : roots) {
    const auto known = std::find(order.begin(), order.end(), root);
    groups.push_back(static_cast<size_t>(known - order.begin()));
    if (known == order.end()) order.push_back(root);
  }
  return groups;
}

}  // namespace

Result<Linkage> FindLinkage(std::string_view name) {
  return FindByName<Linkage>("linkage", name, kLinkageNames);
}
Result<CorrelationDistance> FindDistance(std::string_view name) {
  return FindByName<CorrelationDistance>("distance", name, kDistanceNames);
}

std::vector<double> Distances(const CorrelationMatrix& matrix, CorrelationDistance distance) {
  const size_t count = matrix.decisions();
  std::vector<double> distances(count * count, 0);
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < count; ++j) {
      if (i == j) continue;
      if (distance == CorrelationDistance::kOneMinusR) {
        distances[i * count + j] = 1 - std::abs(matrix.at(i, j));
        continue;
      }
      double squares = 0;
      for (size_t k = 0; k < matrix.width(); ++k) {
        const double difference = matrix.at(i, k) - matrix.at(j, k);
        squares += difference * difference;
      }
      distances[i * count + j] = std::sqrt(squares);
    }
  }
  return distances;
}

Dendrogram Cluster(const std::vector<double>& distances, size_t items, Linkage linkage) {
  TESSERA_CHECK(distances.size() == items * items);
  std::vector<double> d = distances;
  std::vector<Group> groups;
  std::vector<bool> alive(items, true);
  for (size_t i = 0; i < items; ++i) groups.push_back({.node = i, .size = 1});
  Dendrogram tree{.items = items, .merges = {}};
  for (size_t merge = 0; merge + 1 < items; ++merge) {
    size_t best_i = 0, best_j = 0;
    double nearest = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < items; ++i) {
      for (size_t j = i + 1; j < items; ++j) {
        if (!alive[i] || !alive[j] || d[i * items + j] >= nearest) continue;
        nearest = d[i * items + j];
        best_i = i;
        best_j = j;
      }
    }
    Group &kept = groups[best_i], &gone = groups[best_j];
    for (size_t k = 0; k < items; ++k) {
      if (!alive[k] || k == best_i || k == best_j) continue;
      const double updated = Updated(linkage, d[best_i * items + k], d[best_j * items + k], nearest,
                                     kept.size, gone.size, groups[k].size);
      d[best_i * items + k] = d[k * items + best_i] = updated;
    }
    tree.merges.push_back({.left = std::min(kept.node, gone.node),
                           .right = std::max(kept.node, gone.node),
                           .height = nearest,
                           .size = static_cast<size_t>(kept.size + gone.size)});
    kept = {.node = items + merge, .size = kept.size + gone.size};
    alive[best_j] = false;
  }
  return tree;
}

std::vector<size_t> Dendrogram::Cut(size_t groups) const {
  TESSERA_CHECK(groups >= 1 && groups <= items);
  std::vector<size_t> parent(items + merges.size());
  std::iota(parent.begin(), parent.end(), size_t{0});
  for (size_t i = 0; i < items - groups; ++i) {
    parent[merges[i].left] = parent[merges[i].right] = items + i;
  }
  std::vector<size_t> roots;
  for (size_t item = 0; item < items; ++item) {
    size_t node = item;
    while (parent[node] != node) node = parent[node];
    roots.push_back(node);
  }
  return Renumbered(roots);
}

std::vector<size_t> Dendrogram::CutAt(double height) const {
  const auto above = std::find_if(merges.begin(), merges.end(),
                                  [&](const Merge& merge) { return merge.height > height; });
  return Cut(items - static_cast<size_t>(above - merges.begin()));
}

std::vector<size_t> Dendrogram::DrawingOrder() const {
  std::vector<size_t> first(items + merges.size());  // the smallest item below each node
  for (size_t node = 0; node < first.size(); ++node) {
    first[node] = node < items ? node
                               : std::min(first[merges[node - items].left],
                                          first[merges[node - items].right]);
  }
  std::vector<size_t> order, pending;
  if (items > 0) pending.push_back(items + merges.size() - 1);
  while (!pending.empty()) {
    const size_t node = pending.back();
    pending.pop_back();
    if (node < items) {
      order.push_back(node);
      continue;
    }
    auto [upper, lower] = std::pair(merges[node - items].left, merges[node - items].right);
    if (first[lower] < first[upper]) std::swap(upper, lower);
    pending.push_back(lower);
    pending.push_back(upper);
  }
  return order;
}

}  // namespace tessera
