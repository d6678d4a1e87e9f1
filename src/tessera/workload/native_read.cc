// Reading of native network files.
#include <algorithm>
#include <initializer_list>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "tessera/base/document.h"
#include "tessera/base/file.h"
#include "tessera/base/tensor_bits.h"
#include "tessera/base/text.h"
#include "tessera/workload/builder.h"
#include "tessera/workload/expression.h"
#include "tessera/workload/native.h"
#include "tessera/workload/native_graph.h"

namespace tessera {
namespace {

constexpr std::string_view kFormatName = "tessera-network-1";

class Reader {
 public:
  Reader(const Node& root, const Bindings& bindings) : root_(root), bindings_(bindings) {}

  Result<Network> Read() {
    MapReader top(root_, "network");
    if (Result<void> ok = top.Check(); !ok) return ok.error();
    if (Result<void> ok = top.RequireFormat(kFormatName); !ok) return ok.error();
    Network header;
    if (Result<void> ok = ReadText(top.Find("name"), header.name); !ok) return ok.error();
    if (Result<void> ok = ReadText(top.Find("source"), header.source); !ok) return ok.error();
    if (Result<void> ok = ReadText(top.Find("variant"), header.variant); !ok) return ok.error();
    if (header.name.empty()) {
      return root_.ErrorHere(ErrorKind::kBadValue, "network without 'name'");
    }
    if (Result<void> ok = ReadParameters(top.Find("parameters"), header.name); !ok) {
      return ok.error();
    }
    if (Result<void> ok = ReadOperators(top.Find("ignored"), header.ignored); !ok) {
      return ok.error();
    }
    if (Result<void> ok = ReadOperators(top.Find("unknown"), header.unknown); !ok) {
      return ok.error();
    }
    if (const Node* const bits = top.Find("bits")) {
      const Result<TensorBits> read = ReadTensorBits(*bits);
      if (!read) return read.error();
      bits_ = *read;
    }
    const Node* batch = top.Find("batch");
    const Node* const graph = top.Find("graph");
    const Node* const step = top.Find("step");
    const Result<const Node*> layers = top.Require("layers");
    if (Result<void> ok = top.Finish(); !ok) return ok.error();
    if (!layers) return layers.error();

    NetworkBuilder builder(std::move(header));
    if (Result<void> ok = ReadLayers(**layers, builder); !ok) return ok.error();
    Network network = builder.Take();
    if (Result<void> ok = SetBatch(batch, network); !ok) return ok.error();
    if (step != nullptr) {
      if (Result<void> ok = ReadNativeStep(*step, network); !ok) return ok.error();
    }
    if (graph != nullptr) {
      const SizeReader size = [this](const Node& node, std::string_view key, int64_t least) {
        return ReadSize(node, key, least);
      };
      if (Result<void> ok = ReadNativeGraph(*graph, size, network); !ok) return ok.error();
    }
    return network;
  }

 private:
  // Optional text, which stays empty where the file does not have it.
  static Result<void> ReadText(const Node* node, std::string& text) {
    if (node == nullptr) return {};
    Result<std::string> value = node->AsString();
    if (!value) return value.error();
    text = std::move(*value);
    return {};
  }

  Result<void> ReadParameters(const Node* node, const std::string& network) {
    if (node != nullptr) {
      if (node->kind != Node::Kind::kMap) {
        return node->ErrorHere(ErrorKind::kBadValue,
                               "expected a map of parameters and their defaults");
      }
      for (const Node::Entry& entry : node->entries) {
        if (!IsParameterName(entry.key)) {
          return Error{.kind = ErrorKind::kBadValue,
                       .message = fmt::format("{} cannot name a parameter", Quoted(entry.key)),
                       .where = entry.key_where,
                       .hint = "use letters, digits and '_'"};
        }
        const Result<int64_t> value = entry.value.AsInt(0, kMaxSize);
        if (!value) return value.error();
        parameters_.emplace(entry.key, *value);
      }
    }
    for (const auto& [name, value] : bindings_) {
      if (Result<void> ok = Bind(name, value, network); !ok) return ok;
    }
    return {};
  }

  Result<void> Bind(const std::string& name, const Binding& binding, const std::string& network) {
    const auto parameter = parameters_.find(name);
    if (parameter == parameters_.end()) {
      std::vector<std::string_view> names;
      for (const auto& [known, unused] : parameters_) names.push_back(known);
      return Error{
          .kind = ErrorKind::kUnknownName,
          .message = fmt::format("network {} has no parameter {}", Quoted(network), Quoted(name)),
          .where = {.file = root_.file},
          .hint = names.empty() ? "it has none" : DidYouMean(name, names)};
    }
    const int64_t value = binding.number;
    if (!binding.word.empty() || value < 0 || value > kMaxSize) {
      return Error{.kind = ErrorKind::kBadValue,
                   .message = fmt::format("parameter {} is {}, but must be in 0..{}", Quoted(name),
                                          ToString(binding), kMaxSize),
                   .where = {.file = root_.file}};
    }
    parameter->second = value;
    return {};
  }

  static Result<void> ReadOperators(const Node* node, std::map<std::string, int64_t>& operators) {
    if (node == nullptr) return {};
    if (node->kind != Node::Kind::kMap) {
      return node->ErrorHere(ErrorKind::kBadValue, "expected a map of operators and their counts");
    }
    for (const Node::Entry& entry : node->entries) {
      const Result<int64_t> count = entry.value.AsInt(1, kMaxSize);
      if (!count) return count.error();
      operators.emplace(entry.key, *count);
    }
    return {};
  }

  Result<void> ReadLayers(const Node& list, NetworkBuilder& builder) {
    if (list.kind != Node::Kind::kSequence || list.items.empty()) {
      return list.ErrorHere(ErrorKind::kBadValue, "expected a list of one or more layers");
    }
    for (const Node& item : list.items) {
      if (Result<void> ok = ReadLayer(item, builder); !ok) return ok;
    }
    return {};
  }

  Result<void> ReadLayer(const Node& node, NetworkBuilder& builder) {
    MapReader probe(node, "layer");
    if (Result<void> ok = probe.Check(); !ok) return ok;
    const Result<const Node*> type = probe.Require("type");
    if (!type) return type.error();
    const Result<std::string> type_name = (*type)->AsString();
    if (!type_name) return type_name.error();
    if (std::find(kLayerTypeNames.begin(), kLayerTypeNames.end(), *type_name) ==
        kLayerTypeNames.end()) {
      return (*type)->ErrorHere(ErrorKind::kUnknownName,
                                fmt::format("unknown layer type {}", Quoted(*type_name)),
                                DidYouMean(*type_name, kLayerTypeNames));
    }

    MapReader map(node, fmt::format("layer of type '{}'", *type_name));
    for (const std::string_view key : {"type", "name", "also", "count", "types", "bits"}) {
      map.Find(key);
    }
    Result<Layer> layer = ReadFields(map, *type_name);
    // A misspelt key comes before the key that is missing because of it.
    if (Result<void> known = map.Finish(); !known) return known;
    if (!layer) return layer.error();
    const Result<const Node*> name_node = map.Require("name");
    if (!name_node) return name_node.error();
    const Result<std::string> name = ReadName(**name_node);
    if (!name) return name.error();
    const Result<std::vector<std::string>> also = ReadAlso(map.Find("also"));
    if (!also) return also.error();
    const Result<int64_t> count = ReadCount(map.Find("count"), std::ssize(*also));
    if (!count) return count.error();

    const Result<ElementTypes> types = ReadTypes(map.Find("types"));
    if (!types) return types.error();
    layer->bits = bits_;
    if (const Node* const bits = map.Find("bits")) {
      const Result<TensorBits> own = ReadTensorBits(*bits);
      if (!own) return own.error();
      layer->bits = Either(*own, bits_);
    }
    Result<void> added = builder.Add(*name, *layer, *count - std::ssize(*also));
    if (added) builder.SetTypes(*types);
    for (const std::string& other : *also) {
      if (!added) break;
      added = builder.Add(other, *layer);
      if (added) builder.SetTypes(*types);
    }
    if (!added) {
      Error error = added.error();
      error.where = node.where();
      return error;
    }
    return {};
  }

  Result<Layer> ReadFields(MapReader& map, const std::string& type) {
    Layer layer;
    Fields fields{this, map, {}};
    if (type == "gemm") {
      layer.type = LayerType::kMatmul;
      fields.Size("H", layer.h, /*required=*/false);
      fields.Size("M", layer.m);
      fields.Size("N", layer.n);
      fields.Size("K", layer.k);
      return fields.Done(layer);
    }
    fields.Size("N", layer.n, /*required=*/false);
    fields.Size("K", layer.k);
    fields.Size("C", layer.c);
    fields.Flag("bias", layer.bias);
    if (type == "fc") {
      layer.type = LayerType::kFullyConnected;
      return fields.Done(layer);
    }
    // Without Y and R the inputs are a row, and one number is about that.
    fields.row = map.Find("Y") == nullptr && map.Find("R") == nullptr;
    fields.Size("Y", layer.y, /*required=*/!fields.row);
    fields.Size("X", layer.x);
    fields.Size("R", layer.r, /*required=*/!fields.row);
    fields.Size("S", layer.s);
    fields.PairOf("stride", layer.stride, 1);
    fields.PairOf("dilation", layer.dilation, 1);
    fields.PaddingOf("pad", layer.pad);
    if (type == "dwconv") {
      layer.groups = layer.c;
    } else {
      fields.Size("groups", layer.groups, /*required=*/false);
    }
    if (type == "trconv") {
      layer.type = LayerType::kTransposedConv;
      fields.PairOf("output_pad", layer.output_pad, 0);
    }
    return fields.Done(layer);
  }

  // Reads a layer's fields one after another and remembers the first error.
  struct Fields {
    Reader* reader;
    MapReader& map;
    std::optional<Error> error;
    bool row = false;  // of a convolution along X only

    void Size(std::string_view key, int64_t& value, bool required = true) {
      const Node* node = map.Find(key);
      if (error) return;
      if (node != nullptr) {
        Store(reader->ReadSize(*node, key, 1), value);
      } else if (required) {
        error = map.Require(key).error();
      }
    }

    void Flag(std::string_view key, bool& value) {
      const Node* node = map.Find(key);
      if (error || node == nullptr) return;
      Store(node->AsBool(), value);
    }

    void PairOf(std::string_view key, Pair& pair, int64_t least) {
      const Node* node = map.Find(key);
      if (error || node == nullptr) return;
      const std::vector<int64_t> sizes = List(*node, key, least, {1, 2});
      if (sizes.empty()) return;
      pair = {row && sizes.size() == 1 ? pair.y : sizes.front(), sizes.back()};
    }

    void PaddingOf(std::string_view key, Padding& pad) {
      const Node* node = map.Find(key);
      if (error || node == nullptr) return;
      const std::vector<int64_t> sizes = List(*node, key, 0, {1, 2, 4});
      if (sizes.empty()) return;
      if (sizes.size() == 4) {
        pad = {sizes[0], sizes[1], sizes[2], sizes[3]};
      } else if (row && sizes.size() == 1) {
        pad = {.left = sizes[0], .right = sizes[0]};
      } else {
        pad = {sizes.front(), sizes.back(), sizes.front(), sizes.back()};
      }
    }

    // One size, or a list of as many as `lengths` allows; empty after an error.
    std::vector<int64_t> List(const Node& node, std::string_view key, int64_t least,
                              std::initializer_list<size_t> lengths) {
      std::vector<int64_t> sizes;
      if (node.kind != Node::Kind::kSequence) {
        sizes.resize(1);
        Store(reader->ReadSize(node, key, least), sizes[0]);
      } else if (std::find(lengths.begin(), lengths.end(), node.items.size()) == lengths.end()) {
        error = node.ErrorHere(
            ErrorKind::kBadValue, fmt::format("{} is a list of {}", key, node.items.size()),
            lengths.size() == 2 ? "give one size, or [y, x]"
                                : "give one size, [y, x] or [top, left, bottom, right]");
      } else {
        for (const Node& item : node.items) {
          if (!error) Store(reader->ReadSize(item, key, least), sizes.emplace_back());
        }
      }
      if (error) sizes.clear();
      return sizes;
    }

    Result<Layer> Done(const Layer& layer) const {
      if (error) return *error;
      return layer;
    }

   private:
    template <typename T>
    void Store(const Result<T>& result, T& value) {
      if (result) {
        value = *result;
      } else {
        error = result.error();
      }
    }
  };

  Result<int64_t> ReadSize(const Node& node, std::string_view key, int64_t least) const {
    const Result<int64_t> value = Evaluate(node);
    if (!value) return value;
    if (*value < least || *value > kMaxSize) {
      return node.ErrorHere(
          ErrorKind::kBadValue,
          fmt::format("{} is {}, but must be {} {}", key, *value,
                      *value < least ? "at least" : "at most", *value < least ? least : kMaxSize));
    }
    return value;
  }

  Result<int64_t> Evaluate(const Node& node) const {
    // Quotes make text of a number, but JSON cannot do without them around an expression.
    const bool quoted_number = node.quoted && ParseInt(node.scalar);
    if (node.kind != Node::Kind::kScalar || quoted_number) return node.AsInt();
    Result<int64_t> value = EvaluateExpression(node.scalar, parameters_);
    if (value) return value;
    Error error = value.error();
    const int64_t offset = error.where.column - 1 + (node.quoted ? 1 : 0);
    error.where = node.where();
    if (node.scalar.find('\n') == std::string::npos) error.where.column += offset;
    return error;
  }

  Result<int64_t> ReadCount(const Node* node, int64_t others) const {
    if (node == nullptr) return others + 1;
    const Result<int64_t> count = ReadSize(*node, "count", 1);
    if (!count || *count > others) return count;
    return node->ErrorHere(
        ErrorKind::kBadValue,
        fmt::format("count is {}, but the layer has {} names", *count, others + 1));
  }

  // One word for all tensors, or one each for inputs, weights and outputs.
  static Result<ElementTypes> ReadTypes(const Node* node) {
    if (node == nullptr) return ElementTypes{};
    const bool list = node->kind == Node::Kind::kSequence;
    if (list && node->items.size() != 3) {
      return node->ErrorHere(ErrorKind::kBadValue, "expected types of inputs, weights and outputs",
                             "write float32 or [int8, int8, int32]");
    }
    std::vector<std::string> words;
    for (const Node& item : list ? std::span(node->items) : std::span(node, 1)) {
      Result<std::string> word = item.AsString();
      if (!word) return word.error();
      words.push_back(*std::move(word));
    }
    return ElementTypes{words.front(), words[words.size() / 2], words.back()};
  }

  Result<std::vector<std::string>> ReadAlso(const Node* node) {
    std::vector<std::string> names;
    if (node == nullptr) return names;
    if (node->kind != Node::Kind::kSequence) {
      return node->ErrorHere(ErrorKind::kBadValue, "expected a list of names of equal layers");
    }
    for (const Node& item : node->items) {
      Result<std::string> name = ReadName(item);
      if (!name) return name.error();
      names.push_back(std::move(*name));
    }
    return names;
  }

  Result<std::string> ReadName(const Node& node) {
    Result<std::string> name = node.AsString();
    if (!name) return name;
    if (name->empty()) return node.ErrorHere(ErrorKind::kBadValue, "a layer's name is empty");
    const auto [known, fresh] = lines_of_names_.emplace(*name, node.line);
    if (fresh) return name;
    return node.ErrorHere(
        ErrorKind::kBadValue,
        fmt::format("a second layer named {}, first on line {}", Quoted(*name), known->second));
  }

  Result<void> SetBatch(const Node* node, Network& network) const {
    const auto parameter = parameters_.find("batch");
    if (node != nullptr && parameter != parameters_.end()) {
      return node->ErrorHere(ErrorKind::kBadValue, "both a parameter 'batch' and a key 'batch'");
    }
    if (node != nullptr) {
      const Result<int64_t> batch = ReadSize(*node, "batch", 1);
      if (!batch) return batch.error();
      network.batch = *batch;
    } else if (parameter != parameters_.end()) {
      if (parameter->second < 1) {
        return root_.ErrorHere(ErrorKind::kBadValue,
                               "parameter 'batch' is 0, but must be at least 1");
      }
      network.batch = parameter->second;
    } else {
      network.batch = UsualBatch(network);
    }
    return {};
  }

  const Node& root_;
  const Bindings& bindings_;
  TensorBits bits_;  // of layers that give none of their own
  std::map<std::string, int64_t> parameters_;
  std::unordered_map<std::string, int64_t> lines_of_names_;
};

}  // namespace

Result<Network> ReadNativeNetwork(std::string_view bytes, const std::string& file,
                                  const Bindings& bindings) {
  const Result<std::string> text = ToText(std::string(bytes), file);
  if (!text) return text.error();
  const Result<Node> root = ParseDocument(*text, file);
  if (!root) return root.error();
  return Reader(*root, bindings).Read();
}

}  // namespace tessera
