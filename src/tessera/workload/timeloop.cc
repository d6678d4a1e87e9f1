// Timeloop problems as networks of one layer, and networks as one problem per distinct layer.
// Timeloop knows loop bounds and no padding: an input has the size that the loops touch.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/base/document.h"
#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/network.h"
#include "tessera/workload/builder.h"
#include "tessera/workload/losses.h"
#include "tessera/workload/timeloop_problem.h"
#include "tessera/workload/unique_names.h"

namespace tessera {
namespace {

// ------------------------------------------------------------------------------------- reading

using Tensor = TimeloopProblem::Tensor;
using Term = TimeloopProblem::Term;

bool IsCalledWeights(const Tensor& tensor) {
  std::string name = tensor.name;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.find("weight") != std::string::npos || name.find("filter") != std::string::npos;
}

// Recognises a layer by which dimensions its tensors share: a contraction is in both operands and
// not in the output, a batch in all three, and so on. Names only decide between equals.
class Recogniser {
 public:
  explicit Recogniser(const TimeloopProblem& problem) : problem_(problem) {}

  Result<Layer> Run() {
    if (Result<void> ok = FindTensors(); !ok) return ok.error();
    if (Result<void> ok = CountUses(); !ok) return ok.error();
    std::optional<size_t> windowed;
    for (size_t t = 0; t < 3; ++t) {
      if (Windows(tensor(t)).empty()) continue;
      if (windowed) return Unrecognised("two tensors have ranks of two dimensions");
      windowed = t;
    }
    if (!windowed) return Product();
    if (*windowed == kOutput) return Convolution(LayerType::kTransposedConv);
    // The operand with windows is the input, the other one the weights.
    if (*windowed == kWeights) std::swap(order_[kInput], order_[kWeights]);
    return Convolution(LayerType::kConv);
  }

 private:
  enum Role : size_t { kInput, kWeights, kOutput };
  // Sets of roles.
  static constexpr unsigned kIn = 1u << kInput, kW = 1u << kWeights, kOut = 1u << kOutput;

  // An axis of a window: the dimensions of the kernel and of the position, with their factors.
  struct Axis {
    Term kernel, position;
  };

  const Tensor& tensor(size_t role) const { return problem_.tensors[order_[role]]; }
  int64_t SizeOf(const Term& term) const { return problem_.dimensions[term.dimension].size; }

  Error Unrecognised(std::string_view reason) const {
    return Error{
        .kind = ErrorKind::kUnsupported,
        .message = fmt::format("shape {} is neither a convolution nor a matrix product: {}",
                               Quoted(problem_.shape), reason),
        .where = problem_.where};
  }

  Result<void> FindTensors() {
    if (problem_.tensors.size() != 3) {
      return Unrecognised(fmt::format("it has {} data spaces, not 3", problem_.tensors.size()));
    }
    std::vector<size_t> operands;
    for (size_t t = 0; t < 3; ++t) {
      if (problem_.tensors[t].read_write) {
        order_[kOutput] = t;
      } else {
        operands.push_back(t);
      }
    }
    if (operands.size() != 2) return Unrecognised("not exactly one data space is read-write");
    // Where nothing else tells the operands apart, Timeloop's files name the weights, or have
    // them first; products have the M x K operand first.
    const bool second = IsCalledWeights(problem_.tensors[operands[1]]);
    order_[kWeights] = operands[second ? 1 : 0];
    order_[kInput] = operands[second ? 0 : 1];
    return {};
  }

  static std::vector<std::vector<Term>> Windows(const Tensor& tensor) {
    std::vector<std::vector<Term>> windows;
    for (const std::vector<Term>& rank : tensor.ranks) {
      if (rank.size() > 1) windows.push_back(rank);
    }
    return windows;
  }

  // Which tensors each dimension is in: a set of positions in the file.
  Result<void> CountUses() {
    uses_.assign(problem_.dimensions.size(), 0);
    for (size_t t = 0; t < 3; ++t) {
      for (const std::vector<Term>& rank : problem_.tensors[t].ranks) {
        if (rank.size() > 2) return Unrecognised("a rank sums more than two dimensions");
        for (const Term& term : rank) {
          if (uses_[term.dimension] & (1u << t)) {
            return Unrecognised(fmt::format("dimension {} occurs twice in one data space",
                                            Quoted(problem_.dimensions[term.dimension].name)));
          }
          uses_[term.dimension] |= 1u << t;
          if (rank.size() == 1 && term.coefficient != 1 && SizeOf(term) > 1) {
            return Unrecognised("a rank of one dimension has a coefficient");
          }
        }
      }
    }
    return {};
  }

  // The roles of the tensors that a dimension is in.
  unsigned RolesOf(size_t dimension) const {
    unsigned roles = 0;
    for (size_t role = 0; role < 3; ++role) {
      if (uses_[dimension] & (1u << order_[role])) roles |= 1u << role;
    }
    return roles;
  }

  // The product of the sizes of all dimensions that are in exactly these tensors and in no window.
  int64_t Product(unsigned roles) {
    Checked product = 1;
    for (size_t d = 0; d < problem_.dimensions.size(); ++d) {
      if (RolesOf(d) != roles || (in_window_ >> d & 1) != 0) continue;
      product = product * problem_.dimensions[d].size;
      placed_ |= uint64_t{1} << d;
    }
    return Size(product);
  }

  int64_t Size(Checked size) {
    if (size.ok() && size.value() <= kMaxSize) return size.value();
    too_large_ = true;
    return 1;
  }

  Result<Layer> Product() {
    Layer layer;
    const bool has_weights = IsCalledWeights(tensor(kWeights));
    const int64_t batch = Product(kIn | kW | kOut);
    const int64_t contraction = Product(kIn | kW);
    const int64_t rows_of_input = Product(kIn | kOut), rows_of_weights = Product(kW | kOut);
    if (has_weights && batch == 1) {
      layer = {.type = LayerType::kFullyConnected,
               .n = rows_of_input,
               .k = rows_of_weights,
               .c = contraction};
    } else {
      // Without a name for the weights, kWeights is simply the first operand.
      layer = {.type = LayerType::kMatmul,
               .h = batch,
               .m = has_weights ? rows_of_input : rows_of_weights,
               .n = has_weights ? rows_of_weights : rows_of_input,
               .k = contraction};
    }
    return Finish(layer);
  }

  Result<Layer> Convolution(LayerType type) {
    const bool transposed = type == LayerType::kTransposedConv;
    const std::vector<std::vector<Term>> windows = Windows(tensor(transposed ? kOutput : kInput));
    if (windows.size() > 2) {
      return Unrecognised(
          fmt::format("{}-dimensional convolutions are not modelled", windows.size()));
    }
    // The kernel is in the weights; the position is in the other tensor.
    const unsigned kernel_roles = transposed ? kW | kOut : kW | kIn;
    const unsigned position_roles = kIn | kOut;
    std::vector<Axis> axes;
    for (size_t i = 0; i < windows.size(); ++i) {
      Term kernel = windows[i][0], position = windows[i][1];
      if (RolesOf(kernel.dimension) != kernel_roles) std::swap(kernel, position);
      if (RolesOf(kernel.dimension) != kernel_roles ||
          RolesOf(position.dimension) != position_roles) {
        return Unrecognised("a window is not made of a kernel and a position");
      }
      axes.push_back({kernel, position});
      in_window_ |= uint64_t{1} << kernel.dimension | uint64_t{1} << position.dimension;
    }
    placed_ = in_window_;
    // R belongs to Y whichever comes first. A row of inputs is along X unless it has an R.
    const auto is_y = [&](const Axis& axis) {
      return problem_.dimensions[axis.kernel.dimension].name == "R";
    };
    if (axes.size() == 1) {
      return is_y(axes[0]) ? MakeConvolution(type, &axes[0], nullptr)
                           : MakeConvolution(type, nullptr, &axes[0]);
    }
    if (is_y(axes[1])) std::swap(axes[0], axes[1]);
    return MakeConvolution(type, &axes[0], &axes[1]);
  }

  // An axis that is not there has sizes of 1.
  Result<Layer> MakeConvolution(LayerType type, const Axis* y, const Axis* x) {
    Layer layer{.type = type};
    layer.n = Product(kIn | kOut);
    layer.groups = Product(kIn | kW | kOut);
    layer.k = Size(Checked(Product(kW | kOut)) * layer.groups);
    layer.c = Size(Checked(Product(kIn | kW)) * layer.groups);
    if (y != nullptr) {
      layer.r = SizeOf(y->kernel);
      layer.stride.y = y->position.coefficient;
      layer.dilation.y = y->kernel.coefficient;
      layer.y = InputSize(type, *y);
    }
    if (x != nullptr) {
      layer.s = SizeOf(x->kernel);
      layer.stride.x = x->position.coefficient;
      layer.dilation.x = x->kernel.coefficient;
      layer.x = InputSize(type, *x);
    }
    return Finish(layer);
  }

  int64_t InputSize(LayerType type, const Axis& axis) {
    if (type == LayerType::kTransposedConv) return SizeOf(axis.position);
    return Size(Checked(axis.position.coefficient) * (SizeOf(axis.position) - 1) +
                Checked(axis.kernel.coefficient) * (SizeOf(axis.kernel) - 1) + 1);
  }

  Result<Layer> Finish(const Layer& layer) const {
    for (size_t d = 0; d < problem_.dimensions.size(); ++d) {
      if ((placed_ >> d & 1) != 0 || problem_.dimensions[d].size == 1) continue;
      return Unrecognised(fmt::format("dimension {} is in one data space only or in none",
                                      Quoted(problem_.dimensions[d].name)));
    }
    if (too_large_) {
      return Error{.kind = ErrorKind::kOverflow,
                   .message = fmt::format("a size of the layer is larger than {}", kMaxSize),
                   .where = problem_.where};
    }
    return layer;
  }

  const TimeloopProblem& problem_;
  std::array<size_t, 3> order_ = {};  // position in the file of each role's tensor
  std::vector<unsigned> uses_;        // per dimension: positions of the tensors that have it
  uint64_t in_window_ = 0;            // dimensions that are part of a window
  uint64_t placed_ = 0;               // dimensions that the layer accounts for
  bool too_large_ = false;
};

Result<void> CheckOtherKeys(const Node& root) {
  // What Timeloop and Accelergy read from the same file.
  static constexpr std::array<std::string_view, 15> kKnown = {"problem",
                                                              "arch",
                                                              "architecture",
                                                              "architecture_constraints",
                                                              "mapping",
                                                              "mapper",
                                                              "mapspace",
                                                              "mapspace_constraints",
                                                              "constraints",
                                                              "variables",
                                                              "components",
                                                              "compound_components",
                                                              "globals",
                                                              "model",
                                                              "sparse_optimizations"};
  for (const Node::Entry& entry : root.entries) {
    std::string key = entry.key;
    std::replace(key.begin(), key.end(), '-', '_');
    if (std::find(kKnown.begin(), kKnown.end(), key) != kKnown.end()) continue;
    return Error{.kind = ErrorKind::kUnknownName,
                 .message = fmt::format("unknown key {} in a Timeloop file", Quoted(entry.key)),
                 .where = entry.key_where,
                 .hint = DidYouMean(key, kKnown)};
  }
  return {};
}

Result<Network> Read(std::string_view bytes, const std::string& file, const Bindings& bindings) {
  if (Result<void> ok = RefuseBindings(bindings, file); !ok) return ok.error();
  const Result<std::string> text = ToText(std::string(bytes), file);
  if (!text) return text.error();
  const Result<Node> root = ParseDocument(*text, file);
  if (!root) return root.error();
  if (Result<void> ok = CheckOtherKeys(*root); !ok) return ok.error();
  const Result<TimeloopProblem> problem = ParseTimeloopProblem(*root);
  if (!problem) return problem.error();
  Result<Layer> layer = Recogniser(*problem).Run();
  if (!layer) return layer.error();
  layer->bits = problem->bits;
  NetworkBuilder builder(Network{.name = FileStem(file)});
  if (Result<void> added = builder.Add(FileStem(file), *layer); !added) {
    Error error = added.error();
    error.where = problem->where;
    return error;
  }
  Network network = builder.Take();
  network.batch = UsualBatch(network);
  return network;
}

// ------------------------------------------------------------------------------------- writing

// A shape to write: its text, and which of its dimensions a layer's sizes give.
struct Shape {
  std::string name;
  std::vector<NamedSize> dimensions;
  std::vector<NamedSize> coefficients = {};
  // Name and ranks of each tensor; the last one is read-write.
  std::array<std::pair<std::string_view, std::vector<std::string_view>>, 3> tensors;
};

constexpr std::string_view kWindowY = "[[R, Wdilation], [P, Wstride]]";
constexpr std::string_view kWindowX = "[[S, Hdilation], [Q, Hstride]]";
constexpr std::string_view kScatterY = "[[R, Wdilation], [Y, Wstride]]";
constexpr std::string_view kScatterX = "[[S, Hdilation], [X, Hstride]]";

Shape ProductShape(const Layer& layer) {
  if (layer.type == LayerType::kFullyConnected) {
    return {
        .name = "fc",
        .dimensions = {{"C", layer.c}, {"K", layer.k}, {"N", layer.n}},
        .tensors = {{{"Weights", {"C", "K"}}, {"Inputs", {"N", "C"}}, {"Outputs", {"N", "K"}}}}};
  }
  if (layer.h == 1) {
    return {.name = "gemm",
            .dimensions = {{"M", layer.m}, {"N", layer.n}, {"K", layer.k}},
            .tensors = {{{"A", {"M", "K"}}, {"B", {"K", "N"}}, {"Z", {"M", "N"}}}}};
  }
  return {.name = "bgemm",
          .dimensions = {{"H", layer.h}, {"M", layer.m}, {"N", layer.n}, {"K", layer.k}},
          .tensors = {{{"A", {"H", "M", "K"}}, {"B", {"H", "K", "N"}}, {"Z", {"H", "M", "N"}}}}};
}

Shape ConvolutionShape(const Layer& layer) {
  const bool transposed = layer.type == LayerType::kTransposedConv;
  const bool depthwise = layer.groups > 1 && layer.groups == layer.c && layer.k == layer.c;
  const bool grouped = layer.groups > 1 && !depthwise;
  const Pair output = OutputSize(layer);
  Shape shape;
  shape.name = fmt::format("{}{}",
                           depthwise ? "dw"
                           : grouped ? "grouped-"
                                     : "",
                           transposed ? "trconv" : "conv");
  shape.dimensions = {{"R", layer.r}, {"S", layer.s}};
  if (transposed) {
    shape.dimensions.insert(shape.dimensions.end(), {{"Y", layer.y}, {"X", layer.x}});
  } else {
    shape.dimensions.insert(shape.dimensions.end(), {{"P", output.y}, {"Q", output.x}});
  }
  const int64_t per_group = depthwise ? 1 : layer.groups;
  shape.dimensions.push_back({"C", layer.c / per_group});
  if (!depthwise) shape.dimensions.push_back({"K", layer.k / per_group});
  if (grouped) shape.dimensions.push_back({"G", layer.groups});
  shape.dimensions.push_back({"N", layer.n});
  shape.coefficients = {{"Wstride", layer.stride.y},
                        {"Hstride", layer.stride.x},
                        {"Wdilation", layer.dilation.y},
                        {"Hdilation", layer.dilation.x}};

  std::vector<std::string_view> weights = {"C"}, inputs = {"N", "C"}, outputs = {"N"};
  if (grouped) {
    for (auto* ranks : {&weights, &inputs, &outputs}) ranks->push_back("G");
  }
  if (!depthwise) weights.push_back("K");
  outputs.push_back(depthwise ? "C" : "K");
  weights.insert(weights.end(), {"R", "S"});
  if (transposed) {
    inputs.insert(inputs.end(), {"Y", "X"});
    outputs.insert(outputs.end(), {kScatterY, kScatterX});
  } else {
    inputs.insert(inputs.end(), {kWindowY, kWindowX});
    outputs.insert(outputs.end(), {"Q", "P"});
  }
  shape.tensors = {{{"Weights", weights}, {"Inputs", inputs}, {"Outputs", outputs}}};
  return shape;
}

std::string Joined(const std::vector<NamedSize>& sizes, bool with_sizes) {
  std::string text;
  for (const auto& [name, size] : sizes) {
    if (!text.empty()) text += ", ";
    text += with_sizes ? fmt::format("{}: {}", name, size) : std::string(name);
  }
  return text;
}

std::string ProblemText(const Shape& shape) {
  std::string text = "problem:\n  version: 0.4\n  shape:\n";
  text += fmt::format("    name: {}\n", shape.name);
  text += fmt::format("    dimensions: [{}]\n", Joined(shape.dimensions, false));
  if (!shape.coefficients.empty()) {
    text += "    coefficients:\n";
    for (const auto& [name, value] : shape.coefficients) {
      text += fmt::format("    - {{name: {}, default: 1}}\n", name);
    }
  }
  text += "    data_spaces:\n";
  for (const auto& [name, ranks] : shape.tensors) {
    text += fmt::format("    - name: {}\n      projection:\n", name);
    for (const std::string_view rank : ranks) {
      text += fmt::format("      - {}\n",
                          rank.starts_with('[') ? std::string(rank) : fmt::format("[[{}]]", rank));
    }
  }
  text += "      read_write: true\n";
  std::vector<NamedSize> instance = shape.dimensions;
  instance.insert(instance.end(), shape.coefficients.begin(), shape.coefficients.end());
  text += fmt::format("  instance: {{{}}}\n", Joined(instance, true));
  return text;
}

void NoteLosses(const NetworkLayer& entry, Losses& losses) {
  const Layer& layer = entry.layer;
  if (layer.bias) losses.Add("bias", entry.name);
  if (layer.type == LayerType::kConv && layer.pad != Padding{}) {
    losses.Add("padding, which becomes input size", entry.name);
  }
  if (layer.type == LayerType::kTransposedConv &&
      (layer.pad != Padding{} || layer.output_pad != Pair{0, 0})) {
    losses.Add("padding of a transposed convolution, so its output size", entry.name);
  }
  if (entry.count > 1) {
    losses.Add("how often a layer occurs, which is in a comment of its file", entry.name);
  }
  if (!entry.also.empty()) losses.Add("names of further occurrences", entry.name);
}

Result<Export> Write(const Network& network) {
  Losses losses;
  losses.AddHeader(network);
  losses.Add("the network's name: files are named by layers");
  if (!network.variant.empty()) losses.Add("the network's variant");
  const size_t digits = fmt::format("{}", network.layers.size()).size();
  Export result;
  for (size_t i = 0; i < network.layers.size(); ++i) {
    const NetworkLayer& entry = network.layers[i];
    const bool product =
        entry.layer.type == LayerType::kFullyConnected || entry.layer.type == LayerType::kMatmul;
    const Shape shape = product ? ProductShape(entry.layer) : ConvolutionShape(entry.layer);
    for (const auto& [name, size] : shape.dimensions) {
      if (size <= kMaxSize) continue;
      return Error{.kind = ErrorKind::kUnsupported,
                   .message = fmt::format("layer {}: {} = {} is larger than {}", Quoted(entry.name),
                                          name, size, kMaxSize)};
    }
    NoteLosses(entry, losses);
    // The number keeps the files in the network's order, and apart.
    const std::string file = fmt::format("{:0{}}-{}.yaml", i + 1, digits, SafeFileName(entry.name));
    const std::string comment = fmt::format(
        "# layer {} of {}, {} {}: {}\n", Quoted(entry.name), Quoted(network.name), entry.count,
        entry.count == 1 ? "occurrence" : "occurrences", ToString(entry.layer));
    result.files.push_back({file, comment + ProblemText(shape)});
  }
  result.lost = losses.Lines();
  return result;
}

bool Recognises(std::string_view bytes) {
  for (const std::string_view key : {"problem:", "\"problem\":", "\"problem\" :"}) {
    if (bytes.find(key) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

extern const NetworkFormat kTimeloopFormat = {
    .name = "timeloop",
    .summary = "Timeloop problem files (reads 0.1 to 0.4, writes 0.4); one file for each layer",
    .extensions = {".yaml", ".yml", ".json"},
    .recognises = Recognises,
    .read = Read,
    .write = Write,
};

}  // namespace tessera
