// Choices of extents and factors that need not divide, and what is known of a level that has them.
#include "tessera/search/exact/ragged.h"

#include <algorithm>

#include "tessera/base/checked.h"

namespace tessera::exact {
namespace {

int32_t Ceil(int64_t a, int64_t b) { return static_cast<int32_t>(CeilDiv(a, b)); }

// Tiles of one extent in a dimension, and the iterations in the last one.
struct Tiling {
  int64_t tiles = 1;
  int64_t last = 1;
};

Tiling Cut(int64_t bound, int64_t extent) {
  const int64_t tiles = CeilDiv(bound, extent);
  return {.tiles = tiles, .last = bound - (tiles - 1) * extent};
}

// Of `tiles` dealt out to `instances` one by one: how many are the only one of their instance.
int64_t OnlyOnes(int64_t tiles, int64_t instances) {
  return tiles <= instances ? tiles : std::max<int64_t>(0, 2 * instances - tiles);
}

// All numbers of tiles that a dimension can have, each with the extents that lead to it.
void ListTilings(int32_t bound, std::vector<ExtentChoice>& choices) {
  for (int32_t least = 1; least <= bound;) {
    const int32_t tiles = Ceil(bound, least);
    const int32_t most = tiles == 1 ? bound : Ceil(bound, tiles - 1) - 1;
    // What has one extent only is decided.
    choices.push_back({.most = most,
                       .least = tiles == 1 ? bound : least,
                       .open = least == most || tiles == 1 ? 0 : tiles});
    least = most + 1;
  }
}

// Iterations inside an outermost loop of `tiles` that need to be looked at: the fewest, and those
// that leave one or two for the end. R4.
void ListInside(int32_t steps, int32_t tiles, bool all, int32_t spatial,
                std::vector<SplitChoice>& choices) {
  const int32_t fewest = Ceil(steps, tiles);
  if (Ceil(steps, fewest) != tiles) return;
  const int32_t most = Ceil(steps, tiles - 1) - 1;
  for (int32_t t = fewest; t <= most; ++t) {
    const int32_t left = steps - (tiles - 1) * t;
    if (!all && t != fewest && left > 2) {
      // Fewer are left by longer loops.
      t = std::max(t, (steps - 2) / (tiles - 1) - 1);
      continue;
    }
    if (spatial * t > 1) choices.push_back({.spatial = spatial, .temporal = t});
  }
}

// As RaggedDim::once_below, if the last `last` iterations of the dimension are dealt out by `step`.
double OnceBelow(const Model& model, int level, int64_t last, int64_t step, int64_t bound) {
  if (model.fan_below[level] <= 1) return 0;  // Children have one instance each further in.
  const int64_t once = last <= step ? last : std::max<int64_t>(0, 2 * step - last);
  return static_cast<double>(once) / static_cast<double>(bound);
}

}  // namespace

ExtentChoice ExtentOf(const Model& model, int dim, int32_t choice) {
  if (choice > 0) return {.most = choice, .least = choice};
  const int32_t bound = model.bounds[dim], tiles = -choice;
  return {.most = Ceil(bound, tiles - 1) - 1, .least = Ceil(bound, tiles), .open = tiles};
}

void ListExtents(const Model& model, const Frame& parent, int level, int dim,
                 std::vector<ExtentChoice>& choices) {
  choices.clear();
  const int32_t bound = model.bounds[dim], outer = parent.extents[dim], open = parent.open[dim];
  if (level == 0) {
    choices.push_back({});
  } else if (open != 0) {
    for (int32_t e = 1; e <= outer / 2; ++e) {
      const int32_t times = std::max(2, Ceil(parent.least[dim], e));
      if (times <= outer / e) choices.push_back({.most = e, .least = e});
    }
    choices.push_back({.most = outer, .least = parent.least[dim], .open = open});
  } else if (outer == bound && model.levels[level].fan <= 1) {
    ListTilings(bound, choices);
  } else if (outer == bound) {
    for (int32_t e = 1; e <= bound; ++e) choices.push_back({.most = e, .least = e});
  } else {
    for (const int16_t part : model.divisors[dim].parts[static_cast<size_t>(outer) - 1]) {
      choices.push_back({.most = part + 1, .least = part + 1});
    }
  }
}

void ListSplits(const Model& model, const Frame& parent, int level, const Tile& tile, int dim,
                std::vector<SplitChoice>& choices) {
  choices.clear();
  const int32_t bound = model.bounds[dim], outer = parent.extents[dim], open = parent.open[dim];
  const int32_t extent = tile.extents[dim];
  // A parallel factor lies on one axis.
  const auto fan = static_cast<int32_t>(
      std::min<int64_t>(std::max(model.levels[level].fan_x, model.levels[level].fan_y), bound));
  if (tile.open[dim] != 0) {
    choices.push_back({.temporal = open != 0 ? 1 : tile.open[dim]});
  } else if (open != 0) {
    const bool all = !Has(model.labels, dim) || model.linked_level;
    for (int32_t p = 1; p <= std::min(fan, outer / extent); ++p) {
      ListInside(Ceil(bound, int64_t{extent} * p), open, all, p, choices);
    }
  } else if (outer == bound) {
    const int32_t tiles = Ceil(bound, extent);
    for (int32_t p = 1; p <= std::min(fan, tiles); ++p) {
      choices.push_back({.spatial = p, .temporal = Ceil(tiles, p)});
    }
  } else {
    const int32_t rest = outer / extent;
    for (const int16_t part : model.divisors[dim].parts[static_cast<size_t>(rest) - 1]) {
      if (part + 1 > fan) break;
      choices.push_back({.spatial = part + 1, .temporal = rest / (part + 1)});
    }
  }
}

ExtentRatio RatioOf(const Model& model, const Frame& parent, const Tile& tile, int dim) {
  const int32_t outer = parent.extents[dim], extent = tile.extents[dim];
  if (tile.open[dim] != 0) return ExtentRatio(parent.open[dim] != 0 ? 1 : tile.open[dim]);
  if (parent.open[dim] != 0) {
    return {static_cast<double>(outer / extent),
            static_cast<double>(std::max(2, Ceil(parent.least[dim], extent)))};
  }
  return ExtentRatio(outer == model.bounds[dim] ? Ceil(outer, extent) : outer / extent);
}

double TilesOf(const Model& model, const Tile& tile, int dim) {
  return tile.open[dim] != 0 ? tile.open[dim] : Ceil(model.bounds[dim], tile.extents[dim]);
}

void SetRagged(const Model& model, const Frame& parent, const Tile& tile, int dim, Frame& frame) {
  const RaggedDim& outer = parent.ragged[dim];
  RaggedDim& out = frame.ragged[dim];
  const int64_t p = frame.spatial[dim], t = frame.temporal[dim], e = frame.extents[dim];
  const int64_t bound = model.bounds[dim], step = e * p;
  out = {.instances = outer.instances * static_cast<double>(p),
         .tiles = TilesOf(model, tile, dim),
         .full = outer.full,
         .last = outer.last};
  if (p == 1 && t == 1) return;
  if (tile.open[dim] != 0) {
    // One instance; of those further in, some may see one of two tiles only.
    out.once_below = OnceBelow(model, frame.level, bound, e, bound);
    return;
  }
  const Tiling seen = Cut(static_cast<int64_t>(outer.last), step);
  out.full = outer.full * static_cast<double>(t) + static_cast<double>(seen.tiles - 1);
  out.last = static_cast<double>(std::min(e, seen.last));
  if (t == 1) return;
  const int64_t last = Cut(bound, parent.extents[dim]).last;
  out.once_here = Once(model, parent, tile, dim, {frame.spatial[dim], frame.temporal[dim]}).here;
  out.once_below = std::max(out.once_here, OnceBelow(model, frame.level, last, step, bound));
}

void SetRagged(const Model& model, const Frame& parent, int v, Frame& frame) {
  RaggedTensor& out = frame.tensors[v].ragged;
  out = {};
  for (int d = 0; d < model.num_dims; ++d) {
    if (Has(model.tensors[v].dims, d)) continue;
    const int64_t p = frame.spatial[d], e = frame.extents[d], bound = model.bounds[d];
    const double tiles = frame.ragged[d].tiles;
    out.least /= tiles;
    if (frame.open[d] != 0) {
      out.stays *= frame.temporal[d];
      continue;
    }
    const double moving = static_cast<double>(CeilDiv(bound, e * p) * p) / tiles;
    out.asked *= moving;
    if (frame.temporal[d] == 1) {
      out.asked_stays *= moving;
      continue;
    }
    const Tiling outside = Cut(bound, parent.extents[d]);
    const auto delivered =
        static_cast<double>((outside.tiles - 1) * p + std::min(p, CeilDiv(outside.last, e)));
    out.stays *= tiles / delivered;
    out.asked_stays *= static_cast<double>(outside.tiles * p) / delivered;
  }
}

double RaggedOperations(const Model& model, const Frame& frame) {
  double operations = 1;
  for (int d = 0; d < model.num_dims; ++d) {
    operations *= frame.ragged[d].full * frame.extents[d] + frame.ragged[d].last;
  }
  return operations;
}

double OnceOutside(const Model& model, const Frame& frame, int level, int dim, int32_t extent,
                   int32_t spatial) {
  if (frame.temporal[dim] == 1) return 0;
  const int64_t bound = model.bounds[dim];
  const int64_t whole = frame.extents[dim];
  // Where each of the instances gets something of the last tile, and has one further in, all of
  // them see every iteration.
  const Tiling outside = Cut(bound, whole);
  if (model.fan_below[level] <= 1 && CeilDiv(outside.last, extent) >= spatial) return 0;
  return static_cast<double>(std::max<int64_t>(0, 2 * whole - bound)) / static_cast<double>(bound);
}

double RaggedCut(const Frame& parent, const Tile& tile, int dim, int32_t spatial) {
  const RaggedDim& outer = parent.ragged[dim];
  if (spatial == 1 || tile.open[dim] != 0) return 1;
  const int64_t e = tile.extents[dim];
  const Tiling seen = Cut(static_cast<int64_t>(outer.last), e * spatial);
  const double before = outer.full * parent.extents[dim] + outer.last;
  // A tile of the level outside has as many of these as parallel ones and those in time.
  const double full = outer.full * static_cast<double>(parent.extents[dim] / (e * spatial)) +
                      static_cast<double>(seen.tiles - 1);
  return before / (full * static_cast<double>(e) + static_cast<double>(std::min(e, seen.last)));
}

double RaggedCopies(const Model& model, const Frame& parent, const Tile& tile, int dim,
                    const SplitChoice& split) {
  if (split.spatial == 1) return 1;
  const int64_t e = tile.extents[dim], p = split.spatial;
  const int64_t outer = parent.open[dim] != 0 ? e * p * split.temporal : parent.extents[dim];
  const Tiling outside = Cut(model.bounds[dim], outer);
  const int64_t filled = (outside.tiles - 1) * p + std::min(p, CeilDiv(outside.last, e));
  return static_cast<double>(filled) / static_cast<double>(outside.tiles);
}

OnceParts Once(const Model& model, const Frame& parent, const Tile& tile, int dim,
               const SplitChoice& split) {
  const int64_t bound = model.bounds[dim], e = tile.extents[dim], p = split.spatial;
  const int level = parent.level - 1;
  if (split.temporal == 1) return {};
  if (tile.open[dim] != 0) return {.below = OnceBelow(model, level, bound, e, bound)};
  const int64_t outer = parent.open[dim] != 0 ? e * p * split.temporal : parent.extents[dim];
  const int64_t last = Cut(bound, outer).last;
  const int64_t only = OnlyOnes(CeilDiv(last, e), p);
  const double here = static_cast<double>(std::min(last, only * e)) / static_cast<double>(bound);
  return {.here = here, .below = std::max(here, OnceBelow(model, level, last, e * p, bound))};
}

OnceParts MostOnce(const Model& model, const Frame& parent, const Tile& tile, int dim) {
  const int64_t bound = model.bounds[dim], outer = parent.extents[dim], e = tile.extents[dim];
  const auto size = static_cast<double>(bound);
  const LevelFacts& level = model.levels[parent.level - 1];
  const bool parallel = model.fan_below[parent.level - 1] > 1;
  // A parallel factor lies on one axis.
  const int64_t children = std::max(level.fan_x, level.fan_y);
  if (tile.open[dim] != 0) {
    return {.below = OnceBelow(model, parent.level - 1, bound, e, bound)};
  }
  if (parent.open[dim] != 0) {
    // One of the last tile's, and no more than the instances take at once.
    const int64_t last = bound - int64_t{parent.open[dim] - 1} * parent.least[dim];
    const double most =
        static_cast<double>(std::min(last, std::min(children, outer / e / 2) * e)) / size;
    return {.here = most, .below = most};
  }
  const int64_t last = Cut(bound, outer).last, tiles = CeilDiv(last, e);
  // The loop has two iterations or more.
  const int64_t most = outer == bound ? tiles - 1 : outer / e / 2;
  const int64_t at_once = std::min(children, most);
  const double here = static_cast<double>(std::min(last, OnlyOnes(tiles, at_once) * e)) / size;
  if (!parallel) return {.here = here, .below = here};
  // No more than what is left over, nor than the instances take at once; none of a full tile.
  const bool full = outer != bound && last == outer;
  const auto below = static_cast<double>(full ? 0 : std::min(last, at_once * e)) / size;
  return {.here = here, .below = std::max(here, below)};
}

bool MayPassOnce(const Model& model, const Frame* frames) {
  for (int v = 0; v < model.num_tensors; ++v) {
    if (!model.tensors[v].simple) return true;
  }
  for (int i = 0; i < model.num_levels; ++i) {
    for (int d = 0; d < model.num_dims; ++d) {
      const RaggedDim& dim = frames[i].ragged[d];
      if (frames[i].temporal[d] > 1 && (dim.once_here > 0 || dim.once_below > 0)) return true;
    }
  }
  return false;
}

bool IsRagged(const Model& model, const Frame* frames) {
  for (int d = 0; d < model.num_dims; ++d) {
    int64_t product = 1;
    for (int i = 0; i < model.num_levels; ++i) {
      product *= int64_t{frames[i].spatial[d]} * frames[i].temporal[d];
    }
    if (product != model.bounds[d]) return true;
  }
  return false;
}

}  // namespace tessera::exact
