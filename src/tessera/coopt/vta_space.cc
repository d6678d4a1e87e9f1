#include "tessera/coopt/vta_space.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/base/divisors.h"
#include "tessera/coopt/roofline.h"

namespace tessera::coopt {
namespace {

constexpr size_t kMappingKnobs = 4;

// A point holds indices of one byte: of more sizes than that every other one is left out, but the
// largest.
std::vector<int64_t> Thinned(std::vector<int64_t> sizes) {
  while (sizes.size() > 256) {
    std::vector<int64_t> kept;
    for (size_t i = (sizes.size() + 1) % 2; i < sizes.size(); i += 2) kept.push_back(sizes[i]);
    sizes = std::move(kept);
  }
  return sizes;
}

// Sizes that cut `total` into 1, 2, 3, ... nearly equal pieces.
std::vector<int64_t> EvenPieces(int64_t total) {
  std::vector<int64_t> sizes;
  for (int64_t pieces = total; pieces >= 1; --pieces) {
    const int64_t size = CeilDiv(total, pieces);
    if (sizes.empty() || sizes.back() != size) sizes.push_back(size);
  }
  return Thinned(std::move(sizes));
}

std::vector<Decision> KnobsOf(const vta::ConvShape& shape, const vta::Config& config,
                              Generator generator) {
  std::vector<Decision> knobs;
  const auto add = [&](std::string name, std::vector<int64_t> values) {
    knobs.push_back(Decision::Ordinal(std::move(name), std::move(values)));
  };
  const bool reference = generator == Generator::kReference;
  const auto sizes = [&](int64_t total) {
    return reference ? Thinned(Divisors(total)) : EvenPieces(total);
  };
  add("tile_h", sizes(shape.oh()));
  add("tile_w", sizes(shape.ow()));
  add("tile_ci", sizes(InputBlocks(shape, config)));
  add("tile_co", sizes(OutputBlocks(shape, config)));
  if (reference) {
    add("oc_nthread", {1, 2});
    add("h_nthread", {1, 2});
    return knobs;
  }
  add("wgt_slots", {1, 2, 3, 4, 8, 16, 64, 1024});
  add("inp_slots", {1, 2, 3, 4, 8, 16, 64, 1024});
  add("channels_outermost", {0, 1});
  add("lead_co", {0, 1, 2, 4});
  return knobs;
}

}  // namespace

VtaSpace::VtaSpace(const vta::ConvShape& shape, const vta::Config& config,
                   const CooptOptions& options)
    : ScheduleSpace(KnobsOf(shape, config, options.generator), kMappingKnobs),
      shape_(shape),
      config_(config),
      options_(options) {
  split_products_ = NeedsSplitProducts();
}

// Every combination of a few values per knob, spread evenly from the smallest to the largest.
void VtaSpace::AddCoarseGrid(std::vector<SchedulePoint>& candidates) const {
  constexpr std::array<size_t, 8> kMost = {8, 5, 3, 8, 3, 3, 2, 1};
  std::array<std::vector<uint8_t>, kMost.size()> picks;
  for (size_t knob = 0; knob < size(); ++knob) {
    const auto count = static_cast<size_t>(decisions()[knob].size());
    const size_t most = std::min(kMost[knob], count);
    for (size_t i = 0; i < most; ++i) {
      const bool is_slots = knob == kOc || knob == kH;
      const size_t at = is_slots    ? std::array<size_t, 3>{1, 3, count - 1}[i]
                        : most == 1 ? 0
                                    : count - 1 - i * (count - 1) / (most - 1);
      picks[knob].push_back(static_cast<uint8_t>(at));
    }
  }
  const auto fill = [&](auto&& self, size_t knob, SchedulePoint& point) -> void {
    if (knob == size()) {
      if (Valid(point)) candidates.push_back(point);
      return;
    }
    for (const uint8_t pick : picks[knob]) {
      point[knob] = pick;
      self(self, knob + 1, point);
    }
  };
  SchedulePoint point = {};
  fill(fill, 0, point);
}

std::vector<SchedulePoint> VtaSpace::Candidates() const {
  std::vector<SchedulePoint> candidates;
  if (!vta::Validate(shape_, config_)) return candidates;
  if (options_.generator == Generator::kBest) {
    AddCoarseGrid(candidates);
    return candidates;
  }
  for (int64_t i = 0; i < num_points(); ++i) {
    const SchedulePoint point = At(i);
    if (Valid(point)) candidates.push_back(point);
  }
  return candidates;
}

double VtaSpace::EstimateCycles(const SchedulePoint& point) const {
  return coopt::EstimateCycles(*this, point);
}

double VtaSpace::FloorCycles() const {
  return static_cast<double>(coopt::FloorCycles(shape_, config_, options_));
}

std::string VtaSpace::Describe(const SchedulePoint& point) const {
  const Result<GeneratedSchedule> code = Generate(point);
  return code ? code->text : "";
}

vta::Knobs VtaSpace::ReferenceKnobs(const SchedulePoint& point) const {
  return {value(point, kTileH),  value(point, kTileW), value(point, kTileCi),
          value(point, kTileCo), value(point, kOc),    value(point, kH)};
}

vta::TiledSchedule VtaSpace::Tiled(const SchedulePoint& point) const {
  const int64_t tile_co = value(point, kTileCo);
  return {.tile_h = value(point, kTileH),
          .tile_w = value(point, kTileW),
          .tile_ci = value(point, kTileCi),
          .tile_co = tile_co,
          .lead_co = std::min(value(point, kLead), tile_co),
          .inp_slots = value(point, kH),
          .wgt_slots = value(point, kOc),
          .channels_outermost = value(point, kOrder) != 0,
          .split_products = split_products_};
}

Result<GeneratedSchedule> VtaSpace::Generate(const SchedulePoint& point) const {
  if (std::string refusal = Refusal(point); !refusal.empty()) {
    return Error{.kind = ErrorKind::kInfeasible, .message = std::move(refusal)};
  }
  if (options_.generator == Generator::kReference) {
    const vta::Knobs knobs = ReferenceKnobs(point);
    return GeneratedSchedule{GenerateReference(shape_, knobs, config_, options_.epilogue),
                             ToString(knobs)};
  }
  return GenerateTrimmed(Tiled(point), config_);
}

Result<GeneratedSchedule> VtaSpace::GenerateTrimmed(vta::TiledSchedule schedule,
                                                    const vta::Config& config) const {
  std::optional<Error> refusal;
  for (const auto& [rows, columns] :
       {std::pair{true, true}, {true, false}, {false, true}, {false, false}}) {
    schedule.trim_rows = rows;
    schedule.trim_columns = columns;
    Result<vta::Kernel> kernel = GenerateTiled(shape_, schedule, config, options_.epilogue);
    if (kernel) return GeneratedSchedule{*std::move(kernel), "tiled:" + ToString(schedule)};
    refusal = kernel.error();
  }
  return *refusal;
}

}  // namespace tessera::coopt
