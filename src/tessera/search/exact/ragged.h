// Factors that need not divide: the last iteration of a dimension's outermost loop has less to do.
// Tiles of all levels inside it divide each other, so a dimension is split by the extent of that
// loop's tile, any number below its size, and by divisors from there on. docs/optimality.md, R1.
#ifndef TESSERA_SEARCH_EXACT_RAGGED_H_
#define TESSERA_SEARCH_EXACT_RAGGED_H_

#include <cstdint>
#include <vector>

#include "tessera/search/exact/frame.h"
#include "tessera/search/exact/model.h"

namespace tessera::exact {

// One way to choose the extent of a tile in a dimension, as in Tile.
struct ExtentChoice {
  int32_t most = 1, least = 1;
  int32_t open = 0;
};

// Of a branch: an extent, or less the number of tiles of one that is open.
ExtentChoice ExtentOf(const Model& model, int dim, int32_t choice);

// Those of the tile inside `level`, the least first. Frames are indexed by level.
void ListExtents(const Model& model, const Frame& parent, int level, int dim,
                 std::vector<ExtentChoice>& choices);

// One way to split what is left of a dimension above a tile.
struct SplitChoice {
  int32_t spatial = 1, temporal = 1;
};

// Those of a level above the tile inside it, the least parallel factors first. R4.
void ListSplits(const Model& model, const Frame& parent, int level, const Tile& tile, int dim,
                std::vector<SplitChoice>& choices);

// How often a tile of `extents` fits into one of the level outside, at most and at least.
struct ExtentRatio {
  double most = 1, least = 1;

  explicit ExtentRatio(double ratio) : most(ratio), least(ratio) {}
  ExtentRatio(double most_ratio, double least_ratio) : most(most_ratio), least(least_ratio) {}
};
ExtentRatio RatioOf(const Model& model, const Frame& parent, const Tile& tile, int dim);

// Tiles of a dimension in the whole problem; the last one may be smaller.
double TilesOf(const Model& model, const Tile& tile, int dim);

// Sets what a frame knows of a dimension from its factors. R2, R3.
void SetRagged(const Model& model, const Frame& parent, const Tile& tile, int dim, Frame& frame);

// The same for a tensor, once that of all its dimensions is set.
void SetRagged(const Model& model, const Frame& parent, int v, Frame& frame);

// Operations below the child that the first MAC belongs to, which works whenever any does. R2.
double RaggedOperations(const Model& model, const Frame& frame);

// RaggedDim::once_below of a frame whose extent is decided, where `level` further in deals it out
// in tiles of `extent` with a parallel factor.
double OnceOutside(const Model& model, const Frame& frame, int level, int dim, int32_t extent,
                   int32_t spatial);

// By what a parallel factor over a dimension makes them fewer.
double RaggedCut(const Frame& parent, const Tile& tile, int dim, int32_t spatial);

// Children with something to do, on the average over the tiles of the level outside.
double RaggedCopies(const Model& model, const Frame& parent, const Tile& tile, int dim,
                    const SplitChoice& split);

// The part of a dimension that a loop can pass in one iteration, with its parallel factor, and at
// most with any that fits the level. R3.
struct OnceParts {
  double here = 0, below = 0;  // for a child, and for instances further in
};
OnceParts Once(const Model& model, const Frame& parent, const Tile& tile, int dim,
               const SplitChoice& split);
OnceParts MostOnce(const Model& model, const Frame& parent, const Tile& tile, int dim);

// Whether the factors of all levels multiply to more than the size of some dimension.
bool IsRagged(const Model& model, const Frame* frames);

// Whether a loop may have one iteration only for some instance, or a tensor is a window: then more
// of the order of loops counts than which is innermost. R3.
bool MayPassOnce(const Model& model, const Frame* frames);

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_RAGGED_H_
