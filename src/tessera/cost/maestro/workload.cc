// Couplings of layer types, sizes from declarations, and Tessera's layers in MAESTRO's terms.
#include "tessera/cost/maestro/workload.h"

#include <fmt/format.h>

#include "tessera/base/checked.h"

namespace tessera::maestro {
namespace {

using enum DataflowDim;

// Room for the factors 2 and for sums of three tensors below 2^63.
constexpr int64_t kMaxElements = int64_t{1} << 60;

Coupling CouplingOf(MaestroType type, bool batched) {
  Coupling coupling;
  switch (type) {
    case MaestroType::kConv:
    case MaestroType::kTrconv: coupling = {{{kC, kY, kX}, {kK, kC, kR, kS}, {kK, kY, kX}}}; break;
    case MaestroType::kDsconv: coupling = {{{kC, kY, kX}, {kC, kR, kS}, {kC, kY, kX}}}; break;
    case MaestroType::kNgconv:
      // The output is coupled to C as well: MAESTRO does not reduce over it.
      coupling = {{{kG, kC, kY, kX}, {kG, kK, kC, kR, kS}, {kG, kK, kC, kY, kX}}};
      break;
    case MaestroType::kGemm: return {{{kM, kK}, {kK, kN}, {kM, kN}}};
  }
  if (batched) {
    coupling[kInput].insert(coupling[kInput].begin(), kN);
    coupling[kOutput].insert(coupling[kOutput].begin(), kN);
  }
  return coupling;
}

int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Output size of Y or X: as declared, or from the input size. A kernel larger than its input gives
// zero or less, which no mapping can match.
int64_t OutputSize(const Workload& workload, Dim dim) {
  const int64_t declared = workload.size[Index(OutputDim(dim))];
  if (declared != 0) return declared;
  const int64_t span = workload.size[Index(dim)] - workload.size[Index(KernelDim(dim))];
  return FloorDiv(span, workload.stride[Index(dim)]) + 1;
}

Checked ExactMacs(const Workload& workload, MaestroType type) {
  Checked macs = 1;
  for (const Dim dim : {kC, kG, kK, kM, kN, kR, kS}) {
    if (dim == kK && type == MaestroType::kDsconv) continue;
    if (dim == kG && type != MaestroType::kNgconv) continue;
    if (dim == kM && type != MaestroType::kGemm) continue;
    if (workload.size[Index(dim)] != 0) macs = macs * workload.size[Index(dim)];
  }
  if (!workload.convolution) return macs;
  return macs * OutputSize(workload, kY) * OutputSize(workload, kX);
}

// A declaration by output size leaves the input size to be computed. MAESTRO then gives X the
// stride of Y' and Y that of X'.
void DeriveInputSize(Workload& workload, const PerDim<int64_t>& stride, Dim dim, Dim other) {
  const size_t in = Index(dim), out = Index(OutputDim(dim));
  if (workload.size[in] != 0 || workload.size[out] == 0) return;
  workload.size[in] = workload.size[out] + workload.size[Index(KernelDim(dim))] - 1;
  workload.stride[in] = stride[Index(OutputDim(other))];
}

// A kernel larger than its input gives outputs of zero or less.
Checked Elements(const Workload& workload, size_t tensor) {
  Checked elements = 1;
  for (const Dim dim : workload.coupling[tensor]) {
    int64_t size = workload.size[Index(dim)];
    if (tensor == kOutput && workload.OutputDimOf(dim) != dim) {
      size += 1 - workload.size[Index(KernelDim(dim))];
    }
    elements = elements * size;
  }
  return elements;
}

bool Fits(const Checked& count) {
  return count.ok() && count.value() <= kMaxElements && count.value() >= -kMaxElements;
}

Error Overflow() {
  return Error{.kind = ErrorKind::kOverflow,
               .message = "the layer's MACs or tensor sizes exceed 60 bits"};
}

Result<void> CheckSize(std::string_view what, const DimSize& entry, int64_t largest) {
  if (entry.dim != kOther && entry.size >= 1 && entry.size <= largest) return {};
  return Error{.kind = ErrorKind::kBadValue,
               .message = fmt::format("{} {} is {}, but must be in 1..{}", what,
                                      ToString(entry.dim), entry.size, largest)};
}

// An axis of a convolution as it is declared: only the input that outputs touch.
struct Axis {
  int64_t kernel, input, stride;
  int64_t channels = 1;  // the input's channels are multiplied by this
};

Axis DeclareAxis(int64_t kernel, int64_t outputs, int64_t stride, bool foldable) {
  const bool apart = stride > 1 && kernel <= stride;  // no input element is in two windows
  if (!apart || (kernel > 1 && !foldable)) {
    return {.kernel = kernel, .input = (outputs - 1) * stride + kernel, .stride = stride};
  }
  // What windows skip is never read, and what is inside of one is summed up like channels.
  return {.kernel = 1, .input = outputs, .stride = 1, .channels = kernel};
}

Declaration DeclareConv(const Layer& layer) {
  const bool depthwise = IsDepthwise(layer) && layer.k == layer.c;
  Declaration made{.type = depthwise           ? MaestroType::kDsconv
                           : layer.groups == 1 ? MaestroType::kConv
                                               : MaestroType::kNgconv};
  const bool grouped = made.type == MaestroType::kNgconv;
  if (layer.n > 1) made.dims.push_back({kN, layer.n});
  if (grouped) made.dims.push_back({kG, layer.groups});
  // Only a plain convolution sums up over its channels.
  const bool foldable = made.type == MaestroType::kConv;
  const Pair outputs = OutputSize(layer);
  const Axis y = DeclareAxis(layer.r, outputs.y, layer.stride.y, foldable);
  const Axis x = DeclareAxis(layer.s, outputs.x, layer.stride.x, foldable);
  const int64_t channels = depthwise ? layer.c : layer.c / layer.groups;
  if (!depthwise) made.dims.push_back({kK, layer.k / layer.groups});
  made.dims.push_back({kC, channels * y.channels * x.channels});
  made.dims.insert(made.dims.end(), {{kR, y.kernel}, {kS, x.kernel}, {kY, y.input}, {kX, x.input}});
  made.strides = {{kY, y.stride}, {kX, x.stride}};
  return made;
}

// MAESTRO's TRCONV is its CONV. Every input element meets every element of the kernel once, so the
// convolution with an output of Y x X has the MACs of the transposed one.
Declaration DeclareTransposed(const Layer& layer) {
  Layer equivalent = layer;
  equivalent.type = LayerType::kConv;
  equivalent.stride = equivalent.dilation = {};
  equivalent.pad = {.top = layer.r - 1, .left = layer.s - 1};
  equivalent.output_pad = {0, 0};
  Declaration made = DeclareConv(equivalent);
  if (made.type == MaestroType::kConv) made.type = MaestroType::kTrconv;
  return made;
}

// MAESTRO has no batched product; H groups of 1x1 convolutions are the same loops.
Declaration DeclareMatmul(const Layer& layer) {
  if (layer.h == 1) {
    return {.type = MaestroType::kGemm, .dims = {{kM, layer.m}, {kN, layer.n}, {kK, layer.k}}};
  }
  return {
      .type = MaestroType::kNgconv,
      .dims = {
          {kG, layer.h}, {kK, layer.n}, {kC, layer.k}, {kR, 1}, {kS, 1}, {kY, layer.m}, {kX, 1}}};
}

}  // namespace

Result<Workload> MakeWorkload(const Declaration& declaration, std::optional<bool> batched) {
  Workload workload;
  workload.convolution = declaration.type != MaestroType::kGemm;
  for (const DimSize& entry : declaration.dims) {
    if (Result<void> ok = CheckSize("dimension", entry, INT32_MAX); !ok) return ok.error();
    workload.size[Index(entry.dim)] = entry.size;
    workload.declared.Add(entry.dim);
  }
  PerDim<int64_t> stride;
  stride.fill(1);
  for (const DimSize& entry : declaration.strides) {
    if (Result<void> ok = CheckSize("stride of", entry, INT32_MAX); !ok) return ok.error();
    stride[Index(entry.dim)] = entry.size;
  }
  workload.stride = stride;
  if (workload.convolution) {
    DeriveInputSize(workload, stride, kX, kY);
    DeriveInputSize(workload, stride, kY, kX);
  }

  workload.coupling = CouplingOf(declaration.type, batched.value_or(workload.declared.Has(kN)));
  for (size_t tensor = 0; tensor < 3; ++tensor) {
    uint8_t position = 0;
    for (const Dim dim : workload.coupling[tensor]) {
      workload.coupled[tensor].Add(dim);
      workload.order[tensor][Index(dim)] = position++;
      if (tensor != kOutput) workload.mapped.Add(dim);
      if (workload.size[Index(dim)] != 0) continue;
      return Error{.kind = ErrorKind::kBadValue,
                   .message = fmt::format("a layer of type {} needs dimension {}",
                                          ToString(declaration.type), ToString(dim))};
    }
    const Checked elements = Elements(workload, tensor);
    if (!Fits(elements)) return Overflow();
    workload.elements[tensor] = elements.value();
  }
  Checked input = 1, filter = 1;  // as MAESTRO counts them: a dimension given twice counts twice
  for (const DimSize& entry : declaration.dims) {
    if (workload.coupled[kInput].Has(entry.dim)) input = input * entry.size;
    if (workload.coupled[kFilter].Has(entry.dim)) filter = filter * entry.size;
  }
  const Checked macs = ExactMacs(workload, declaration.type);
  if (!Fits(input) || !Fits(filter) || !Fits(macs)) return Overflow();
  workload.declared_input_elements = input.value();
  workload.declared_filter_elements = filter.value();
  workload.exact_macs = macs.value();
  return workload;
}

Declaration Declare(const MaestroLayer& layer) {
  Declaration declaration{.type = layer.type};
  for (const MaestroDimension& dimension : layer.dimensions) {
    declaration.dims.push_back({*FindDataflowDim(dimension.name), dimension.size});
  }
  for (const MaestroDimension& stride : layer.strides) {
    declaration.strides.push_back({*FindDataflowDim(stride.name), stride.size});
  }
  return declaration;
}

Result<Declaration> Declare(const Layer& layer) {
  if (layer.bits.known()) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = fmt::format("bits {}: MAESTRO counts elements, whatever their width",
                                        ToString(layer.bits)),
                 .hint = "use model 'loopnest', or --bits machine"};
  }
  switch (layer.type) {
    case LayerType::kConv:
      if (layer.dilation != Pair{}) {
        return Error{.kind = ErrorKind::kUnsupported,
                     .message = fmt::format("dilation {}x{}: MAESTRO has no dilated convolution",
                                            layer.dilation.y, layer.dilation.x),
                     .hint = "use model 'loopnest'"};
      }
      return DeclareConv(layer);
    case LayerType::kTransposedConv: return DeclareTransposed(layer);
    case LayerType::kFullyConnected: {
      Layer convolution{.type = LayerType::kConv, .n = layer.n, .k = layer.k, .c = layer.c};
      return DeclareConv(convolution);
    }
    case LayerType::kMatmul: return DeclareMatmul(layer);
  }
  return Error{.kind = ErrorKind::kInternal, .message = "unknown layer type"};
}

}  // namespace tessera::maestro
