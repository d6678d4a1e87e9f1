// Why a mapping costs what it costs: the model's parts, where MAC cycles go, and a sentence about
// what limits them.
#include <algorithm>
#include <span>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/map.h"

namespace tessera {
namespace {

// Pairs of an output position and a kernel position along one axis that meet an input element, not
// padding.
double PairsOnData(int64_t outputs, int64_t kernel, int64_t stride, int64_t dilation, int64_t pad,
                   int64_t input) {
  double pairs = 0;
  for (int64_t r = 0; r < kernel; ++r) {
    // 0 <= p * stride + r * dilation - pad < input
    const int64_t shift = r * dilation - pad;
    const int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
    const int64_t end = input - shift <= 0 ? 0 : (input - shift + stride - 1) / stride;
    pairs += static_cast<double>(std::max<int64_t>(0, std::min(end, outputs) - first));
  }
  return pairs;
}

// The part of a layer's operations that multiplies with padding.
double PaddingPart(const Layer& layer) {
  if (layer.type != LayerType::kConv || layer.pad == Padding{}) return 0;
  const Pair output = OutputSize(layer);
  const double rows =
      PairsOnData(output.y, layer.r, layer.stride.y, layer.dilation.y, layer.pad.top, layer.y);
  const double columns =
      PairsOnData(output.x, layer.s, layer.stride.x, layer.dilation.x, layer.pad.left, layer.x);
  const double all = static_cast<double>(output.y) * static_cast<double>(layer.r) *
                     static_cast<double>(output.x) * static_cast<double>(layer.s);
  return 1 - rows * columns / all;
}

MacCycles MacCyclesOf(const Layer& layer, const CostBreakdown& parts) {
  const auto cycles = static_cast<double>(parts.cost.cycles);
  const auto units = static_cast<double>(parts.mac_units);
  const auto compute = static_cast<double>(std::min(parts.compute_cycles, parts.cost.cycles));
  const double operations = static_cast<double>(Macs(layer)) / (units * cycles);
  MacCycles macs;
  macs.padding = operations * PaddingPart(layer);
  macs.useful = operations - macs.padding;
  macs.unused = (units - static_cast<double>(parts.used_mac_units)) / units * (compute / cycles);
  macs.waiting = (cycles - compute) / cycles;
  macs.ragged = std::max(0.0, 1 - operations - macs.unused - macs.waiting);
  return macs;
}

std::string Faster(const CostBreakdown& parts) {
  if (parts.cycles_if_lifted <= 0) return "no other limit is known";
  const double factor =
      static_cast<double>(parts.cost.cycles) / static_cast<double>(parts.cycles_if_lifted);
  return fmt::format("{} cycles, {:.2f} times as fast", WithThousands(parts.cycles_if_lifted),
                     factor);
}

const LevelShare* FindLevel(const CostBreakdown& parts, std::string_view name) {
  const auto found = std::ranges::find(parts.levels, name, &LevelShare::name);
  return found == parts.levels.end() ? nullptr : &*found;
}

}  // namespace

Result<LayerExplanation> ExplainMapping(const MapJob& job, const NetworkLayer& layer,
                                        const Mapping& mapping) {
  Result<CostBreakdown> parts = job.settings.model->BreakDown(layer.layer, job.accelerator, mapping,
                                                              job.problem.space.decide_keep);
  if (!parts) return parts.error();
  LayerExplanation explanation{
      .name = layer.name, .count = layer.count, .layer = layer.layer, .mapping = mapping};
  explanation.value = ValueOf(parts->cost, job.settings.objective);
  explanation.mac_cycles = MacCyclesOf(layer.layer, *parts);
  explanation.parts = *std::move(parts);
  return explanation;
}

std::string LimitSentence(const LayerExplanation& layer) {
  if (!layer.mapping) return "no mapping was found";
  const CostBreakdown& parts = layer.parts;
  if (parts.limited_by == kComputeLimit) {
    return fmt::format(
        "the MACs limit it ({} of {} in use, {} cycles); if they were infinitely fast: {}",
        WithThousands(parts.used_mac_units), WithThousands(parts.mac_units),
        WithThousands(parts.cost.cycles), Faster(parts));
  }
  const LevelShare* level = FindLevel(parts, parts.limited_by);
  std::string bandwidth = "bandwidth";
  if (level != nullptr && level->words_per_cycle) {
    bandwidth = fmt::format("{} bandwidth of {:.6g} words per cycle", level->bandwidth,
                            *level->words_per_cycle);
  }
  return fmt::format("the {} of {} limits it ({} cycles); without that limit: {}", bandwidth,
                     parts.limited_by, WithThousands(parts.cost.cycles), Faster(parts));
}

std::string MappingText(const LayerExplanation& layer) {
  if (!layer.mapping) return "";
  if (const Dataflow* dataflow = std::get_if<Dataflow>(&*layer.mapping)) {
    return ToString(*dataflow) + "\n";
  }
  std::vector<std::string> names;
  std::vector<TileWords> words;
  for (const LevelShare& level : layer.parts.levels) {
    names.push_back(level.name);
    TileWords& tiles = words.emplace_back();
    for (size_t v = 0; v < level.tensors.size(); ++v) tiles[v] = level.tensors[v].tile_words;
  }
  return PrintLoopNest(std::get<LoopMapping>(*layer.mapping), *MakeLoopProblem(layer.layer), names,
                       words);
}

}  // namespace tessera
