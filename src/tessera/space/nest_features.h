// What a mapping amounts to, as numbers that a critic can learn from: how many units work, how
// large the tiles of each tensor are, and how often they must be fetched. All of it follows from
// the roles of the decisions, so it works for every space of mappings and needs no cost model.
#ifndef TESSERA_SPACE_NEST_FEATURES_H_
#define TESSERA_SPACE_NEST_FEATURES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/space.h"

namespace tessera {

// Kinds of columns: units and padding, sizes of tiles, words fetched, words streamed, and the sums:
// words of all tensors and busy units of all levels.
inline constexpr size_t kNestGroups = 5;

// Logarithms to base 2. Per level of the nest, outermost first: the units that work in parallel,
// whether others stand idle and whether loops run inside the one that is spread, the padding of
// what is spread over them and of the rest, and for every tensor the size of the tile below and the
// words that are fetched into it, once if it is filled anew whenever it changes, and once if only
// what is new streams in; the sums over tensors of these; and the units of all levels that are busy
// on average. The space must outlive the features.
class NestFeatures {
 public:
  explicit NestFeatures(const DecisionSpace& space);

  // 0 where decisions do not say which loops they shape.
  size_t size() const { return size_; }

  // Writes size() numbers.
  void Encode(const Point& point, std::span<double> out) const;

  // Which kind a column is, below kNestGroups.
  size_t Group(size_t column) const;

  // Columns that hold the words of all tiles of a memory, which its size limits.
  std::vector<size_t> WordsColumns() const;

  // How good a mapping looks before anything was measured, lower is better: many units at work,
  // little to fetch. For the first choices of a search.
  double Guess(std::span<const double> row) const;

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);
  static constexpr size_t kMaxDims = 12, kMaxTensors = 3, kMaxLevels = 12;

  // Positions of the decisions of one level.
  struct Level {
    size_t order = kNone, parallel = kNone;
    std::vector<size_t> temporal, spatial;  // by dimension
  };
  // The loops of a level at a point, by dimension.
  struct Loops {
    double temporal[kMaxDims], spatial[kMaxDims];
    double filled[kMaxDims];  // the part of their range that is not padding
  };
  struct Nest {
    Loops levels[kMaxLevels];
    double uneven[kMaxLevels], padding[kMaxLevels];  // of what is spread over units, of the rest
    double idle[kMaxLevels];                         // logarithm of units / units at work
    double tiles[kMaxLevels][kMaxDims];              // where decisions are tiles
  };

  size_t DimOf(const std::string& label);
  void ReadDecisions();
  void FindTensors();
  void FromTiles(const Point& point, Nest& nest) const;
  void FromFactors(const Point& point, Nest& nest) const;
  double Fetches(const Level& level, const Loops& loops, const Point& point, size_t tensor) const;
  bool RunsInside(const Level& level, const Loops& loops, const Point& point) const;
  double Streamed(const Level& level, const Loops& loops, const Point& point, size_t tensor,
                  const double* tile) const;
  double Volume(const double* tile, size_t tensor) const;

  const DecisionSpace& space_;
  std::vector<std::string> dims_;
  std::vector<double> bounds_;  // by dimension
  std::vector<Level> levels_;   // outermost first
  size_t cluster_ = kNone;      // the decision that divides units between two levels
  double units_ = 1;
  bool tiles_ = false;  // decisions are sizes of tiles, not factors
  // Which dimensions a tensor has; window dimensions come with the partner that they widen.
  std::vector<std::vector<bool>> has_;  // by tensor and dimension
  std::vector<size_t> window_;          // by dimension: R for Y, S for X, or kNone
  size_t size_ = 0;
};

}  // namespace tessera

#endif  // TESSERA_SPACE_NEST_FEATURES_H_
