// Reading of problems; Timeloop's named shapes are texts that go through the same parser.
#include "tessera/workload/timeloop_problem.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "tessera/base/tensor_bits.h"
#include "tessera/base/text.h"
#include "tessera/network.h"

namespace tessera {
namespace {

struct NamedShape {
  std::string_view name;  // with dashes
  std::string_view text;
};

constexpr std::string_view kConvolution = R"(
dimensions: [R, S, P, Q, C, K, N]
coefficients: [{name: Wstride, default: 1}, {name: Hstride, default: 1},
               {name: Wdilation, default: 1}, {name: Hdilation, default: 1}]
data_spaces:
- {name: Weights, projection: "C, K, R, S"}
- {name: Inputs, projection: "N, C, R*Wdilation + P*Wstride, S*Hdilation + Q*Hstride"}
- {name: Outputs, projection: "N, K, Q, P", read_write: true}
)";

constexpr std::string_view kDepthwise = R"(
dimensions: [R, S, P, Q, C, N]
coefficients: [{name: Wstride, default: 1}, {name: Hstride, default: 1},
               {name: Wdilation, default: 1}, {name: Hdilation, default: 1}]
data_spaces:
- {name: Weights, projection: "C, R, S"}
- {name: Inputs, projection: "N, C, R*Wdilation + P*Wstride, S*Hdilation + Q*Hstride"}
- {name: Outputs, projection: "N, C, Q, P", read_write: true}
)";

constexpr std::string_view kProduct = R"(
dimensions: [M, N, K]
data_spaces:
- {name: A, projection: "M, K"}
- {name: B, projection: "K, N"}
- {name: Z, projection: "M, N", read_write: true}
)";

constexpr std::string_view kBatchedProduct = R"(
dimensions: [H, M, N, K]
data_spaces:
- {name: A, projection: "H, M, K"}
- {name: B, projection: "H, K, N"}
- {name: Z, projection: "H, M, N", read_write: true}
)";

constexpr std::array<NamedShape, 6> kNamedShapes = {{{"cnn-layer", kConvolution},
                                                     {"conv", kConvolution},
                                                     {"dw-cnn-layer", kDepthwise},
                                                     {"dwconv", kDepthwise},
                                                     {"gemm", kProduct},
                                                     {"bgemm", kBatchedProduct}}};

// Far more than any layer has; keeps every look-up cheap.
constexpr size_t kMaxListed = 64;

std::string WithDashes(std::string_view text) {
  std::string dashed(text);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  return dashed;
}

// A key that is written with dashes before version 0.4 and with underscores since.
const Node* FindEither(MapReader& map, const std::string& dashed) {
  const Node* node = map.Find(dashed);
  std::string underscored = dashed;
  std::replace(underscored.begin(), underscored.end(), '-', '_');
  const Node* other = underscored == dashed ? nullptr : map.Find(underscored);
  return node != nullptr ? node : other;
}

using Names = std::unordered_map<std::string, size_t>;

class Parser {
 public:
  explicit Parser(const Node& problem) : node_(problem) { problem_.where = problem.where(); }

  Result<TimeloopProblem> Parse() {
    MapReader map(node_, "problem");
    if (Result<void> ok = map.Check(); !ok) return ok.error();
    if (Result<void> ok = CheckVersion(map.Find("version")); !ok) return ok.error();
    const Node* shape = map.Find("shape");
    const Node* instance = map.Find("instance");
    if (const Node* const bits = map.Find("bits")) {
      const Result<TensorBits> read = ReadTensorBits(*bits);
      if (!read) return read.error();
      problem_.bits = *read;
    }
    if (Result<void> ok = ReadShapeOrName(shape); !ok) return ok.error();
    if (instance != nullptr) {
      MapReader sizes(*instance, "problem instance");
      if (Result<void> ok = sizes.Check(); !ok) return ok.error();
      if (Result<void> ok = ReadSizes(sizes, *instance); !ok) return ok.error();
      if (Result<void> ok = sizes.Finish(); !ok) return ok.error();
    } else if (Result<void> ok = ReadSizes(map, node_); !ok) {
      return ok.error();
    }
    map.Find("name");
    if (Result<void> ok = map.Finish(); !ok) return ok.error();
    return Finish();
  }

  // The node is a shape.
  Result<TimeloopProblem> ParseShape(const std::vector<std::pair<std::string, int64_t>>& sizes) {
    if (Result<void> ok = ReadShape(node_); !ok) return ok.error();
    for (const auto& [name, size] : sizes) {
      const auto dimension = dimensions_.find(name), coefficient = coefficients_.find(name);
      if (dimension == dimensions_.end() && coefficient == coefficients_.end()) {
        return node_.ErrorHere(
            ErrorKind::kUnknownName,
            fmt::format("the shape has no dimension or coefficient {}", Quoted(name)));
      }
      if (size < 1 || size > kMaxSize) {
        return node_.ErrorHere(ErrorKind::kBadValue,
                               fmt::format("{} is {}, but must be in 1..{}", name, size, kMaxSize));
      }
      if (dimension != dimensions_.end()) {
        problem_.dimensions[dimension->second].size = size;
      } else {
        coefficient_values_[coefficient->second] = size;
      }
    }
    for (std::optional<int64_t>& value : coefficient_values_) value = value.value_or(1);
    return Finish();
  }

 private:
  // All sizes are known.
  Result<TimeloopProblem> Finish() {
    for (size_t i = 0; i < coefficient_names_.size(); ++i) {
      problem_.coefficients.push_back({coefficient_names_[i], *coefficient_values_[i]});
    }
    for (const Node* projections : projections_) {
      if (Result<void> ok = ReadProjection(*projections); !ok) return ok.error();
    }
    return std::move(problem_);
  }

  static Result<void> CheckVersion(const Node* node) {
    static constexpr std::array<std::string_view, 4> kKnown = {"0.1", "0.2", "0.3", "0.4"};
    if (node == nullptr) return {};
    const Result<std::string> version = node->AsString();
    if (!version) return version.error();
    if (std::find(kKnown.begin(), kKnown.end(), *version) != kKnown.end()) return {};
    return node->ErrorHere(ErrorKind::kUnsupported,
                           fmt::format("unknown version {}", Quoted(*version)),
                           "versions 0.1 to 0.4 are read");
  }

  // A shape by name is read from its text. Its node lives as long as the parser.
  Result<void> ReadShapeOrName(const Node* node) {
    std::string name = "cnn-layer";
    if (node != nullptr) {
      if (node->kind != Node::Kind::kScalar) return ReadShape(*node);
      name = WithDashes(node->scalar);
    }
    std::vector<std::string_view> names;
    for (const NamedShape& shape : kNamedShapes) {
      names.push_back(shape.name);
      if (shape.name != name) continue;
      Result<Node> parsed = ParseDocument(shape.text, name);
      if (!parsed) return parsed.error();
      named_shape_ = std::move(*parsed);
      problem_.shape = name;
      return ReadShape(*named_shape_);
    }
    return node->ErrorHere(ErrorKind::kUnknownName, fmt::format("unknown shape {}", Quoted(name)),
                           DidYouMean(name, names));
  }

  Result<void> ReadShape(const Node& node) {
    MapReader map(node, "shape");
    if (Result<void> ok = map.Check(); !ok) return ok;
    map.Find("version");
    if (const Node* name = map.Find("name")) {
      const Result<std::string> text = name->AsString();
      if (!text) return text.error();
      problem_.shape = *text;
    }
    const Result<const Node*> dimensions = map.Require("dimensions");
    if (!dimensions) return dimensions.error();
    if (Result<void> ok = ReadDimensions(**dimensions); !ok) return ok;
    if (const Node* coefficients = map.Find("coefficients")) {
      if (Result<void> ok = ReadCoefficients(*coefficients); !ok) return ok;
    }
    const Node* tensors = FindEither(map, "data-spaces");
    if (tensors == nullptr) {
      return node.ErrorHere(ErrorKind::kBadValue, "shape without 'data_spaces'");
    }
    if (Result<void> ok = ReadTensors(*tensors); !ok) return ok;
    return map.Finish();
  }

  static Result<void> CheckList(const Node& node, std::string_view what) {
    if (node.kind != Node::Kind::kSequence || node.items.empty()) {
      return node.ErrorHere(ErrorKind::kBadValue, fmt::format("expected a list of {}", what));
    }
    if (node.items.size() > kMaxListed) {
      return node.ErrorHere(
          ErrorKind::kUnsupported,
          fmt::format("{} {}: more than {}", node.items.size(), what, kMaxListed));
    }
    return {};
  }

  // Adds a name that nothing else may have.
  Result<std::string> ReadNewName(const Node& node, Names& names, size_t index) {
    const Result<std::string> name = node.AsString();
    if (!name) return name.error();
    const bool taken = dimensions_.contains(*name) || coefficients_.contains(*name);
    if (name->empty() || taken || !names.emplace(*name, index).second) {
      return node.ErrorHere(
          ErrorKind::kBadValue,
          fmt::format("{} is {}", Quoted(*name), name->empty() ? "no name" : "defined already"));
    }
    return name;
  }

  Result<void> ReadDimensions(const Node& node) {
    if (Result<void> ok = CheckList(node, "dimensions"); !ok) return ok;
    for (const Node& item : node.items) {
      const Result<std::string> name = ReadNewName(item, dimensions_, problem_.dimensions.size());
      if (!name) return name.error();
      problem_.dimensions.push_back({.name = *name});
    }
    return {};
  }

  Result<void> ReadCoefficients(const Node& node) {
    if (node.kind == Node::Kind::kSequence && node.items.empty()) return {};
    if (Result<void> ok = CheckList(node, "coefficients"); !ok) return ok;
    for (const Node& item : node.items) {
      MapReader map(item, "coefficient");
      if (Result<void> ok = map.Check(); !ok) return ok;
      const Result<const Node*> name_node = map.Require("name");
      if (!name_node) return name_node.error();
      const Result<std::string> name =
          ReadNewName(**name_node, coefficients_, coefficient_values_.size());
      if (!name) return name.error();
      std::optional<int64_t> value;
      if (const Node* node_default = map.Find("default")) {
        const Result<int64_t> number = node_default->AsInt(1, kMaxSize);
        if (!number) return number.error();
        value = *number;
      }
      coefficient_values_.push_back(value);
      coefficient_names_.push_back(*name);
      if (Result<void> ok = map.Finish(); !ok) return ok;
    }
    return {};
  }

  // Projections wait until the coefficients have their values.
  Result<void> ReadTensors(const Node& node) {
    if (Result<void> ok = CheckList(node, "data spaces"); !ok) return ok;
    for (const Node& item : node.items) {
      MapReader map(item, "data space");
      if (Result<void> ok = map.Check(); !ok) return ok;
      TimeloopProblem::Tensor tensor;
      const Result<const Node*> name = map.Require("name");
      if (!name) return name.error();
      const Result<std::string> text = (*name)->AsString();
      if (!text) return text.error();
      tensor.name = *text;
      if (const Node* read_write = FindEither(map, "read-write")) {
        const Result<bool> flag = read_write->AsBool();
        if (!flag) return flag.error();
        tensor.read_write = *flag;
      }
      const Result<const Node*> projection = map.Require("projection");
      if (!projection) return projection.error();
      if (Result<void> ok = map.Finish(); !ok) return ok;
      problem_.tensors.push_back(std::move(tensor));
      projections_.push_back(*projection);
    }
    return {};
  }

  Result<void> ReadSizes(MapReader& map, const Node& node) {
    // An empty map says that everything is dense, as files of version 0.4 do.
    const Node* densities = map.Find("densities");
    if (densities != nullptr && !densities->entries.empty()) {
      return densities->ErrorHere(ErrorKind::kUnsupported,
                                  "densities: sparse problems are not modelled", "leave them out");
    }
    for (TimeloopProblem::Dimension& dimension : problem_.dimensions) {
      const Node* size = map.Find(dimension.name);
      if (size == nullptr) {
        return node.ErrorHere(ErrorKind::kBadValue,
                              fmt::format("no size for dimension {}", Quoted(dimension.name)));
      }
      const Result<int64_t> value = size->AsInt(1, kMaxSize);
      if (!value) return value.error();
      dimension.size = *value;
    }
    for (size_t i = 0; i < coefficient_names_.size(); ++i) {
      if (const Node* coefficient = map.Find(coefficient_names_[i])) {
        const Result<int64_t> value = coefficient->AsInt(1, kMaxSize);
        if (!value) return value.error();
        coefficient_values_[i] = *value;
      } else if (!coefficient_values_[i]) {
        return node.ErrorHere(ErrorKind::kBadValue, fmt::format("no value for coefficient {}",
                                                                Quoted(coefficient_names_[i])));
      }
    }
    // Converters of networks leave these; Timeloop does not read them.
    for (const std::string_view key : {"H", "W", "Hpad", "Wpad"}) {
      if (node.Find(key) != nullptr) map.Find(key);
    }
    return {};
  }

  Result<void> ReadProjection(const Node& node) {
    TimeloopProblem::Tensor& tensor = problem_.tensors[tensors_read_++];
    if (node.kind == Node::Kind::kScalar) return ReadTextProjection(node, tensor);
    if (Result<void> ok = CheckList(node, "ranks"); !ok) return ok;
    for (const Node& rank : node.items) {
      tensor.ranks.emplace_back();
      if (rank.kind == Node::Kind::kScalar) {
        if (Result<void> ok = ReadSum(rank, rank.scalar, tensor.ranks.back()); !ok) return ok;
        continue;
      }
      if (Result<void> ok = CheckList(rank, "terms"); !ok) return ok;
      for (const Node& term : rank.items) {
        if (Result<void> ok = ReadTerm(term, tensor.ranks.back()); !ok) return ok;
      }
    }
    return {};
  }

  // "[N, C, R*Wdilation + P*Wstride]", brackets optional.
  Result<void> ReadTextProjection(const Node& node, TimeloopProblem::Tensor& tensor) {
    std::string_view text = Trim(node.scalar);
    if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
    const std::vector<std::string_view> ranks = Split(text, ',');
    if (ranks.size() > kMaxListed) {
      return node.ErrorHere(ErrorKind::kUnsupported,
                            fmt::format("{} ranks: more than {}", ranks.size(), kMaxListed));
    }
    for (const std::string_view rank : ranks) {
      tensor.ranks.emplace_back();
      if (Result<void> ok = ReadSum(node, rank, tensor.ranks.back()); !ok) return ok;
    }
    return {};
  }

  Result<void> ReadSum(const Node& node, std::string_view text,
                       std::vector<TimeloopProblem::Term>& terms) {
    for (const std::string_view summand : Split(text, '+')) {
      const std::vector<std::string_view> factors = Split(summand, '*');
      if (factors.size() > 2) {
        return node.ErrorHere(ErrorKind::kSyntax, fmt::format("expected DIMENSION*COEFFICIENT, "
                                                              "found {}",
                                                              Quoted(Trim(summand))));
      }
      std::string_view first = Trim(factors.front());
      std::string_view second = factors.size() == 2 ? Trim(factors.back()) : std::string_view();
      if (!dimensions_.contains(std::string(first)) && factors.size() == 2) {
        std::swap(first, second);  // 2*P
      }
      if (Result<void> ok = AddTerm(node, first, second, factors.size() == 2, terms); !ok) {
        return ok;
      }
    }
    return {};
  }

  // [P], [P, Wstride] or P.
  Result<void> ReadTerm(const Node& node, std::vector<TimeloopProblem::Term>& terms) {
    if (node.kind == Node::Kind::kScalar) return ReadSum(node, node.scalar, terms);
    const bool fits =
        node.kind == Node::Kind::kSequence && (node.items.size() == 1 || node.items.size() == 2) &&
        std::all_of(node.items.begin(), node.items.end(),
                    [](const Node& item) { return item.kind == Node::Kind::kScalar; });
    if (!fits) {
      return node.ErrorHere(ErrorKind::kBadValue,
                            "expected a term [DIMENSION] or [DIMENSION, COEFFICIENT]");
    }
    const bool scaled = node.items.size() == 2;
    return AddTerm(node, node.items[0].scalar, scaled ? node.items[1].scalar : "", scaled, terms);
  }

  Result<void> AddTerm(const Node& node, std::string_view dimension, std::string_view coefficient,
                       bool scaled, std::vector<TimeloopProblem::Term>& terms) {
    TimeloopProblem::Term term;
    const auto found = dimensions_.find(std::string(dimension));
    if (found == dimensions_.end()) {
      std::vector<std::string_view> names;
      for (const auto& known : problem_.dimensions) names.push_back(known.name);
      return node.ErrorHere(ErrorKind::kUnknownName,
                            fmt::format("unknown dimension {}", Quoted(dimension)),
                            DidYouMean(dimension, names));
    }
    term.dimension = found->second;
    if (scaled) {
      const auto named = coefficients_.find(std::string(coefficient));
      if (named != coefficients_.end()) term.named = named->second;
      const Result<int64_t> value = CoefficientValue(node, coefficient);
      if (!value) return value.error();
      term.coefficient = *value;
    }
    terms.push_back(term);
    return {};
  }

  Result<int64_t> CoefficientValue(const Node& node, std::string_view text) const {
    const auto named = coefficients_.find(std::string(text));
    if (named != coefficients_.end()) return *coefficient_values_[named->second];
    const Result<int64_t> number = ParseInt(text);
    if (!number) {
      return node.ErrorHere(ErrorKind::kUnknownName,
                            fmt::format("unknown coefficient {}", Quoted(text)),
                            DidYouMean(text, coefficient_names_));
    }
    if (*number < 1 || *number > kMaxSize) {
      return node.ErrorHere(
          ErrorKind::kBadValue,
          fmt::format("a coefficient is {}, but must be in 1..{}", *number, kMaxSize));
    }
    return number;
  }

  const Node& node_;
  std::optional<Node> named_shape_;
  TimeloopProblem problem_;
  Names dimensions_, coefficients_;  // to their indices
  std::vector<std::string> coefficient_names_;
  std::vector<std::optional<int64_t>> coefficient_values_;
  std::vector<const Node*> projections_;  // one per tensor
  size_t tensors_read_ = 0;
};

}  // namespace

Result<TimeloopProblem> ParseTimeloopProblem(const Node& document) {
  const Node* problem = document.Find("problem");
  if (problem == nullptr) {
    return document.ErrorHere(ErrorKind::kBadValue, "the file has no key 'problem'",
                              "a Timeloop problem starts with 'problem:'");
  }
  return Parser(*problem).Parse();
}

Result<TimeloopProblem> ParseTimeloopShape(
    const Node& shape, const std::vector<std::pair<std::string, int64_t>>& sizes) {
  return Parser(shape).ParseShape(sizes);
}

}  // namespace tessera
