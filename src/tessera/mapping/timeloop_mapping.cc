// Reading and writing of Timeloop's mapping directives.
#include "tessera/mapping/timeloop_mapping.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/base/text.h"

namespace tessera {
namespace {

using Factors = std::array<int32_t, LoopProblem::kMaxDimensions>;
using Order = std::array<uint8_t, LoopProblem::kMaxDimensions>;

constexpr int64_t kMaxFactor = (int64_t{1} << 31) - 1;
constexpr std::array<std::string_view, 5> kTypes = {"temporal", "spatial", "datatype", "bypass",
                                                    "dataspace"};

bool IsSeparator(char c) { return c == ' ' || c == ',' || c == '\t' || c == '\n' || c == ';'; }

// Words between blanks and commas.
std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text) {
    if (!IsSeparator(c)) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

std::vector<std::string_view> DimensionNames(const LoopProblem& problem) {
  std::vector<std::string_view> names;
  for (const LoopDimension& dim : problem.dims()) names.push_back(dim.name.view());
  return names;
}

class Reader {
 public:
  Reader(const LoopProblem& problem, const Hierarchy& hierarchy)
      : problem_(problem), hierarchy_(hierarchy) {}

  Result<LoopMapping> Read(const Node& document) {
    const Node* list = document.Find("mapping");
    if (list == nullptr) {
      return document.ErrorHere(ErrorKind::kBadValue, "the file has no key 'mapping'",
                                "a Timeloop mapping starts with 'mapping:'");
    }
    if (list->kind != Node::Kind::kSequence) {
      return list->ErrorHere(ErrorKind::kBadValue, "expected a list of directives",
                             "write - {target: LEVEL, type: temporal, factors: ...}");
    }
    if (hierarchy_.levels.size() > LoopMapping::kMaxLevels) {
      return list->ErrorHere(ErrorKind::kUnsupported,
                             fmt::format("the machine has {} levels, but a mapping has at most {}",
                                         hierarchy_.levels.size(), LoopMapping::kMaxLevels));
    }
    mapping_.num_levels = static_cast<int32_t>(hierarchy_.levels.size());
    SetDefaultKeeps();
    for (const Node& directive : list->items) {
      if (Result<void> ok = ReadDirective(directive); !ok) return ok.error();
    }
    return mapping_;
  }

 private:
  void SetDefaultKeeps() {
    for (size_t i = 0; i < hierarchy_.keeps.size(); ++i) {
      mapping_.levels[i].keep = 0;
      for (const std::string& name : hierarchy_.keeps[i]) {
        if (const std::optional<int> tensor = FindTensorOrRole(problem_, name)) {
          mapping_.levels[i].keep = static_cast<uint8_t>(mapping_.levels[i].keep | 1u << *tensor);
        }
      }
      // Tensors that are no weights, inputs or outputs are held everywhere.
      for (int t = 0; t < problem_.num_tensors; ++t) {
        if (problem_.tensors[static_cast<size_t>(t)].role != TensorRole::kOther) continue;
        mapping_.levels[i].keep = static_cast<uint8_t>(mapping_.levels[i].keep | 1u << t);
      }
    }
  }

  Result<void> ReadDirective(const Node& node) {
    MapReader reader(node, "directive");
    if (Result<void> ok = reader.Check(); !ok) return ok;
    const Result<size_t> level = ReadTarget(reader);
    if (!level) return level.error();
    const Result<const Node*> type = reader.Require("type");
    if (!type) return type.error();
    const Result<std::string> name = (*type)->AsString();
    if (!name) return name.error();
    if (std::ranges::find(kTypes, *name) == kTypes.end()) {
      return (*type)->ErrorHere(ErrorKind::kUnknownName,
                                fmt::format("unknown type {} of a directive", Quoted(*name)),
                                DidYouMean(*name, kTypes));
    }
    LoopLevel& loops = mapping_.levels[*level];
    const bool again = seen_[*level] >> TypeIndex(*name) & 1;
    if (again) {
      return node.ErrorHere(ErrorKind::kBadValue,
                            fmt::format("a second {} directive for {}", *name,
                                        Quoted(hierarchy_.levels[*level].name)));
    }
    seen_[*level] |= 1u << TypeIndex(*name);
    Result<void> ok;
    if (*name == "temporal") {
      ok = ReadLoops(reader, loops.temporal, loops.temporal_order);
    } else if (*name == "spatial") {
      ok = ReadSpatial(reader, loops);
    } else {
      ok = ReadKeep(reader, loops);
    }
    if (!ok) return ok;
    return reader.Finish();
  }

  // The three names of tensor directives count as one.
  static unsigned TypeIndex(std::string_view type) {
    return type == "temporal" ? 0 : type == "spatial" ? 1 : 2;
  }

  Result<size_t> ReadTarget(MapReader& reader) const {
    const Result<const Node*> target = reader.Require("target");
    if (!target) return target.error();
    const Result<std::string> name = (*target)->AsString();
    if (!name) return name.error();
    std::vector<std::string_view> names;
    for (size_t i = 0; i < hierarchy_.levels.size(); ++i) {
      if (hierarchy_.levels[i].name == *name) return i;
      names.push_back(hierarchy_.levels[i].name);
    }
    const Result<int64_t> number = ParseInt(*name);
    if (number && *number >= 0 && *number < std::ssize(hierarchy_.levels)) {
      return static_cast<size_t>(*number);
    }
    return (*target)->ErrorHere(ErrorKind::kUnknownName,
                                fmt::format("the machine has no level {}", Quoted(*name)),
                                DidYouMean(*name, names));
  }

  // "K=2 C=4", "K2 C4", [K=2, C=4] or {K: 2, C: 4}.
  Result<void> ReadFactors(const Node& node, Factors& factors) {
    if (node.kind == Node::Kind::kMap) {
      for (const Node::Entry& entry : node.entries) {
        if (Result<void> ok = SetFactor(node, entry.key, entry.value.scalar, factors); !ok) {
          return ok;
        }
      }
      return {};
    }
    std::vector<std::string> words;
    if (node.kind == Node::Kind::kSequence) {
      for (const Node& item : node.items) words.push_back(item.scalar);
    } else {
      words = Words(node.scalar);
    }
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      // "P=4,3" was split at the comma; the 3 is what is left in the last iteration.
      if (i > 0 &&
          std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; })) {
        continue;
      }
      size_t digits = word.find('=');
      const bool equals = digits != std::string::npos;
      if (!equals) {
        digits = word.size();
        while (digits > 0 && std::isdigit(static_cast<unsigned char>(word[digits - 1])) != 0) {
          --digits;
        }
      }
      const std::string count = word.substr(std::min(word.size(), digits + (equals ? 1 : 0)));
      const std::string until_comma = count.substr(0, count.find(','));
      Result<void> ok = SetFactor(node, std::string(Trim(word.substr(0, digits))),
                                  std::string(Trim(until_comma)), factors);
      if (!ok) return ok;
    }
    return {};
  }

  Result<void> SetFactor(const Node& node, const std::string& name, const std::string& text,
                         Factors& factors) const {
    const std::optional<int> dim = FindDimension(problem_, name);
    if (!dim) return UnknownDimension(node, name);
    const Result<int64_t> factor = ParseInt(text);
    if (!factor || *factor < 0 || *factor > kMaxFactor) {
      return node.ErrorHere(ErrorKind::kBadValue,
                            fmt::format("the factor of {} is {}, but must be in 0..{}", name,
                                        Quoted(text), kMaxFactor),
                            "write factors as K=2 C=4");
    }
    factors[static_cast<size_t>(*dim)] = static_cast<int32_t>(*factor);
    return {};
  }

  Error UnknownDimension(const Node& node, const std::string& name) const {
    return node.ErrorHere(ErrorKind::kUnknownName,
                          fmt::format("unknown dimension {}", Quoted(name)),
                          DidYouMean(name, DimensionNames(problem_)));
  }

  // "RSPQ", "R S P Q", "R,S" or [R, S]: innermost first.
  Result<void> ReadOrder(const Node& node, Order& order) const {
    std::vector<std::string> names;
    if (node.kind == Node::Kind::kSequence) {
      for (const Node& item : node.items) names.push_back(item.scalar);
    } else {
      names = Words(node.scalar);
      if (names.size() == 1 && !FindDimension(problem_, names[0])) {
        const std::string letters = names[0];
        names.clear();
        for (const char letter : letters) names.emplace_back(1, letter);
      }
    }
    const Result<Order> completed = CompleteOrder(problem_, names);
    if (!completed) {
      const Error& error = completed.error();
      return node.ErrorHere(error.kind, error.message, error.hint);
    }
    order = *completed;
    return {};
  }

  Result<void> ReadLoops(MapReader& reader, Factors& factors, Order& order) {
    if (const Node* node = reader.Find("factors")) {
      if (Result<void> ok = ReadFactors(*node, factors); !ok) return ok;
    }
    if (const Node* node = reader.Find("permutation")) return ReadOrder(*node, order);
    return {};
  }

  Result<void> ReadSpatial(MapReader& reader, LoopLevel& level) {
    if (Result<void> ok = ReadLoops(reader, level.spatial, level.spatial_order); !ok) return ok;
    const Node* split = reader.Find("split");
    if (split == nullptr) return {};
    // Timeloop's own files may split beyond the last dimension, which means none on Y.
    const Result<int64_t> value = split->AsInt(0, kMaxFactor);
    if (!value) return value.error();
    level.split = static_cast<uint8_t>(std::min<int64_t>(*value, problem_.num_dimensions));
    return {};
  }

  Result<void> ReadKeep(MapReader& reader, LoopLevel& level) const {
    const Node* keep = reader.Find("keep");
    const Node* bypass = reader.Find("bypass");
    const Result<uint8_t> kept = ReadTensors(keep), passed = ReadTensors(bypass);
    if (!kept) return kept.error();
    if (!passed) return passed.error();
    if ((*kept & *passed) != 0) {
      return bypass->ErrorHere(ErrorKind::kBadValue, "a tensor is both kept and bypassed");
    }
    level.keep = static_cast<uint8_t>((level.keep | *kept) & ~*passed);
    return {};
  }

  Result<uint8_t> ReadTensors(const Node* node) const {
    uint8_t bits = 0;
    if (node == nullptr || node->kind == Node::Kind::kNull) return bits;
    if (node->kind != Node::Kind::kSequence) {
      return node->ErrorHere(ErrorKind::kBadValue, "expected a list of tensors");
    }
    for (const Node& item : node->items) {
      const std::optional<int> tensor = FindTensorOrRole(problem_, item.scalar);
      if (!tensor) {
        std::vector<std::string_view> names;
        for (const LoopTensor& t : problem_.tensor_view()) names.push_back(t.name.view());
        return item.ErrorHere(ErrorKind::kUnknownName,
                              fmt::format("unknown tensor {}", Quoted(item.scalar)),
                              DidYouMean(item.scalar, names));
      }
      bits = static_cast<uint8_t>(bits | 1u << *tensor);
    }
    return bits;
  }

  const LoopProblem& problem_;
  const Hierarchy& hierarchy_;
  LoopMapping mapping_ = {};
  std::array<unsigned, LoopMapping::kMaxLevels> seen_ = {};  // types of directives, per level
};

// Names of one letter need no marks between them.
bool AllLetters(const LoopProblem& problem) {
  return std::ranges::all_of(problem.dims(),
                             [](const LoopDimension& dim) { return dim.name.view().size() == 1; });
}

std::string FactorsText(const LoopProblem& problem, const Factors& factors) {
  std::vector<std::string> texts;
  for (int d = 0; d < problem.num_dimensions; ++d) {
    texts.push_back(fmt::format("{}={}", problem.dimensions[static_cast<size_t>(d)].name.view(),
                                factors[static_cast<size_t>(d)]));
  }
  return fmt::format("{}", fmt::join(texts, " "));
}

std::string OrderText(const LoopProblem& problem, const Order& order) {
  std::vector<std::string_view> names;
  for (int k = 0; k < problem.num_dimensions; ++k) {
    names.push_back(problem.dimensions[order[static_cast<size_t>(k)]].name.view());
  }
  return AllLetters(problem) ? fmt::format("{}", fmt::join(names, ""))
                             : fmt::format("[{}]", fmt::join(names, ", "));
}

bool HasLoops(const LoopProblem& problem, const Factors& factors) {
  for (int d = 0; d < problem.num_dimensions; ++d) {
    if (factors[static_cast<size_t>(d)] != 1) return true;
  }
  return false;
}

}  // namespace

Result<LoopMapping> ReadTimeloopMapping(const Node& document, const LoopProblem& problem,
                                        const Hierarchy& hierarchy) {
  return Reader(problem, hierarchy).Read(document);
}

std::string WriteTimeloopMapping(const LoopMapping& mapping, const LoopProblem& problem,
                                 const Hierarchy& hierarchy) {
  std::string text = "mapping:\n";
  for (size_t i = mapping.view().size(); i-- > 0;) {
    const LoopLevel& level = mapping.levels[i];
    const std::string name = YamlScalar(hierarchy.levels[i].name);
    std::vector<std::string_view> kept, passed;
    for (int t = 0; t < problem.num_tensors; ++t) {
      const std::string_view tensor = problem.tensors[static_cast<size_t>(t)].name.view();
      (level.Keeps(t) ? kept : passed).push_back(tensor);
    }
    text += fmt::format("- target: {}\n  type: bypass\n  keep: [{}]\n  bypass: [{}]\n", name,
                        fmt::join(kept, ", "), fmt::join(passed, ", "));
    text +=
        fmt::format("- target: {}\n  type: temporal\n  factors: {}\n  permutation: {}\n", name,
                    FactorsText(problem, level.temporal), OrderText(problem, level.temporal_order));
    // A level without fan-out may not have a spatial directive at all.
    if (!HasLoops(problem, level.spatial)) continue;
    text += fmt::format(
        "- target: {}\n  type: spatial\n  factors: {}\n  permutation: {}\n  split: {}\n", name,
        FactorsText(problem, level.spatial), OrderText(problem, level.spatial_order),
        std::min<int>(level.split, problem.num_dimensions));
  }
  return text;
}

}  // namespace tessera
