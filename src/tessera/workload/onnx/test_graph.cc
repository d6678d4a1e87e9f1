// The parser of the tests' graph notation.
#include "tessera/workload/onnx/test_graph.h"

#include <cctype>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/base/text.h"
#include "tessera/result.h"
#include "tessera/workload/onnx/onnx_format.h"
#include "tessera/workload/onnx/value.h"

namespace tessera::onnx {
namespace {

int32_t TypeNumber(ElementType type) { return static_cast<int32_t>(type); }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  schema::Model Parse() {
    model_.set_ir_version(9);
    opset_ = model_.add_opset_import();
    opset_->set_version(20);
    for (Skip(); at_ < text_.size(); Skip()) Statement();
    schema::Graph& graph = *model_.mutable_graph();
    graph.set_name("test");
    if (graph.output_size() == 0 && graph.node_size() > 0) {
      for (const std::string& output : graph.node(graph.node_size() - 1).output()) {
        if (!output.empty()) graph.add_output()->set_name(output);
      }
    }
    return model_;
  }

 private:
  schema::Graph& graph() { return *model_.mutable_graph(); }

  void Skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool Peek(char c) {
    Skip();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool Take(char c) {
    const bool found = Peek(c);
    if (found) ++at_;
    return found;
  }
  void Expect(char c) { TESSERA_CHECK(Take(c)); }

  std::string Word() {
    Skip();
    const size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  std::strchr("_./-+?", text_[at_]) != nullptr)) {
      ++at_;
    }
    TESSERA_CHECK(at_ > start);
    return std::string(text_.substr(start, at_ - start));
  }

  void Statement() {
    const std::string word = Word();
    if (word == "opset") {
      opset_->set_version(*ParseInt(Word()));
    } else if (word == "input") {
      const std::string name = Word();
      const bool integer = !Peek('[') && Word() == "int64";
      ReadShape(*AddInfo(*graph().add_input(), name,
                         integer ? ElementType::kInt64 : ElementType::kFloat));
    } else if (word == "weight") {
      schema::Tensor& tensor = *graph().add_initializer();
      tensor.set_name(Word());
      tensor.set_data_type(TypeNumber(ElementType::kFloat));
      for (const std::string& size : List('[', ']')) tensor.add_dims(*ParseInt(size));
    } else if (word == "info") {
      ReadShape(*AddInfo(*graph().add_value_info(), Word(), ElementType::kFloat));
    } else if (word == "output") {
      graph().add_output()->set_name(Word());
    } else {
      Node(word);
    }
  }

  static schema::Shape* AddInfo(schema::ValueInfo& info, const std::string& name,
                                ElementType type) {
    info.set_name(name);
    info.mutable_type()->mutable_tensor_type()->set_elem_type(TypeNumber(type));
    return info.mutable_type()->mutable_tensor_type()->mutable_shape();
  }

  void ReadShape(schema::Shape& shape) {
    for (const std::string& size : List('[', ']')) {
      schema::Dimension& dim = *shape.add_dim();
      if (const Result<int64_t> number = ParseInt(size)) {
        dim.set_dim_value(*number);
      } else if (size != "?") {
        dim.set_dim_param(size);
      }
    }
  }

  std::vector<std::string> List(char open, char close) {
    std::vector<std::string> items;
    Expect(open);
    while (!Take(close)) {
      items.push_back(Word());
      Take(',');
    }
    return items;
  }

  void Node(std::string word) {
    schema::Node& node = *graph().add_node();
    if (Take(':')) {
      node.set_name(word);
      word = Word();
    }
    node.add_output(word == "_" ? "" : word);
    while (Take(',')) {
      word = Word();
      node.add_output(word == "_" ? "" : word);
    }
    Expect('=');
    const std::string op = Word();
    const size_t dot = op.find_last_of('.');
    node.set_op_type(op.substr(dot == std::string::npos ? 0 : dot + 1));
    if (dot != std::string::npos) node.set_domain(op.substr(0, dot));
    if (Take('<')) {
      while (!Take('>')) {
        Attribute(*node.add_attribute());
        Take(',');
      }
    }
    Expect('(');
    while (!Take(')')) {
      node.add_input(Operand());
      Take(',');
    }
  }

  static bool IsFloat(const std::string& number) { return number.find('.') != std::string::npos; }

  void Attribute(schema::Attribute& attribute) {
    attribute.set_name(Word());
    Expect('=');
    if (Take('"')) {
      const size_t end = text_.find('"', at_);
      attribute.set_type(3);
      attribute.set_s(std::string(text_.substr(at_, end - at_)));
      at_ = end + 1;
    } else if (Peek('[')) {
      const std::vector<std::string> items = List('[', ']');
      const bool floats = !items.empty() && IsFloat(items[0]);
      attribute.set_type(floats ? 6 : 7);
      for (const std::string& item : items) {
        if (floats) {
          attribute.add_floats(static_cast<float>(*ParseDouble(item)));
        } else {
          attribute.add_ints(*ParseInt(item));
        }
      }
    } else if (Peek('{')) {
      attribute.set_type(4);
      Vector(*attribute.mutable_t());
    } else {
      const std::string number = Word();
      attribute.set_type(IsFloat(number) ? 1 : 2);
      if (IsFloat(number)) {
        attribute.set_f(static_cast<float>(*ParseDouble(number)));
      } else {
        attribute.set_i(*ParseInt(number));
      }
    }
  }

  static void AddElement(schema::Tensor& tensor, const std::string& item) {
    if (item == "true" || item == "false") {
      tensor.set_data_type(TypeNumber(ElementType::kBool));
      tensor.add_int32_data(item == "true" ? 1 : 0);
    } else if (IsFloat(item)) {
      tensor.set_data_type(TypeNumber(ElementType::kFloat));
      tensor.add_float_data(static_cast<float>(*ParseDouble(item)));
    } else {
      tensor.set_data_type(TypeNumber(ElementType::kInt64));
      tensor.add_int64_data(*ParseInt(item));
    }
  }

  void Vector(schema::Tensor& tensor) {
    const std::vector<std::string> items = List('{', '}');
    tensor.set_data_type(TypeNumber(ElementType::kInt64));
    tensor.add_dims(std::ssize(items));
    for (const std::string& item : items) AddElement(tensor, item);
  }

  std::string Operand() {
    const std::string fresh = fmt::format("operand{}", ++operands_);
    if (Peek('[')) {
      ReadShape(*AddInfo(*graph().add_input(), fresh, ElementType::kFloat));
      return fresh;
    }
    if (Peek('{')) {
      schema::Tensor& tensor = *graph().add_initializer();
      tensor.set_name(fresh);
      Vector(tensor);
      return fresh;
    }
    const std::string word = Word();
    if (word == "_") return "";
    const bool boolean = word == "true" || word == "false";
    if (!boolean && !ParseDouble(word)) return word;
    schema::Tensor& tensor = *graph().add_initializer();
    tensor.set_name(fresh);
    AddElement(tensor, word);
    return fresh;
  }

  std::string_view text_;
  size_t at_ = 0;
  int operands_ = 0;
  schema::Model model_;
  schema::OperatorSet* opset_ = nullptr;
};

}  // namespace

schema::Model MakeModel(std::string_view text) { return Parser(text).Parse(); }

std::string MakeFile(std::string_view text) { return MakeModel(text).SerializeAsString(); }

Result<Network> Import(std::string_view text, const Bindings& bindings) {
  return ReadOnnx(MakeFile(text), "net.onnx", bindings);
}

std::string ImportError(std::string_view text, const Bindings& bindings) {
  const Result<Network> network = Import(text, bindings);
  return network ? "imported" : ToString(network.error());
}

std::map<std::string, std::string> Shapes(std::string_view text, const Bindings& bindings) {
  std::map<std::string, std::string> shapes;
  const Result<Network> network =
      ReadOnnx(MakeFile(text), "net.onnx", bindings, [&](const Value& value) {
        shapes[std::string(value.name)] = value.dims ? ToString(*value.dims) : "unknown";
      });
  if (!network) shapes["error"] = ToString(network.error());
  return shapes;
}

std::string ShapeOf(std::string_view node, int64_t opset) {
  const std::map<std::string, std::string> shapes =
      Shapes(fmt::format("opset {}\nn: y = {}", opset, node));
  const auto error = shapes.find("error");
  return error != shapes.end() ? error->second : shapes.at("y");
}

std::string ValuesOfY(std::string_view text, const Bindings& bindings) {
  std::string values;
  const Result<Network> network =
      ReadOnnx(MakeFile(text), "net.onnx", bindings, [&](const Value& value) {
        if (value.name != "y" || !value.data) return;
        std::vector<std::string> items;
        for (const Number& number : *value.data) {
          items.push_back(!number.known()      ? "?"
                          : IsReal(value.type) ? fmt::format("{:.6g}", number.real)
                                               : fmt::format("{}", number.integer));
        }
        values = fmt::format("{{{}}}", fmt::join(items, ", "));
      });
  return network ? values : ToString(network.error());
}

std::string LayerOf(std::string_view text, const Bindings& bindings) {
  const Result<Network> network = Import(text, bindings);
  if (!network) return ToString(network.error());
  if (network->layers.size() != 1) return fmt::format("{} layers", network->layers.size());
  const Layer& layer = network->layers[0].layer;
  return ToString(layer) + (layer.bias ? " bias" : "");
}

}  // namespace tessera::onnx
