// The layer tables of GAMMA: comma-separated K,C,Y,X,R,S,T, one row per layer, T the type. GAMMA
// models a layer at its input size, without strides and padding, so exporting a real network gives
// its stride-free variant.
#include <array>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/network.h"
#include "tessera/workload/builder.h"
#include "tessera/workload/losses.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 7> kColumns = {"K", "C", "Y", "X", "R", "S", "T"};
enum Type : int64_t { kFullyConnected = 0, kConvolution = 1, kDepthwise = 2, kProduct = 3 };

// ------------------------------------------------------------------------------------- reading

struct Field {
  std::string_view text;  // without blanks around it
  int64_t column = 0;
};

std::vector<Field> Fields(std::string_view line) {
  std::vector<Field> fields;
  for (const std::string_view part : Split(line, ',')) {
    const std::string_view text = Trim(part);
    const std::string_view at = text.empty() ? part : text;
    fields.push_back({text, at.data() - line.data() + 1});
  }
  return fields;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file)
      : text_(text), file_(file), builder_(Network{.name = FileStem(file), .variant = "gamma"}) {}

  Result<Network> Read() {
    bool first = true;
    while (!text_.empty()) {
      const size_t end = text_.find('\n');
      const std::string_view line = text_.substr(0, end);
      text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
      ++line_;
      if (Trim(line).empty()) continue;
      const std::vector<Field> fields = Fields(line);
      const bool header = first && !fields[0].text.empty() && !IsNumber(fields[0].text);
      first = false;
      const Result<void> ok = header ? CheckHeader(fields) : ReadRow(fields);
      if (!ok) return ok.error();
    }
    if (rows_ == 0) return ErrorAt(1, ErrorKind::kSyntax, "the table has no layers");
    return builder_.Take();
  }

 private:
  using Row = std::array<int64_t, kColumns.size()>;

  static bool IsNumber(std::string_view text) {
    return std::isdigit(static_cast<unsigned char>(text[0])) != 0 || text[0] == '-' ||
           text[0] == '+' || text[0] == '.';
  }

  Error ErrorAt(int64_t column, ErrorKind kind, std::string message, std::string hint = "") const {
    return Error{.kind = kind,
                 .message = std::move(message),
                 .where = {.file = file_, .line = line_, .column = column},
                 .hint = std::move(hint)};
  }

  Result<void> CheckWidth(const std::vector<Field>& fields) const {
    if (fields.size() == kColumns.size()) return {};
    return ErrorAt(1, ErrorKind::kSyntax,
                   fmt::format("{} columns instead of {}", fields.size(), kColumns.size()),
                   "a row is K,C,Y,X,R,S,T");
  }

  Result<void> CheckHeader(const std::vector<Field>& fields) const {
    for (size_t i = 0; i < std::min(fields.size(), kColumns.size()); ++i) {
      std::string name(fields[i].text);
      if (name.size() == 1) name[0] = static_cast<char>(std::toupper(name[0]));
      if (name == kColumns[i]) continue;
      return ErrorAt(fields[i].column, ErrorKind::kUnknownName,
                     fmt::format("column {} is called {}", i + 1, Quoted(fields[i].text)),
                     "the columns are K,C,Y,X,R,S,T");
    }
    return CheckWidth(fields);
  }

  Result<void> ReadRow(const std::vector<Field>& fields) {
    if (Result<void> ok = CheckWidth(fields); !ok) return ok;
    Row row{};
    for (size_t i = 0; i < row.size(); ++i) {
      const Result<int64_t> value = ParseInt(fields[i].text);
      if (!value) {
        return ErrorAt(fields[i].column, value.error().kind,
                       fmt::format("{}: {}", kColumns[i], value.error().message));
      }
      const bool is_type = kColumns[i] == "T";
      const int64_t least = is_type ? 0 : 1, most = is_type ? 3 : kMaxSize;
      if (*value < least || *value > most) {
        return ErrorAt(
            fields[i].column, ErrorKind::kBadValue,
            fmt::format("{} is {}, but must be in {}..{}", kColumns[i], *value, least, most),
            is_type ? "0 is FC, 1 CONV, 2 DSCONV, 3 GEMM" : "");
      }
      row[i] = *value;
    }
    const Result<Layer> layer = MakeLayer(row, fields);
    if (!layer) return layer.error();
    // Rows have no names; these are the ones of the zoo's tables.
    Result<void> added = builder_.Add(fmt::format("l{}", ++rows_), *layer);
    if (!added) {
      return ErrorAt(1, added.error().kind, added.error().message, added.error().hint);
    }
    return {};
  }

  Result<Layer> MakeLayer(const Row& row, const std::vector<Field>& fields) const {
    const auto [k, c, y, x, r, s, type] = row;
    if (type == kFullyConnected) {
      if (Result<void> ok = CheckOnes(row, fields, 2, "an FC row uses K and C"); !ok) {
        return ok.error();
      }
      return Layer{.type = LayerType::kFullyConnected, .k = k, .c = c};
    }
    if (type == kProduct) {
      if (Result<void> ok = CheckOnes(row, fields, 3, "a GEMM row is M,N,K"); !ok) {
        return ok.error();
      }
      return Layer{.type = LayerType::kMatmul, .m = k, .n = c, .k = y};
    }
    Layer layer{.k = k, .c = c, .y = y, .x = x, .r = r, .s = s};
    if (type == kDepthwise) {
      if (k != 1 && k != c) {
        return ErrorAt(fields[0].column, ErrorKind::kBadValue,
                       fmt::format("a DSCONV row with K = {}: K must be 1 or C = {}", k, c));
      }
      layer.k = layer.groups = c;
    }
    return layer;
  }

  // GAMMA overlooks columns that a type does not use; a number there is a mistake all the same.
  Result<void> CheckOnes(const Row& row, const std::vector<Field>& fields, size_t used,
                         std::string_view rule) const {
    for (size_t i = used; i + 1 < row.size(); ++i) {
      if (row[i] == 1) continue;
      return ErrorAt(fields[i].column, ErrorKind::kBadValue,
                     fmt::format("{} is {}, but must be 1: {}", kColumns[i], row[i], rule));
    }
    return {};
  }

  std::string_view text_;  // what is left to read
  const std::string& file_;
  NetworkBuilder builder_;
  int64_t line_ = 0;
  int64_t rows_ = 0;
};

Result<Network> ReadGamma(std::string_view bytes, const std::string& file,
                          const Bindings& bindings) {
  if (Result<void> ok = RefuseBindings(bindings, file); !ok) return ok.error();
  const Result<std::string> text = ToText(std::string(bytes), file);
  if (!text) return text.error();
  return Reader(*text, file).Read();
}

// ------------------------------------------------------------------------------------- writing

std::string RowText(int64_t k, int64_t c, int64_t y, int64_t x, int64_t r, int64_t s, Type type) {
  return fmt::format("{},{},{},{},{},{},{}\n", k, c, y, x, r, s, static_cast<int64_t>(type));
}

// Notes what a row cannot say about a convolution. Each of these changes its MACs.
void NoteConvolution(const NetworkLayer& entry, Losses& losses) {
  const Layer& layer = entry.layer;
  if (layer.type == LayerType::kTransposedConv) {
    losses.Add("transposed convolutions, which become convolutions of the input size", entry.name);
  }
  if (layer.n > 1) losses.Add("batch (N), so MACs", entry.name);
  if (layer.stride != Pair{1, 1}) losses.Add("stride, so output size and MACs", entry.name);
  if (layer.pad != Padding{} || layer.output_pad != Pair{0, 0}) {
    losses.Add("padding, so output size and MACs", entry.name);
  }
  if (layer.dilation != Pair{1, 1}) losses.Add("dilation, so output size and MACs", entry.name);
  if (layer.y < layer.r || layer.x < layer.s) {
    losses.Add("input sizes below the kernel, which are raised to it", entry.name);
  }
}

std::string ConvolutionRow(const NetworkLayer& entry, Losses& losses) {
  const Layer& layer = entry.layer;
  NoteConvolution(entry, losses);
  const int64_t y = std::max(layer.y, layer.r), x = std::max(layer.x, layer.s);
  if (IsDepthwise(layer)) {
    if (layer.k != layer.c) {
      losses.Add("input channels of depthwise layers with several outputs each: C counts outputs",
                 entry.name);
    }
    return RowText(1, layer.k, y, x, layer.r, layer.s, kDepthwise);
  }
  if (layer.groups > 1) losses.Add("groups: C is that of one group", entry.name);
  return RowText(layer.k, layer.c / layer.groups, y, x, layer.r, layer.s, kConvolution);
}

Result<std::string> LayerRow(const NetworkLayer& entry, Losses& losses) {
  const Layer& layer = entry.layer;
  if (layer.bias) losses.Add("bias", entry.name);
  if (layer.type == LayerType::kFullyConnected) {
    if (layer.n == 1) return RowText(layer.k, layer.c, 1, 1, 1, 1, kFullyConnected);
    losses.Add("the type of fully connected layers with several rows, which become GEMM",
               entry.name);
    return RowText(layer.n, layer.k, layer.c, 1, 1, 1, kProduct);
  }
  if (layer.type == LayerType::kMatmul) {
    if (layer.h > 1) losses.Add("the batch H of a product, which is folded into M", entry.name);
    const int64_t m = layer.h * layer.m;  // both below 2^31
    if (m > kMaxSize) {
      return Error{.kind = ErrorKind::kUnsupported,
                   .message = fmt::format("layer {}: M would be larger than {}", Quoted(entry.name),
                                          kMaxSize)};
    }
    return RowText(m, layer.n, layer.k, 1, 1, 1, kProduct);
  }
  return ConvolutionRow(entry, losses);
}

Result<Export> WriteGamma(const Network& network) {
  Losses losses;
  losses.AddHeader(network);
  losses.Add("layer names: rows have none");
  if (network.batch != 1) losses.Add("the network's batch size");
  if (network.variant != "gamma") losses.Add("the network's variant: this one is 'gamma'");
  std::string text = "K,C,Y,X,R,S,T\n";
  for (const NetworkLayer& entry : network.layers) {
    const Result<std::string> row = LayerRow(entry, losses);
    if (!row) return row.error();
    if (entry.count > (kMaxTextBytes - std::ssize(text)) / std::ssize(*row)) {
      return TooManyLayers(network);
    }
    for (int64_t i = 0; i < entry.count; ++i) text += *row;
  }
  Export result;
  result.lost = losses.Lines();
  result.files.push_back({SafeFileName(network.name) + ".csv", std::move(text)});
  return result;
}

bool Recognises(std::string_view bytes) {
  return bytes.starts_with("K,C,Y,X,R,S,T") || bytes.starts_with("\xef\xbb\xbfK,C,Y,X,R,S,T");
}

}  // namespace

extern const NetworkFormat kGammaFormat = {
    .name = "gamma",
    .summary = "layer tables of GAMMA: no strides, no padding, modelled at input size",
    .extensions = {".csv"},
    .recognises = Recognises,
    .read = ReadGamma,
    .write = WriteGamma,
};

}  // namespace tessera
