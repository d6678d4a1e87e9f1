// Timeloop's problem files as loop problems, and back.
#include "tessera/mapping/loop_shape.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/base/text.h"

namespace tessera {
namespace {

// The first of several spellings that a map has.
const Node* FindAny(MapReader& reader, std::initializer_list<std::string_view> spellings) {
  const Node* found = nullptr;
  for (const std::string_view spelling : spellings) {
    const Node* node = reader.Find(spelling);
    if (found == nullptr) found = node;
  }
  return found;
}

Result<ShortName> ReadName(const Node& node, std::string_view what) {
  const Result<std::string> text = node.AsString();
  if (!text) return text.error();
  if (text->empty() || text->size() > ShortName::kMaxSize) {
    return node.ErrorHere(ErrorKind::kBadValue,
                          fmt::format("the name {} of a {} must have 1 to {} characters",
                                      Quoted(*text), what, ShortName::kMaxSize));
  }
  return ShortName(*text);
}

Error TooMany(const Node& node, std::string_view what, size_t most) {
  return node.ErrorHere(ErrorKind::kUnsupported, fmt::format("{} {}, but at most {} are supported",
                                                             node.items.size(), what, most));
}

Result<void> CheckList(const Node& node, std::string_view what, size_t most) {
  if (node.kind != Node::Kind::kSequence) {
    return node.ErrorHere(ErrorKind::kBadValue, fmt::format("{} must be a list", what));
  }
  if (node.items.size() > most) return TooMany(node, what, most);
  return {};
}

Result<void> ReadDimensions(const Node& node, LoopProblem& problem) {
  if (Result<void> ok = CheckList(node, "dimensions", LoopProblem::kMaxDimensions); !ok) return ok;
  for (const Node& item : node.items) {
    const Result<ShortName> name = ReadName(item, "dimension");
    if (!name) return name.error();
    problem.dimensions[static_cast<size_t>(problem.num_dimensions++)].name = *name;
  }
  return {};
}

Result<void> ReadCoefficients(const Node& node, LoopProblem& problem) {
  if (Result<void> ok = CheckList(node, "coefficients", LoopProblem::kMaxCoefficients); !ok) {
    return ok;
  }
  for (const Node& item : node.items) {
    MapReader reader(item, "coefficient");
    if (Result<void> ok = reader.Check(); !ok) return ok;
    LoopCoefficient& added = problem.coefficients[static_cast<size_t>(problem.num_coefficients++)];
    const Result<const Node*> name = reader.Require("name");
    if (!name) return name.error();
    const Result<ShortName> read = ReadName(**name, "coefficient");
    if (!read) return read.error();
    added.name = *read;
    if (const Node* value = reader.Find("default")) {
      const Result<int64_t> number = value->AsInt();
      if (!number) return number.error();
      added.value = *number;
    }
    if (Result<void> ok = reader.Finish(); !ok) return ok;
  }
  return {};
}

// [P] or [P, stride]; the two may come in either order.
Result<RankTerm> ReadTerm(const Node& node, const LoopProblem& problem) {
  RankTerm term{.dimension = -1};
  if (Result<void> ok = CheckList(node, "a term of a projection", 2); !ok) return ok.error();
  for (const Node& item : node.items) {
    const Result<std::string> name = item.AsString();
    if (!name) return name.error();
    bool known = false;
    if (const std::optional<int> dim = FindDimension(problem, *name); dim && term.dimension < 0) {
      term.dimension = *dim;
      known = true;
    }
    for (int32_t i = 0; i < problem.num_coefficients && !known; ++i) {
      const LoopCoefficient& coefficient = problem.coefficients[static_cast<size_t>(i)];
      if (coefficient.name.view() != *name || term.named >= 0) continue;
      term.named = i;
      term.coefficient = coefficient.value;
      known = true;
    }
    if (known) continue;
    std::vector<std::string_view> candidates;
    for (const LoopDimension& dim : problem.dims()) candidates.push_back(dim.name.view());
    for (const LoopCoefficient& c : problem.coefficient_view()) candidates.push_back(c.name.view());
    return item.ErrorHere(ErrorKind::kUnknownName,
                          fmt::format("{} is neither a dimension nor a coefficient", Quoted(*name)),
                          DidYouMean(*name, candidates));
  }
  if (term.dimension >= 0) return term;
  return node.ErrorHere(ErrorKind::kBadValue, "a term of a projection names no dimension");
}

Result<TensorRank> ReadRank(const Node& node, const LoopProblem& problem) {
  TensorRank rank;
  if (Result<void> ok = CheckList(node, "terms of a rank", TensorRank::kMaxTerms); !ok) {
    return ok.error();
  }
  for (const Node& item : node.items) {
    const Result<RankTerm> term = ReadTerm(item, problem);
    if (!term) return term.error();
    rank.terms[static_cast<size_t>(rank.num_terms++)] = *term;
  }
  return rank;
}

TensorRole RoleOf(const LoopTensor& tensor) {
  if (tensor.read_write) return TensorRole::kOutput;
  if (tensor.name.view() == "Weights") return TensorRole::kWeight;
  return tensor.name.view() == "Inputs" ? TensorRole::kInput : TensorRole::kOther;
}

Result<LoopTensor> ReadTensor(const Node& node, const LoopProblem& problem) {
  LoopTensor tensor;
  MapReader reader(node, "data space");
  if (Result<void> ok = reader.Check(); !ok) return ok.error();
  const Result<const Node*> name = reader.Require("name");
  if (!name) return name.error();
  const Result<ShortName> read = ReadName(**name, "data space");
  if (!read) return read.error();
  tensor.name = *read;
  const Result<const Node*> projection = reader.Require("projection");
  if (!projection) return projection.error();
  if (Result<void> ok = CheckList(**projection, "ranks of a projection", LoopTensor::kMaxRanks);
      !ok) {
    return ok.error();
  }
  for (const Node& item : (*projection)->items) {
    const Result<TensorRank> rank = ReadRank(item, problem);
    if (!rank) return rank.error();
    tensor.ranks[static_cast<size_t>(tensor.num_ranks++)] = *rank;
  }
  if (const Node* flag = FindAny(reader, {"read-write", "read_write"})) {
    const Result<bool> value = flag->AsBool();
    if (!value) return value.error();
    tensor.read_write = *value;
  }
  if (Result<void> ok = reader.Finish(); !ok) return ok.error();
  tensor.role = RoleOf(tensor);
  return tensor;
}

Result<void> SetCoefficientValues(LoopProblem& problem, const NamedValues& values,
                                  const Node& place) {
  for (const auto& [name, value] : values) {
    bool known = false;
    for (size_t i = 0; i < problem.coefficient_view().size(); ++i) {
      if (problem.coefficients[i].name.view() != name) continue;
      problem.coefficients[i].value = value;
      known = true;
    }
    if (!known) {
      return place.ErrorHere(ErrorKind::kUnknownName,
                             fmt::format("unknown coefficient {}", Quoted(name)));
    }
  }
  return {};
}

Result<void> SetBoundValues(LoopProblem& problem, const NamedValues& values, const Node& place) {
  for (const auto& [name, value] : values) {
    const std::optional<int> dim = FindDimension(problem, name);
    if (!dim) {
      return place.ErrorHere(ErrorKind::kUnknownName,
                             fmt::format("unknown dimension {}", Quoted(name)));
    }
    problem.dimensions[static_cast<size_t>(*dim)].bound = value;
  }
  return {};
}

Result<NamedValues> ReadInstance(const Node& node) {
  NamedValues values;
  for (const Node::Entry& entry : node.entries) {
    if (entry.key == "densities" || entry.key == "data_densities" ||
        entry.key == "data-densities") {
      return entry.value.ErrorHere(ErrorKind::kUnsupported, "sparse data is not modelled",
                                   "remove the densities to map the dense problem");
    }
    const Result<int64_t> value = entry.value.AsInt();
    if (!value) return value.error();
    values.emplace_back(entry.key, *value);
  }
  return values;
}

}  // namespace

Result<LoopProblem> ReadLoopShape(const Node& shape, const NamedValues& bounds,
                                  const NamedValues& coefficients) {
  LoopProblem problem{.shape = "shape"};
  MapReader reader(shape, "shape");
  if (Result<void> ok = reader.Check(); !ok) return ok.error();
  if (const Node* name = reader.Find("name")) {
    const Result<ShortName> read = ReadName(*name, "shape");
    if (!read) return read.error();
    problem.shape = *read;
  }
  const Result<const Node*> dimensions = reader.Require("dimensions");
  if (!dimensions) return dimensions.error();
  if (Result<void> ok = ReadDimensions(**dimensions, problem); !ok) return ok.error();
  if (Result<void> ok = SetBoundValues(problem, bounds, shape); !ok) return ok.error();
  if (const Node* list = reader.Find("coefficients")) {
    if (Result<void> ok = ReadCoefficients(*list, problem); !ok) return ok.error();
  }
  if (Result<void> ok = SetCoefficientValues(problem, coefficients, shape); !ok) return ok.error();
  const Node* spaces = FindAny(reader, {"data-spaces", "data_spaces"});
  if (spaces == nullptr) {
    return shape.ErrorHere(ErrorKind::kBadValue, "shape without 'data-spaces'");
  }
  if (Result<void> ok = CheckList(*spaces, "data spaces", LoopProblem::kMaxTensors); !ok) {
    return ok.error();
  }
  for (const Node& space : spaces->items) {
    const Result<LoopTensor> tensor = ReadTensor(space, problem);
    if (!tensor) return tensor.error();
    problem.tensors[static_cast<size_t>(problem.num_tensors++)] = *tensor;
  }
  if (Result<void> ok = reader.Finish(); !ok) return ok.error();
  if (Result<void> ok = Validate(problem); !ok) {
    return shape.ErrorHere(ok.error().kind, ok.error().message, ok.error().hint);
  }
  return problem;
}

Result<LoopProblem> ReadLoopProblem(const Node& node) {
  MapReader reader(node, "problem");
  if (Result<void> ok = reader.Check(); !ok) return ok.error();
  const Result<const Node*> shape = reader.Require("shape");
  if (!shape) return shape.error();
  reader.Find("version");
  const Result<const Node*> instance = reader.Require("instance");
  if (!instance) return instance.error();
  if (Result<void> ok = reader.Finish(); !ok) return ok.error();
  const Result<NamedValues> values = ReadInstance(**instance);
  if (!values) return values.error();
  // Bounds and coefficients stand side by side: the shape's own names tell them apart.
  NamedValues bounds, coefficients;
  const bool own_shape = (*shape)->kind == Node::Kind::kMap;
  const Node* names = own_shape ? (*shape)->Find("dimensions") : nullptr;
  for (const auto& value : *values) {
    bool is_bound = !own_shape && value.first.size() == 1;
    for (size_t i = 0; names != nullptr && i < names->items.size(); ++i) {
      is_bound = is_bound || names->items[i].scalar == value.first;
    }
    (is_bound ? bounds : coefficients).push_back(value);
  }
  if (own_shape) return ReadLoopShape(**shape, bounds, coefficients);
  const Result<std::string> name = (*shape)->AsString();
  if (!name) return name.error();
  const bool cnn = *name == "cnn-layer" || *name == "cnn_layer" || *name == "CNN_Layer";
  Result<LoopProblem> problem = MakeLoopProblem(cnn ? "conv" : *name, bounds, coefficients);
  if (problem) return problem;
  return node.ErrorHere(problem.error().kind, problem.error().message, problem.error().hint);
}

std::string WriteLoopProblem(const LoopProblem& problem) {
  std::vector<std::string_view> dims;
  for (const LoopDimension& dim : problem.dims()) dims.push_back(dim.name.view());
  std::string text = fmt::format("problem:\n  shape:\n    name: {}\n    dimensions: [{}]\n",
                                 problem.shape.view(), fmt::join(dims, ", "));
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
    if (tensor.read_write) spaces += "        read-write: true\n";
  }
  if (!coefficients.empty()) text += "    coefficients:\n" + coefficients;
  text += "    data-spaces:\n" + spaces + "  instance:\n";
  for (const LoopDimension& dim : problem.dims()) {
    text += fmt::format("    {}: {}\n", dim.name.view(), dim.bound);
  }
  return text + instance;
}

}  // namespace tessera
