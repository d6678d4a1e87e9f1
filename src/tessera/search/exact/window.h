// How far a window can move, and what is new when it does: the geometry behind the bounds of
// tensors whose ranks are moved by two loops, such as the inputs of a convolution.
#ifndef TESSERA_SEARCH_EXACT_WINDOW_H_
#define TESSERA_SEARCH_EXACT_WINDOW_H_

#include <cstdint>
#include <span>

#include "tessera/search/exact/frame.h"
#include "tessera/search/exact/model.h"

namespace tessera::exact {

// The innermost of all temporal loops at and above a level.
struct InnermostLoop {
  int level = -1;
  int dim = -1;
};

// Whether a neighbour can hold what a child below `frame` asks for. Frames are indexed by level
// here and below, and those of the levels outside are set. docs/optimality.md, B4.
bool LinkRisk(const Model& model, std::span<const Frame> frames, int v, const Frame& frame);

// Whether a loop can leave a window tile below `frame` where it is, so that the tile is sent again,
// and children that share it can hand it to each other (timeloop3). docs/optimality.md, B4.
bool ResendRisk(const Model& model, std::span<const Frame> frames, int v, const Frame& frame);

// Whether some other loop can move a window tile of `level` exactly as the innermost loop does
// (timeloop3). docs/optimality.md, B2.
bool MayMatch(const Model& model, std::span<const Frame> frames, int level, int v,
              InnermostLoop innermost);

// The part of a window tile that is new when loop `dim` advances by `step`. B2, B3.
double NewPart(const Model& model, int v, const int32_t* extents, int dim, double step,
               loopnest::TouchedScratch& scratch);

// The part of a window tile of `level` that is new, at least, whenever something else than the
// innermost loop advances (exact). docs/optimality.md, B3.
double LeastNewPart(const Model& model, std::span<const Frame> frames, int level, int v,
                    InnermostLoop innermost, loopnest::TouchedScratch& scratch);

// Whether rank r of a tile of a window tensor leaves out coordinates between its first and last.
bool HasHoles(const Model& model, int v, int r, const int32_t* extents,
              loopnest::TouchedScratch& scratch);

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_WINDOW_H_
