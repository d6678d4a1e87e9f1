// Networks in words, tables and JSON.
#include "tessera/report/network_report.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/text.h"

namespace tessera {
namespace {

Json PairJson(const Pair& pair) { return Json::array({pair.y, pair.x}); }

bool IsConvolution(const Layer& layer) {
  return layer.type == LayerType::kConv || layer.type == LayerType::kTransposedConv;
}

Json CountsJson(const std::map<std::string, int64_t>& counts) {
  Json json = Json::object();
  for (const auto& [name, count] : counts) json[name] = count;
  return json;
}

// "Relu 17, Add 8", most frequent first.
std::string CountsText(const std::map<std::string, int64_t>& counts) {
  std::vector<std::pair<std::string, int64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [name, count] : sorted) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  }
  return text;
}

// "float32", or "int8 x uint8 -> int32".
std::string TypesText(const ElementTypes& types) {
  if (types.inputs == types.weights && types.inputs == types.outputs) return types.inputs;
  const auto word = [](const std::string& type) { return type.empty() ? "?" : type; };
  return fmt::format("{} x {} -> {}", word(types.inputs), word(types.weights), word(types.outputs));
}

}  // namespace

Json ToJson(const NetworkLayer& entry) {
  const Layer& layer = entry.layer;
  Json json = {{"name", entry.name},
               {"type", TypeName(layer)},
               {"count", entry.count},
               {"macs", Macs(layer)},
               {"parameters", Parameters(layer)}};
  for (const auto& [name, size] : Dimensions(layer)) json[std::string(name)] = size;
  if (IsConvolution(layer)) {
    json["stride"] = PairJson(layer.stride);
    json["dilation"] = PairJson(layer.dilation);
    json["pad"] = Json::array({layer.pad.top, layer.pad.left, layer.pad.bottom, layer.pad.right});
    json["groups"] = layer.groups;
  }
  if (layer.type == LayerType::kTransposedConv) json["output_pad"] = PairJson(layer.output_pad);
  if (layer.type != LayerType::kMatmul) json["bias"] = layer.bias;
  json["also"] = entry.also;
  for (const TensorBitsField& field : kTensorBitsFields) {
    if (const int32_t bits = layer.bits.*field.field; bits != 0) {
      json["bits"][std::string(field.name)] = bits;
    }
  }
  if (const ElementTypes& types = entry.types; types.known()) {
    json["types"] = {
        {"inputs", types.inputs}, {"weights", types.weights}, {"outputs", types.outputs}};
  }
  return json;
}

Json ToJson(const Network& network) {
  Json layers = Json::array();
  for (const NetworkLayer& entry : network.layers) layers.push_back(ToJson(entry));
  Json json = {{"name", network.name},
               {"batch", network.batch},
               {"macs", TotalMacs(network)},
               {"parameters", TotalParameters(network)}};
  if (network.step) {
    const LanguageStep& step = *network.step;
    json["phase"] = step.phase;
    json["causal"] = step.causal;
    json["seq"] = step.seq;
    json["past"] = step.past;
    json["bits"] = step.bits;
    json["kv_bytes"] = step.kv_bytes;
  }
  if (!network.source.empty()) json["source"] = network.source;
  if (!network.variant.empty()) json["variant"] = network.variant;
  json["layers"] = std::move(layers);
  json["ignored"] = CountsJson(network.ignored);
  json["unknown"] = CountsJson(network.unknown);
  return json;
}

Table LayerTable(const Network& network) {
  std::vector<std::string> columns = {"#", "layer", "count", "macs", "parameters", "sizes"};
  const bool types = std::ranges::any_of(
      network.layers, [](const NetworkLayer& entry) { return entry.types.known(); });
  if (types) columns.emplace_back("types");
  Table table(std::move(columns));
  int64_t index = 0;
  for (const NetworkLayer& entry : network.layers) {
    std::vector<Cell> row = {++index,
                             entry.name,
                             entry.count,
                             Macs(entry.layer),
                             Parameters(entry.layer),
                             ToString(entry.layer)};
    if (types) row.emplace_back(TypesText(entry.types));
    table.AddRow(std::move(row));
  }
  return table;
}

std::string Summary(const Network& network) {
  const int64_t layers = TotalLayers(network);
  std::string text = fmt::format("{}: {} layer{} ({} distinct), {} MACs, {} parameters, batch {}\n",
                                 network.name, WithThousands(layers), layers == 1 ? "" : "s",
                                 network.layers.size(), WithThousands(TotalMacs(network)),
                                 WithThousands(TotalParameters(network)), network.batch);
  if (network.step) {
    const LanguageStep& step = *network.step;
    text += fmt::format("{} of {} token{} after {}, {} bits", step.phase, WithThousands(step.seq),
                        step.seq == 1 ? "" : "s", WithThousands(step.past), step.bits);
    if (step.phase != "encode") {
      text += fmt::format(", causal {}, {} bytes of cache after it", step.causal,
                          WithThousands(step.kv_bytes));
    }
    text += "\n";
  }
  if (!network.source.empty()) text += fmt::format("source: {}\n", network.source);
  if (!network.variant.empty()) text += fmt::format("variant: {}\n", network.variant);
  if (!network.ignored.empty()) {
    text += fmt::format("ignored, because they have no MACs: {}\n", CountsText(network.ignored));
  }
  if (!network.unknown.empty()) {
    text += fmt::format("not understood, no MACs counted: {}\n", CountsText(network.unknown));
  }
  return text;
}

}  // namespace tessera
