// A quantised network as steps on int8 tensors: what feeds what, and which steps VTA runs.
#ifndef TESSERA_VTA_NETWORK_GRAPH_H_
#define TESSERA_VTA_NETWORK_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/network.h"
#include "tessera/result.h"
#include "tessera/vta/codegen/conv.h"

namespace tessera::vta {

struct Step {
  std::string name = {};
  StepKind kind = StepKind::kConv;

  // Tensors it reads: 0 is the image, i + 1 the output of step i.
  std::vector<size_t> inputs = {};

  // Sizes of inputs, kernel and outputs. Additions and ReLU have ci = co and a kernel of 1; of a
  // concatenation ci and co are the channels of all inputs together.
  ConvShape shape = {};

  // Of convolutions: the sums' shift, bias and clipping. Of additions and ReLU: the clipping.
  Epilogue epilogue = {};
};

struct Graph {
  std::string name = {};
  ConvShape image = {};          // n, ci, h and w of the input
  std::vector<Step> steps = {};  // each reads earlier ones only
};

// Random int8 weights make sums whose deviation grows with the root of their length; this shift
// brings them back to the middle of int8, so that a wrong sum shows instead of being clipped away.
int32_t ShiftFor(const ConvShape& shape);

// The steps of a network's graph. ReLU goes into the step before it where nothing else reads that
// step; views disappear; the last fully connected layer is the classifier. The error names every
// node that has no step, with the reason.
Result<Graph> GraphOf(const Network& network);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_NETWORK_GRAPH_H_
