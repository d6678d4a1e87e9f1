// What a mapping amounts to, as numbers that a critic can learn from: how many units work, how
// large the tiles of each tensor are, and how often they must be fetched. All of it follows from
// the roles of the decisions, so it works for every space of mappings and needs no cost model.
#ifndef TESSERA_SEARCH_NEST_FEATURES_H_
#define TESSERA_SEARCH_NEST_FEATURES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/space/decision_space.h"
#include "tessera/space/point.h"

namespace tessera {

// Logarithms to base 2. Per level of the nest, outermost first: the units that work in parallel,
// the part of tiles and units that is padding, and for every tensor the size of the tile below and
// the words that are fetched into it; the sums over tensors of both; and the units of all levels.
// The space must outlive the features.
class NestFeatures {
 public:
  explicit NestFeatures(const DecisionSpace& space);

  // 0 where decisions do not say which loops they shape.
  size_t size() const { return size_; }

  // Writes size() numbers.
  void Encode(const Point& point, std::span<double> out) const;

  // Columns that hold the words of all tiles below a level, which its memory limits.
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
  };
  struct Nest {
    Loops levels[kMaxLevels];
    double padding[kMaxLevels];
  };

  size_t DimOf(const std::string& label);
  void ReadDecisions();
  void FindTensors();
  void FromTiles(const Point& point, Nest& nest) const;
  void FromFactors(const Point& point, Nest& nest) const;
  double Fetches(const Level& level, const Loops& loops, const Point& point, size_t tensor) const;
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

#endif  // TESSERA_SEARCH_NEST_FEATURES_H_
