// Builds the graph of a transformer node by node, with the layers that its nodes are occurrences
// of.
#ifndef TESSERA_WORKLOAD_LLM_BUILDER_H_
#define TESSERA_WORKLOAD_LLM_BUILDER_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/network.h"
#include "tessera/result.h"

namespace tessera {

using Shape = std::vector<int64_t>;

// Places of a node: its own name, and the one that the layers of all blocks share
// ("layers.3.mlp.up" is an occurrence of "layers.mlp.up").
struct LlmName {
  std::string node, layer;

  LlmName operator+(const std::string& more) const { return {node + more, layer + more}; }
};

class LlmBuilder {
 public:
  LlmBuilder(int64_t batch, int64_t bits) : batch_(batch), bits_(bits) {}

  // A tensor that no node writes.
  int32_t Tensor(const std::string& name, Shape shape, TensorKind kind);

  // `rows` rows times a matrix of `outputs` x `inputs` weights, which count as parameters.
  int32_t FullyConnected(const LlmName& name, int32_t input, int64_t rows, int64_t inputs,
                         int64_t outputs, bool bias, Shape shape,
                         TensorKind kind = TensorKind::kActivation);

  // The same where the weights have been counted: an expert.
  int32_t Expert(const LlmName& name, int32_t input, int64_t rows, int64_t inputs, int64_t outputs);

  // h products of an m x k with a k x n matrix; the output has the shape [h, m, n] unless given.
  int32_t Product(const LlmName& name, int32_t left, int32_t right, int64_t h, int64_t m, int64_t n,
                  int64_t k, Shape shape = {});

  // A convolution with weights.
  int32_t Convolution(const LlmName& name, int32_t input, const Layer& layer);

  // A node without MACs: a vector node, or a view of its first input.
  int32_t Vector(const std::string& name, const char* type, std::vector<int32_t> inputs,
                 Shape shape, TensorKind kind = TensorKind::kActivation);
  int32_t View(const std::string& name, const char* type, std::vector<int32_t> inputs, Shape shape,
               TensorKind kind = TensorKind::kActivation);

  const Shape& ShapeOf(int32_t tensor) const;
  void SetOutput(int32_t tensor);
  void CountParameters(Checked parameters) { parameters_ = parameters_ + parameters; }

  // The finished network with its layers, graph and parameters; an error if something does not fit.
  Result<Network> Take(LanguageStep step);

 private:
  int32_t Layered(const LlmName& name, const Layer& layer, std::vector<int32_t> inputs, Shape shape,
                  TensorKind kind);

  struct Entry {
    std::string name;
    Layer layer;
    int64_t count;
  };

  const int64_t batch_, bits_;
  Graph graph_;
  std::vector<Entry> entries_;
  std::unordered_map<Layer, std::unordered_map<std::string, size_t>, LayerHash> known_;
  Checked parameters_ = 0;
};

}  // namespace tessera

#endif  // TESSERA_WORKLOAD_LLM_BUILDER_H_
