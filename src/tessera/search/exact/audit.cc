// Random mappings below a part of the tree.
#include "tessera/search/exact/audit.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

namespace tessera::exact {
namespace {

// Bounds are sums of a few doubles, taken in another order than costs.
constexpr double kRounding = 1e-12;

}  // namespace

Auditor::Auditor(Goal goal, uint64_t seed, int64_t per_part, int64_t most)
    : goal_(goal), per_part_(per_part), most_(most), rng_(seed, StreamId("search.exact.audit")) {}

void Auditor::OnPruned(const Model& model, Rule rule, double bound, std::span<const Frame> frames,
                       int level, const Tile* tile, const Chain* chain,
                       const LoopMapping* mapping) {
  RuleAudit& audit = rules_[static_cast<size_t>(rule)];
  if (skipped_[static_cast<size_t>(rule)] || audit.audited >= most_ || std::isinf(bound)) return;
  if (setup_ != model.setup) {
    setup_ = model.setup;
    workspace_ = {};
    Reserve(*setup_, workspace_);
  }
  // With any factors orders are left out of all levels' factors: extents that were open further out
  // follow from those further in, and bounds know of them (R4).
  const int given = model.any && rule == Rule::kOrder ? 0 : level;
  // Evaluated mappings are few, and many others were left out for each.
  constexpr int64_t kMore = 64;
  for (int64_t k = 0; k < (mapping != nullptr ? kMore : 1) * per_part_; ++k) {
    if (mapping != nullptr) {
      mapping_ = *mapping;
      bool placed = true;
      if (rule == Rule::kSamePlace) {
        placed = Place(model, level);
      } else {
        for (int i = 0; i < model.num_levels; ++i) Shuffle(model, i, chain);
      }
      if (!placed) continue;
    } else {
      Draw(model, frames, given, tile);
      bool placed = true;
      for (int i = 0; i < model.num_levels; ++i) {
        Shuffle(model, i, chain != nullptr && i >= level ? chain : nullptr);
        placed = placed && Place(model, i);
      }
      if (!placed) continue;
    }
    Check(model, rule, bound);
  }
}

// Factors of all levels: those from `level` outwards are given, and so may be the tile inside.
void Auditor::Draw(const Model& model, std::span<const Frame> frames, int level, const Tile* tile) {
  if (model.any) return DrawAny(model, frames, level, tile);
  mapping_ = {.num_levels = model.num_levels};
  for (int i = 0; i < model.num_levels; ++i) {
    mapping_.levels[static_cast<size_t>(i)].keep = model.keep[i];
  }
  int32_t left[kMaxDims];
  for (int d = 0; d < model.num_dims; ++d) left[d] = model.bounds[d];
  for (int i = model.num_levels - 1; i >= level; --i) {
    LoopLevel& loops = mapping_.levels[static_cast<size_t>(i)];
    for (int d = 0; d < model.num_dims; ++d) {
      loops.temporal[static_cast<size_t>(d)] = frames[static_cast<size_t>(i)].temporal[d];
      loops.spatial[static_cast<size_t>(d)] = frames[static_cast<size_t>(i)].spatial[d];
      left[d] = frames[static_cast<size_t>(i)].extents[d];
    }
  }
  int next = level - 1;
  if (tile != nullptr) {
    // The level above the tile gets parallel factors at random, and the rest is temporal.
    int32_t ratio[kMaxDims];
    for (int d = 0; d < model.num_dims; ++d) ratio[d] = left[d] / tile->extents[d];
    LoopLevel& loops = mapping_.levels[static_cast<size_t>(next)];
    for (int d = 0; d < model.num_dims; ++d) {
      const DivisorTable parts = MakeDivisors(ratio[d]);
      const int32_t drawn =
          model.levels[next].fan > 1
              ? parts.values[static_cast<size_t>(rng_.UniformInt(std::ssize(parts.values)))]
              : 1;
      const int32_t spatial = d < tile->decided ? tile->spatial[d] : drawn;
      loops.spatial[static_cast<size_t>(d)] = spatial;
      loops.temporal[static_cast<size_t>(d)] = ratio[d] / spatial;
      left[d] = tile->extents[d];
    }
    --next;
  }
  for (int i = next; i >= 0; --i) Complete(model, i, left);
}

// The same with any factors: what is still open is drawn, too.
void Auditor::DrawAny(const Model& model, std::span<const Frame> frames, int level,
                      const Tile* tile) {
  mapping_ = {.num_levels = model.num_levels};
  for (int i = 0; i < model.num_levels; ++i) {
    mapping_.levels[static_cast<size_t>(i)].keep = model.keep[i];
  }
  const auto draw = [&](int64_t most) { return static_cast<int32_t>(1 + rng_.UniformInt(most)); };
  const auto draw_part = [&](int32_t whole) {
    const std::vector<int16_t> parts = MakeDivisors(whole).parts.back();
    const std::vector<int32_t> values = MakeDivisors(whole).values;
    return values[static_cast<size_t>(parts[static_cast<size_t>(draw(std::ssize(parts)) - 1)])];
  };
  for (int d = 0; d < model.num_dims; ++d) {
    const auto dim = static_cast<size_t>(d);
    const int32_t bound = model.bounds[d];
    for (int i = model.num_levels - 1; i >= level; --i) {
      const Frame& frame = frames[static_cast<size_t>(i)];
      mapping_.levels[static_cast<size_t>(i)].temporal[dim] = frame.temporal[d];
      mapping_.levels[static_cast<size_t>(i)].spatial[dim] = frame.spatial[d];
    }
    const Frame& inner = frames[static_cast<size_t>(level)];
    int32_t left = inner.extents[d];
    int next = level - 1;
    bool open = inner.open[d] != 0;
    int32_t least = inner.least[d];
    // Above a tile that is given.
    if (tile != nullptr) {
      LoopLevel& loops = mapping_.levels[static_cast<size_t>(next)];
      const bool fan = model.levels[next].fan > 1;
      const int32_t extent = tile->extents[d];
      if (d < tile->decided) {
        loops.spatial[dim] = tile->spatial[d];
        loops.temporal[dim] = tile->temporal[d];
        open = tile->open[d] != 0;
        least = tile->least[d];
        left = extent;
      } else if (tile->open[d] != 0) {
        if (!open) loops.temporal[dim] = tile->open[d];
        open = true;
        left = extent;
        least = tile->least[d];
      } else {
        int32_t ratio = left / extent;
        if (open) {
          const int32_t fewest = std::max(2, (least + extent - 1) / extent);
          ratio = fewest - 1 + draw(ratio - fewest + 1);
        } else if (left == bound) {
          const int32_t tiles = (bound + extent - 1) / extent;
          loops.spatial[dim] = fan ? draw(tiles) : 1;
          loops.temporal[dim] = (tiles + loops.spatial[dim] - 1) / loops.spatial[dim];
          ratio = 0;
        }
        if (ratio > 0) {
          loops.spatial[dim] = fan ? draw_part(ratio) : 1;
          loops.temporal[dim] = ratio / loops.spatial[dim];
        }
        open = false;
        left = extent;
      }
      --next;
    }
    if (open) left = least - 1 + draw(left - least + 1);
    // Splits what is left between the levels further in.
    for (int i = next; i >= 0; --i) {
      LoopLevel& loops = mapping_.levels[static_cast<size_t>(i)];
      const bool fan = model.levels[i].fan > 1;
      if (left == bound) {
        const int32_t extent = i == 0 ? 1 : (draw(2) == 1 ? bound : draw(bound));
        const int32_t tiles = (bound + extent - 1) / extent;
        loops.spatial[dim] = fan ? draw(tiles) : 1;
        loops.temporal[dim] = (tiles + loops.spatial[dim] - 1) / loops.spatial[dim];
        left = extent;
      } else {
        loops.spatial[dim] = fan ? draw_part(left) : 1;
        left /= loops.spatial[dim];
        loops.temporal[dim] = i == 0 ? left : draw_part(left);
        left /= loops.temporal[dim];
      }
    }
  }
}

// Splits what is left between this level and those further in.
void Auditor::Complete(const Model& model, int level, int32_t* left) {
  LoopLevel& loops = mapping_.levels[static_cast<size_t>(level)];
  for (int d = 0; d < model.num_dims; ++d) {
    const auto draw = [&](int32_t whole) {
      const DivisorTable parts = MakeDivisors(whole);
      return parts.values[static_cast<size_t>(rng_.UniformInt(std::ssize(parts.values)))];
    };
    const int32_t spatial = model.levels[level].fan > 1 ? draw(left[d]) : 1;
    const int32_t temporal = level == 0 ? left[d] / spatial : draw(left[d] / spatial);
    loops.spatial[static_cast<size_t>(d)] = spatial;
    loops.temporal[static_cast<size_t>(d)] = temporal;
    left[d] /= spatial * temporal;
  }
}

// A random order of a level's loops, with the innermost one of the chain.
void Auditor::Shuffle(const Model& model, int level, const Chain* chain) {
  LoopLevel& loops = mapping_.levels[static_cast<size_t>(level)];
  const int first = chain == nullptr ? -1 : chain->dims[level];
  const auto count = static_cast<size_t>(model.num_dims);
  for (size_t d = 0; d < count; ++d) loops.temporal_order[d] = static_cast<uint8_t>(d);
  size_t begin = 0;
  if (first >= 0) {
    std::swap(loops.temporal_order[0], loops.temporal_order[static_cast<size_t>(first)]);
    begin = 1;
  }
  rng_.Shuffle(std::span(loops.temporal_order).subspan(begin, count - begin));
}

// Random axes and orders of a level's parallel loops; false if they do not fit.
bool Auditor::Place(const Model& model, int level) {
  LoopLevel& loops = mapping_.levels[static_cast<size_t>(level)];
  uint8_t x[kMaxDims], y[kMaxDims];
  size_t num_x = 0, num_y = 0;
  int64_t used_x = 1, used_y = 1;
  for (int d = 0; d < model.num_dims; ++d) {
    const int32_t factor = loops.spatial[static_cast<size_t>(d)];
    const bool fits_x = used_x * factor <= model.levels[level].fan_x;
    const bool fits_y = used_y * factor <= model.levels[level].fan_y;
    if (!fits_x && !fits_y) return false;
    const bool on_y = fits_y && (!fits_x || rng_.UniformInt(2) == 0);
    (on_y ? used_y : used_x) *= factor;
    (on_y ? y[num_y++] : x[num_x++]) = static_cast<uint8_t>(d);
  }
  rng_.Shuffle(std::span(x, num_x));
  rng_.Shuffle(std::span(y, num_y));
  std::copy_n(x, num_x, loops.spatial_order.begin());
  std::copy_n(y, num_y, loops.spatial_order.begin() + static_cast<std::ptrdiff_t>(num_x));
  loops.split = static_cast<uint8_t>(num_x);
  return true;
}

void Auditor::Check(const Model& model, Rule rule, double bound) {
  loopnest::Evaluate(*model.setup, mapping_, workspace_);
  if (workspace_.nest_error.kind != loopnest::NestError::Kind::kNone) return;
  Bound cost;
  if (model.exact) {
    if (workspace_.exact.status != loopnest::ExactResult::Status::kOk) return;
    cost = {workspace_.exact.energy, static_cast<double>(workspace_.exact.cycles)};
  } else {
    if (workspace_.timeloop.status != loopnest::TimeloopResult::Status::kOk) return;
    cost = {workspace_.timeloop.energy, static_cast<double>(workspace_.timeloop.cycles)};
  }
  RuleAudit& audit = rules_[static_cast<size_t>(rule)];
  const double value = cost.Value(goal_);
  ++audit.audited;
  audit.tightest = std::max(audit.tightest, bound / value);
  if (value >= bound * (1 - kRounding)) return;
  ++audit.violations;
  if (!first_violation_.empty()) return;
  first_violation_ = fmt::format(
      "rule {}: bound {} > cost {} of\n{}", kRuleNames[static_cast<size_t>(rule)], bound, value,
      PrintLoopNest(mapping_, model.setup->data.problem, model.setup->machine.level_names));
}

Result<std::string> AuditSample(const LoopProblem& problem, const Hierarchy& hierarchy,
                                MapperOptions options, const LoopMapping& best, uint64_t seed) {
  constexpr int64_t kMappings = 200;  // of each rule
  constexpr int kRounds = 4;
  Auditor auditor(options.goal, seed, /*per_part=*/1, kMappings);
  options.observer = &auditor;
  // The choice of kept tensors that matters is that of the mapping.
  options.keep = KeepSets(best);
  const auto all = static_cast<uint8_t>((1u << problem.num_tensors) - 1);
  for (uint8_t& set : options.keep) set &= all;
  options.keep.back() = all;  // Homes further in take it back.
  options.decide_keep = false;
  options.dive_width = 0;
  options.round_nodes = 2;
  options.node_steps = options.split_steps = 2'000;
  const Result<std::unique_ptr<Mapper>> mapper = Mapper::Make(problem, hierarchy, options);
  if (!mapper) return mapper.error();
  (*mapper)->Offer(best);
  ThreadPool one(1);  // An auditor is used by one thread.
  for (int round = 0; round < kRounds && (*mapper)->Step(one); ++round) {
    if (options.stopped && options.stopped()) break;
  }
  return auditor.first_violation();
}

}  // namespace tessera::exact
