// A quantised network as steps on int8 tensors: what feeds what, and which steps VTA runs. Layers
// of a tessera::Network have sizes but no connections, so graphs are made here.
#ifndef TESSERA_VTA_NETWORK_GRAPH_H_
#define TESSERA_VTA_NETWORK_GRAPH_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/result.h"
#include "tessera/vta/codegen/conv.h"

namespace tessera::vta {

struct Step {
  std::string name = {};
  StepKind kind = StepKind::kConv;

  // Tensors it reads: 0 is the image, i + 1 the output of step i.
  std::vector<size_t> inputs = {};

  // Sizes of inputs, kernel and outputs. An addition has ci = co and a kernel of 1, average pooling
  // a kernel as large as its input.
  ConvShape shape = {};

  // Of convolutions: the sums' shift, bias and clipping. Of additions: the clipping.
  Epilogue epilogue = {};
};

struct Graph {
  std::string name = {};
  ConvShape image = {};          // n, ci, h and w of the input
  std::vector<Step> steps = {};  // each reads earlier ones only
};

// A residual network of basic blocks (two 3 x 3 convolutions each) in four stages.
struct ResidualSizes {
  std::array<int64_t, 4> blocks = {2, 2, 2, 2};
  int64_t image = 224;  // height and width
  int64_t width = 64;   // channels of the first stage; each later one has twice as many
  int64_t classes = 1000;
};
Graph MakeResidualGraph(std::string name, const ResidualSizes& sizes);

// The graph of a known network. The error lists the names.
Result<Graph> FindGraph(std::string_view name);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_NETWORK_GRAPH_H_
