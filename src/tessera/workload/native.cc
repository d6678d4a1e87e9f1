// The native format: its entry in the list of formats, and writing. native_read.cc reads.
#include "tessera/workload/native.h"

#include <fmt/format.h>

#include "tessera/base/tensor_bits.h"
#include "tessera/base/text.h"
#include "tessera/workload/builder.h"
#include "tessera/workload/native_graph.h"

namespace tessera {
namespace {

std::string ScalarList(const std::vector<std::string>& texts) {
  std::string list = "[";
  for (const std::string& text : texts) {
    if (list.size() > 1) list += ", ";
    list += YamlScalar(text);
  }
  return list + "]";
}

std::string CountMap(const std::map<std::string, int64_t>& counts) {
  std::string map = "{";
  for (const auto& [name, count] : counts) {
    if (map.size() > 1) map += ", ";
    map += fmt::format("{}: {}", YamlScalar(name), count);
  }
  return map + "}";
}

std::string PairText(const Pair& pair) {
  return pair.y == pair.x ? fmt::format("{}", pair.y) : fmt::format("[{}, {}]", pair.y, pair.x);
}

std::string PaddingText(const Padding& pad) {
  if (pad.top == pad.bottom && pad.left == pad.right) return PairText({pad.top, pad.left});
  return fmt::format("[{}, {}, {}, {}]", pad.top, pad.left, pad.bottom, pad.right);
}

// The fields of a convolution that differ from their defaults.
std::string ConvolutionOptions(const Layer& layer) {
  std::string text;
  if (layer.stride != Pair{1, 1}) text += ", stride: " + PairText(layer.stride);
  if (layer.dilation != Pair{1, 1}) text += ", dilation: " + PairText(layer.dilation);
  if (layer.pad != Padding{}) text += ", pad: " + PaddingText(layer.pad);
  if (layer.output_pad != Pair{0, 0}) text += ", output_pad: " + PairText(layer.output_pad);
  if (layer.groups != 1 && !IsDepthwise(layer)) text += fmt::format(", groups: {}", layer.groups);
  return text;
}

std::string LayerLine(const NetworkLayer& entry) {
  const Layer& layer = entry.layer;
  std::string line = fmt::format("- {{name: {}, type: {}", YamlScalar(entry.name), TypeName(layer));
  for (const auto& [name, size] : Dimensions(layer)) {
    // The reader derives the output size.
    if (name == "P" || name == "Q" || (name == "H" && size == 1)) continue;
    line += fmt::format(", {}: {}", name, size);
  }
  line += ConvolutionOptions(layer);
  if (layer.bias) line += ", bias: true";
  if (entry.count != std::ssize(entry.also) + 1) line += fmt::format(", count: {}", entry.count);
  if (!entry.also.empty()) line += ", also: " + ScalarList(entry.also);
  if (layer.bits.known()) line += ", bits: " + TensorBitsYaml(layer.bits);
  if (const ElementTypes& types = entry.types; types.known()) {
    line += ", types: " + ScalarList({types.inputs, types.weights, types.outputs});
  }
  return line + "}\n";
}

Result<Export> Write(const Network& network) {
  Export result;
  result.files.push_back({SafeFileName(network.name) + ".yaml", WriteNativeNetwork(network)});
  return result;
}

bool Recognises(std::string_view bytes) {
  return bytes.find("tessera-network-") != std::string_view::npos;
}

}  // namespace

std::string WriteNativeNetwork(const Network& network) {
  std::string text = "format: tessera-network-1\n";
  text += fmt::format("name: {}\n", YamlScalar(network.name));
  if (!network.source.empty()) text += fmt::format("source: {}\n", YamlScalar(network.source));
  if (!network.variant.empty()) text += fmt::format("variant: {}\n", YamlScalar(network.variant));
  if (network.batch != UsualBatch(network)) text += fmt::format("batch: {}\n", network.batch);
  if (!network.ignored.empty()) text += fmt::format("ignored: {}\n", CountMap(network.ignored));
  if (!network.unknown.empty()) text += fmt::format("unknown: {}\n", CountMap(network.unknown));
  text += "layers:\n";
  for (const NetworkLayer& entry : network.layers) text += LayerLine(entry);
  return text + NativeGraphText(network);
}

extern const NetworkFormat kNativeFormat = {
    .name = "yaml",
    .summary = "Tessera's own format (tessera-network-1), YAML or JSON; holds everything",
    .extensions = {".yaml", ".yml", ".json"},
    .recognises = Recognises,
    .read = ReadNativeNetwork,
    .write = Write,
};

}  // namespace tessera
