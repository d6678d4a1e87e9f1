// Gemm, MatMul and Einsum: the layers fc and gemm.
#include "tessera/workload/onnx/product.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/workload/onnx/operators.h"

namespace tessera::onnx {
namespace {

// A matrix operand: its batch axes and its two sizes, vectors made matrices.
struct Operand {
  std::vector<int64_t> batch;
  int64_t rows, columns;
  bool vector;
};

Operand MatrixOf(const std::vector<int64_t>& sizes, bool left, bool transpose) {
  if (sizes.size() == 1) {
    return left ? Operand{{}, 1, sizes[0], true} : Operand{{}, sizes[0], 1, true};
  }
  Operand operand{{sizes.begin(), sizes.end() - 2}, sizes[sizes.size() - 2], sizes.back(), false};
  if (transpose) std::swap(operand.rows, operand.columns);
  return operand;
}

int64_t Multiplied(Op& op, const std::vector<int64_t>& sizes) {
  Checked product = 1;
  for (const int64_t size : sizes) product = product * size;
  if (!product.ok()) op.Fail(ErrorKind::kOverflow, "the batch does not fit in 64 bits");
  return product.get().value_or(1);
}

bool AllOnes(const std::vector<int64_t>& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size == 1; });
}

}  // namespace

int64_t AddProduct(Op& op, const MatrixProduct& product, bool bias, std::string_view suffix) {
  Layer layer;
  // Several weight matrices are no fully connected layer: each row meets one of them only.
  if (product.batch == 1 && (product.left_is_weight || product.right_is_weight)) {
    const bool right = product.right_is_weight;
    layer = Layer{.type = LayerType::kFullyConnected,
                  .bias = bias && right,
                  .n = right ? product.m : product.n,
                  .k = right ? product.n : product.m,
                  .c = product.k};
  } else {
    layer = Layer{.type = LayerType::kMatmul,
                  .h = product.batch,
                  .m = product.m,
                  .n = product.n,
                  .k = product.k};
  }
  return op.AddLayer(layer, suffix);
}

int64_t InferMatMul(Op& op, size_t left, size_t right, bool transpose_left, bool transpose_right,
                    bool bias) {
  const std::optional<std::vector<int64_t>> a = op.Sizes(left), b = op.Sizes(right);
  if (!a || !b) return -1;
  const std::string shapes =
      fmt::format("{} and {}", ToString(KnownDims(*a)), ToString(KnownDims(*b)));
  if (a->empty() || b->empty()) {
    op.Fail(ErrorKind::kBadValue, fmt::format("{} are no matrices", shapes));
    return -1;
  }
  const Operand x = MatrixOf(*a, true, transpose_left), y = MatrixOf(*b, false, transpose_right);
  if (x.columns != y.rows) {
    op.Fail(ErrorKind::kBadValue,
            fmt::format("{} cannot be multiplied: {} is not {}", shapes, x.columns, y.rows));
    return -1;
  }
  const Dims broadcast = op.Broadcast(KnownDims(x.batch), KnownDims(y.batch));
  if (op.failed()) return -1;
  std::vector<int64_t> output;
  for (const Dim& dim : broadcast) output.push_back(dim.size);
  MatrixProduct product{.batch = Multiplied(op, output),
                        .m = x.rows,
                        .n = y.columns,
                        .k = x.columns,
                        .left_is_weight = op.Input(left).parameter,
                        .right_is_weight = op.Input(right).parameter};
  // One weight matrix for the whole batch: all rows (or columns) of the batch meet it.
  if (product.right_is_weight && AllOnes(y.batch)) {
    product.m = Multiplied(op, {product.batch, product.m});
    product.batch = 1;
    product.left_is_weight = false;
  } else if (product.left_is_weight && AllOnes(x.batch)) {
    product.n = Multiplied(op, {product.batch, product.n});
    product.batch = 1;
    product.right_is_weight = false;
  }
  if (!x.vector) output.push_back(x.rows);
  if (!y.vector) output.push_back(y.columns);
  op.SetSizes(0, output);
  const int64_t layer = AddProduct(op, product, bias);
  return product.batch == 1 && product.right_is_weight && !y.vector ? layer : -1;
}

namespace {

void MatMul(Op& op) {
  op.NeedsElements(0, ElementKind::kNumbers);
  op.NeedsOneType({0, 1});
  op.Output(0).layer = InferMatMul(op, 0, 1, false, false, false);
}

void MatMulInteger(Op& op) {
  op.NeedsElements(0, ElementKind::kBytes);
  op.NeedsElements(1, ElementKind::kBytes);
  InferMatMul(op, 0, 1, false, false, false);
  op.SetType(0, ElementType::kInt32);
}

void QLinearMatMul(Op& op) {
  op.NeedsElements(0, ElementKind::kBytes);
  op.NeedsElements(3, ElementKind::kBytes);
  InferMatMul(op, 0, 3, false, false, false);
}

// Whether the third input of Gemm is one value per column, as a bias has it.
bool GemmHasBias(Op& op, bool transpose_right) {
  if (!op.Has(2) || !op.Input(2).parameter) return false;
  const Dims *const bias = op.Shape(2), *const weight = op.Shape(1);
  if (bias == nullptr || weight == nullptr || bias->empty() || weight->size() != 2) return false;
  const std::optional<Dim> count = ElementCount(*bias);
  return count && count->known() && *count == bias->back() &&
         *count == (*weight)[transpose_right ? 0 : 1];
}

void Gemm(Op& op) {
  op.NeedsElements(0, ElementKind::kNumbers);
  op.NeedsOneType({0, 1, 2});
  const bool transpose_left = op.Int("transA", 0) != 0;
  const bool transpose_right = op.Int("transB", 0) != 0;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const Dims* const shape = op.Shape(i);
    if (shape != nullptr && shape->size() != 2) {
      return op.Fail(ErrorKind::kBadValue, fmt::format("input {} has the shape {}, but must have "
                                                       "two dimensions",
                                                       i + 1, ToString(*shape)));
    }
  }
  InferMatMul(op, 0, 1, transpose_left, transpose_right, GemmHasBias(op, transpose_right));
}

// ---- Einsum

struct Equation {
  std::vector<std::string> inputs;  // one letter per axis
  std::string output;
};

// Letters for the axes of an ellipsis: bytes that no equation contains, counted from the last axis.
char EllipsisAxis(size_t from_end) { return static_cast<char>(-1 - static_cast<int>(from_end)); }

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Letters, and "..." at most once; in particular none of the bytes that stand for an ellipsis.
bool IsTerm(std::string_view term) {
  const size_t dots = term.find("...");
  for (size_t i = 0; i < term.size(); ++i) {
    if (dots != std::string_view::npos && i >= dots && i < dots + 3) continue;
    if (!IsLetter(term[i])) return false;
  }
  return true;
}

std::optional<std::string> ExpandTerm(Op& op, std::string_view term, std::optional<size_t> rank,
                                      size_t* ellipsis_rank) {
  std::string labels;
  for (const char c : term) {
    if (c != ' ') labels += c;
  }
  if (!IsTerm(labels)) {
    op.Fail(ErrorKind::kBadValue, fmt::format("term {} is malformed", Quoted(term)));
    return std::nullopt;
  }
  const size_t dots = labels.find("...");
  const size_t letters = labels.size() - (dots == std::string::npos ? 0 : 3);
  if (rank && (letters > *rank || (dots == std::string::npos && letters != *rank))) {
    op.Fail(ErrorKind::kBadValue,
            fmt::format("term '{}' does not fit an input of {} dimensions", labels, *rank));
    return std::nullopt;
  }
  if (dots == std::string::npos) return labels;
  const size_t covered = rank ? *rank - letters : *ellipsis_rank;
  *ellipsis_rank = std::max(*ellipsis_rank, covered);
  std::string axes;
  for (size_t i = covered; i > 0; --i) axes += EllipsisAxis(i - 1);
  return labels.replace(dots, 3, axes);
}

// Without an arrow the output has the letters that occur once, in alphabetical order.
std::string ImplicitOutput(const Equation& equation, size_t ellipsis_rank) {
  std::string all, output;
  for (const std::string& input : equation.inputs) all += input;
  for (size_t i = ellipsis_rank; i > 0; --i) output += EllipsisAxis(i - 1);
  std::set<char> once;
  for (const char c : all) {
    if (IsLetter(c) && std::count(all.begin(), all.end(), c) == 1) {
      once.insert(c);
    }
  }
  return output + std::string(once.begin(), once.end());
}

std::optional<Equation> ReadEquation(Op& op) {
  const std::string text = op.Text("equation", "");
  const size_t arrow = text.find("->");
  Equation equation;
  size_t ellipsis_rank = 0;
  const std::vector<std::string_view> terms = Split(std::string_view(text).substr(0, arrow), ',');
  if (terms.size() != op.num_inputs()) {
    op.Fail(ErrorKind::kBadValue, fmt::format("equation {} has {} terms for {} inputs",
                                              Quoted(text, 100), terms.size(), op.num_inputs()));
    return std::nullopt;
  }
  for (size_t i = 0; i < terms.size(); ++i) {
    const Dims* const shape = op.Shape(i);
    if (shape == nullptr) return std::nullopt;
    std::optional<std::string> labels = ExpandTerm(op, terms[i], shape->size(), &ellipsis_rank);
    if (!labels) return std::nullopt;
    equation.inputs.push_back(*std::move(labels));
  }
  if (arrow == std::string::npos) {
    equation.output = ImplicitOutput(equation, ellipsis_rank);
  } else {
    std::optional<std::string> labels =
        ExpandTerm(op, std::string_view(text).substr(arrow + 2), std::nullopt, &ellipsis_rank);
    if (!labels) return std::nullopt;
    equation.output = *std::move(labels);
  }
  return equation;
}

// The size of each letter. Sizes of 1 give way, as in broadcasting.
std::optional<std::vector<std::pair<char, Dim>>> SizesOfLetters(Op& op, const Equation& equation) {
  std::vector<std::pair<char, Dim>> sizes;
  for (size_t i = 0; i < equation.inputs.size(); ++i) {
    for (size_t axis = 0; axis < equation.inputs[i].size(); ++axis) {
      const char letter = equation.inputs[i][axis];
      const Dim& dim = (*op.Shape(i))[axis];
      const auto known = std::find_if(sizes.begin(), sizes.end(),
                                      [&](const auto& entry) { return entry.first == letter; });
      if (known == sizes.end()) {
        sizes.emplace_back(letter, dim);
      } else if (known->second.Is(1)) {
        known->second = dim;
      } else if (!dim.Is(1)) {
        known->second = op.SameDim(known->second, dim);
      }
    }
  }
  if (op.failed()) return std::nullopt;
  return sizes;
}

bool Contains(const std::string& labels, char letter) {
  return labels.find(letter) != std::string::npos;
}

bool HasRepetition(const std::string& labels) {
  return std::set<char>(labels.begin(), labels.end()).size() != labels.size();
}

// Classifies the letters of two operands; without value if they do not form a matrix product.
std::optional<MatrixProduct> ProductOf(Op& op, const Equation& equation,
                                       const std::vector<std::pair<char, Dim>>& sizes) {
  const std::string &a = equation.inputs[0], &b = equation.inputs[1];
  if (HasRepetition(a) || HasRepetition(b)) return std::nullopt;
  std::vector<int64_t> batch, rows, columns, inner;
  for (const auto& [letter, dim] : sizes) {
    const bool in_a = Contains(a, letter), in_b = Contains(b, letter);
    if (!Contains(equation.output, letter)) {
      if (!in_a || !in_b) return std::nullopt;  // a sum over one operand alone
      inner.push_back(dim.size);
    } else if (in_a && in_b) {
      batch.push_back(dim.size);
    } else {
      (in_a ? rows : columns).push_back(dim.size);
    }
  }
  return MatrixProduct{.batch = Multiplied(op, batch),
                       .m = Multiplied(op, rows),
                       .n = Multiplied(op, columns),
                       .k = Multiplied(op, inner),
                       .left_is_weight = op.Input(0).parameter,
                       .right_is_weight = op.Input(1).parameter};
}

// Whether some letter is summed over; without one, Einsum multiplies elements but adds nothing.
bool Contracts(const Equation& equation) {
  for (const std::string& input : equation.inputs) {
    for (const char letter : input) {
      if (!Contains(equation.output, letter)) return true;
    }
  }
  return false;
}

void Einsum(Op& op) {
  op.NeedsElements(0, ElementKind::kNumbers);
  op.NeedsOneType();
  const std::optional<Equation> equation = ReadEquation(op);
  if (!equation) return op.SetRole(Role::kNotKnown);
  const std::optional<std::vector<std::pair<char, Dim>>> sizes = SizesOfLetters(op, *equation);
  if (!sizes) return;
  Dims dims;
  for (const char letter : equation->output) {
    const auto found = std::find_if(sizes->begin(), sizes->end(),
                                    [&](const auto& entry) { return entry.first == letter; });
    if (found == sizes->end()) {
      return op.Fail(ErrorKind::kBadValue, "the equation's output has a letter that no input has");
    }
    dims.push_back(found->second);
  }
  op.SetShape(0, std::move(dims));
  if (op.num_inputs() == 1 || !Contracts(*equation)) return op.SetRole(Role::kNoMacs);
  op.SetRole(Role::kNotKnown);
  if (op.num_inputs() != 2) return;
  // Layers need every size.
  if (!op.Sizes(0) || !op.Sizes(1)) return;
  if (const std::optional<MatrixProduct> product = ProductOf(op, *equation, *sizes)) {
    op.SetRole(Role::kLayer);
    AddProduct(op, *product, /*bias=*/false);
  }
}

constexpr Operator kOperators[] = {
    {"Gemm", Gemm, Role::kLayer},
    {"MatMul", MatMul, Role::kLayer},
    {"MatMulInteger", MatMulInteger, Role::kLayer},
    {"QLinearMatMul", QLinearMatMul, Role::kLayer},
    {"Einsum", Einsum, Role::kLayer},
};

}  // namespace

std::span<const Operator> ProductOperators() { return kOperators; }

}  // namespace tessera::onnx
