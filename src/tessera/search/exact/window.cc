// Displacements of windows. A rank such as p + r is moved by two dimensions, so what one loop
// brings another may have brought before; here is found which displacements can occur, without
// knowing the order of loops. docs/optimality.md B2 to B4 say what follows from them.
#include "tessera/search/exact/window.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tessera::exact {
namespace {

constexpr int kMaxTerms = loopnest::RankShape::kMaxTerms;

uint32_t DimsOf(const RankTerms& rank) {
  uint32_t dims = 0;
  for (int k = 0; k < rank.num_terms; ++k) dims |= 1u << rank.dims[k];
  return dims;
}

// Coordinates from the first to the last of a rank's tile.
double ExtentOf(const RankTerms& rank, const int32_t* extents) {
  double extent = 1;
  for (int k = 0; k < rank.num_terms; ++k) {
    extent += rank.coefficients[k] * (extents[rank.dims[k]] - 1);
  }
  return extent;
}

loopnest::TouchedBox BoxOf(const loopnest::RankShape& shape, const int32_t* extents) {
  loopnest::TouchedBox box;
  for (int k = 0; k < shape.num_terms; ++k) box.widths[k] = extents[shape.dims[k]];
  return box;
}

// How the temporal loops of one level move a rank, term by term (0: there is no loop).
struct RankSteps {
  double forward[kMaxTerms] = {};  // when the loop advances
  double back[kMaxTerms] = {};     // when it starts over, because a loop outside it advances
};

RankSteps StepsOf(const Model& model, const RankTerms& rank, const Frame& frame) {
  RankSteps steps;
  for (int t = 0; t < rank.num_terms; ++t) {
    const int d = rank.dims[t];
    if (frame.temporal[d] == 1) continue;
    steps.forward[t] = rank.coefficients[t] * frame.extents[d] * frame.spatial[d];
    // Timeloop walks every loop for two iterations, semantics exact to its end.
    steps.back[t] = steps.forward[t] * (model.exact ? frame.temporal[d] - 1 : 1);
  }
  return steps;
}

// Calls use(displacement, dim) for every way in which an advance at one level can move a rank; dim
// is the dimension that advances, or -1 for one that leaves the rank alone. Any of the level's
// other loops over the rank can lie inside the one that advances, and then starts over.
template <typename Use>
bool AnyOfLevel(const RankTerms& rank, const RankSteps& steps, double inside, const Use& use) {
  for (uint32_t subset = 0; subset < 1u << rank.num_terms; ++subset) {
    double sum = inside;
    for (int t = 0; t < rank.num_terms; ++t) sum += Has(subset, t) ? steps.back[t] : 0;
    for (int t = 0; t < rank.num_terms; ++t) {
      if (steps.forward[t] == 0 || Has(subset, t)) continue;
      if (use(steps.forward[t] - sum, rank.dims[t])) return true;
    }
    if (use(-sum, -1)) return true;
  }
  return false;
}

// The same over `level` and all levels outside it; all loops of the levels further in lie inside
// the one that advances, and `innermost` inside all others. Levels outside a loop over other ranks
// that may not move (`still`) are left out. Stops and returns true as soon as `use` does.
template <typename Use>
bool AnyDisplacement(const Model& model, std::span<const Frame> frames, int level,
                     const RankTerms& rank, uint32_t still, InnermostLoop innermost,
                     const Use& use) {
  double inside = 0;  // steps back of the levels further in
  for (int k = level; k < model.num_levels; ++k) {
    const Frame& frame = frames[static_cast<size_t>(k)];
    RankSteps steps = StepsOf(model, rank, frame);
    for (int t = 0; t < rank.num_terms && k == innermost.level; ++t) {
      if (rank.dims[t] != innermost.dim) continue;
      inside += steps.back[t];
      steps.forward[t] = steps.back[t] = 0;
    }
    if (AnyOfLevel(rank, steps, inside, use)) return true;
    if ((frame.loops & still) != 0) return false;
    for (const double step : steps.back) inside += step;
  }
  return false;
}

// Whether two children below `frame` can lie as far apart, along one rank, as some step moves it.
bool MayLieApart(const Model& model, std::span<const Frame> frames, const TensorFacts& tensor,
                 const RankTerms& rank, const Frame& frame) {
  const uint32_t dims = DimsOf(rank);
  const uint32_t space = dims & frame.parallel, time = dims & frame.loops_above;
  if (space == 0 || time == 0) return false;
  // With the same dimension in time and space, steps are longer than the array.
  if ((time & ~space) == 0 && std::popcount(space) == 1) return false;
  if (rank.num_terms > 2) return true;
  const double step[2] = {rank.coefficients[0] * frame.extents[rank.dims[0]],
                          rank.coefficients[1] * frame.extents[rank.dims[1]]};
  const int32_t count[2] = {frame.spatial[rank.dims[0]], frame.spatial[rank.dims[1]]};
  const auto apart = [&](double distance, int /*dim*/) {
    if (distance == 0) return false;
    for (int32_t a = 1 - count[0]; a < count[0]; ++a) {
      const double left = distance - a * step[0];
      const double b = std::nearbyint(left / step[1]);
      if (std::abs(b) < count[1] && b * step[1] == left) return true;
    }
    return false;
  };
  return AnyDisplacement(model, frames, frame.level, rank, tensor.plain, {}, apart);
}

// Whether two children below `frame` can hold the same tile: parallel loops leave the tensor alone,
// or two of them move one rank.
bool MayShareTile(const TensorFacts& tensor, const Frame& frame) {
  if ((frame.parallel & ~tensor.dims) != 0) return true;
  for (int r = 0; r < tensor.num_ranks; ++r) {
    if (std::popcount(DimsOf(tensor.ranks[r]) & frame.parallel) > 1) return true;
  }
  return tensor.shares && frame.parallel != 0;
}

// The part of rank r of a window tile that a move by `distance` leaves in place (exact).
double RankOverlap(const Model& model, int v, int r, const int32_t* extents, double distance,
                   loopnest::TouchedScratch& scratch) {
  const RankTerms& rank = model.tensors[v].ranks[r];
  if (std::abs(distance) >= ExtentOf(rank, extents)) return 0;
  const loopnest::RankShape& shape = model.setup->data.tensors[v].ranks[r];
  const loopnest::TouchedBox box = BoxOf(shape, extents);
  // Shapes are divided by the common divisor of their coefficients; so are distances.
  const double scale =
      rank.coefficients[0] / static_cast<double>(shape.CoefficientOf(rank.dims[0]));
  const auto shift = static_cast<int64_t>(distance / scale);
  return static_cast<double>(CountCommon(shape, box, box, shift, scratch)) /
         static_cast<double>(CountTouched(shape, box, scratch));
}

}  // namespace

bool LinkRisk(const Model& model, std::span<const Frame> frames, int v, const Frame& frame) {
  if (frame.parallel == 0) return false;
  const TensorFacts& tensor = model.tensors[v];
  if (model.exact) return model.linked_level && !tensor.read_write && frame.level > 0;
  if (frame.level == 0) return true;
  if (tensor.simple) return false;
  if (tensor.shares) return true;
  for (int r = 0; r < tensor.num_ranks; ++r) {
    if (MayLieApart(model, frames, tensor, tensor.ranks[r], frame)) return true;
  }
  return false;
}

bool ResendRisk(const Model& model, std::span<const Frame> frames, int v, const Frame& frame) {
  const TensorFacts& tensor = model.tensors[v];
  if (model.exact || frame.level == 0 || tensor.simple || !MayShareTile(tensor, frame))
    return false;
  if (tensor.shares) return true;
  const auto stays = [](double distance, int by) { return by >= 0 && distance == 0; };
  for (int r = 0; r < tensor.num_ranks; ++r) {
    const RankTerms& rank = tensor.ranks[r];
    if (rank.num_terms > 1 &&
        AnyDisplacement(model, frames, frame.level, rank, tensor.plain, {}, stays)) {
      return true;
    }
  }
  return false;
}

bool MayMatch(const Model& model, std::span<const Frame> frames, int level, int v,
              InnermostLoop innermost) {
  const TensorFacts& tensor = model.tensors[v];
  if (tensor.shares) return true;
  const int dim = innermost.dim;
  const bool idle = !Has(tensor.dims, dim);
  const Frame& first = frames[static_cast<size_t>(innermost.level)];
  for (int r = 0; r < tensor.num_ranks; ++r) {
    const RankTerms& rank = tensor.ranks[r];
    if (rank.num_terms == 1) continue;
    const uint32_t dims = DimsOf(rank);
    double moved = 0;
    for (int k = 0; k < rank.num_terms; ++k) {
      if (rank.dims[k] == dim) {
        moved = rank.coefficients[k] * first.extents[dim] * first.spatial[dim];
      }
    }
    if (!idle && !Has(dims, dim)) continue;
    // All other ranks have to stay, so nothing that moves them may lie inside.
    const auto same = [&](double distance, int by) { return by >= 0 && distance == moved; };
    if (AnyDisplacement(model, frames, level, rank, tensor.dims & ~dims, innermost, same)) {
      return true;
    }
  }
  return false;
}

double NewPart(const Model& model, int v, const int32_t* extents, int dim, double step,
               loopnest::TouchedScratch& scratch) {
  const TensorFacts& tensor = model.tensors[v];
  double overlap = 1;
  for (int r = 0; r < tensor.num_ranks; ++r) {
    const RankTerms& rank = tensor.ranks[r];
    double moved = 0;
    for (int k = 0; k < rank.num_terms; ++k) {
      if (rank.dims[k] == dim) moved += rank.coefficients[k] * step;
    }
    if (moved == 0) continue;
    const double extent = ExtentOf(rank, extents);
    if (moved >= extent) return 1;
    if (model.exact) {
      const loopnest::RankShape& shape = model.setup->data.tensors[v].ranks[r];
      const loopnest::TouchedBox box = BoxOf(shape, extents);
      const int64_t shift = shape.CoefficientOf(dim) * static_cast<int64_t>(step);
      overlap *= static_cast<double>(CountCommon(shape, box, box, shift, scratch)) /
                 static_cast<double>(CountTouched(shape, box, scratch));
    } else {
      overlap *= (extent - moved) / extent;
    }
  }
  return 1 - overlap;
}

double LeastNewPart(const Model& model, std::span<const Frame> frames, int level, int v,
                    InnermostLoop innermost, loopnest::TouchedScratch& scratch) {
  const TensorFacts& tensor = model.tensors[v];
  if (tensor.shares) return 0;
  const Frame& frame = frames[static_cast<size_t>(level)];
  const bool idle = !Has(tensor.dims, innermost.dim);
  double most = 0;
  for (int r = 0; r < tensor.num_ranks && most < 1; ++r) {
    const RankTerms& rank = tensor.ranks[r];
    // The rank of the innermost loop always moves; otherwise it can be any.
    if (rank.num_terms < 2 || (!idle && !Has(DimsOf(rank), innermost.dim))) continue;
    const auto keep_most = [&](double distance, int by) {
      if (distance != 0 || by >= 0) {
        most = std::max(most, RankOverlap(model, v, r, frame.extents, distance, scratch));
      }
      return most == 1;
    };
    AnyDisplacement(model, frames, level, rank, 0, innermost, keep_most);
  }
  return 1 - most;
}

bool HasHoles(const Model& model, int v, int r, const int32_t* extents,
              loopnest::TouchedScratch& scratch) {
  const loopnest::RankShape& shape = model.setup->data.tensors[v].ranks[r];
  const auto touched = static_cast<double>(CountTouched(shape, BoxOf(shape, extents), scratch));
  return touched < ExtentOf(model.tensors[v].ranks[r], extents);
}

}  // namespace tessera::exact
