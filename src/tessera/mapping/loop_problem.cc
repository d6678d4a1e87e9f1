// Built-in shapes as a table, layers turned into them, and sanity checks.
#include "tessera/mapping.h"

#include <type_traits>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

static_assert(std::is_trivially_copyable_v<LoopProblem>);

// Far beyond any network, and sums of counts times hops stay within 64 bits.
constexpr int64_t kMaxCount = int64_t{1} << 50;

struct TensorSpec {
  std::string_view name;
  TensorRole role;
  std::string_view ranks;  // "N,C,R*Wdilation+P*Wstride"
};

struct ShapeSpec {
  std::string_view name;
  std::string_view dimensions;    // one letter each
  std::string_view coefficients;  // with commas
  std::array<TensorSpec, 3> tensors;
};

constexpr std::string_view kWindow = "Wstride,Hstride,Wdilation,Hdilation";
constexpr TensorRole kInputRole = TensorRole::kInput;
constexpr TensorRole kWeightRole = TensorRole::kWeight;
constexpr TensorRole kOutputRole = TensorRole::kOutput;

constexpr ShapeSpec kShapes[] = {
    {"conv",
     "RSPQCKN",
     kWindow,
     {{{"Weights", kWeightRole, "C,K,R,S"},
       {"Inputs", kInputRole, "N,C,R*Wdilation+P*Wstride,S*Hdilation+Q*Hstride"},
       {"Outputs", kOutputRole, "N,K,Q,P"}}}},
    {"dwconv",
     "RSPQCN",
     kWindow,
     {{{"Weights", kWeightRole, "C,R,S"},
       {"Inputs", kInputRole, "N,C,R*Wdilation+P*Wstride,S*Hdilation+Q*Hstride"},
       {"Outputs", kOutputRole, "N,C,Q,P"}}}},
    {"gconv",
     "RSPQCKNG",
     kWindow,
     {{{"Weights", kWeightRole, "G,C,K,R,S"},
       {"Inputs", kInputRole, "N,G,C,R*Wdilation+P*Wstride,S*Hdilation+Q*Hstride"},
       {"Outputs", kOutputRole, "N,G,K,Q,P"}}}},
    {"trconv",
     "RSYXCKNG",
     kWindow,
     {{{"Weights", kWeightRole, "G,C,K,R,S"},
       {"Inputs", kInputRole, "N,G,C,X,Y"},
       {"Outputs", kOutputRole, "N,G,K,R*Wdilation+Y*Wstride,S*Hdilation+X*Hstride"}}}},
    {"fc",
     "CKN",
     "",
     {{{"Weights", kWeightRole, "C,K"},
       {"Inputs", kInputRole, "N,C"},
       {"Outputs", kOutputRole, "N,K"}}}},
    {"gemm",
     "MNK",
     "",
     {{{"A", kInputRole, "M,K"}, {"B", kWeightRole, "K,N"}, {"Z", kOutputRole, "M,N"}}}},
    {"bgemm",
     "HMNK",
     "",
     {{{"A", kInputRole, "H,M,K"}, {"B", kWeightRole, "H,K,N"}, {"Z", kOutputRole, "H,M,N"}}}},
};

std::vector<std::string_view> SplitList(std::string_view text, char separator) {
  if (text.empty()) return {};
  return Split(text, separator);
}

std::optional<size_t> FindCoefficient(const LoopProblem& problem, std::string_view name) {
  for (size_t i = 0; i < problem.coefficient_view().size(); ++i) {
    if (problem.coefficients[i].name.view() == name) return i;
  }
  return std::nullopt;
}

// "R*Wdilation+P*Wstride"; names are those of the table, so they exist.
TensorRank MakeRank(const LoopProblem& problem, std::string_view text) {
  TensorRank rank;
  for (const std::string_view term : Split(text, '+')) {
    const std::vector<std::string_view> parts = Split(term, '*');
    RankTerm& added = rank.terms[static_cast<size_t>(rank.num_terms++)];
    added.dimension = FindDimension(problem, parts[0]).value();
    if (parts.size() == 1) continue;
    const size_t named = FindCoefficient(problem, parts[1]).value();
    added.named = static_cast<int32_t>(named);
    added.coefficient = problem.coefficients[named].value;
  }
  return rank;
}

LoopTensor MakeTensor(const LoopProblem& problem, const TensorSpec& spec) {
  LoopTensor tensor{
      .name = spec.name, .role = spec.role, .read_write = spec.role == TensorRole::kOutput};
  for (const std::string_view rank : Split(spec.ranks, ',')) {
    tensor.ranks[static_cast<size_t>(tensor.num_ranks++)] = MakeRank(problem, rank);
  }
  return tensor;
}

Error BadProblem(ErrorKind kind, std::string message, std::string hint = "") {
  return Error{.kind = kind, .message = std::move(message), .hint = std::move(hint)};
}

Error UnknownName(std::string_view what, std::string_view name,
                  const std::vector<std::string_view>& known) {
  return BadProblem(ErrorKind::kUnknownName, fmt::format("unknown {} {}", what, Quoted(name)),
                    DidYouMean(name, known));
}

Result<void> SetCoefficients(LoopProblem& problem, const ShapeSpec& spec,
                             const NamedValues& values) {
  const std::vector<std::string_view> names = SplitList(spec.coefficients, ',');
  for (const std::string_view name : names) {
    problem.coefficients[static_cast<size_t>(problem.num_coefficients++)].name = name;
  }
  for (const auto& [name, value] : values) {
    const std::optional<size_t> index = FindCoefficient(problem, name);
    if (!index) return UnknownName(fmt::format("coefficient of {}", spec.name), name, names);
    problem.coefficients[*index].value = value;
  }
  return {};
}

Result<void> SetBounds(LoopProblem& problem, const NamedValues& values) {
  for (const auto& [name, value] : values) {
    if (const std::optional<int> dim = FindDimension(problem, name)) {
      problem.dimensions[static_cast<size_t>(*dim)].bound = value;
      continue;
    }
    std::vector<std::string_view> names;
    for (const LoopDimension& dim : problem.dims()) names.push_back(dim.name.view());
    return UnknownName(fmt::format("dimension of {}", problem.shape.view()), name, names);
  }
  return {};
}

Result<void> CheckRank(const LoopProblem& problem, const LoopTensor& tensor,
                       const TensorRank& rank) {
  if (rank.num_terms < 1) {
    return BadProblem(ErrorKind::kBadValue,
                      fmt::format("{} has an empty rank", tensor.name.view()));
  }
  for (const RankTerm& term : rank.view()) {
    const std::string_view name =
        problem.dimensions[static_cast<size_t>(term.dimension)].name.view();
    if (term.coefficient < 1 || term.coefficient > kMaxSize) {
      return BadProblem(ErrorKind::kBadValue,
                        fmt::format("{}: the coefficient of {} is {}, but must be in 1..{}",
                                    tensor.name.view(), name, term.coefficient, kMaxSize));
    }
    if (term.named < 0 && term.coefficient != 1) {
      return BadProblem(ErrorKind::kBadValue,
                        fmt::format("{}: the coefficient {} of {} has no name", tensor.name.view(),
                                    term.coefficient, name));
    }
    for (const RankTerm& other : rank.view()) {
      if (&other == &term || other.dimension != term.dimension) continue;
      return BadProblem(ErrorKind::kBadValue,
                        fmt::format("{}: {} occurs twice in one rank", tensor.name.view(), name),
                        "add the two coefficients");
    }
  }
  return {};
}

// Largest coordinate + 1 of a rank; the tensor's size as a box is the product.
Checked RankExtent(const LoopProblem& problem, const TensorRank& rank) {
  Checked extent = 1;
  for (const RankTerm& term : rank.view()) {
    extent = extent + Checked(term.coefficient) *
                          (problem.dimensions[static_cast<size_t>(term.dimension)].bound - 1);
  }
  return extent;
}

Result<void> CheckTensor(const LoopProblem& problem, const LoopTensor& tensor) {
  if (tensor.name.view().empty()) {
    return BadProblem(ErrorKind::kBadValue, "a tensor has no name");
  }
  Checked size = 1;
  for (const TensorRank& rank : tensor.view()) {
    if (Result<void> ok = CheckRank(problem, tensor, rank); !ok) return ok;
    size = size * RankExtent(problem, rank);
  }
  if (size.ok() && size.value() <= kMaxCount) return {};
  return BadProblem(
      ErrorKind::kOverflow,
      fmt::format("the number of elements of {} does not fit in 50 bits", tensor.name.view()),
      "reduce the problem's sizes");
}

template <typename Items>
Result<void> CheckNamesDiffer(std::string_view what, const Items& items) {
  for (size_t i = 0; i < items.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (items[i].name != items[j].name) continue;
      return BadProblem(ErrorKind::kBadValue,
                        fmt::format("two {}s are called {}", what, items[i].name.view()));
    }
  }
  return {};
}

bool Uses(const LoopTensor& tensor, int dim) {
  return std::ranges::any_of(tensor.view(), [&](const TensorRank& rank) {
    return std::ranges::any_of(rank.view(),
                               [&](const RankTerm& term) { return term.dimension == dim; });
  });
}

}  // namespace

Result<void> Validate(const LoopProblem& problem) {
  if (problem.num_dimensions < 1) {
    return BadProblem(ErrorKind::kBadValue, "the problem has no dimension");
  }
  if (Result<void> ok = CheckNamesDiffer("dimension", problem.dims()); !ok) return ok;
  if (Result<void> ok = CheckNamesDiffer("tensor", problem.tensor_view()); !ok) return ok;
  Checked macs = 1;
  for (int d = 0; d < problem.num_dimensions; ++d) {
    const LoopDimension& dim = problem.dimensions[static_cast<size_t>(d)];
    if (dim.bound < 1 || dim.bound > kMaxSize) {
      return BadProblem(ErrorKind::kBadValue, fmt::format("{} is {}, but must be in 1..{}",
                                                          dim.name.view(), dim.bound, kMaxSize));
    }
    macs = macs * dim.bound;
    if (std::ranges::none_of(problem.tensor_view(),
                             [&](const LoopTensor& tensor) { return Uses(tensor, d); })) {
      return BadProblem(ErrorKind::kBadValue,
                        fmt::format("no tensor uses dimension {}", dim.name.view()));
    }
  }
  if (!macs.ok() || macs.value() > kMaxCount) {
    return BadProblem(ErrorKind::kOverflow, "the number of MACs does not fit in 50 bits",
                      "reduce the problem's sizes");
  }
  for (const LoopTensor& tensor : problem.tensor_view()) {
    if (Result<void> ok = CheckTensor(problem, tensor); !ok) return ok;
  }
  if (std::ranges::none_of(problem.tensor_view(), &LoopTensor::read_write)) {
    return BadProblem(ErrorKind::kBadValue, "no tensor is read-write: nothing is computed");
  }
  return {};
}

Result<LoopProblem> MakeLoopProblem(std::string_view shape, const NamedValues& bounds,
                                    const NamedValues& coefficients) {
  const auto spec = std::ranges::find(kShapes, shape, &ShapeSpec::name);
  if (spec == std::end(kShapes)) return UnknownName("shape", shape, LoopShapeNames());
  LoopProblem problem{.shape = shape};
  for (size_t i = 0; i < spec->dimensions.size(); ++i) {
    problem.dimensions[i].name = spec->dimensions.substr(i, 1);
  }
  problem.num_dimensions = static_cast<int32_t>(spec->dimensions.size());
  if (Result<void> ok = SetBounds(problem, bounds); !ok) return ok.error();
  if (Result<void> ok = SetCoefficients(problem, *spec, coefficients); !ok) return ok.error();
  for (const TensorSpec& tensor : spec->tensors) {
    problem.tensors[static_cast<size_t>(problem.num_tensors++)] = MakeTensor(problem, tensor);
  }
  if (Result<void> ok = Validate(problem); !ok) return ok.error();
  return problem;
}

namespace {

Result<LoopProblem> ProblemOf(const Layer& l) {
  if (l.type == LayerType::kFullyConnected) {
    return MakeLoopProblem("fc", {{"C", l.c}, {"K", l.k}, {"N", l.n}});
  }
  if (l.type == LayerType::kMatmul) {
    NamedValues bounds = {{"M", l.m}, {"N", l.n}, {"K", l.k}};
    if (l.h == 1) return MakeLoopProblem("gemm", bounds);
    bounds.emplace_back("H", l.h);
    return MakeLoopProblem("bgemm", bounds);
  }
  const NamedValues coefficients = {{"Wstride", l.stride.y},
                                    {"Hstride", l.stride.x},
                                    {"Wdilation", l.dilation.y},
                                    {"Hdilation", l.dilation.x}};
  NamedValues bounds = {{"R", l.r}, {"S", l.s}, {"C", l.c / l.groups}, {"N", l.n}};
  if (l.type == LayerType::kTransposedConv) {
    const NamedValues more = {{"Y", l.y}, {"X", l.x}, {"K", l.k / l.groups}, {"G", l.groups}};
    bounds.insert(bounds.end(), more.begin(), more.end());
    return MakeLoopProblem("trconv", bounds, coefficients);
  }
  const Pair output = OutputSize(l);
  bounds.emplace_back("P", output.y);
  bounds.emplace_back("Q", output.x);
  if (IsDepthwise(l) && l.k == l.c) {
    bounds[2].second = l.c;
    return MakeLoopProblem("dwconv", bounds, coefficients);
  }
  bounds.emplace_back("K", l.k / l.groups);
  if (l.groups == 1) return MakeLoopProblem("conv", bounds, coefficients);
  bounds.emplace_back("G", l.groups);
  return MakeLoopProblem("gconv", bounds, coefficients);
}

}  // namespace

Result<LoopProblem> MakeLoopProblem(const Layer& layer) {
  Result<LoopProblem> problem = ProblemOf(layer);
  if (problem) SetBits(layer.bits, *problem);
  return problem;
}

void SetBits(const TensorBits& bits, LoopProblem& problem) {
  for (LoopTensor& tensor : problem.tensors) {
    int32_t width = 0;
    switch (tensor.role) {
      case TensorRole::kWeight: width = bits.weights; break;
      case TensorRole::kInput: width = bits.inputs; break;
      case TensorRole::kOutput: width = bits.outputs; break;
      case TensorRole::kOther: break;
    }
    if (width != 0) tensor.bits = width;
    if (tensor.role == TensorRole::kOutput && bits.partial_sums != 0) {
      tensor.sum_bits = bits.partial_sums;
    }
  }
}

std::vector<std::string_view> LoopShapeNames() {
  std::vector<std::string_view> names;
  for (const ShapeSpec& shape : kShapes) names.push_back(shape.name);
  return names;
}

std::optional<int> FindDimension(const LoopProblem& problem, std::string_view name) {
  for (int i = 0; i < problem.num_dimensions; ++i) {
    if (problem.dimensions[static_cast<size_t>(i)].name.view() == name) return i;
  }
  return std::nullopt;
}

std::optional<int> FindTensor(const LoopProblem& problem, std::string_view name) {
  for (int i = 0; i < problem.num_tensors; ++i) {
    if (problem.tensors[static_cast<size_t>(i)].name.view() == name) return i;
  }
  return std::nullopt;
}

std::optional<int> FindTensorOrRole(const LoopProblem& problem, std::string_view name) {
  if (const std::optional<int> index = FindTensor(problem, name)) return index;
  const TensorRole role = name == "Inputs"    ? TensorRole::kInput
                          : name == "Weights" ? TensorRole::kWeight
                          : name == "Outputs" ? TensorRole::kOutput
                                              : TensorRole::kOther;
  if (role == TensorRole::kOther) return std::nullopt;
  for (int i = 0; i < problem.num_tensors; ++i) {
    if (problem.tensors[static_cast<size_t>(i)].role == role) return i;
  }
  return std::nullopt;
}

int64_t Macs(const LoopProblem& problem) {
  int64_t macs = 1;
  for (const LoopDimension& dim : problem.dims()) macs *= dim.bound;
  return macs;
}

std::string ToString(const LoopProblem& problem) {
  std::string text(problem.shape.view());
  for (const LoopDimension& dim : problem.dims()) {
    text += fmt::format(" {}{}", dim.name.view(), dim.bound);
  }
  for (const LoopCoefficient& coefficient : problem.coefficient_view()) {
    if (coefficient.value == 1) continue;
    text += fmt::format(" {} {}", coefficient.name.view(), coefficient.value);
  }
  for (const LoopTensor& tensor : problem.tensor_view()) {
    if (tensor.bits != 0) text += fmt::format(" {} {} bits", tensor.name.view(), tensor.bits);
    if (tensor.sum_bits != 0) text += fmt::format(" sums {} bits", tensor.sum_bits);
  }
  return text;
}

}  // namespace tessera
