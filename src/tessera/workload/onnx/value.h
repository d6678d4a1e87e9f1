// What is known about a tensor of an ONNX graph before it runs: element type, shape and, where the
// tensor is small and constant, its elements. Anything may be unknown; then there is a reason,
// which travels with the value until a layer needs it and the error can name the cause.
#ifndef TESSERA_WORKLOAD_ONNX_VALUE_H_
#define TESSERA_WORKLOAD_ONNX_VALUE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/checked.h"

namespace tessera::onnx {

// The element types by their numbers in the file; those that nothing here depends on are not named.
enum class ElementType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
};

// The two kinds whose elements are folded; all others have a shape only.
bool IsInteger(ElementType type);  // bool included, as 0 and 1
bool IsReal(ElementType type);

// "float32", "int8", ...; empty for numbers that no type has.
std::string TypeName(ElementType type);

// Why something is not known: an index into Reasons, kKnown if it is known.
using Reason = int32_t;
inline constexpr Reason kKnown = 0;

struct ReasonText {
  std::string text;     // "dimension 0 of input 'x' is the symbol 'batch'"
  std::string binding;  // what would make it known, as for --bind: "batch=1"; or empty
};

class Reasons {
 public:
  Reason Add(std::string text, std::string binding = "") {
    texts_.push_back({std::move(text), std::move(binding)});
    return static_cast<Reason>(texts_.size());
  }
  const ReasonText& operator[](Reason reason) const {
    return texts_.at(static_cast<size_t>(reason - 1));
  }

 private:
  std::vector<ReasonText> texts_;
};

struct Dim {
  int64_t size = 0;  // meaningful if known
  Reason reason = kKnown;

  bool known() const { return reason == kKnown; }
  bool Is(int64_t value) const { return known() && size == value; }
  friend bool operator==(const Dim&, const Dim&) = default;
};

using Dims = std::vector<Dim>;

// One element. `integer` holds if the tensor's type is an integer one, `real` if it is a real one.
struct Number {
  int64_t integer = 0;
  double real = 0;
  Reason reason = kKnown;

  bool known() const { return reason == kKnown; }
};

using Numbers = std::vector<Number>;

struct Value {
  std::string_view name = {};  // of the tensor, for messages
  ElementType type = ElementType::kUndefined;
  std::optional<Dims> dims = {};                  // without value: not even the rank is known
  Reason reason = kKnown;                         // why dims has no value
  std::shared_ptr<const Numbers> data = nullptr;  // row-major; null: not constant, or not small
  Reason data_reason = kKnown;                    // why data is null, if not for running the graph
  bool parameter = false;                         // computed from weights and constants alone
  int64_t layer = -1;  // the fully connected layer whose result this is: a bias may follow
  std::shared_ptr<const std::vector<Value>> sequence = nullptr;  // the items of a sequence
  int32_t tensor = -1;  // in the network's graph; -1: constants, and what is not known
  bool absent = false;  // an optional input of a function that its caller left out
};

// Tensors of more elements are not folded: every shape computation is far smaller.
inline constexpr int64_t kMaxFolded = 4096;
// No tensor may have more dimensions.
inline constexpr size_t kMaxRank = 64;

// The number of elements; unknown if a dimension is (and none is 0), without value if it does not
// fit in 64 bits.
std::optional<Dim> ElementCount(const Dims& dims);

// The number of elements of a tensor that may be folded.
std::optional<size_t> FoldableCount(const Dims& dims);

Dims KnownDims(const std::vector<int64_t>& sizes);

// "[1, 3, ?, 224]".
std::string ToString(const Dims& dims);

}  // namespace tessera::onnx

#endif  // TESSERA_WORKLOAD_ONNX_VALUE_H_
