// A layer as MAESTRO sees it: named dimensions with sizes and strides, and which of them index
// which tensor.
#ifndef TESSERA_COST_MAESTRO_WORKLOAD_H_
#define TESSERA_COST_MAESTRO_WORKLOAD_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tessera/mapping.h"
#include "tessera/network.h"
#include "tessera/result.h"
#include "tessera/workload/maestro_file.h"

namespace tessera::maestro {

using Dim = DataflowDim;
template <typename T>
using PerDim = std::array<T, kDataflowDims>;

constexpr size_t Index(Dim dim) { return static_cast<size_t>(dim); }

// A set of dimensions; kOther is in none.
class DimSet {
 public:
  constexpr DimSet() = default;
  constexpr DimSet(std::initializer_list<Dim> dims) {
    for (const Dim dim : dims) Add(dim);
  }
  constexpr void Add(Dim dim) { bits_ = static_cast<uint16_t>(bits_ | 1u << Index(dim)); }
  constexpr bool Has(Dim dim) const { return (bits_ >> Index(dim) & 1) != 0; }
  constexpr unsigned bits() const { return bits_; }

 private:
  uint16_t bits_ = 0;
};

// The tensors of a layer type, each with its dimensions in MAESTRO's order.
enum TensorIndex : size_t { kInput, kFilter, kOutput };
using Coupling = std::array<std::vector<Dim>, 3>;

// The output dimension that belongs to Y or X of a convolution, and the kernel's; others are their
// own output dimension.
constexpr Dim OutputDim(Dim dim) {
  return dim == Dim::kX ? Dim::kXOut : dim == Dim::kY ? Dim::kYOut : dim;
}
constexpr Dim KernelDim(Dim dim) { return dim == Dim::kX ? Dim::kS : Dim::kR; }

struct DimSize {
  Dim dim = Dim::kOther;
  int64_t size = 1;
};

// What a mapping file or a batch row says about a layer.
struct Declaration {
  MaestroType type = MaestroType::kConv;
  std::vector<DimSize> dims = {};     // in file order
  std::vector<DimSize> strides = {};  // keyed by the names used in `dims`; others are 1
};

// The dimension sizes that the model computes with, and everything else that follows from the
// declaration alone.
struct Workload {
  bool convolution = true;                    // has the window pairs (Y, R) and (X, S)
  Coupling coupling = {};                     // in MAESTRO's order
  std::array<DimSet, 3> coupled = {};         // the same as sets
  std::array<PerDim<uint8_t>, 3> order = {};  // the same by dimension: position in the order
  DimSet mapped = {};                         // of input or filter: every level maps all of them
  DimSet declared = {};                       // the names used in the declaration
  PerDim<int64_t> size = {};                  // 0: the layer has no such dimension
  PerDim<int64_t> stride = {};                // of Y and X; 1 elsewhere
  std::array<int64_t, 3> elements = {};       // by tensor; the output as if the stride were 1
  int64_t declared_input_elements = 1, declared_filter_elements = 1;
  int64_t exact_macs = 0;

  // The dimension of the output that goes with `dim`.
  Dim OutputDimOf(Dim dim) const { return convolution ? OutputDim(dim) : dim; }
};

// Makes a workload; the error names a dimension that is missing or out of range, or says that the
// layer's counts exceed 60 bits. `batched` says whether N indexes the tensors of a convolution; by
// default it does if the layer declares it.
Result<Workload> MakeWorkload(const Declaration& declaration,
                              std::optional<bool> batched = std::nullopt);

// The declaration in a MAESTRO file; it cannot fail because the file's parser was strict.
Declaration Declare(const MaestroLayer& layer);

// The declaration of a Tessera layer: padding becomes input size, depthwise DSCONV, groups NGCONV,
// fully connected a 1x1 CONV. The error says what MAESTRO cannot express.
Result<Declaration> Declare(const Layer& layer);

}  // namespace tessera::maestro

#endif  // TESSERA_COST_MAESTRO_WORKLOAD_H_
