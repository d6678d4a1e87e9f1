// One node of an ONNX graph as its operator's function sees it: attributes, what is known about the
// inputs, and a place for what becomes known about the outputs.
//
// An operator is one function and one line of a table in operators.cc. The function
//   - sets the shape of each output it can determine, and its elements where the inputs' are known;
//   - leaves an output alone whose shape it cannot determine: the importer then falls back to the
//     file's own annotation, and otherwise remembers the reason;
//   - adds layers, for which everything must be known;
//   - reports bad input by Fail. The first failure is kept and ends the import after the function
//     returns, so accessors return a harmless default after a failure and need no check each.
#ifndef TESSERA_WORKLOAD_ONNX_OP_H_
#define TESSERA_WORKLOAD_ONNX_OP_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tessera/network.h"
#include "tessera/result.h"
#include "tessera/workload/onnx/value.h"

namespace tessera::onnx {

namespace schema {
class Attribute;
class Graph;
class Node;
}  // namespace schema

// How a node is counted.
enum class Role : uint8_t {
  kLayer,     // gives layers
  kNoMacs,    // understood, without MACs: Network::ignored
  kNotKnown,  // not understood, or with MACs that are not modelled: Network::unknown
};

// Element types that an operand may have; what is not known may be any.
enum class ElementKind : uint8_t {
  kReal,     // floating point
  kNumbers,  // the same, or integers: no truth values, no texts
  kBytes,    // quantised: at most 8 bits
};

// What an operator may ask of the importer.
class Host {
 public:
  virtual ~Host() = default;
  virtual Reasons& reasons() = 0;
  // Adds a layer and returns its index.
  virtual int64_t AddLayer(std::string name, const Layer& layer) = 0;
  // Marks a layer as one with a bias of `size` elements; no effect if it has other outputs.
  virtual void AddBias(int64_t layer, int64_t size) = 0;
  // Infers a subgraph of the current node; it may read the tensors around it.
  virtual Result<std::vector<Value>> Infer(const schema::Graph& graph) = 0;
};

// The attributes that a call gives to the nodes of a function, by name.
using AttributeScope = std::unordered_map<std::string_view, const schema::Attribute*>;

class Op {
 public:
  // `layer_name` is the name of a layer that this node gives. Everything outlives the Op.
  Op(const schema::Node& node, const AttributeScope* scope, int64_t opset, std::string layer_name,
     std::vector<const Value*> inputs, Host& host);

  const std::string& type() const;
  int64_t opset() const { return opset_; }

  // ---- inputs: an absent optional one is null
  size_t num_inputs() const { return inputs_.size(); }
  bool Has(size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  const Value& Input(size_t i);  // fails if absent
  const Dims* Shape(size_t i);   // null if not even the rank is known
  // All sizes; fails with the reason if one is not known.
  std::optional<std::vector<int64_t>> Sizes(size_t i);
  // The elements, unknown ones included; without value if their number is unknown or large.
  std::optional<Numbers> Elements(size_t i);
  // The elements as sizes, which need an integer tensor of at most one dimension.
  std::optional<Dims> ElementsAsDims(size_t i);
  // The elements if all are known integers.
  std::optional<std::vector<int64_t>> Integers(size_t i);
  // The element of an integer tensor that has exactly one.
  std::optional<Number> Scalar(size_t i);

  // ---- attributes: of another type than asked for, they fail
  bool HasAttribute(std::string_view name) const { return Find(name) != nullptr; }
  int64_t Int(std::string_view name, int64_t absent);
  double Float(std::string_view name, double absent);
  std::string Text(std::string_view name, std::string_view absent);
  std::optional<std::vector<int64_t>> Ints(std::string_view name);
  std::optional<std::vector<double>> Floats(std::string_view name);
  std::optional<Value> Tensor(std::string_view name);
  const schema::Graph* Graph(std::string_view name);
  // The integers of input `i`, or of the attribute where an older version of the operator has one.
  // Without value if neither is there, or if the input is not known: then *unknown is set.
  std::optional<std::vector<int64_t>> IntsFrom(size_t i, std::string_view name, bool* unknown);

  // ---- outputs
  size_t num_outputs() const { return outputs_.size(); }
  std::string_view OutputName(size_t i) const;  // empty: nobody wants it
  Value& Output(size_t i);                      // a dummy where the node has no such output
  void SetShape(size_t i, Dims dims) { Output(i).dims = std::move(dims); }
  void SetSizes(size_t i, const std::vector<int64_t>& sizes) { SetShape(i, KnownDims(sizes)); }
  void SetType(size_t i, ElementType type) { Output(i).type = type; }
  void SetData(size_t i, Numbers data);

  // How the node is counted, where this depends on the node; otherwise the table decides.
  void SetRole(Role role) { role_ = role; }
  std::optional<Role> role() const { return role_; }

  // ---- helpers
  // An axis as an index; negative ones count from the end. Fails outside -rank..rank-1.
  size_t Axis(int64_t axis, size_t rank);
  // The size of an axis that two inputs share; fails if they differ.
  Dim SameDim(const Dim& a, const Dim& b);
  // The shape of an elementwise result; fails if the shapes do not fit.
  Dims Broadcast(const Dims& a, const Dims& b);
  // Fails if an input is of another type; inputs that are absent are fine.
  void NeedsElements(size_t i, ElementKind kind);
  // Fails if two inputs are of different types.
  void NeedsOneType(std::initializer_list<size_t> inputs);
  void NeedsOneType();           // of all inputs
  std::string Describe() const;  // "node 'conv1' (Conv)"
  // An element that cannot be computed. The first reason of a node stands for all its elements.
  Number UnknownNumber(std::string why);
  // The reason why a result of this operator can only be known by running it.
  Reason DataDependent();
  Host& host() { return host_; }

  // Adds a layer; `suffix` tells several layers of one node apart. Fails if it is not valid.
  int64_t AddLayer(const Layer& layer, std::string_view suffix = "");

  void Fail(ErrorKind kind, std::string message, std::string hint = "");
  void Fail(const Error& error);  // as it is
  bool failed() const { return error_.has_value(); }
  const Error& error() const { return *error_; }

  std::vector<Value>& outputs() { return outputs_; }

 private:
  const schema::Attribute* Find(std::string_view name) const;
  // The attribute if it is there; fails if its type is not `type`.
  const schema::Attribute* Find(std::string_view name, int32_t type, bool has_value);
  Reason WhyNoData(const Value& value);

  const schema::Node& node_;
  const AttributeScope* scope_;
  int64_t opset_;
  std::string layer_name_;
  std::vector<const Value*> inputs_;
  std::vector<Value> outputs_;
  Value dummy_;
  Host& host_;
  Reason data_dependent_ = kKnown;
  Reason not_computed_ = kKnown;
  std::optional<Role> role_;
  std::optional<Error> error_;
};

}  // namespace tessera::onnx

#endif  // TESSERA_WORKLOAD_ONNX_OP_H_
