// Figures of language models from the costs of their layers.
#include "tessera/report/llm_report.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/text.h"

namespace tessera {
namespace {

// By layer: whether its second operand is the cache of keys and values.
std::vector<bool> ReadsCache(const Network& network) {
  std::vector<bool> reads(network.layers.size(), false);
  for (const GraphNode& node : network.graph.nodes) {
    if (!node.macs() || node.inputs.size() < 2) continue;
    const GraphTensor& second = network.graph.tensors[static_cast<size_t>(node.inputs[1])];
    if (second.kind == TensorKind::kCache) reads[static_cast<size_t>(node.layer)] = true;
  }
  return reads;
}

double ClockOf(const MapJob& job) {
  for (const auto& [name, value] : job.settings.model.settings()) {
    const Result<double> number = ParseDouble(value);
    if (name == "clock-ghz" && number) return *number;
  }
  return 1;
}

// Cycles that the outermost memory needs for the words that it gives and takes; 0 without a limit.
double MemoryCycles(const MemoryLevel& level, double reads, double writes) {
  const auto cycles = [&](double words, const std::optional<Decimal>& bandwidth) {
    const double rate =
        bandwidth ? bandwidth->ToDouble() * static_cast<double>(level.instances()) : 0;
    return rate > 0 ? words / rate : 0;
  };
  return std::max({cycles(reads, level.read_words_per_cycle),
                   cycles(writes, level.write_words_per_cycle),
                   cycles(reads + writes, level.shared_words_per_cycle)});
}

}  // namespace

std::optional<LlmFigures> FiguresOf(const MapJob& job, const NetworkMapping& mapping) {
  const Network& network = job.network;
  if (!network.step || !job.accelerator.hierarchy) return std::nullopt;
  if (mapping.layers.size() != network.layers.size()) return std::nullopt;
  const Hierarchy& machine = *job.accelerator.hierarchy;
  const std::vector<bool> reads_cache = ReadsCache(network);
  LlmFigures figures;
  double cycles = 0, macs = 0, weights = 0, cache = 0, reads = 0, writes = 0;
  for (size_t i = 0; i < mapping.layers.size(); ++i) {
    const LayerMapping& layer = mapping.layers[i];
    if (!layer.cost || layer.cost->num_levels < 1) return std::nullopt;
    const auto count = static_cast<double>(layer.count);
    const LevelAccesses& outermost =
        layer.cost->levels[static_cast<size_t>(layer.cost->num_levels - 1)];
    cycles += count * static_cast<double>(layer.cost->cycles);
    macs += count * static_cast<double>(Macs(layer.layer));
    for (size_t t = 0; t < kTensors; ++t) {
      const double given = count * static_cast<double>(outermost.reads[t]);
      const double taken = count * static_cast<double>(outermost.writes[t]);
      const double words = given + taken;
      reads += given;
      writes += taken;
      if (static_cast<Tensor>(t) == Tensor::kWeight) (reads_cache[i] ? cache : weights) += words;
    }
  }
  const double all = reads + writes;
  const double bytes = static_cast<double>(machine.levels.back().word_bits) / 8;
  figures.tokens = network.step->batch * network.step->seq;
  const auto tokens = static_cast<double>(figures.tokens);
  figures.clock_ghz = ClockOf(job);
  figures.cycles_per_token = cycles / tokens;
  figures.tokens_per_second = cycles > 0 ? figures.clock_ghz * 1e9 * tokens / cycles : 0;
  figures.weight_bytes_per_token = weights * bytes / tokens;
  figures.cache_bytes_per_token = cache * bytes / tokens;
  figures.bytes_per_token = all * bytes / tokens;
  figures.macs_per_byte = all > 0 ? macs / (all * bytes) : 0;
  figures.macs_per_cycle = cycles > 0 ? macs / cycles : 0;
  const auto peak = static_cast<double>(machine.arithmetic.instances());
  figures.roof_macs_per_cycle = peak;
  // The bandwidth is what this mix of reads and writes gets.
  if (const double waiting = MemoryCycles(machine.levels.back(), reads, writes); waiting > 0) {
    figures.ridge_macs_per_byte = peak * waiting / (all * bytes);
    figures.roof_macs_per_cycle = std::min(peak, macs / waiting);
  }
  return figures;
}

Json ToJson(const LlmFigures& figures) {
  Json json = {{"tokens", figures.tokens},
               {"cycles_per_token", figures.cycles_per_token},
               {"clock_ghz", figures.clock_ghz},
               {"tokens_per_second", figures.tokens_per_second},
               {"weight_bytes_per_token", figures.weight_bytes_per_token},
               {"cache_bytes_per_token", figures.cache_bytes_per_token},
               {"bytes_per_token", figures.bytes_per_token}};
  json["roofline"] = {{"macs_per_byte", figures.macs_per_byte},
                      {"ridge_macs_per_byte",
                       figures.ridge_macs_per_byte ? Json(*figures.ridge_macs_per_byte) : Json()},
                      {"limited_by", figures.memory_bound() ? "memory" : "compute"},
                      {"macs_per_cycle", figures.macs_per_cycle},
                      {"roof_macs_per_cycle", figures.roof_macs_per_cycle}};
  return json;
}

std::string ToText(const LlmFigures& figures) {
  std::string text = fmt::format(
      "per token: {:.6g} cycles, {:.4g} tokens/s at {} GHz; {:.4g} bytes of weights, {:.4g} of "
      "cache, {:.4g} in all\n",
      figures.cycles_per_token, figures.tokens_per_second, figures.clock_ghz,
      figures.weight_bytes_per_token, figures.cache_bytes_per_token, figures.bytes_per_token);
  text += fmt::format("roofline: {:.4g} MACs per byte", figures.macs_per_byte);
  if (figures.ridge_macs_per_byte) {
    text += fmt::format(", {} the ridge at {:.4g}: {} limits",
                        figures.memory_bound() ? "below" : "above", *figures.ridge_macs_per_byte,
                        figures.memory_bound() ? "memory" : "arithmetic");
  }
  return text + fmt::format("; {:.4g} of {:.4g} MACs per cycle\n", figures.macs_per_cycle,
                            figures.roof_macs_per_cycle);
}

}  // namespace tessera
