// Timeloop's problem files as loop problems, and back.
#include "tessera/mapping/loop_shape.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/base/tensor_bits.h"
#include "tessera/base/text.h"
#include "tessera/workload/timeloop_problem.h"

namespace tessera {
namespace {

Error TooMuch(const TimeloopProblem& source, std::string_view what, size_t have, size_t most) {
  return Error{.kind = ErrorKind::kUnsupported,
               .message = fmt::format("{} {}, but at most {} are supported", have, what, most),
               .where = source.where};
}

Result<ShortName> MakeName(const TimeloopProblem& source, std::string_view what,
                           const std::string& name) {
  if (!name.empty() && name.size() <= ShortName::kMaxSize) return ShortName(name);
  return Error{.kind = ErrorKind::kBadValue,
               .message = fmt::format("the name {} of a {} must have 1 to {} characters",
                                      Quoted(name), what, ShortName::kMaxSize),
               .where = source.where};
}

TensorRole RoleOf(const LoopTensor& tensor) {
  if (tensor.read_write) return TensorRole::kOutput;
  if (tensor.name.view() == "Weights") return TensorRole::kWeight;
  return tensor.name.view() == "Inputs" ? TensorRole::kInput : TensorRole::kOther;
}

// Copies a problem into the plain data that mappings and cost models use, within its limits.
class Converter {
 public:
  explicit Converter(const TimeloopProblem& source) : source_(source) {}

  Result<LoopProblem> Run() {
    problem_.shape = source_.shape.empty() ? "shape" : std::string_view(source_.shape);
    if (Result<void> ok = AddDimensions(); !ok) return ok.error();
    if (Result<void> ok = AddCoefficients(); !ok) return ok.error();
    if (source_.tensors.size() > LoopProblem::kMaxTensors) {
      return TooMuch(source_, "data spaces", source_.tensors.size(), LoopProblem::kMaxTensors);
    }
    for (const TimeloopProblem::Tensor& tensor : source_.tensors) {
      if (Result<void> ok = AddTensor(tensor); !ok) return ok.error();
    }
    NameOperands();
    SetBits(source_.bits, problem_);
    if (Result<void> ok = Validate(problem_); !ok) {
      Error error = ok.error();
      error.where = source_.where;
      return error;
    }
    return problem_;
  }

 private:
  Result<void> AddDimensions() {
    if (source_.dimensions.size() > LoopProblem::kMaxDimensions) {
      return TooMuch(source_, "dimensions", source_.dimensions.size(), LoopProblem::kMaxDimensions);
    }
    for (const TimeloopProblem::Dimension& dimension : source_.dimensions) {
      const Result<ShortName> name = MakeName(source_, "dimension", dimension.name);
      if (!name) return name.error();
      problem_.dimensions[static_cast<size_t>(problem_.num_dimensions++)] = {*name, dimension.size};
    }
    return {};
  }

  Result<void> AddCoefficient(const std::string& text, int64_t value) {
    if (problem_.num_coefficients == static_cast<int32_t>(LoopProblem::kMaxCoefficients)) {
      return TooMuch(source_, "coefficients", LoopProblem::kMaxCoefficients + 1,
                     LoopProblem::kMaxCoefficients);
    }
    const Result<ShortName> name = MakeName(source_, "coefficient", text);
    if (!name) return name.error();
    problem_.coefficients[static_cast<size_t>(problem_.num_coefficients++)] = {*name, value};
    return {};
  }

  Result<void> AddCoefficients() {
    for (const TimeloopProblem::Coefficient& coefficient : source_.coefficients) {
      Result<void> ok = AddCoefficient(coefficient.name, coefficient.value);
      if (!ok) return ok;
    }
    return {};
  }

  // A number in a projection becomes a coefficient called after it.
  Result<int32_t> NumberName(int64_t value) {
    const std::string name = fmt::format("times{}", value);
    for (int32_t i = 0; i < problem_.num_coefficients; ++i) {
      if (problem_.coefficients[static_cast<size_t>(i)].name.view() == name) return i;
    }
    if (Result<void> ok = AddCoefficient(name, value); !ok) return ok.error();
    return problem_.num_coefficients - 1;
  }

  Result<void> AddTensor(const TimeloopProblem::Tensor& source) {
    LoopTensor& tensor = problem_.tensors[static_cast<size_t>(problem_.num_tensors++)];
    const Result<ShortName> name = MakeName(source_, "data space", source.name);
    if (!name) return name.error();
    tensor.name = *name;
    tensor.read_write = source.read_write;
    tensor.role = RoleOf(tensor);
    if (source.ranks.size() > LoopTensor::kMaxRanks) {
      return TooMuch(source_, fmt::format("ranks of {}", source.name), source.ranks.size(),
                     LoopTensor::kMaxRanks);
    }
    for (const std::vector<TimeloopProblem::Term>& terms : source.ranks) {
      TensorRank& rank = tensor.ranks[static_cast<size_t>(tensor.num_ranks++)];
      if (terms.size() > TensorRank::kMaxTerms) {
        return TooMuch(source_, fmt::format("terms in a rank of {}", source.name), terms.size(),
                       TensorRank::kMaxTerms);
      }
      for (const TimeloopProblem::Term& term : terms) {
        RankTerm& added = rank.terms[static_cast<size_t>(rank.num_terms++)];
        added.dimension = static_cast<int32_t>(term.dimension);
        added.coefficient = term.coefficient;
        if (term.named) {
          added.named = static_cast<int32_t>(*term.named);
        } else if (term.coefficient != 1) {
          const Result<int32_t> named = NumberName(term.coefficient);
          if (!named) return named.error();
          added.named = *named;
        }
      }
    }
    return {};
  }

  // Where nobody is called Weights or Inputs, as in matrix products, the first operand is the input
  // and the second the weights.
  void NameOperands() {
    std::vector<LoopTensor*> operands;
    for (int t = 0; t < problem_.num_tensors; ++t) {
      LoopTensor& tensor = problem_.tensors[static_cast<size_t>(t)];
      if (tensor.role == TensorRole::kInput || tensor.role == TensorRole::kWeight) return;
      if (!tensor.read_write) operands.push_back(&tensor);
    }
    if (operands.size() != 2) return;
    operands[0]->role = TensorRole::kInput;
    operands[1]->role = TensorRole::kWeight;
  }

  const TimeloopProblem& source_;
  LoopProblem problem_ = {};
};

TensorBits BitsOf(const LoopProblem& problem) {
  TensorBits bits;
  for (const LoopTensor& tensor : problem.tensor_view()) {
    if (tensor.role == TensorRole::kWeight) bits.weights = tensor.bits;
    if (tensor.role == TensorRole::kInput) bits.inputs = tensor.bits;
    if (tensor.role != TensorRole::kOutput) continue;
    bits.outputs = tensor.bits;
    bits.partial_sums = tensor.sum_bits;
  }
  return bits;
}

}  // namespace

Result<LoopProblem> ReadLoopShape(const Node& shape, const NamedValues& bounds,
                                  const NamedValues& coefficients) {
  NamedValues sizes = bounds;
  sizes.insert(sizes.end(), coefficients.begin(), coefficients.end());
  const Result<TimeloopProblem> problem = ParseTimeloopShape(shape, sizes);
  if (!problem) return problem.error();
  return Converter(*problem).Run();
}

Result<LoopProblem> ReadLoopProblem(const Node& document) {
  const Result<TimeloopProblem> problem = ParseTimeloopProblem(document);
  if (!problem) return problem.error();
  return Converter(*problem).Run();
}

std::string WriteLoopProblem(const LoopProblem& problem, TimeloopVersion version) {
  const bool v04 = version == TimeloopVersion::k04;
  std::vector<std::string_view> dims;
  for (const LoopDimension& dim : problem.dims()) dims.push_back(dim.name.view());
  std::string text = fmt::format("problem:\n{}  shape:\n    name: {}\n    dimensions: [{}]\n",
                                 v04 ? "  version: 0.4\n" : "", YamlScalar(problem.shape.view()),
                                 fmt::join(dims, ", "));
  std::string coefficients, instance;
  for (const LoopCoefficient& c : problem.coefficient_view()) {
    coefficients += fmt::format("      - {{name: {}, default: 1}}\n", c.name.view());
    instance += fmt::format("    {}: {}\n", c.name.view(), c.value);
  }
  std::string spaces;
  for (const LoopTensor& tensor : problem.tensor_view()) {
    spaces += fmt::format("      - name: {}\n        projection:\n", tensor.name.view());
    for (const TensorRank& rank : tensor.view()) {
      std::vector<std::string> terms;
      for (const RankTerm& term : rank.view()) {
        const std::string_view dim = dims[static_cast<size_t>(term.dimension)];
        terms.push_back(
            term.named < 0
                ? fmt::format("[{}]", dim)
                : fmt::format("[{}, {}]", dim,
                              problem.coefficients[static_cast<size_t>(term.named)].name.view()));
      }
      spaces += fmt::format("          - [{}]\n", fmt::join(terms, ", "));
    }
    if (tensor.read_write) {
      spaces += fmt::format("        {}: true\n", v04 ? "read_write" : "read-write");
    }
  }
  if (!coefficients.empty()) text += "    coefficients:\n" + coefficients;
  text += fmt::format("    {}:\n{}  instance:\n", v04 ? "data_spaces" : "data-spaces", spaces);
  for (const LoopDimension& dim : problem.dims()) {
    text += fmt::format("    {}: {}\n", dim.name.view(), dim.bound);
  }
  text += instance;
  if (const TensorBits bits = BitsOf(problem); bits.known()) {
    text += fmt::format("  bits: {}\n", TensorBitsYaml(bits));
  }
  return text;
}

}  // namespace tessera
