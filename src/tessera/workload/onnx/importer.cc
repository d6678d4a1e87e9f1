// The import itself: scopes of names, calls of functions, operators one by one, fallback to the
// file's own annotations.
#include "tessera/workload/onnx/importer.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/workload/builder.h"
#include "tessera/workload/onnx/graph.h"
#include "tessera/workload/onnx/op.h"
#include "tessera/workload/onnx/operators.h"
#include "tessera/workload/onnx/order.h"
#include "tessera/workload/onnx/schema.pb.h"
#include "tessera/workload/onnx/symbols.h"
#include "tessera/workload/onnx/tensor.h"

namespace tessera::onnx {
namespace {

// Functions call functions, so a small file can stand for a huge graph. Real ones stay far below.
constexpr int64_t kMaxNodes = 1'000'000;
constexpr int kMaxDepth = 64;
// Elements of folded tensors, together: bounds the memory that a hostile file can ask for.
constexpr int64_t kMaxFoldedTotal = 8'000'000;

using Opsets = std::map<std::string_view, int64_t>;

std::string_view DomainOf(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

template <typename Imports>
Opsets ReadOpsets(const Imports& imports) {
  Opsets opsets;
  for (const schema::OperatorSet& import : imports) {
    opsets[DomainOf(import.domain())] = import.version();
  }
  return opsets;
}

// The names that a graph, a subgraph or a function body sees.
struct Scope {
  const Scope* around = nullptr;  // null for the main graph and for functions
  const AttributeScope* attributes = nullptr;
  const Opsets* opsets = nullptr;
  std::string prefix = {};  // of layer names
  std::unordered_map<std::string_view, Value> values = {};
  std::unordered_map<std::string_view, const schema::TensorType*> annotations = {};

  const Value* Find(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->around) {
      const auto found = scope->values.find(name);
      if (found != scope->values.end()) return &found->second;
    }
    return nullptr;
  }
};

class Importer final : public Host {
 public:
  Importer(const schema::Model& model, const Bindings& bindings, const TensorObserver& observer)
      : model_(model),
        symbols_(bindings),
        observer_(observer),
        opsets_(ReadOpsets(model.opset_import())) {}

  Result<Network> Run();

  // ---- Host
  Reasons& reasons() override { return reasons_; }
  int64_t AddLayer(std::string name, const Layer& layer) override {
    layers_.emplace_back(std::move(name), layer);
    return std::ssize(layers_) - 1;
  }
  void AddBias(int64_t layer, int64_t size) override {
    Layer& target = layers_[static_cast<size_t>(layer)].second;
    if (target.k == size) target.bias = true;
  }
  Result<std::vector<Value>> Infer(const schema::Graph& graph) override;

 private:
  using FunctionKey = std::tuple<std::string_view, std::string_view, std::string_view>;

  Result<void> ReadInputs(Scope& scope);
  Result<void> AddInitialisers(const schema::Graph& graph, Scope& scope);
  void AddAnnotations(const schema::Graph& graph, Scope& scope);
  Result<void> InferNodes(const Nodes& nodes, Scope& scope);
  Result<void> InferNode(const schema::Node& node, Scope& scope);
  Result<std::vector<Value>> Call(const schema::Function& function, const schema::Node& node,
                                  const std::vector<const Value*>& inputs, const Scope& scope);
  int64_t CountExpanded(const Nodes& nodes, int depth);
  Result<int64_t> OpsetOf(const schema::Node& node, const Scope& scope) const;
  void CompleteOutputs(Op& op, const schema::Node& node, const Operator* known, const Scope& scope,
                       const std::vector<const Value*>& inputs);
  static ElementTypes TypesOf(Op& op, const std::vector<const Value*>& inputs);
  Result<void> Define(const schema::Node& node, std::vector<Value> outputs, Scope& scope);
  void Count(const schema::Node& node, Role role);

  const schema::Model& model_;
  Symbols symbols_;
  const TensorObserver& observer_;
  const Opsets opsets_;
  Reasons reasons_;
  std::map<FunctionKey, const schema::Function*> functions_;
  std::map<const schema::Function*, int64_t> expanded_;  // their nodes, see CountExpanded()
  std::vector<std::pair<std::string, Layer>> layers_;
  std::vector<ElementTypes> types_;  // of each
  GraphRecorder graph_;
  Network header_;
  Scope* current_ = nullptr;
  int depth_ = 0;
  int64_t nodes_ = 0;
  int64_t folded_ = 0;
};

template <typename Repeated>
Nodes PointersTo(const Repeated& repeated) {
  Nodes nodes;
  nodes.reserve(static_cast<size_t>(repeated.size()));
  for (const schema::Node& node : repeated) nodes.push_back(&node);
  return nodes;
}

Error TooManyNodes() {
  return {.kind = ErrorKind::kUnsupported,
          .message = fmt::format("the graph has more than {} nodes once its functions are expanded",
                                 kMaxNodes)};
}

// How many nodes these are once functions are expanded, at most kMaxNodes + 1: a file of a few
// hundred nodes can stand for billions, and that is seen before the first is expanded. Functions
// that nest too deep or call themselves count little here and are refused where they are called.
int64_t Importer::CountExpanded(const Nodes& nodes, int depth) {
  int64_t count = 0;
  for (const schema::Node* const node : nodes) {
    ++count;
    const auto function =
        functions_.find({DomainOf(node->domain()), node->op_type(), node->overload()});
    if (function == functions_.end() || depth > kMaxDepth) continue;
    const auto [expanded, is_new] = expanded_.emplace(function->second, 0);
    if (is_new) {
      expanded->second = CountExpanded(PointersTo(function->second->node()), depth + 1);
    }
    count = std::min(count + expanded->second, kMaxNodes + 1);
  }
  return count;
}

Result<Network> Importer::Run() {
  for (const schema::Function& function : model_.functions()) {
    functions_[{DomainOf(function.domain()), function.name(), function.overload()}] = &function;
  }
  const Nodes nodes = PointersTo(model_.graph().node());
  if (CountExpanded(nodes, 0) > kMaxNodes) return TooManyNodes();
  Scope scope{.opsets = &opsets_};
  if (Result<void> ok = ReadInputs(scope); !ok) return ok.error();
  AddAnnotations(model_.graph(), scope);
  if (Result<void> ok = InferNodes(nodes, scope); !ok) {
    return ok.error();
  }
  for (const schema::ValueInfo& output : model_.graph().output()) {
    if (scope.Find(output.name()) != nullptr) continue;
    return Error{.kind = ErrorKind::kSyntax,
                 .message = fmt::format("graph output {} is produced by no node",
                                        Quoted(output.name(), 100))};
  }
  for (const schema::ValueInfo& output : model_.graph().output()) {
    graph_.AddOutput(*scope.Find(output.name()));
  }
  NetworkBuilder builder(std::move(header_));
  std::vector<int32_t> entries;
  for (size_t i = 0; i < layers_.size(); ++i) {
    auto& [name, layer] = layers_[i];
    if (Result<void> ok = builder.Add(std::move(name), layer); !ok) return ok.error();
    builder.SetTypes(types_[i]);
    entries.push_back(static_cast<int32_t>(builder.last()));
  }
  Network network = builder.Take();
  network.graph = graph_.Take();
  for (GraphNode& node : network.graph.nodes) {
    if (node.macs()) node.layer = entries[static_cast<size_t>(node.layer)];
  }
  // What the recorder did not understand is no reason to refuse the layers.
  if (!ValidateGraph(network)) network.graph = {};
  return network;
}

// Initialisers win over inputs of the same name, which files of IR version 3 list too.
Result<void> Importer::ReadInputs(Scope& scope) {
  const schema::Graph& graph = model_.graph();
  if (Result<void> ok = AddInitialisers(graph, scope); !ok) return ok;
  if (Result<void> ok = symbols_.CheckSizes(); !ok) return ok;
  bool first = true;
  for (const schema::ValueInfo& input : graph.input()) {
    if (scope.values.contains(input.name())) continue;
    Result<Value> value = symbols_.ReadInput(input, reasons_);
    if (!value) return value.error();
    if (first && value->dims && !value->dims->empty() && value->dims->front().known()) {
      header_.batch = std::max<int64_t>(value->dims->front().size, 1);
    }
    first = false;
    graph_.AddInput(*value);
    scope.values.emplace(input.name(), *std::move(value));
  }
  for (const auto* const list : {&graph.output(), &graph.value_info()}) {
    for (const schema::ValueInfo& info : *list) symbols_.Declare(info);
  }
  if (Result<void> ok = symbols_.CheckNames(); !ok) return ok;
  if (observer_) {
    for (const auto& [name, value] : scope.values) observer_(value);
  }
  return {};
}

Result<void> Importer::AddInitialisers(const schema::Graph& graph, Scope& scope) {
  const auto add = [&](const std::string& name, Result<Value> value) -> Result<void> {
    if (!value) return value.error();
    if (scope.values.emplace(name, *std::move(value)).second) return {};
    return Error{.kind = ErrorKind::kSyntax,
                 .message = fmt::format("two initialisers are named {}", Quoted(name, 100))};
  };
  for (const schema::Tensor& tensor : graph.initializer()) {
    if (Result<void> ok = add(tensor.name(), ReadTensor(tensor, reasons_)); !ok) return ok;
  }
  for (const schema::SparseTensor& tensor : graph.sparse_initializer()) {
    Result<void> ok = add(tensor.values().name(), ReadSparseTensor(tensor, reasons_));
    if (!ok) return ok;
  }
  return {};
}

void Importer::AddAnnotations(const schema::Graph& graph, Scope& scope) {
  for (const auto* const list : {&graph.output(), &graph.value_info()}) {
    for (const schema::ValueInfo& info : *list) {
      if (info.type().has_tensor_type()) {
        scope.annotations[info.name()] = &info.type().tensor_type();
      }
    }
  }
}

Result<void> Importer::InferNodes(const Nodes& nodes, Scope& scope) {
  if (++depth_ > kMaxDepth) {
    return Error{
        .kind = ErrorKind::kUnsupported,
        .message = fmt::format("functions and subgraphs nest more than {} deep", kMaxDepth),
        .hint = "a function may not call itself"};
  }
  const Result<Nodes> order =
      EvaluationOrder(nodes, [&](std::string_view name) { return scope.Find(name) != nullptr; });
  if (!order) return order.error();
  Scope* const outer = std::exchange(current_, &scope);
  for (const schema::Node* const node : *order) {
    if (Result<void> ok = InferNode(*node, scope); !ok) return ok;
  }
  current_ = outer;
  --depth_;
  return {};
}

Result<std::vector<Value>> Importer::Infer(const schema::Graph& graph) {
  Scope scope{.around = current_,
              .attributes = current_->attributes,
              .opsets = current_->opsets,
              .prefix = current_->prefix};
  if (Result<void> ok = AddInitialisers(graph, scope); !ok) return ok.error();
  AddAnnotations(graph, scope);
  if (Result<void> ok = InferNodes(PointersTo(graph.node()), scope); !ok) return ok.error();
  std::vector<Value> outputs;
  for (const schema::ValueInfo& output : graph.output()) {
    const Value* const value = scope.Find(output.name());
    if (value == nullptr) {
      return Error{.kind = ErrorKind::kSyntax,
                   .message = fmt::format("output {} of a subgraph is produced by no node",
                                          Quoted(output.name(), 100))};
    }
    outputs.push_back(*value);
  }
  return outputs;
}

Result<std::vector<Value>> Importer::Call(const schema::Function& function,
                                          const schema::Node& node,
                                          const std::vector<const Value*>& inputs,
                                          const Scope& scope) {
  AttributeScope attributes;
  for (const schema::Attribute& attribute : function.attribute_proto()) {
    attributes[attribute.name()] = &attribute;
  }
  for (const schema::Attribute& attribute : node.attribute()) {
    if (attribute.ref_attr_name().empty()) {
      attributes[attribute.name()] = &attribute;
    } else if (scope.attributes != nullptr) {
      const auto given = scope.attributes->find(attribute.ref_attr_name());
      if (given != scope.attributes->end()) attributes[attribute.name()] = given->second;
    }
  }
  const Opsets opsets = ReadOpsets(function.opset_import());
  Scope body{.attributes = &attributes,
             .opsets = &opsets,
             .prefix = fmt::format("{}{}/", scope.prefix, Printable(NameOf(node)))};
  for (int i = 0; i < function.input_size(); ++i) {
    const auto index = static_cast<size_t>(i);
    // An input that the call leaves out is absent in the body as well; it stands for "no tensor".
    if (index < inputs.size() && inputs[index] != nullptr) {
      body.values.emplace(function.input(i), *inputs[index]);
    } else {
      body.values.emplace(function.input(i), Value{.absent = true});
    }
  }
  for (const schema::ValueInfo& info : function.value_info()) {
    if (info.type().has_tensor_type()) body.annotations[info.name()] = &info.type().tensor_type();
  }
  if (Result<void> ok = InferNodes(PointersTo(function.node()), body); !ok) return ok.error();
  std::vector<Value> outputs;
  for (const std::string& output : function.output()) {
    const Value* const value = body.Find(output);
    if (value == nullptr) {
      return Error{.kind = ErrorKind::kSyntax,
                   .message = fmt::format("output {} of function {} is produced by no node",
                                          Quoted(output, 100), Quoted(function.name(), 100))};
    }
    outputs.push_back(*value);
  }
  return outputs;
}

Result<int64_t> Importer::OpsetOf(const schema::Node& node, const Scope& scope) const {
  const std::string_view domain = DomainOf(node.domain());
  for (const Opsets* const opsets : {scope.opsets, &opsets_}) {
    const auto found = opsets->find(domain);
    if (found == opsets->end()) continue;
    constexpr int64_t kMostVersion = 1000;  // versions count up by one or two a year
    if (found->second >= 1 && found->second <= kMostVersion) return found->second;
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("the file imports version {} of operator set {}, but "
                                        "versions are in 1..{}",
                                        found->second, Quoted(domain, 100), kMostVersion)};
  }
  // Files before IR version 3 import nothing; other domains are not versioned in what we read.
  if (!domain.empty() || model_.ir_version() < 3) return 1;
  return Error{.kind = ErrorKind::kSyntax,
               .message = fmt::format("{} is of the default domain, for which the file imports no "
                                      "operator set",
                                      Describe(node))};
}

void Importer::Count(const schema::Node& node, Role role) {
  if (role == Role::kLayer) return;
  const std::string_view domain = DomainOf(node.domain());
  const std::string name =
      Printable(domain.empty() ? node.op_type() : fmt::format("{}.{}", domain, node.op_type()));
  ++(role == Role::kNoMacs ? header_.ignored : header_.unknown)[name];
}

Result<void> Importer::InferNode(const schema::Node& node, Scope& scope) {
  if (node.op_type().empty()) {
    return Error{.kind = ErrorKind::kSyntax,
                 .message = fmt::format("node {} names no operator", Quoted(NameOf(node), 100))};
  }
  if (++nodes_ > kMaxNodes) return TooManyNodes();
  std::vector<const Value*> inputs;
  for (const std::string& input : node.input()) {
    const Value* const value = input.empty() ? nullptr : scope.Find(input);
    inputs.push_back(value != nullptr && value->absent ? nullptr : value);
  }
  const auto function = functions_.find({DomainOf(node.domain()), node.op_type(), node.overload()});
  if (function != functions_.end()) {
    Result<std::vector<Value>> outputs = Call(*function->second, node, inputs, scope);
    if (!outputs) return outputs.error();
    outputs->resize(static_cast<size_t>(node.output_size()));
    return Define(node, *std::move(outputs), scope);
  }
  const Result<int64_t> opset = OpsetOf(node, scope);
  if (!opset) return opset.error();
  const Operator* const known = FindOperator(DomainOf(node.domain()), node.op_type());
  Op op(node, scope.attributes, *opset, fmt::format("{}{}", scope.prefix, Printable(NameOf(node))),
        inputs, *this);
  const size_t first_layer = layers_.size();
  if (known != nullptr) known->infer(op);
  if (op.failed()) return op.error();
  const Role role = op.role().value_or(known == nullptr ? Role::kNotKnown : known->role);
  Count(node, role);
  // Types of results that are a guess so far; the file's annotation may know them.
  for (Value& output : op.outputs()) {
    if (role == Role::kNotKnown) output.type = ElementType::kUndefined;
  }
  CompleteOutputs(op, node, known, scope, inputs);
  types_.resize(layers_.size(), TypesOf(op, inputs));
  graph_.AddNode(op, fmt::format("{}{}", scope.prefix, Printable(NameOf(node))), inputs, layers_,
                 first_layer);
  if (op.failed()) return op.error();
  return Define(node, std::move(op.outputs()), scope);
}

// The first activation, the largest constant (a product of activations: the second one), and the
// first result.
ElementTypes Importer::TypesOf(Op& op, const std::vector<const Value*>& inputs) {
  const Value *input = nullptr, *second = nullptr, *constant = nullptr;
  int64_t largest = -1;
  for (const Value* const value : inputs) {
    if (value == nullptr) continue;
    if (!value->parameter && value->data == nullptr) {
      (input == nullptr ? input : second) = value;
      continue;
    }
    const std::optional<Dim> words = value->dims ? ElementCount(*value->dims) : std::nullopt;
    const int64_t size = words && words->known() ? words->size : 0;
    if (size <= largest) continue;
    largest = size;
    constant = value;
  }
  const Value* const weight = second != nullptr && constant == nullptr ? second : constant;
  return {.inputs = input == nullptr ? "" : TypeName(input->type),
          .weights = weight == nullptr ? "" : TypeName(weight->type),
          .outputs = op.num_outputs() == 0 ? "" : TypeName(op.Output(0).type)};
}

// What the operator left open: the file's annotation, the reason, and whether it is a parameter.
void Importer::CompleteOutputs(Op& op, const schema::Node& node, const Operator* known,
                               const Scope& scope, const std::vector<const Value*>& inputs) {
  bool has_input = false, parameter = true;
  Reason reason = kKnown, data_reason = kKnown;
  for (const Value* const input : inputs) {
    if (input == nullptr) continue;
    has_input = true;
    parameter = parameter && input->parameter;
    if (reason == kKnown && !input->dims) reason = input->reason;
    if (data_reason == kKnown) data_reason = input->data_reason;
  }
  for (const schema::Attribute& attribute : node.attribute()) {
    if (attribute.has_g()) parameter = false;  // a subgraph reads more than the inputs
  }
  for (size_t i = 0; i < op.outputs().size(); ++i) {
    Value& output = op.outputs()[i];
    output.parameter = output.parameter || (has_input && parameter);
    if (known == nullptr && reason == kKnown) {
      reason = reasons_.Add(fmt::format("operator {} ({}) is not understood",
                                        Quoted(node.op_type(), 100), Describe(node)));
    }
    if (known == nullptr) output.data_reason = reason;
    if (i == 0 && op.HasAttribute("dtype")) {
      output.type = static_cast<ElementType>(op.Int("dtype", 0));
    }
    if (output.parameter && output.data_reason == kKnown) output.data_reason = data_reason;
    if (!output.dims && output.reason == kKnown) {
      output.reason = reason != kKnown ? reason : op.DataDependent();
    }
    const auto annotation = scope.annotations.find(node.output(static_cast<int>(i)));
    if (annotation == scope.annotations.end()) continue;
    const std::optional<Dims> dims = symbols_.ReadAnnotation(*annotation->second, output.reason);
    if (!dims) continue;
    if (!output.dims) {
      output.dims = dims;
    } else if (output.dims->size() == dims->size()) {
      for (size_t axis = 0; axis < dims->size(); ++axis) {
        Dim& dim = (*output.dims)[axis];
        if (!dim.known() && (*dims)[axis].known()) dim = (*dims)[axis];
      }
    }
    if (output.type == ElementType::kUndefined) {
      output.type = static_cast<ElementType>(annotation->second->elem_type());
    }
  }
}

Result<void> Importer::Define(const schema::Node& node, std::vector<Value> outputs, Scope& scope) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    Value& output = outputs[i];
    const std::string& name = node.output(static_cast<int>(i));
    if (name.empty()) continue;
    output.name = name;
    if (!output.dims && output.reason == kKnown) {
      output.reason = reasons_.Add(fmt::format("{} gives no result {}", Describe(node), i + 1));
    }
    if (output.dims) {
      const Dims& dims = *output.dims;
      const bool negative =
          std::any_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.size < 0; });
      if (negative || dims.size() > kMaxRank || !ElementCount(dims)) {
        return Error{.kind = negative ? ErrorKind::kBadValue : ErrorKind::kOverflow,
                     .message = fmt::format("{}: result {} would have the shape {}, {}",
                                            Describe(node), Quoted(name, 100), ToString(dims),
                                            negative                 ? "with a negative size"
                                            : dims.size() > kMaxRank ? "with too many dimensions"
                                                                     : "too large for 64 bits")};
      }
    }
    // An annotation may contradict what was computed.
    if (output.data && (!output.dims || FoldableCount(*output.dims) != output.data->size())) {
      output.data = nullptr;
    }
    if (output.data) folded_ += std::ssize(*output.data);
    if (folded_ > kMaxFoldedTotal) {
      return Error{.kind = ErrorKind::kUnsupported,
                   .message = fmt::format("{}: the graph computes more than {} constants",
                                          Describe(node), kMaxFoldedTotal)};
    }
    if (observer_ && scope.around == nullptr && scope.prefix.empty()) observer_(output);
    scope.values.insert_or_assign(name, std::move(output));
  }
  return {};
}

}  // namespace

Result<Network> ImportModel(const schema::Model& model, const Bindings& bindings,
                            const TensorObserver& observer) {
  return Importer(model, bindings, observer).Run();
}

}  // namespace tessera::onnx
