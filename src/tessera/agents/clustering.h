// Agglomerative clustering: items merge pair by pair, nearest first, into a tree that can be cut
// into any number of groups (step 4 of Algorithm 1).
#ifndef TESSERA_AGENTS_CLUSTERING_H_
#define TESSERA_AGENTS_CLUSTERING_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/agents/correlation.h"
#include "tessera/result.h"

namespace tessera {

// How far apart two groups are: by their nearest members, their farthest, the mean of all pairs, or
// by how much merging them raises the sum of squares.
enum class Linkage : uint8_t { kSingle, kComplete, kAverage, kWard };
inline constexpr std::array<std::string_view, 4> kLinkageNames = {"single", "complete", "average",
                                                                  "ward"};
Result<Linkage> FindLinkage(std::string_view name);

// How far apart two decisions are.
enum class CorrelationDistance : uint8_t {
  kRows,       // Euclidean distance of their rows of the matrix, the reward's column included
  kOneMinusR,  // 1 - |r|
};
inline constexpr std::array<std::string_view, 2> kDistanceNames = {"rows", "one-minus-r"};
Result<CorrelationDistance> FindDistance(std::string_view name);

// Distances between the decisions of a matrix: decisions^2 numbers, row by row.
std::vector<double> Distances(const CorrelationMatrix& matrix, CorrelationDistance distance);

// The merge of two nodes. Items are nodes 0 .. n-1, and the i-th merge makes node n+i.
struct Merge {
  size_t left = 0, right = 0;  // left < right
  double height = 0;           // their distance; never below that of an earlier merge
  size_t size = 0;             // items below the new node
};

// n-1 merges of n items.
struct Dendrogram {
  size_t items = 0;
  std::vector<Merge> merges;

  // The group of each item when the tree is cut into `groups` parts (1 .. items), or at a height:
  // merges above it are undone. Groups are numbered by their first item.
  std::vector<size_t> Cut(size_t groups) const;
  std::vector<size_t> CutAt(double height) const;

  // The items from top to bottom of a drawing without crossing lines, early ones first.
  std::vector<size_t> DrawingOrder() const;
};

// `distances` is a symmetric items x items matrix. Of equal distances the pair with the smallest
// items goes first, so the tree is a function of its input.
Dendrogram Cluster(const std::vector<double>& distances, size_t items, Linkage linkage);

}  // namespace tessera

#endif  // TESSERA_AGENTS_CLUSTERING_H_
