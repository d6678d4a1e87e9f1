// Reading constraints from Tessera's own files.
#include "tessera/arch/constraints.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/arch/timeloop_constraints.h"
#include "tessera/base/file.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

using Demand = Constraints::Demand;
using enum Constraints::Rule;

constexpr std::string_view kFormat = "tessera-constraints-1";

// Names of rules in the list of demands, in the order of Constraints::Rule.
constexpr std::array<std::string_view, 10> kRuleNames = {
    "allowed",   "forbidden", "range", "ratio",    "order",
    "innermost", "outermost", "whole", "dataflow", "utilization"};

// As TypeName(layer) says them; the network's headers are not for this folder.
constexpr std::array<std::string_view, 5> kLayerTypes = {"conv", "dwconv", "trconv", "fc", "gemm"};

// Which layers a part of a file is about.
struct Scope {
  std::string type = {}, layer = {};
};

// A scalar or a list of scalars.
Result<std::vector<std::string>> ReadWords(const Node& node) {
  std::vector<std::string> words;
  const std::span<const Node> items =
      node.kind == Node::Kind::kSequence ? std::span(node.items) : std::span(&node, 1);
  for (const Node& item : items) {
    Result<std::string> word = item.AsString();
    if (!word) return word.error();
    words.push_back(*std::move(word));
  }
  if (words.empty()) return node.ErrorHere(ErrorKind::kBadValue, "no values are given");
  return words;
}

Demand MakeDemand(const Node::Entry& entry, Constraints::Rule rule, const Scope& scope) {
  return {.decision = entry.key,
          .rule = rule,
          .type = scope.type,
          .layer = scope.layer,
          .where = entry.key_where};
}

// `fixed`: an order is written as a list of its items, everything else is one word.
Result<void> ReadFixed(const Node::Entry& entry, const Scope& scope, Constraints& out) {
  const Result<std::vector<std::string>> words = ReadWords(entry.value);
  if (!words) return words.error();
  Demand demand = MakeDemand(entry, kAllowed, scope);
  demand.values = {fmt::format("{}", fmt::join(*words, " "))};
  out.demands.push_back(std::move(demand));
  return {};
}

Result<void> ReadValues(const Node::Entry& entry, Constraints::Rule rule, const Scope& scope,
                        Constraints& out) {
  Result<std::vector<std::string>> words = ReadWords(entry.value);
  if (!words) return words.error();
  Demand demand = MakeDemand(entry, rule, scope);
  demand.values = *std::move(words);
  out.demands.push_back(std::move(demand));
  return {};
}

// Chains of an order may be given as one list or as a list of lists.
Result<void> ReadOrder(const Node::Entry& entry, const Scope& scope, Constraints& out) {
  const Node& node = entry.value;
  const bool nested = node.kind == Node::Kind::kSequence && !node.items.empty() &&
                      node.items.front().kind == Node::Kind::kSequence;
  const std::span<const Node> lists = nested ? std::span(node.items) : std::span(&node, 1);
  for (const Node& list : lists) {
    Result<std::vector<std::string>> words = ReadWords(list);
    if (!words) return words.error();
    if (words->size() < 2) {
      return list.ErrorHere(ErrorKind::kBadValue, "an order needs at least two items");
    }
    Demand demand = MakeDemand(entry, kOrder, scope);
    if (nested) demand.where = list.where();  // each is a constraint of its own
    demand.values = *std::move(words);
    out.demands.push_back(std::move(demand));
  }
  return {};
}

// [2, 8], {min: 2}, {max: 8} or both; `one`: also a number alone, for both.
Result<void> ReadLimits(const Node& node, bool one, Demand& demand) {
  const auto read = [](const Node& number, double& value) -> Result<void> {
    const Result<double> limit = number.AsDouble();
    if (!limit) return limit.error();
    if (!std::isfinite(*limit) || *limit < 0) {
      return number.ErrorHere(ErrorKind::kBadValue, "a limit is a number that is not negative");
    }
    value = *limit;
    return {};
  };
  if (one && node.kind == Node::Kind::kScalar) {
    if (Result<void> ok = read(node, demand.min); !ok) return ok;
    demand.max = demand.min;
    return {};
  }
  if (node.kind == Node::Kind::kSequence && node.items.size() == 2) {
    if (Result<void> ok = read(node.items[0], demand.min); !ok) return ok;
    if (Result<void> ok = read(node.items[1], demand.max); !ok) return ok;
  } else if (node.kind == Node::Kind::kMap) {
    MapReader map(node, "range");
    const Node *least = map.Find("min"), *most = map.Find("max");
    if (Result<void> done = map.Finish(); !done) return done;
    if (least == nullptr && most == nullptr) {
      return node.ErrorHere(ErrorKind::kBadValue, "a range needs 'min' or 'max'");
    }
    if (least != nullptr) {
      if (Result<void> ok = read(*least, demand.min); !ok) return ok;
    }
    if (most != nullptr) {
      if (Result<void> ok = read(*most, demand.max); !ok) return ok;
    }
  } else {
    return node.ErrorHere(
        ErrorKind::kBadValue, "expected a range",
        one ? "write 2, [1, 4] or {min: 1, max: 4}" : "write [1, 4] or {min: 1, max: 4}");
  }
  if (demand.min > demand.max) {
    return node.ErrorHere(ErrorKind::kBadValue, fmt::format("the least value {} is above the most, "
                                                            "{}",
                                                            demand.min, demand.max));
  }
  return {};
}

Result<void> ReadRange(const Node::Entry& entry, const Scope& scope, Constraints& out) {
  Demand demand = MakeDemand(entry, kRange, scope);
  if (Result<void> ok = ReadLimits(entry.value, /*one=*/false, demand); !ok) return ok;
  out.demands.push_back(std::move(demand));
  return {};
}

Result<void> ReadRatio(const Node::Entry& entry, const Scope& scope, Constraints& out) {
  Demand demand = MakeDemand(entry, kRatio, scope);
  const std::vector<std::string_view> sides = Split(entry.key, '/');
  const auto trimmed = [](std::string_view text) {
    const size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
    return begin == std::string_view::npos ? "" : std::string(text.substr(begin, end - begin + 1));
  };
  if (sides.size() != 2 || trimmed(sides[0]).empty() || trimmed(sides[1]).empty()) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("a ratio is not of two decisions: {}", Quoted(entry.key)),
                 .where = entry.key_where,
                 .hint = "write K_GLB / C_GLB: 2"};
  }
  demand.decision = trimmed(sides[0]);
  demand.values = {trimmed(sides[1])};
  if (Result<void> ok = ReadLimits(entry.value, /*one=*/true, demand); !ok) return ok;
  out.demands.push_back(std::move(demand));
  return {};
}

// A section is a map from decisions to what is demanded of them.
template <typename ReadOne>
Result<void> ReadSection(MapReader& reader, std::string_view key, const ReadOne& read_one) {
  const Node* section = reader.Find(key);
  if (section == nullptr) return {};
  if (Result<void> map = MapReader(*section, std::string(key)).Check(); !map) return map;
  for (const Node::Entry& entry : section->entries) {
    if (Result<void> read = read_one(entry); !read) return read;
  }
  return {};
}

Result<void> ReadDataflow(MapReader& reader, const Scope& scope, Constraints& out) {
  const Node* node = reader.Find("dataflow");
  if (node == nullptr) return {};
  const Result<std::string> name = node->AsString();
  if (!name) return name.error();
  out.demands.push_back({.rule = kDataflow,
                         .values = {*name},
                         .type = scope.type,
                         .layer = scope.layer,
                         .where = node->where()});
  return {};
}

Result<void> ReadUtilization(MapReader& reader, const Scope& scope, Constraints& out) {
  const Node* node = reader.Find("utilization");
  if (node == nullptr) return {};
  Demand demand{
      .rule = kParallel, .type = scope.type, .layer = scope.layer, .where = node->where()};
  const Node* least = node->kind == Node::Kind::kMap ? node->Find("min") : node;
  const Result<double> part = least == nullptr ? Result<double>(0) : least->AsDouble();
  if (least == nullptr || !part || !(*part > 0 && *part <= 1) ||
      (node->kind == Node::Kind::kMap && node->entries.size() > 1)) {
    return node->ErrorHere(ErrorKind::kBadValue, "expected a part of the MACs above 0, at most 1",
                           "write utilization: 0.5 or {min: 0.5}");
  }
  demand.min = *part;
  out.demands.push_back(std::move(demand));
  return {};
}

// What a file demands of all layers, or of those of a scope.
Result<void> ReadPlain(MapReader& reader, const Scope& scope, Constraints& out) {
  if (Result<void> ok = ReadDataflow(reader, scope, out); !ok) return ok;
  if (Result<void> ok = ReadUtilization(reader, scope, out); !ok) return ok;
  Result<void> ok = ReadSection(
      reader, "fixed", [&](const Node::Entry& entry) { return ReadFixed(entry, scope, out); });
  if (!ok) return ok;
  for (const auto& [key, rule] : {std::pair("allowed", kAllowed), {"forbidden", kForbidden}}) {
    ok = ReadSection(reader, key, [&, rule = rule](const Node::Entry& entry) {
      return ReadValues(entry, rule, scope, out);
    });
    if (!ok) return ok;
  }
  ok = ReadSection(reader, "range",
                   [&](const Node::Entry& entry) { return ReadRange(entry, scope, out); });
  if (!ok) return ok;
  ok = ReadSection(reader, "ratio",
                   [&](const Node::Entry& entry) { return ReadRatio(entry, scope, out); });
  if (!ok) return ok;
  return ReadSection(reader, "order",
                     [&](const Node::Entry& entry) { return ReadOrder(entry, scope, out); });
}

// Whether some type of layers fits; a misspelt one would silently leave a file without effect.
Result<void> CheckType(const Node::Entry& entry) {
  const std::string_view pattern =
      std::string_view(entry.key).substr(entry.key.starts_with('!') ? 1 : 0);
  const bool known = std::ranges::any_of(
      kLayerTypes, [&](std::string_view type) { return FitsPattern(pattern, type); });
  if (known) return {};
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown type of layers {}", Quoted(pattern)),
               .where = entry.key_where,
               .hint = DidYouMean(pattern, kLayerTypes)};
}

// `types` and `layers`: sections for those only.
Result<void> ReadScopes(MapReader& reader, Constraints& out) {
  const auto read = [&](std::string_view key, std::string Scope::*part) {
    return ReadSection(reader, key, [&](const Node::Entry& entry) -> Result<void> {
      Scope scope;
      scope.*part = entry.key;
      if (part == &Scope::type) {
        if (Result<void> known = CheckType(entry); !known) return known;
      }
      MapReader inner(entry.value, fmt::format("part of '{}'", key));
      if (Result<void> map = inner.Check(); !map) return map;
      if (Result<void> plain = ReadPlain(inner, scope, out); !plain) return plain;
      return inner.Finish();
    });
  };
  if (Result<void> types = read("types", &Scope::type); !types) return types;
  return read("layers", &Scope::layer);
}

// --- The list of demands
// ------------------------------------------------------------------------

std::string WriteWords(const std::vector<std::string>& words) {
  std::vector<std::string> scalars;
  for (const std::string& word : words) scalars.push_back(YamlScalar(word));
  return fmt::format("[{}]", fmt::join(scalars, ", "));
}

// "file.yaml:3:5", and back.
Where ParseWhere(const std::string& text) {
  const size_t second = text.rfind(':');
  const size_t first =
      second == std::string::npos || second == 0 ? std::string::npos : text.rfind(':', second - 1);
  if (first == std::string::npos) return {.file = text};
  const Result<int64_t> line = ParseInt(text.substr(first + 1, second - first - 1));
  const Result<int64_t> column = ParseInt(text.substr(second + 1));
  if (!line || !column) return {.file = text};
  return {.file = text.substr(0, first), .line = *line, .column = *column};
}

std::string WriteDemand(const Demand& demand) {
  std::string text = fmt::format("{{rule: {}", kRuleNames[static_cast<size_t>(demand.rule)]);
  const auto add = [&](std::string_view key, const std::string& value) {
    text += fmt::format(", {}: {}", key, value);
  };
  if (!demand.decision.empty()) add("decision", YamlScalar(demand.decision));
  if (!demand.values.empty()) add("values", WriteWords(demand.values));
  if (demand.min > 0) add("min", fmt::format("{}", demand.min));
  if (std::isfinite(demand.max)) add("max", fmt::format("{}", demand.max));
  if (!demand.type.empty()) add("type", YamlScalar(demand.type));
  if (!demand.layer.empty()) add("layer", YamlScalar(demand.layer));
  if (!demand.except.empty()) add("except", WriteWords(demand.except));
  if (!demand.tensors.empty()) add(demand.others ? "not_of" : "of", WriteWords(demand.tensors));
  if (demand.where.line > 0) add("from", YamlScalar(ToString(demand.where)));
  return text + "}";
}

Result<Demand> ReadListed(const Node& node) {
  MapReader map(node, "demand");
  if (Result<void> ok = map.Check(); !ok) return ok.error();
  Demand demand{.where = node.where()};
  const auto text = [&](std::string_view key, std::string& value) -> Result<void> {
    const Node* found = map.Find(key);
    if (found == nullptr) return {};
    Result<std::string> read = found->AsString();
    if (!read) return read.error();
    value = *std::move(read);
    return {};
  };
  const auto words = [&](std::string_view key, std::vector<std::string>& value) -> Result<void> {
    const Node* found = map.Find(key);
    if (found == nullptr) return {};
    Result<std::vector<std::string>> read = ReadWords(*found);
    if (!read) return read.error();
    value = *std::move(read);
    return {};
  };
  std::string rule, from;
  const std::array<std::pair<std::string_view, std::string*>, 5> texts = {
      {{"rule", &rule},
       {"decision", &demand.decision},
       {"type", &demand.type},
       {"layer", &demand.layer},
       {"from", &from}}};
  for (const auto& [key, value] : texts) {
    if (Result<void> ok = text(key, *value); !ok) return ok.error();
  }
  std::vector<std::string> of, not_of;
  const std::array<std::pair<std::string_view, std::vector<std::string>*>, 4> lists = {
      {{"values", &demand.values}, {"except", &demand.except}, {"of", &of}, {"not_of", &not_of}}};
  for (const auto& [key, value] : lists) {
    if (Result<void> ok = words(key, *value); !ok) return ok.error();
  }
  const std::array<std::pair<std::string_view, double*>, 2> numbers = {
      {{"min", &demand.min}, {"max", &demand.max}}};
  for (const auto& [key, value] : numbers) {
    const Node* found = map.Find(key);
    if (found == nullptr) continue;
    const Result<double> read = found->AsDouble();
    if (!read) return read.error();
    *value = *read;
  }
  if (Result<void> done = map.Finish(); !done) return done.error();
  const auto known = FindName<Constraints::Rule>("rule", rule, kRuleNames);
  if (!known) return node.ErrorHere(known.error().kind, known.error().message, known.error().hint);
  demand.rule = *known;
  demand.others = !not_of.empty();
  demand.tensors = demand.others ? not_of : of;
  const bool pair = demand.rule == kRatio || demand.rule == kDataflow;
  const bool nameless = demand.rule == kDataflow || demand.rule == kParallel;
  if (nameless != demand.decision.empty() || (pair && demand.values.size() != 1)) {
    return node.ErrorHere(ErrorKind::kBadValue, fmt::format("a demand '{}' is not complete", rule));
  }
  if (!from.empty()) demand.where = ParseWhere(from);
  return demand;
}

Result<void> ReadDemands(MapReader& reader, Constraints& out) {
  const Node* list = reader.Find("demands");
  if (list == nullptr) return {};
  if (list->kind != Node::Kind::kSequence) {
    return list->ErrorHere(ErrorKind::kBadValue, "expected a list of demands");
  }
  for (const Node& node : list->items) {
    Result<Demand> demand = ReadListed(node);
    if (!demand) return demand.error();
    out.demands.push_back(*std::move(demand));
  }
  return {};
}

// "2 <= X <= 8", with what is known of it.
std::string WithLimits(const std::string& what, double min, double max) {
  if (min == max) return fmt::format("{} = {}", what, min);
  if (!std::isfinite(max)) return fmt::format("{} >= {}", what, min);
  if (min == 0) return fmt::format("{} <= {}", what, max);
  return fmt::format("{} <= {} <= {}", min, what, max);
}

std::string PlainText(const Demand& demand) {
  const std::string values = fmt::format("{}", fmt::join(demand.values, ", "));
  switch (demand.rule) {
    case kAllowed:
      return demand.values.size() == 1 ? fmt::format("{} = {}", demand.decision, values)
                                       : fmt::format("{} one of {}", demand.decision, values);
    case kForbidden: return fmt::format("{} not {}", demand.decision, values);
    case kRange: return WithLimits(demand.decision, demand.min, demand.max);
    case kRatio:
      return WithLimits(fmt::format("{} / {}", demand.decision, values), demand.min, demand.max);
    case kOrder:
      return fmt::format("{}: {}", demand.decision, fmt::join(demand.values, " before "));
    case kInnermost: return fmt::format("{}: innermost {}", demand.decision, values);
    case kOutermost: return fmt::format("{}: outermost {}", demand.decision, values);
    case kWhole: return fmt::format("{} = the whole size", demand.decision);
    case kParallel: return WithLimits("utilization", demand.min, demand.max);
    case kDataflow: break;
  }
  return fmt::format("dataflow {}", values);
}

}  // namespace

std::string ToString(const Constraints::Demand& demand) {
  std::string text = PlainText(demand);
  if (!demand.except.empty()) text += fmt::format(" except of {}", fmt::join(demand.except, ", "));
  if (!demand.tensors.empty()) {
    text += fmt::format(" for dimensions {}of {}", demand.others ? "not " : "",
                        fmt::join(demand.tensors, ", "));
  }
  if (!demand.type.empty()) text += fmt::format(" for type {}", demand.type);
  if (!demand.layer.empty()) text += fmt::format(" for layer {}", demand.layer);
  return text;
}

bool Constraints::Demand::IsAbout(std::string_view layer_type, std::string_view layer_name) const {
  const auto fits = [](std::string_view pattern, std::string_view name) {
    if (pattern.empty()) return true;
    const bool inverted = pattern.starts_with('!');
    return FitsPattern(pattern.substr(inverted ? 1 : 0), name) != inverted;
  };
  return fits(type, layer_type) && fits(layer, layer_name);
}

bool FitsPattern(std::string_view pattern, std::string_view name) {
  // Where the last '*' was met, and how much of the name it has taken so far.
  size_t p = 0, n = 0, star = std::string_view::npos, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || (pattern[p] == name[n] && pattern[p] != '*'))) {
      ++p;
      ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Result<void> ReadConstraintSections(MapReader& reader, Constraints& constraints) {
  if (Result<void> ok = ReadPlain(reader, {}, constraints); !ok) return ok;
  if (Result<void> ok = ReadScopes(reader, constraints); !ok) return ok;
  return ReadDemands(reader, constraints);
}

std::string WriteDemands(const Constraints& constraints) {
  std::vector<std::string> lines;
  for (const Demand& demand : constraints.demands) lines.push_back(WriteDemand(demand));
  return fmt::format("[{}]", fmt::join(lines, ", "));
}

Result<Constraints> ParseConstraints(std::string_view text, const std::string& file) {
  const Result<Node> root = ParseDocument(text, file);
  if (!root) return root.error();
  if (timeloop::HoldsConstraints(*root)) return timeloop::ReadConstraints(*root);
  MapReader reader(*root, "constraints file");
  if (Result<void> map = reader.Check(); !map) return map.error();
  if (Result<void> format = reader.RequireFormat(kFormat); !format) return format.error();
  Constraints constraints;
  if (Result<void> read = ReadConstraintSections(reader, constraints); !read) return read.error();
  if (Result<void> done = reader.Finish(); !done) return done.error();
  return constraints;
}

Result<Constraints> ReadConstraints(const std::string& path) {
  const Result<std::string> text = ReadTextFile(path);
  if (!text) return text.error();
  return ParseConstraints(*text, path);
}

}  // namespace tessera
