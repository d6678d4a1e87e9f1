#include "tessera/coopt/schedule_space.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/checked.h"

namespace tessera::coopt {
namespace {

using vta::Memory;

// Positions of the knobs.
enum : size_t { kTileH, kTileW, kTileCi, kTileCo, kOc, kH, kOrder, kLead };

std::vector<int64_t> Divisors(int64_t n) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d <= n; ++d) {
    if (n % d == 0) divisors.push_back(d);
  }
  return divisors;
}

// Sizes that cut `total` into 1, 2, 3, ... nearly equal pieces.
std::vector<int64_t> EvenPieces(int64_t total) {
  std::vector<int64_t> sizes;
  for (int64_t pieces = total; pieces >= 1; --pieces) {
    const int64_t size = CeilDiv(total, pieces);
    if (sizes.empty() || sizes.back() != size) sizes.push_back(size);
  }
  return sizes;
}

int64_t InputSpan(int64_t outputs, int64_t stride, int64_t kernel) {
  return kernel == 1 ? outputs : (outputs - 1) * stride + kernel;
}

}  // namespace

Result<Generator> FindGenerator(std::string_view name) {
  for (size_t i = 0; i < kGeneratorNames.size(); ++i) {
    if (kGeneratorNames[i] == name) return static_cast<Generator>(i);
  }
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown generator '{}'", name),
               .hint = DidYouMean(name, kGeneratorNames)};
}

uint64_t HashOf(const SchedulePoint& point) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const uint8_t index : point) hash = (hash ^ index) * 0x100000001b3u;
  return hash;
}

ScheduleSpace::ScheduleSpace(const vta::ConvShape& shape, const vta::Config& config,
                             Generator generator)
    : shape_(shape), config_(config), generator_(generator) {
  const int64_t cib = InputBlocks(shape, config), cob = OutputBlocks(shape, config);
  if (generator == Generator::kReference) {
    knobs_ = {{"tile_h", Divisors(shape.oh())}, {"tile_w", Divisors(shape.ow())},
              {"tile_ci", Divisors(cib)},       {"tile_co", Divisors(cob)},
              {"oc_nthread", {1, 2}},           {"h_nthread", {1, 2}}};
  } else {
    knobs_ = {{"tile_h", EvenPieces(shape.oh())},
              {"tile_w", EvenPieces(shape.ow())},
              {"tile_ci", EvenPieces(cib)},
              {"tile_co", EvenPieces(cob)},
              {"wgt_slots", {1, 2, 3, 4, 8, 16, 64, 1024}},
              {"inp_slots", {1, 2, 3, 4, 8, 16, 64, 1024}},
              {"channels_outermost", {0, 1}},
              {"lead_co", {0, 1, 2, 4}}};
  }
  for (const Knob& knob : knobs_) size_ *= std::ssize(knob.values);
}

SchedulePoint ScheduleSpace::At(int64_t index) const {
  SchedulePoint point = {};
  for (size_t knob = knobs_.size(); knob-- > 0;) {
    const int64_t count = std::ssize(knobs_[knob].values);
    point[knob] = static_cast<uint8_t>(index % count);
    index /= count;
  }
  return point;
}

int64_t ScheduleSpace::IndexOf(const SchedulePoint& point) const {
  int64_t index = 0;
  for (size_t knob = 0; knob < knobs_.size(); ++knob) {
    index = index * std::ssize(knobs_[knob].values) + point[knob];
  }
  return index;
}

SchedulePoint ScheduleSpace::Translate(const ScheduleSpace& from,
                                       const SchedulePoint& point) const {
  SchedulePoint near = {};
  for (size_t knob = 0; knob < knobs_.size(); ++knob) {
    const double wanted = std::log2(1.0 + static_cast<double>(from.value(point, knob)));
    const std::vector<int64_t>& values = knobs_[knob].values;
    const auto distance = [wanted](int64_t value) {
      return std::abs(std::log2(1.0 + static_cast<double>(value)) - wanted);
    };
    const auto best = std::min_element(values.begin(), values.end(), [&](int64_t a, int64_t b) {
      return distance(a) < distance(b);
    });
    near[knob] = static_cast<uint8_t>(best - values.begin());
  }
  return near;
}

vta::Knobs ScheduleSpace::ReferenceKnobs(const SchedulePoint& point) const {
  return {value(point, kTileH),  value(point, kTileW), value(point, kTileCi),
          value(point, kTileCo), value(point, kOc),    value(point, kH)};
}

vta::TiledSchedule ScheduleSpace::Tiled(const SchedulePoint& point) const {
  const int64_t tile_co = value(point, kTileCo);
  return {.tile_h = value(point, kTileH),
          .tile_w = value(point, kTileW),
          .tile_ci = value(point, kTileCi),
          .tile_co = tile_co,
          .lead_co = std::min(value(point, kLead), tile_co),
          .inp_slots = value(point, kH),
          .wgt_slots = value(point, kOc),
          .channels_outermost = value(point, kOrder) != 0};
}

vta::Verdict ScheduleSpace::Check(const SchedulePoint& point) const {
  if (generator_ == Generator::kBest) return CheckTiled(point);
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

vta::Verdict ScheduleSpace::CheckTiled(const SchedulePoint& point) const {
  const vta::TiledSchedule s = Tiled(point);
  const int64_t batches = BatchBlocks(shape_, config_);
  const int64_t rows = CeilDiv(shape_.oh(), s.tile_h), columns = CeilDiv(shape_.ow(), s.tile_w);
  const int64_t chunks = CeilDiv(InputBlocks(shape_, config_), s.tile_ci);
  const int64_t channels = CeilDiv(OutputBlocks(shape_, config_), s.tile_co);
  const int64_t places = batches * rows * columns;
  const int64_t inp_slots = std::min(s.inp_slots, places * chunks);
  const int64_t wgt_slots = std::min(s.wgt_slots, channels * chunks);
  const int64_t acc_slots = std::min<int64_t>(2, places * channels);
  // With all padding trimmed; programs that cannot do so need more.
  const int64_t window = std::min(InputSpan(s.tile_h, shape_.stride_h, shape_.kh), shape_.h) *
                         std::min(InputSpan(s.tile_w, shape_.stride_w, shape_.kw), shape_.w);
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
  const int64_t taps = std::min<int64_t>(shape_.kw, 3);
  const int64_t instructions =
      places * channels * (chunks * (s.tile_ci + 1 + taps) + 5 + s.tile_co);
  if (instructions > kMaxInstructions) {
    return {"instructions", fmt::format("{} instructions > {}", instructions, kMaxInstructions)};
  }
  return {};
}

bool ScheduleSpace::Valid(const SchedulePoint& point) const { return Check(point).valid(); }

Result<GeneratedSchedule> ScheduleSpace::Generate(const SchedulePoint& point,
                                                  const vta::Epilogue& epilogue) const {
  if (const vta::Verdict verdict = Check(point); !verdict.valid()) {
    return Error{.kind = ErrorKind::kInfeasible,
                 .message = fmt::format("{}: {}", verdict.reason, verdict.explanation)};
  }
  if (generator_ == Generator::kReference) {
    const vta::Knobs knobs = ReferenceKnobs(point);
    return GeneratedSchedule{GenerateReference(shape_, knobs, config_, epilogue), ToString(knobs)};
  }
  vta::TiledSchedule schedule = Tiled(point);
  std::optional<Error> refusal;
  for (const auto& [rows, columns] :
       {std::pair{true, true}, {true, false}, {false, true}, {false, false}}) {
    schedule.trim_rows = rows;
    schedule.trim_columns = columns;
    Result<vta::Kernel> kernel = GenerateTiled(shape_, schedule, config_, epilogue);
    if (kernel) return GeneratedSchedule{*std::move(kernel), "tiled:" + ToString(schedule)};
    refusal = kernel.error();
  }
  return *refusal;
}

}  // namespace tessera::coopt
