// Which schedules have a program, told without making it.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/coopt/vta_space.h"
#include "tessera/vta/codegen/geometry.h"

namespace tessera::coopt {
namespace {

using vta::Memory;

// Inputs along an axis that the largest tile takes, without padding.
int64_t LargestWindow(const vta::Axis& axis, int64_t outputs, int64_t tile) {
  int64_t largest = 0;
  const int64_t last = (outputs - 1) / tile * tile;
  for (const int64_t begin : {int64_t{0}, std::min(tile, last), last}) {
    const vta::Extent piece = {begin, std::min(begin + tile, outputs)};
    largest = std::max(largest, WindowOf(axis, piece, /*trim=*/true, /*may_skip=*/true).size());
  }
  return largest;
}

// Sizes that pieces of at most `piece` of `total` have: the first, the usual one, and the last.
std::array<int64_t, 3> PieceSizes(int64_t total, int64_t piece, int64_t lead = 0) {
  const int64_t most = std::min(total, piece);
  const int64_t first = lead > 0 && lead < most ? lead : most;
  const int64_t rest = total - (first < most ? first : 0);
  return {first, std::min(most, rest), (rest - 1) % most + 1};
}

// Whether a step of the improved generator needs a sum again within two tile operations, whatever
// padding it trims. It runs the largest of channels in, channels out and taps as the outer loop and
// lists the rest as micro-ops, rows innermost.
bool ReusesSums(const vta::ConvShape& shape, int64_t rows, int64_t columns, int64_t in,
                int64_t out) {
  const bool channels_outside = out > in && out >= shape.kw;
  if (shape.kh == 1 && shape.kw == 1) {
    if (in == 1) return false;
    if (!channels_outside) return rows * columns * out < 3;
    // All outputs of a tile are one loop; with a stride perhaps not, and rows are listed.
    return (shape.stride_h == 1 && shape.stride_w == 1) || rows < 3;
  }
  if (shape.kh == 1) return false;
  return channels_outside ? rows < 3 : rows * out < 3;
}

bool ReusesSums(const vta::ConvShape& shape, const vta::Config& config,
                const vta::TiledSchedule& s) {
  for (const int64_t rows : PieceSizes(shape.oh(), s.tile_h)) {
    for (const int64_t columns : PieceSizes(shape.ow(), s.tile_w)) {
      for (const int64_t in : PieceSizes(InputBlocks(shape, config), s.tile_ci)) {
        for (const int64_t out : PieceSizes(OutputBlocks(shape, config), s.tile_co, s.lead_co)) {
          if (ReusesSums(shape, rows, columns, in, out)) return true;
        }
      }
    }
  }
  return false;
}

// The configuration with buffers that hold anything.
vta::Config WithoutLimits(vta::Config config) {
  constexpr int kLogBytes = 60;
  config.log_inp_buff_size = config.log_wgt_buff_size = config.log_acc_buff_size = kLogBytes;
  return config;
}

}  // namespace

// Larger tiles leave more room between two uses of a sum, so tiles of all rows and columns decide.
bool VtaSpace::NeedsSplitProducts() const {
  const bool few = shape_.oh() < 3 && (shape_.kh > 1 || (shape_.kw > 1 && shape_.ow() < 3));
  if (!few || options_.generator != Generator::kBest || !vta::Validate(shape_, config_)) {
    return false;
  }
  const vta::Config roomy = WithoutLimits(config_);
  const auto last = [this](size_t knob) { return decisions()[knob].size() - 1; };
  SchedulePoint point = {};
  point[kTileH] = static_cast<uint8_t>(last(kTileH));
  point[kTileW] = static_cast<uint8_t>(last(kTileW));
  for (int32_t ci = last(kTileCi); ci >= 0; --ci) {
    for (int32_t co = last(kTileCo); co >= 0; --co) {
      for (int32_t lead = 0; lead <= last(kLead); ++lead) {
        point[kTileCi] = static_cast<uint8_t>(ci);
        point[kTileCo] = static_cast<uint8_t>(co);
        point[kLead] = static_cast<uint8_t>(lead);
        const vta::TiledSchedule schedule = Tiled(point);
        if (!ReusesSums(shape_, config_, schedule) && GenerateTrimmed(schedule, roomy)) {
          return false;
        }
      }
    }
  }
  return true;
}

vta::Verdict VtaSpace::Judge(const SchedulePoint& point) const {
  if (options_.generator == Generator::kBest) return CheckTiled(point);
  const vta::Knobs k = ReferenceKnobs(point);
  vta::Verdict verdict = CheckKnobs(shape_, k, config_);
  if (!verdict.valid()) return verdict;
  const int64_t tiles = BatchBlocks(shape_, config_) * (shape_.oh() / k.tile_h) *
                        (shape_.ow() / k.tile_w) * (OutputBlocks(shape_, config_) / k.tile_co);
  const int64_t chunks = InputBlocks(shape_, config_) / k.tile_ci;
  const int64_t stores = k.tile_w == shape_.ow() ? 1 : k.tile_co;
  const int64_t instructions = tiles * (chunks * (k.tile_ci + 2) + 6 + stores);
  if (instructions > kMaxInstructions) {
    return {"instructions", fmt::format("{} instructions > {}", instructions, kMaxInstructions)};
  }
  return {};
}

std::string VtaSpace::Refusal(const SchedulePoint& point) const {
  const vta::Verdict verdict = Judge(point);
  return verdict.valid() ? "" : fmt::format("{}: {}", verdict.reason, verdict.explanation);
}

vta::Verdict VtaSpace::CheckTiled(const SchedulePoint& point) const {
  const vta::TiledSchedule s = Tiled(point);
  const int64_t batches = BatchBlocks(shape_, config_);
  const int64_t rows = CeilDiv(shape_.oh(), s.tile_h), columns = CeilDiv(shape_.ow(), s.tile_w);
  const int64_t chunks = CeilDiv(InputBlocks(shape_, config_), s.tile_ci);
  const int64_t channels = CeilDiv(OutputBlocks(shape_, config_), s.tile_co);
  const int64_t places = batches * rows * columns;
  const int64_t inp_slots = std::min(s.inp_slots, places * chunks);
  const int64_t wgt_slots = std::min(s.wgt_slots, channels * chunks);
  // A tile of more than half of all sums takes turns at the two ends of ACC: left to `compile`, so
  // that a knob's tile means what it meant in earlier runs.
  const int64_t acc_slots = std::min<int64_t>(2, places * channels);
  // With all padding trimmed; programs that cannot do so need more.
  const int64_t window = LargestWindow(RowAxis(shape_), shape_.oh(), s.tile_h) *
                         LargestWindow(ColumnAxis(shape_), shape_.ow(), s.tile_w);
  struct Need {
    std::string_view reason;
    int64_t tiles;
    Memory memory;
  };
  for (const Need& need :
       {Need{"inp_sram", inp_slots * s.tile_ci * window + 1, Memory::kInp},
        {"wgt_sram", (wgt_slots * s.tile_ci * shape_.kh * shape_.kw + 2) * s.tile_co, Memory::kWgt},
        {"acc_sram", acc_slots * s.tile_h * s.tile_w * s.tile_co, Memory::kAcc}}) {
    if (need.tiles > config_.Depth(need.memory)) {
      return {need.reason, fmt::format("{} tiles > {}", need.tiles, config_.Depth(need.memory))};
    }
  }
  if (!split_products_ && ReusesSums(shape_, config_, s)) {
    return {"hazard", "a sum would be used again within two micro-ops"};
  }
  const int64_t taps =
      split_products_ ? s.tile_ci * shape_.kh * shape_.kw : std::min<int64_t>(shape_.kw, 3);
  const int64_t instructions =
      places * channels * (chunks * (s.tile_ci + 1 + taps) + 5 + s.tile_co);
  if (instructions > kMaxInstructions) {
    return {"instructions", fmt::format("{} instructions > {}", instructions, kMaxInstructions)};
  }
  return {};
}

}  // namespace tessera::coopt
