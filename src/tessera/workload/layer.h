// One layer of a network as mappers see it: the sizes of its loops, nothing about its weights.
#ifndef TESSERA_WORKLOAD_LAYER_H_
#define TESSERA_WORKLOAD_LAYER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"

namespace tessera {

enum class LayerType : uint8_t {
  kConv,            // 2-D convolution, depthwise and grouped ones included
  kTransposedConv,  // 2-D transposed convolution
  kFullyConnected,  // N rows times a K x C weight matrix
  kMatmul,          // H products of an M x K with a K x N matrix, both activations
};

// A pair of values for the vertical (Y, R, P) and the horizontal (X, S, Q) axis.
struct Pair {
  int64_t y = 1;
  int64_t x = 1;
  friend bool operator==(const Pair&, const Pair&) = default;
};

struct Padding {
  int64_t top = 0;
  int64_t left = 0;
  int64_t bottom = 0;
  int64_t right = 0;
  friend bool operator==(const Padding&, const Padding&) = default;
};

// Fields are the dimensions by the names users see; a field that a type does not use stays at its
// default, so that equal layers compare equal:
//   conv, transposed   n k c y x r s stride dilation pad groups (transposed: output_pad) bias
//   fully connected    n k c bias
//   matmul             h m n k (k is the contraction)
// c and k count all groups together; y and x are the unpadded input size.
struct Layer {
  LayerType type = LayerType::kConv;
  bool bias = false;
  int64_t h = 1, m = 1;
  int64_t n = 1, k = 1, c = 1, y = 1, x = 1, r = 1, s = 1;
  int64_t groups = 1;
  Pair stride = {};
  Pair dilation = {};
  Padding pad = {};
  Pair output_pad = {0, 0};

  friend bool operator==(const Layer&, const Layer&) = default;
};

// No size may be larger; every format's 32-bit readers can hold it.
inline constexpr int64_t kMaxSize = (int64_t{1} << 31) - 1;

// Whether the layer makes sense: sizes in 1..kMaxSize, groups that divide c and k, a kernel that
// fits into the padded input, and counts (MACs, tensors) that fit in 64 bits. The error names the
// dimension; its `where` is empty, for the caller to fill in.
Result<void> Validate(const Layer& layer);

// Everything below needs a layer that Validate accepts.

Pair OutputSize(const Layer& layer);  // P and Q; 1, 1 for matrix products

// Multiply-accumulates. Padding counts as data; transposed convolutions count
// N*C*Y*X*(K/groups)*R*S.
int64_t Macs(const Layer& layer);

int64_t InputElements(const Layer& layer);   // matmul: the M x K operand
int64_t WeightElements(const Layer& layer);  // matmul: the K x N operand, an activation
int64_t OutputElements(const Layer& layer);
int64_t Parameters(const Layer& layer);  // weights and biases; 0 for matmul

bool IsDepthwise(const Layer& layer);  // a convolution with one input channel per group

// "conv", "dwconv" (depthwise), "trconv", "fc" or "gemm".
std::string_view TypeName(const Layer& layer);
inline constexpr std::array<std::string_view, 5> kLayerTypeNames = {"conv", "dwconv", "trconv",
                                                                    "fc", "gemm"};

// The layer's dimensions in the order of its type, output size included for convolutions:
// N K C Y X R S P Q; N K C; H M N K.
struct NamedSize {
  std::string_view name;
  int64_t size;
};
std::vector<NamedSize> Dimensions(const Layer& layer);

// "conv N1 K64 C3 Y224 X224 R7 S7 P112 Q112 stride 2 pad 3", for messages and tables.
std::string ToString(const Layer& layer);

struct LayerHash {
  size_t operator()(const Layer& layer) const;
};

}  // namespace tessera

#endif  // TESSERA_WORKLOAD_LAYER_H_
