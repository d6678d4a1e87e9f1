// Widths of a layer's tensors: how many bits an element of its weights, inputs, outputs and partial
// sums has. Networks and accelerators may give them (docs/cost-loopnest.md, "Bits per tensor");
// where nobody does, an element takes one word of whatever level holds it.
//
//   Layer layer = ...;
//   layer.bits = {.weights = 4, .inputs = 8, .outputs = 16};
#ifndef TESSERA_BITS_H_
#define TESSERA_BITS_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/result.h"

namespace tessera {

// 0: not given.
struct TensorBits {
  int32_t weights = 0;       // a matrix product: of its second operand, K x N
  int32_t inputs = 0;        // a matrix product: of its first operand, M x K
  int32_t outputs = 0;       // where they are at home, which is the outermost level
  int32_t partial_sums = 0;  // of outputs at all levels further in; not given: as outputs

  bool known() const { return (weights | inputs | outputs | partial_sums) != 0; }
  friend bool operator==(const TensorBits&, const TensorBits&) = default;
};

// No width may be larger.
inline constexpr int32_t kMostTensorBits = 1024;

// The fields by the names that files and flags have for them.
struct TensorBitsField {
  std::string_view name;
  int32_t TensorBits::*field;
};
inline constexpr std::array<TensorBitsField, 4> kTensorBitsFields = {{
    {"weights", &TensorBits::weights},
    {"inputs", &TensorBits::inputs},
    {"outputs", &TensorBits::outputs},
    {"partial_sums", &TensorBits::partial_sums},
}};

// What `first` gives, and what it does not give from `second`.
TensorBits Either(const TensorBits& first, const TensorBits& second);

// Whether all widths are 0 or in 1..kMostTensorBits; the error's `where` is empty.
Result<void> Validate(const TensorBits& bits);

// "weights=4,inputs=8", of the widths that are given; and back. One number stands for weights,
// inputs and outputs.
std::string ToString(const TensorBits& bits);
Result<TensorBits> ParseTensorBits(std::string_view text);

}  // namespace tessera

#endif  // TESSERA_BITS_H_
