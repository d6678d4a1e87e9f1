// Nodes, tensors and counts of transformers.
#include "tessera/workload/llm_builder.h"

#include <utility>

#include <fmt/format.h>

#include "tessera/workload/builder.h"
#include "tessera/workload/graph_tools.h"

namespace tessera {

int32_t LlmBuilder::Tensor(const std::string& name, Shape shape, TensorKind kind) {
  graph_.tensors.push_back({.name = name, .shape = std::move(shape), .kind = kind, .bits = bits_});
  return static_cast<int32_t>(graph_.tensors.size() - 1);
}

const Shape& LlmBuilder::ShapeOf(int32_t tensor) const {
  return graph_.tensors[static_cast<size_t>(tensor)].shape;
}

void LlmBuilder::SetOutput(int32_t tensor) {
  graph_.tensors[static_cast<size_t>(tensor)].kind = TensorKind::kOutput;
}

int32_t LlmBuilder::Layered(const LlmName& name, const Layer& layer, std::vector<int32_t> inputs,
                            Shape shape, TensorKind kind) {
  const auto [known, fresh] = known_[layer].try_emplace(name.layer, entries_.size());
  if (fresh) entries_.push_back({name.layer, layer, 0});
  ++entries_[known->second].count;
  const int32_t output = Tensor(name.node, std::move(shape), kind);
  graph_.nodes.push_back({.name = name.node,
                          .type = std::string(TypeName(layer)),
                          .inputs = std::move(inputs),
                          .outputs = {output},
                          .layer = static_cast<int32_t>(known->second)});
  return output;
}

int32_t LlmBuilder::FullyConnected(const LlmName& name, int32_t input, int64_t rows, int64_t inputs,
                                   int64_t outputs, bool bias, Shape shape, TensorKind kind) {
  CountParameters(Checked(inputs) * outputs + (bias ? outputs : 0));
  const Layer layer{
      .type = LayerType::kFullyConnected, .bias = bias, .n = rows, .k = outputs, .c = inputs};
  const int32_t weight = Tensor(name.node + ".weight", {outputs, inputs}, TensorKind::kWeight);
  return Layered(name, layer, {input, weight}, std::move(shape), kind);
}

int32_t LlmBuilder::Expert(const LlmName& name, int32_t input, int64_t rows, int64_t inputs,
                           int64_t outputs) {
  const Layer layer{.type = LayerType::kFullyConnected, .n = rows, .k = outputs, .c = inputs};
  const int32_t weight = Tensor(name.node + ".weight", {outputs, inputs}, TensorKind::kWeight);
  return Layered(name, layer, {input, weight}, {rows, outputs}, TensorKind::kActivation);
}

int32_t LlmBuilder::Product(const LlmName& name, int32_t left, int32_t right, int64_t h, int64_t m,
                            int64_t n, int64_t k, Shape shape) {
  const Layer layer{.type = LayerType::kMatmul, .h = h, .m = m, .n = n, .k = k};
  if (shape.empty()) shape = {h, m, n};
  return Layered(name, layer, {left, right}, std::move(shape), TensorKind::kActivation);
}

int32_t LlmBuilder::Convolution(const LlmName& name, int32_t input, const Layer& layer) {
  CountParameters(Parameters(layer));
  const int32_t weight =
      Tensor(name.node + ".weight", *UsualWeightShape(layer), TensorKind::kWeight);
  return Layered(name, layer, {input, weight}, UsualOutputShape(layer), TensorKind::kActivation);
}

int32_t LlmBuilder::Vector(const std::string& name, const char* type, std::vector<int32_t> inputs,
                           Shape shape, TensorKind kind) {
  const int32_t output = Tensor(name, std::move(shape), kind);
  graph_.nodes.push_back(
      {.name = name, .type = type, .inputs = std::move(inputs), .outputs = {output}});
  return output;
}

int32_t LlmBuilder::View(const std::string& name, const char* type, std::vector<int32_t> inputs,
                         Shape shape, TensorKind kind) {
  const int32_t output = Vector(name, type, std::move(inputs), std::move(shape), kind);
  graph_.nodes.back().view = true;
  return output;
}

Result<Network> LlmBuilder::Take(LanguageStep step) {
  NetworkBuilder builder(Network{.batch = batch_});
  std::vector<int32_t> places;
  for (const Entry& entry : entries_) {
    if (Result<void> ok = builder.Add(entry.name, entry.layer, entry.count); !ok) return ok.error();
    places.push_back(static_cast<int32_t>(builder.last()));
  }
  if (!parameters_.ok()) {
    return Error{.kind = ErrorKind::kOverflow,
                 .message = "the number of parameters does not fit in 64 bits"};
  }
  Network network = builder.Take();
  network.batch = batch_;
  step.parameters = parameters_.value();
  network.step = std::move(step);
  for (GraphNode& node : graph_.nodes) {
    if (node.macs()) node.layer = places[static_cast<size_t>(node.layer)];
  }
  network.graph = std::move(graph_);
  SortTensors(network.graph);
  if (Result<void> valid = ValidateGraph(network); !valid) return valid.error();
  return network;
}

}  // namespace tessera
