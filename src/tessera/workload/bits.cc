// Widths for the layers of a network: given by name, or by the data types of its file.
#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/network.h"
#include "tessera/part.h"

namespace tessera {
namespace {

// What a request with commas comes to.
struct Request {
  bool file = false, machine = false;
  TensorBits bits = {};
};

Result<Request> ParseRequest(std::string_view text) {
  Request request;
  for (std::string_view rest = text;;) {
    const size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    if (item == "file") {
      request.file = true;
    } else if (item == "machine") {
      request.machine = true;
    } else {
      const Result<TensorBits> some = ParseTensorBits(item);
      if (!some) {
        Error error = some.error();
        // A number that is too large or too small is told the range.
        const bool number = item.find_first_not_of("+-0123456789") == std::string_view::npos;
        if (item.find('=') == std::string_view::npos && (item.empty() || !number)) {
          error.message = fmt::format("{} says nothing about bits", Quoted(item));
          error.hint = "write file, machine, a number, or weights=4,inputs=8,outputs=16";
        }
        return error;
      }
      request.bits = Either(*some, request.bits);
    }
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (request.file && request.machine) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = "bits are those of the file or those of the machine, not both"};
  }
  return request;
}

// Of an element of a data type: the number in its name, "float8e4m3fn" has 8. Truth values take a
// byte. None: the name has no number.
std::optional<int32_t> WidthOf(std::string_view type) {
  if (type == "bool") return 8;
  const size_t first = type.find_first_of("0123456789");
  if (first == std::string_view::npos || first == 0) return std::nullopt;
  const size_t last = std::min(type.find_first_not_of("0123456789", first), type.size());
  const Result<int64_t> width = ParseInt(type.substr(first, last - first));
  if (!width || *width < 1 || *width > kMostTensorBits) return std::nullopt;
  return static_cast<int32_t>(*width);
}

// Widths that the nodes of a layer have in the network's graph; 0 where none is given, -1 where
// they differ.
TensorBits BitsInGraph(const Network& network, int32_t layer) {
  TensorBits bits;
  bool first = true;
  const auto take = [&](int32_t TensorBits::*field, int32_t tensor) {
    const auto width =
        static_cast<int32_t>(network.graph.tensors[static_cast<size_t>(tensor)].bits);
    int32_t& known = bits.*field;
    known = first || known == width ? width : -1;
  };
  for (const GraphNode& node : network.graph.nodes) {
    if (node.layer != layer || node.inputs.empty()) continue;
    take(&TensorBits::inputs, node.inputs.front());
    take(&TensorBits::weights, node.inputs.back());
    take(&TensorBits::outputs, node.outputs.front());
    first = false;
  }
  return bits;
}

// What the file says of a layer's tensors, except those that are asked for by name anyway.
Result<TensorBits> BitsInFile(const Network& network, size_t index, const TensorBits& named) {
  const NetworkLayer& entry = network.layers[index];
  const TensorBits graph = BitsInGraph(network, static_cast<int32_t>(index));
  const struct {
    int32_t TensorBits::*field;
    std::string_view name;
    const std::string& type;
  } parts[] = {{&TensorBits::weights, "weights", entry.types.weights},
               {&TensorBits::inputs, "inputs", entry.types.inputs},
               {&TensorBits::outputs, "outputs", entry.types.outputs}};
  TensorBits bits;
  for (const auto& [field, name, type] : parts) {
    if (named.*field != 0) continue;
    const std::optional<int32_t> width = WidthOf(type);
    bits.*field = width ? *width : type.empty() ? graph.*field : -1;
    if (bits.*field > 0) continue;
    const bool mixed = type == "mixed" || bits.*field < 0;
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format(
                     "layer {}: the file {} {}{}", Quoted(entry.name),
                     mixed ? "has several data types for its" : "gives no data type for its", name,
                     type.empty() || type == "mixed" ? "" : fmt::format(" ({})", Quoted(type))),
                 .hint = fmt::format("say how many bits they have: --bits file,{}=16", name)};
  }
  return bits;
}

// Layers that have become equal are one entry.
void MergeEqual(Network& network) {
  std::unordered_map<Layer, size_t, LayerHash> places;
  std::vector<NetworkLayer> merged;
  std::vector<int32_t> moved;
  for (NetworkLayer& entry : network.layers) {
    const auto [known, fresh] = places.try_emplace(entry.layer, merged.size());
    moved.push_back(static_cast<int32_t>(known->second));
    if (fresh) {
      merged.push_back(std::move(entry));
      continue;
    }
    NetworkLayer& equal = merged[known->second];
    equal.count += entry.count;
    equal.also.push_back(std::move(entry.name));
    for (std::string& name : entry.also) equal.also.push_back(std::move(name));
    for (const auto part :
         {&ElementTypes::inputs, &ElementTypes::weights, &ElementTypes::outputs}) {
      if (equal.types.*part != entry.types.*part) equal.types.*part = "mixed";
    }
  }
  network.layers = std::move(merged);
  for (GraphNode& node : network.graph.nodes) {
    if (node.macs()) node.layer = moved[static_cast<size_t>(node.layer)];
  }
}

}  // namespace

Result<void> SetBits(std::string_view text, Network& network) {
  const Result<Request> request = ParseRequest(text);
  if (!request) return request.error();
  for (size_t i = 0; i < network.layers.size(); ++i) {
    TensorBits& bits = network.layers[i].layer.bits;
    if (request->machine) bits = {};
    if (request->file) {
      const Result<TensorBits> file = BitsInFile(network, i, request->bits);
      if (!file) return file.error();
      bits = Either(*file, bits);
    }
    bits = Either(request->bits, bits);
  }
  MergeEqual(network);
  return {};
}

}  // namespace tessera
