// From the bytes of a file to a parsed model, with messages for files that are none.
#include "tessera/workload/onnx/onnx_format.h"

#include <limits>

#include <fmt/format.h>
#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>

#include "tessera/base/text.h"
#include "tessera/workload/onnx/schema.pb.h"

namespace tessera {
namespace onnx {
namespace {

using google::protobuf::io::CodedInputStream;

// Subgraphs nest three messages each.
constexpr int kMaxNesting = 200;

Error SyntaxError(const std::string& file, std::string message) {
  return Error{.kind = ErrorKind::kSyntax, .message = std::move(message), .where = {.file = file}};
}

// Skips the value of a field by its wire type; false if it does not end within the input.
bool SkipValue(CodedInputStream& input, uint32_t wire_type) {
  uint64_t ignored = 0;
  switch (wire_type) {
    case 0: return input.ReadVarint64(&ignored);
    case 1: return input.Skip(8);
    case 5: return input.Skip(4);
    default: return false;
  }
}

// What is wrong with bytes that do not parse: walks the outermost fields, whose lengths a cut-off
// file contradicts.
std::string Diagnose(std::string_view bytes) {
  const auto size = static_cast<int>(bytes.size());
  CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()), size);
  while (input.CurrentPosition() < size) {
    const int start = input.CurrentPosition();
    const uint32_t tag = input.ReadTag();
    const uint32_t field = tag >> 3, wire_type = tag & 7;
    if (field == 0 || wire_type == 3 || wire_type == 4 || wire_type > 5) {
      return fmt::format("not an ONNX file: no field starts at byte {}", start);
    }
    uint32_t length = 0;
    if (wire_type != 2) {
      if (SkipValue(input, wire_type)) continue;
      return fmt::format("truncated protobuf: field {} at byte {} does not end", field, start);
    }
    const bool has_length = input.ReadVarint32(&length);
    const int left = size - input.CurrentPosition();
    if (!has_length || static_cast<int64_t>(length) > left) {
      return fmt::format("truncated protobuf: field {} at byte {} needs {} bytes, but {} follow",
                         field, start, length, left);
    }
    input.Skip(static_cast<int>(length));
  }
  return "damaged protobuf: a message inside the file does not parse";
}

Result<const schema::Model*> Parse(std::string_view bytes, const std::string& file,
                                   google::protobuf::Arena& arena) {
  if (bytes.empty()) return SyntaxError(file, "the file is empty");
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return SyntaxError(file, "the file is larger than a protobuf can be (2 GiB - 1)");
  }
  auto* const model = google::protobuf::Arena::CreateMessage<schema::Model>(&arena);
  CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()),
                         static_cast<int>(bytes.size()));
  input.SetRecursionLimit(kMaxNesting);
  if (!model->ParseFromCodedStream(&input) || !input.ConsumedEntireMessage()) {
    return SyntaxError(file, Diagnose(bytes));
  }
  if (!model->has_graph()) return SyntaxError(file, "not an ONNX model: it has no graph");
  if (model->graph().node_size() == 0) return SyntaxError(file, "the graph has no nodes");
  return model;
}

// "net" of "models/net.onnx"; empty for standard input.
std::string StemOf(const std::string& file) {
  std::string name = file.substr(file.find_last_of('/') + 1);
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  if (name.ends_with(".onnx")) name.resize(name.size() - 5);
  return name == "-" ? "" : name;
}

std::string SourceOf(const schema::Model& model) {
  std::string source = "ONNX graph";
  if (!model.graph().name().empty())
    source += fmt::format(" {}", Quoted(model.graph().name(), 100));
  if (!model.producer_name().empty()) {
    source += fmt::format(" by {}", Printable(model.producer_name()));
    if (!model.producer_version().empty())
      source += fmt::format(" {}", Printable(model.producer_version()));
  }
  for (const schema::OperatorSet& import : model.opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") {
      source += fmt::format(", opset {}", import.version());
    }
  }
  return source;
}

// Writers put the fields in order, and the first one is the IR version, a small number.
bool StartsWithVersion(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == 8 && bytes[1] > 0 && bytes[1] < 32;
}

Result<Network> Read(std::string_view bytes, const std::string& file, const Bindings& bindings) {
  return ReadOnnx(bytes, file, bindings);
}

}  // namespace

Result<Network> ReadOnnx(std::string_view bytes, const std::string& file, const Bindings& bindings,
                         const TensorObserver& observer) {
  google::protobuf::Arena arena;
  const Result<const schema::Model*> model = Parse(bytes, file, arena);
  if (!model) return model.error();
  Result<Network> network = ImportModel(**model, bindings, observer);
  if (!network) {
    Error error = network.error();
    error.where.file = file;
    return error;
  }
  network->name = StemOf(file);
  if (network->name.empty()) network->name = Printable((*model)->graph().name());
  network->source = SourceOf(**model);
  return network;
}

}  // namespace onnx

extern const NetworkFormat kOnnxFormat;

const NetworkFormat kOnnxFormat = {
    .name = "onnx",
    .summary = "ONNX graphs of any exporter, opset 7 and later; shapes only, weights are not read",
    .extensions = {".onnx"},
    .recognises = onnx::StartsWithVersion,
    .read = onnx::Read,
    .write = nullptr,
};

}  // namespace tessera
