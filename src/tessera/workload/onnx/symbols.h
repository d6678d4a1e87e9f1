// Symbolic dimensions of a graph's inputs and the sizes that the user binds to them (--bind
// batch=1).
#ifndef TESSERA_WORKLOAD_ONNX_SYMBOLS_H_
#define TESSERA_WORKLOAD_ONNX_SYMBOLS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "tessera/network.h"
#include "tessera/result.h"
#include "tessera/workload/onnx/value.h"

namespace tessera::onnx {

namespace schema {
class TensorType;
class ValueInfo;
}  // namespace schema

class Symbols {
 public:
  explicit Symbols(const Bindings& bindings);

  // What is known about a graph input. A dimension without a name is bound by input and axis
  // ("x.0=1"). Errors: a negative size other than -1, too many dimensions.
  Result<Value> ReadInput(const schema::ValueInfo& input, Reasons& reasons);

  // The shape that a file annotates for a tensor inside the graph; a dimension that no binding
  // determines gets `otherwise`. Without value if there is no usable annotation.
  std::optional<Dims> ReadAnnotation(const schema::TensorType& type, Reason otherwise) const;

  // Notes the symbols of an annotation, so that they may be bound.
  void Declare(const schema::ValueInfo& info);

  // A binding to a negative or huge size, or to a word, is an error.
  Result<void> CheckSizes() const;

  // A binding of a name that nothing declared is an error.
  Result<void> CheckNames() const;

 private:
  std::optional<int64_t> Find(const std::string& name) const;
  void Declare(const std::string& symbol);
  Dim ReadAxis(const std::string& input, size_t axis, std::string symbol, Reasons& reasons);

  std::map<std::string, int64_t> bindings_;
  std::string word_;             // a binding that is no number: "batch=one"
  std::set<std::string> names_;  // all that may be bound
};

}  // namespace tessera::onnx

#endif  // TESSERA_WORKLOAD_ONNX_SYMBOLS_H_
