// MAESTRO's `.m` files as networks. The format has no padding, no dilation and no biases, and its
// output sizes are floor((Y - R) / stride) + 1. Type, output size, stride and MACs survive.
#include <optional>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/network.h"
#include "tessera/workload/builder.h"
#include "tessera/workload/losses.h"
#include "tessera/workload/maestro_file.h"
#include "tessera/workload/unique_names.h"

namespace tessera {
namespace {

// ------------------------------------------------------------------------------------- reading

// Turns one layer of a file into a Layer.
class LayerReader {
 public:
  LayerReader(const MaestroFile& file, const MaestroLayer& source) : file_(file), source_(source) {}

  Result<Layer> Read() {
    if (Result<void> ok = CheckStrides(); !ok) return ok.error();
    Layer layer = source_.type == MaestroType::kGemm ? Product() : Convolution();
    if (error_) return *error_;
    return layer;
  }

 private:
  Error ErrorAt(const MaestroPlace& place, std::string message, std::string hint = "") const {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = std::move(message),
                 .where = file_.At(place),
                 .hint = std::move(hint)};
  }

  // Only windows move in steps.
  Result<void> CheckStrides() const {
    for (const MaestroDimension& stride : source_.strides) {
      const bool window = stride.name[0] == 'Y' || stride.name[0] == 'X';
      if (window || stride.size == 1) continue;
      return ErrorAt(stride.place,
                     fmt::format("a stride of '{}': only Y and X have strides", stride.name));
    }
    return {};
  }

  int64_t Required(std::string_view name) {
    const MaestroDimension* dimension = source_.Find(name);
    if (dimension != nullptr) return dimension->size;
    if (!error_) {
      error_ =
          ErrorAt(source_.place, fmt::format("layer {} of type {} without dimension '{}'",
                                             Quoted(source_.name), ToString(source_.type), name));
    }
    return 1;
  }

  int64_t Optional(std::string_view name) const {
    const MaestroDimension* dimension = source_.Find(name);
    return dimension == nullptr ? 1 : dimension->size;
  }

  Layer Product() {
    return {.type = LayerType::kMatmul, .m = Required("M"), .n = Required("N"), .k = Required("K")};
  }

  Layer Convolution() {
    Layer layer{.n = Optional("N"), .c = Required("C"), .r = Required("R"), .s = Required("S")};
    if (source_.type == MaestroType::kTrconv) layer.type = LayerType::kTransposedConv;
    layer.y = InputSize("Y", "Y'", layer.r, layer.stride.y);
    layer.x = InputSize("X", "X'", layer.s, layer.stride.x);
    switch (source_.type) {
      case MaestroType::kDsconv: ReadDepthwise(layer); break;
      case MaestroType::kNgconv: ReadGroups(layer); break;
      default: layer.k = Required("K"); break;
    }
    // How other tools and our own writer put a fully connected layer.
    const bool one_position = layer.y == 1 && layer.x == 1 && layer.r == 1 && layer.s == 1;
    if (source_.type == MaestroType::kConv && one_position && source_.strides.empty()) {
      layer.type = LayerType::kFullyConnected;
    }
    return layer;
  }

  // The input size, given as such or as output size, and the stride of that axis.
  int64_t InputSize(std::string_view input, std::string_view output, int64_t kernel,
                    int64_t& stride) {
    const MaestroDimension* outputs = source_.Find(output);
    stride = source_.StrideOf(outputs == nullptr ? input : output);
    if (outputs == nullptr) return Required(input);
    if (source_.type != MaestroType::kTrconv) return stride * (outputs->size - 1) + kernel;
    const int64_t steps = outputs->size - kernel;
    if (steps < 0 || steps % stride != 0) {
      if (!error_) {
        error_ = ErrorAt(outputs->place,
                         fmt::format("no input size gives a transposed convolution {} = {} with "
                                     "kernel {} and stride {}",
                                     output, outputs->size, kernel, stride));
      }
      return 1;
    }
    return steps / stride + 1;
  }

  // MAESTRO ignores K here; files write 1 or C.
  void ReadDepthwise(Layer& layer) {
    layer.k = layer.groups = layer.c;
    const MaestroDimension* outputs = source_.Find("K");
    if (outputs == nullptr || outputs->size == 1 || outputs->size == layer.c || error_) return;
    error_ =
        ErrorAt(outputs->place,
                fmt::format("DSCONV with K = {}: K must be 1 or C = {}", outputs->size, layer.c),
                fmt::format("for {} outputs per channel write NGCONV with G = {}, K = {}, "
                            "C = 1",
                            outputs->size, layer.c, outputs->size));
  }

  // K and C count one group.
  void ReadGroups(Layer& layer) {
    layer.groups = Required("G");
    layer.k = Required("K") * layer.groups;
    layer.c *= layer.groups;
  }

  const MaestroFile& file_;
  const MaestroLayer& source_;
  std::optional<Error> error_;
};

Result<Network> ReadMaestro(std::string_view bytes, const std::string& file,
                            const Bindings& bindings) {
  if (Result<void> ok = RefuseBindings(bindings, file); !ok) return ok.error();
  const Result<std::string> text = ToText(std::string(bytes), file);
  if (!text) return text.error();
  const Result<MaestroFile> parsed = ParseMaestroFile(*text, file);
  if (!parsed) return parsed.error();
  if (parsed->networks.size() > 1) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = "a second Network in the file",
                 .where = parsed->At(parsed->networks[1].place),
                 .hint = "put each into a file of its own"};
  }
  const MaestroNetwork& source = parsed->networks[0];
  NetworkBuilder builder(Network{.name = source.name.empty() ? FileStem(file) : source.name});
  for (const MaestroLayer& layer_source : source.layers) {
    const Result<Layer> layer = LayerReader(*parsed, layer_source).Read();
    if (!layer) return layer.error();
    if (Result<void> added = builder.Add(layer_source.name, *layer); !added) {
      Error error = added.error();
      error.where = parsed->At(layer_source.place);
      return error;
    }
  }
  Network network = builder.Take();
  network.batch = UsualBatch(network);
  return network;
}

// ------------------------------------------------------------------------------------- writing

// Names end at blanks, decoration and comments in MAESTRO.
std::string SafeName(std::string_view name) {
  std::string safe(name);
  for (size_t i = 0; i < safe.size(); ++i) {
    const bool control = static_cast<unsigned char>(safe[i]) <= ' ' || safe[i] == 0x7f;
    const bool comment = safe[i] == '/' && i > 0 && safe[i - 1] == '/';
    const bool decoration = std::string_view(",->():;{}").find(safe[i]) != std::string_view::npos;
    if (control || comment || decoration) safe[i] = '_';
  }
  return safe;
}

// The smallest input that gives these outputs: MAESTRO would count a started window at the rim as
// one more output.
Pair TouchedInput(const Layer& layer) {
  const Pair output = OutputSize(layer);
  return {layer.stride.y * (output.y - 1) + layer.r, layer.stride.x * (output.x - 1) + layer.s};
}

class Writer {
 public:
  explicit Writer(const Network& network) : network_(network) {
    for (const NetworkLayer& entry : network.layers) {
      has_batch_ = has_batch_ || (entry.layer.type != LayerType::kMatmul && entry.layer.n > 1);
    }
  }

  Result<Export> Write() {
    losses_.AddHeader(network_);
    if (!network_.variant.empty()) losses_.Add("the network's variant");
    if (network_.batch != UsualBatch(network_)) losses_.Add("the network's batch size");
    text_ = fmt::format("Network {} {{\n", SafeName(network_.name));
    if (SafeName(network_.name) != network_.name) losses_.Add("characters of the network's name");
    for (const NetworkLayer& entry : network_.layers) {
      const Result<std::string> body = Body(entry);
      if (!body) return body.error();
      if (Result<void> ok = Repeat(entry, *body); !ok) return ok.error();
    }
    text_ += "}\n";
    Export result;
    result.lost = losses_.Lines();
    result.files.push_back({SafeFileName(network_.name) + ".m", std::move(text_)});
    return result;
  }

 private:
  // The layer once per occurrence, under the names that the occurrences have.
  Result<void> Repeat(const NetworkLayer& entry, const std::string& body) {
    const int64_t bytes = std::ssize(body) + std::ssize(entry.name);
    if (entry.count > (kMaxTextBytes - std::ssize(text_)) / bytes) return TooManyLayers(network_);
    for (int64_t i = 0; i < entry.count; ++i) {
      const bool named = i > 0 && i <= std::ssize(entry.also);
      const std::string& name = named ? entry.also[static_cast<size_t>(i - 1)] : entry.name;
      const std::string safe = SafeName(name);
      if (safe != name && (i == 0 || named)) losses_.Add("characters of a name", name);
      text_ += fmt::format("  Layer {} {{\n{}  }}\n", names_.Add(safe), body);
    }
    return {};
  }

  Result<std::string> Body(const NetworkLayer& entry) {
    const Layer& layer = entry.layer;
    if (layer.bias) losses_.Add("bias", entry.name);
    dimensions_.clear();
    too_large_.reset();
    std::string_view type = "CONV";
    if (layer.type == LayerType::kMatmul) {
      type = "GEMM";
      if (layer.h > 1) losses_.Add("the batch H of a product, which is folded into M", entry.name);
      Dimension("M", Checked(layer.h) * layer.m);
      Dimension("N", layer.n);
      Dimension("K", layer.k);
    } else if (layer.type == LayerType::kFullyConnected) {
      ConvolutionDimensions(layer, layer.k, layer.c, {1, 1});
    } else if (layer.type == LayerType::kTransposedConv) {
      type = "TRCONV";
      Transposed(entry);
    } else {
      type = Plain(entry);
    }
    if (too_large_) {
      return Error{.kind = ErrorKind::kUnsupported,
                   .message = fmt::format("layer {}: {} would be larger than {}",
                                          Quoted(entry.name), *too_large_, kMaxSize)};
    }
    std::string body = fmt::format("    Type: {}\n", type);
    const bool strided = layer.type == LayerType::kConv || layer.type == LayerType::kTransposedConv;
    if (strided) {
      body += fmt::format("    Stride {{ Y: {}, X: {} }}\n", layer.stride.y, layer.stride.x);
    }
    return body + fmt::format("    Dimensions {{ {} }}\n", dimensions_);
  }

  // A convolution; returns its type.
  std::string_view Plain(const NetworkLayer& entry) {
    const Layer& layer = entry.layer;
    if (layer.pad != Padding{}) losses_.Add("padding, which becomes input size", entry.name);
    if (layer.dilation != Pair{1, 1}) losses_.Add("dilation", entry.name);
    const Pair input = TouchedInput(layer);
    if (layer.groups == 1) {
      ConvolutionDimensions(layer, layer.k, layer.c, input);
      return "CONV";
    }
    if (layer.groups == layer.c && layer.k == layer.c) {
      ConvolutionDimensions(layer, 1, layer.c, input);
      return "DSCONV";
    }
    Dimension("G", layer.groups);
    ConvolutionDimensions(layer, layer.k / layer.groups, layer.c / layer.groups, input);
    return "NGCONV";
  }

  void Transposed(const NetworkLayer& entry) {
    const Layer& layer = entry.layer;
    if (layer.pad != Padding{} || layer.output_pad != Pair{0, 0}) {
      losses_.Add("padding of a transposed convolution, so its output size", entry.name);
    }
    if (layer.dilation != Pair{1, 1}) {
      losses_.Add("dilation of a transposed convolution, so its output size", entry.name);
    }
    if (layer.groups > 1) {
      losses_.Add("groups of a transposed convolution: C is that of one group", entry.name);
    }
    losses_.Add("MAESTRO itself evaluates TRCONV as CONV", entry.name);
    ConvolutionDimensions(layer, layer.k, layer.c / layer.groups, {layer.y, layer.x});
  }

  void ConvolutionDimensions(const Layer& layer, int64_t k, int64_t c, const Pair& input) {
    // MAESTRO takes the tensors' shapes from the first layer of a type: all have N, or none.
    if (has_batch_) Dimension("N", layer.n);
    Dimension("K", k);
    Dimension("C", c);
    Dimension("R", layer.r);
    Dimension("S", layer.s);
    Dimension("Y", input.y);
    Dimension("X", input.x);
  }

  void Dimension(std::string_view name, Checked size) {
    if (!size.ok() || size.value() > kMaxSize) {
      too_large_ = name;
      return;
    }
    dimensions_ += fmt::format("{}{}: {}", dimensions_.empty() ? "" : ", ", name, size.value());
  }

  const Network& network_;
  bool has_batch_ = false;
  Losses losses_;
  UniqueNames names_;
  std::string text_;
  std::string dimensions_;                     // of the layer being written
  std::optional<std::string_view> too_large_;  // one of them that the format cannot hold
};

Result<Export> WriteMaestro(const Network& network) { return Writer(network).Write(); }

bool Recognises(std::string_view bytes) {
  const size_t network = bytes.find("Network");
  return network != std::string_view::npos &&
         bytes.find("Layer", network) != std::string_view::npos;
}

}  // namespace

extern const NetworkFormat kMaestroFormat = {
    .name = "maestro",
    .summary = "MAESTRO network and mapping files; one Layer for each occurrence",
    .extensions = {".m"},
    .recognises = Recognises,
    .read = ReadMaestro,
    .write = WriteMaestro,
};

}  // namespace tessera
