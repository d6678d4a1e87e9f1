// Counting with imperfect factors: the different tiles of one component. Over all visits and all
// children there are few, because only the last iterations of a dimension are cut; each is counted
// once and multiplied by how often it occurs (docs/cost-loopnest.md, C3 and C4).
#include <bit>

#include "tessera/cost/loopnest/residual_counter.h"

namespace tessera::loopnest {
namespace {

bool SameTile(const DimTile& a, const DimTile& b) {
  return a.width == b.width && a.previous_shift == b.previous_shift &&
         a.previous_width == b.previous_width;
}

// The component whose tiles are summed, with the tile chosen in each dimension so far.
struct TileSum {
  const Transfer& transfer;
  const TileVisit& visit;
  const int k;
  const PlaceChoice& choice;
  DimTile tile[kMaxDims] = {};
  FamilySums sums = {};

  // Adds the tile that was chosen: the product of its ranks, with what it has in common with
  // before.
  void AddTile(int64_t times) {
    const TensorData& tensor = transfer.tensor();
    TouchedScratch& touched_scratch = transfer.scratch.touched;
    int64_t touched = 1, common = visit.HasPrevious() ? 1 : 0;
    for (uint32_t ranks = tensor.component_ranks[k]; ranks != 0; ranks &= ranks - 1) {
      const RankShape& rank = tensor.ranks[std::countr_zero(ranks)];
      TouchedBox box, previous;
      int64_t shift = 0;
      for (int t = 0; t < rank.num_terms; ++t) {
        const DimTile& here = tile[rank.dims[t]];
        box.widths[t] = here.width;
        previous.widths[t] = here.previous_width;
        shift += rank.coefficients[t] * here.previous_shift;
      }
      touched *= CountTouched(rank, box, touched_scratch);
      if (common != 0) common *= CountCommon(rank, box, previous, shift, touched_scratch);
    }
    sums[kTile] += times * touched;
    sums[kCommon] += times * common;
    if (common != 0) sums[kOverlapping] += times * touched;
    if (common == touched) sums[kSame] += times * touched;
  }

  // Chooses a tile in each of the dimensions left.
  void AddShapes(uint32_t dims_left, int64_t times) {
    if (dims_left == 0) return AddTile(times);
    const int d = std::countr_zero(dims_left);
    const bool chosen = d == choice.dim;
    const size_t places = chosen ? choice.places : 1, place = chosen ? choice.place : 0;
    const ShapeList& shapes = transfer.own().shapes[d];
    for (size_t s = 0; s < shapes.tiles.size(); ++s) {
      const int64_t here = shapes.times[s * places + place];
      if (here == 0) continue;
      tile[d] = shapes.tiles[s];
      AddShapes(dims_left & (dims_left - 1), times * here);
    }
  }
};

}  // namespace

void ListPlacements(const DimWalk& walk, int level, int first, int last,
                    std::vector<Placement>& placements) {
  placements.assign(1, {});
  for (const bool own_level : {false, true}) {
    for (int k = 0; k < walk.num_loops; ++k) {
      const DimLoop& loop = walk.loops[k];
      if (!loop.spatial || loop.level < first || loop.level > last) continue;
      if ((loop.level == level) != own_level) continue;
      const size_t inner = placements.size();
      for (int64_t n = 1; n < loop.count; ++n) {
        for (size_t p = 0; p < inner; ++p) {
          placements.push_back(
              {.place = own_level ? n : 0, .shift = placements[p].shift + n * loop.step});
        }
      }
    }
  }
}

void ListShapes(const TileVisit& visit, int d, int64_t base, std::span<const Placement> placements,
                int64_t places, ShapeList& shapes) {
  shapes.tiles.clear();
  shapes.times.clear();
  for (const VisitKind& kind : visit.Kinds(d)) {
    for (const Placement& placement : placements) {
      const int64_t left = kind.left - base - placement.shift;
      if (left <= 0) continue;
      const DimTile tile = TileAt(visit.steps[d].visit, left);
      size_t s = 0;
      while (s < shapes.tiles.size() && !SameTile(shapes.tiles[s], tile)) ++s;
      if (s == shapes.tiles.size()) {
        shapes.tiles.push_back(tile);
        shapes.times.resize(shapes.times.size() + static_cast<size_t>(places), 0);
      }
      shapes.times[s * static_cast<size_t>(places) + static_cast<size_t>(placement.place)] +=
          kind.times;
    }
  }
}

FamilySums SumTiles(const Transfer& transfer, const TileVisit& visit, int k,
                    const PlaceChoice& choice) {
  TileSum sum{.transfer = transfer, .visit = visit, .k = k, .choice = choice};
  sum.AddShapes(transfer.tensor().component_dims[k], 1);
  return sum.sums;
}

}  // namespace tessera::loopnest
