#include "tessera/vta/codegen/tile_plan.h"

#include <algorithm>

#include <fmt/format.h>

namespace tessera::vta {
namespace {

// With a 1x1 kernel and room to the right, a row of inputs is a whole number of steps long, so
// that all outputs of a tile are one loop.
Window ColumnWindow(const ConvShape& shape, const Extent& columns, bool trim) {
  const Axis axis = ColumnAxis(shape);
  Window window = WindowOf(axis, columns, trim, /*may_skip=*/false);
  const int64_t whole = columns.size() * axis.stride;
  if (axis.kernel == 1 && window.begin + whole <= axis.size) window.loaded = whole;
  return window;
}

Window RowWindow(const ConvShape& shape, const Extent& rows, bool trim) {
  return WindowOf(RowAxis(shape), rows, trim, /*may_skip=*/true);
}

}  // namespace

Result<TilePlan> TilePlan::Make(const ConvShape& shape, const TiledSchedule& schedule,
                                const Config& config) {
  TilePlan plan(shape, schedule, config);
  const int64_t tiles = plan.batches_ * std::ssize(plan.rows_) * std::ssize(plan.columns_) *
                        std::ssize(plan.channels_);
  const int64_t instructions =
      schedule.split_products ? plan.chunks_.front().size() * shape.kh * shape.kw : 1;
  const int64_t steps = tiles * std::ssize(plan.chunks_) * instructions;
  if (steps > kMaxInstructions / 4) {
    return Error{.kind = ErrorKind::kInfeasible,
                 .message = fmt::format("{} steps of a few instructions each > {}", steps,
                                        kMaxInstructions / 4)};
  }
  plan.ListTiles(schedule.channels_outermost);
  plan.CutTail(shape, schedule);
  plan.ListFirstSteps(schedule);
  return plan;
}

TilePlan::TilePlan(const ConvShape& shape, const TiledSchedule& schedule, const Config& config)
    : batches_(BatchBlocks(shape, config)),
      rows_(Cut(shape.oh(), schedule.tile_h)),
      columns_(Cut(shape.ow(), schedule.tile_w)),
      channels_(Cut(OutputBlocks(shape, config), schedule.tile_co, schedule.lead_co)),
      chunks_(Cut(InputBlocks(shape, config), schedule.tile_ci)),
      widest_(std::min(schedule.tile_co, OutputBlocks(shape, config))),
      channel_pieces_(std::ssize(channels_)) {
  for (const Extent& rows : rows_) {
    row_windows_.push_back(RowWindow(shape, rows, schedule.trim_rows));
  }
  for (const Extent& columns : columns_) {
    column_windows_.push_back(ColumnWindow(shape, columns, schedule.trim_columns));
  }
}

void TilePlan::ListTiles(bool channels_outermost) {
  const auto add = [&](int64_t n, size_t h, size_t w, size_t c) {
    tiles_.push_back({.n = n,
                      .h = static_cast<int64_t>(h),
                      .w = static_cast<int64_t>(w),
                      .c = static_cast<int64_t>(c),
                      .rows = rows_[h],
                      .columns = columns_[w],
                      .channels = channels_[c]});
  };
  const size_t outer = channels_outermost ? channels_.size() : 1;
  const size_t inner = channels_outermost ? 1 : channels_.size();
  for (size_t co = 0; co < outer; ++co) {
    for (int64_t n = 0; n < batches_; ++n) {
      for (size_t h = 0; h < rows_.size(); ++h) {
        for (size_t w = 0; w < columns_.size(); ++w) {
          for (size_t ci = 0; ci < inner; ++ci) add(n, h, w, co + ci);
        }
      }
    }
  }
}

void TilePlan::CutTail(const ConvShape& shape, const TiledSchedule& schedule) {
  OutputTile& body = tiles_.back();
  OutputTile tail = body;
  if (schedule.tail_rows > 0 && schedule.tail_rows < body.rows.size()) {
    body.rows.end = tail.rows.begin = body.rows.end - schedule.tail_rows;
    for (OutputTile* tile : {&body, &tail}) {
      tile->h = std::ssize(row_windows_);
      row_windows_.push_back(RowWindow(shape, tile->rows, schedule.trim_rows));
    }
  } else if (schedule.tail_co > 0 && schedule.tail_co < body.channels.size()) {
    body.channels.end = tail.channels.begin = body.channels.end - schedule.tail_co;
    body.c = channel_pieces_++;
    tail.c = channel_pieces_++;
  } else {
    return;
  }
  has_tail_ = true;
  tiles_.push_back(tail);
}

// Chunks of inputs that a tile has anyway are cut further, so all lie where they would.
void TilePlan::ListFirstSteps(const TiledSchedule& schedule) {
  const int64_t channels = tiles_.front().channels.size();
  const int64_t part = schedule.lead_part > 0 ? schedule.lead_part : channels;
  int64_t size = schedule.lead_ci > 0 ? schedule.lead_ci : schedule.tile_ci;
  int64_t repeats = 0, loaded = 0;  // weights so far, in pairs of blocks
  bool early = true;
  for (int64_t begin = 0; begin < chunks_.back().end;) {
    const int64_t regular = begin / schedule.tile_ci;
    const Extent& around = chunks_[static_cast<size_t>(regular)];
    const Extent chunk = {begin, std::min(begin + std::min(size, schedule.tile_ci), around.end)};
    const bool own = chunk != around;
    for (int64_t first = 0; first < channels;) {
      // What comes in while those before are multiplied.
      const int64_t more = part * chunk.size() + loaded * schedule.lead_growth / 100;
      const int64_t blocks = schedule.lead_growth > 0 ? more / chunk.size() : part;
      const Extent some = {first, early ? std::min(first + blocks, channels) : channels};
      first_steps_.push_back(
          {chunk, some, regular, own ? std::ssize(chunks_) + own_chunks_ : regular});
      loaded += some.size() * chunk.size();
      first = some.end;
    }
    own_chunks_ += own ? 1 : 0;
    begin = chunk.end;
    if (++repeats >= schedule.lead_repeat) {
      ++size;
      repeats = 0;
      early = schedule.lead_growth > 0;
    }
  }
}

void TilePlan::CutTailInto(int64_t blocks) { tail_chunks_ = Cut(chunks_.back().end, blocks); }

size_t TilePlan::StepsOf(size_t t) const {
  if (t == 0) return first_steps_.size();
  return HasOwnChunks(t) ? tail_chunks_.size() : chunks_.size();
}

TileStep TilePlan::StepOf(size_t t, size_t k) const {
  if (t == 0) return first_steps_[k];
  const Extent channels = {0, tiles_[t].channels.size()};
  const auto number = static_cast<int64_t>(k), chunks = std::ssize(chunks_);
  if (!HasOwnChunks(t)) return {chunks_[k], channels, number, number};
  return {tail_chunks_[k], channels, 0, chunks + own_chunks_ + number};
}

int32_t TilePlan::InputTag(const OutputTile& tile, const TileStep& step) const {
  const int64_t place =
      (tile.n * std::ssize(row_windows_) + tile.h) * std::ssize(column_windows_) + tile.w;
  return static_cast<int32_t>(place * std::ssize(chunks_) + step.inputs);
}

// The first tile's own chunks come behind those of all pieces.
int32_t TilePlan::WeightTag(const OutputTile& tile, const TileStep& step) const {
  const int64_t chunks = std::ssize(chunks_);
  const bool own = step.weights >= chunks;
  return static_cast<int32_t>((own ? channel_pieces_ - 1 : tile.c) * chunks + step.weights);
}

}  // namespace tessera::vta
