// What Timeloop's directives demand, in terms of decisions.
#include "tessera/arch/timeloop_constraints.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/text.h"

namespace tessera::timeloop {
namespace {

using Demand = Constraints::Demand;
using enum Constraints::Rule;

constexpr std::array<std::string_view, 4> kKeys = {
    "architecture_constraints", "mapspace_constraints", "constraints", "mapspace"};

// Which factors a directive is about.
struct Target {
  std::string level = {};  // as decisions name it
  bool spatial = false;

  std::string Factor(std::string_view dim) const {
    return fmt::format("{}_{}{}", dim, level, spatial ? "_par" : "");
  }
};

// Words of a list, or of a text with blanks or commas between them.
Result<std::vector<std::string>> Words(const Node& node) {
  std::vector<std::string> words;
  const auto split = [&](const std::string& text) {
    std::string word;
    for (const char c : text + " ") {
      if (c != ' ' && c != ',' && c != '\t' && c != '\n') {
        word += c;
      } else if (!word.empty()) {
        words.push_back(std::exchange(word, {}));
      }
    }
  };
  if (node.kind == Node::Kind::kNull) return words;
  if (node.kind == Node::Kind::kSequence) {
    for (const Node& item : node.items) {
      const Result<std::string> text = item.AsString();
      if (!text) return text.error();
      split(*text);
    }
    return words;
  }
  const Result<std::string> text = node.AsString();
  if (!text) return text.error();
  split(*text);
  return words;
}

// "C=16", "C<=16", "C16": a dimension, an operator and a number.
struct Factor {
  std::string dim = {}, op = {};
  int64_t value = 0;
};

Result<Factor> ParseFactor(const Node& node, const std::string& word) {
  const auto is_operator = [](char c) { return c == '=' || c == '<' || c == '>'; };
  size_t at = 0;
  while (at < word.size() && !is_operator(word[at]) &&
         std::isdigit(static_cast<unsigned char>(word[at])) == 0) {
    ++at;
  }
  Factor factor{.dim = word.substr(0, at)};
  const size_t begin = at;
  while (at < word.size() && is_operator(word[at])) ++at;
  factor.op = word.substr(begin, at - begin);
  const Result<int64_t> value = ParseInt(word.substr(at));
  constexpr std::array<std::string_view, 7> kOperators = {"", "=", "==", "<=", ">=", "<", ">"};
  const bool known = std::find(kOperators.begin(), kOperators.end(), factor.op) != kOperators.end();
  if (factor.dim.empty() || !known || !value || *value < 0) {
    return node.ErrorHere(ErrorKind::kSyntax,
                          fmt::format("cannot read the factor {}", Quoted(word)),
                          "write C=16, C<=16 or C=0 for the whole of C");
  }
  factor.value = *value;
  return factor;
}

class Directive {
 public:
  Directive(const Node& node, Target target, Constraints& out)
      : node_(node), target_(std::move(target)), out_(out) {}

  // Keys of loops; `handled` ones are somebody else's.
  Result<void> ReadLoops(const std::vector<std::string_view>& handled) {
    for (const Node::Entry& entry : node_.entries) {
      if (std::find(handled.begin(), handled.end(), entry.key) != handled.end()) continue;
      if (Result<void> ok = ReadKey(entry); !ok) return ok;
    }
    return {};
  }

  // keep, bypass, keep_only, bypass_only.
  Result<void> ReadTensors(const std::vector<std::string_view>& handled) {
    for (const Node::Entry& entry : node_.entries) {
      if (std::find(handled.begin(), handled.end(), entry.key) != handled.end()) continue;
      const bool keep = entry.key == "keep" || entry.key == "keep_only";
      if (!keep && entry.key != "bypass" && entry.key != "bypass_only") {
        NotUsed(entry);
        continue;
      }
      const Result<std::vector<std::string>> tensors = Words(entry.value);
      if (!tensors) return tensors.error();
      AddTensors(entry, *tensors, keep);
    }
    return {};
  }

 private:
  void AddTensors(const Node::Entry& entry, const std::vector<std::string>& tensors, bool keep) {
    const std::string_view label = keep ? "keep" : "bypass", other = keep ? "bypass" : "keep";
    for (const std::string& tensor : tensors) {
      Demand demand = Make(entry, kAllowed, fmt::format("keep_{}_{}", target_.level, tensor));
      demand.values = {std::string(label)};
      out_.demands.push_back(std::move(demand));
    }
    if (!entry.key.ends_with("_only")) return;
    Demand rest = Make(entry, kAllowed, fmt::format("keep_{}_*", target_.level));
    rest.values = {std::string(other)};
    rest.except = tensors;
    out_.demands.push_back(std::move(rest));
  }

  static Demand Make(const Node::Entry& entry, Constraints::Rule rule, std::string decision) {
    return {.decision = std::move(decision), .rule = rule, .where = entry.key_where};
  }

  void NotUsed(const Node::Entry& entry) {
    out_.notes.push_back(fmt::format("{}: constraint '{}' on line {} is not used", target_.level,
                                     entry.key, entry.key_where.line));
  }

  Result<void> ReadKey(const Node::Entry& entry) {
    if (entry.key == "factors") return ReadFactors(entry, /*only=*/false);
    if (entry.key == "factors_only") return ReadFactors(entry, /*only=*/true);
    if (entry.key == "permutation") return ReadPermutation(entry);
    if (entry.key == "split") return {};  // read with the permutation
    if (entry.key == "no_iteration_over_dataspaces") return ReadIteration(entry, false);
    if (entry.key == "must_iterate_over_dataspaces") return ReadIteration(entry, true);
    NotUsed(entry);
    return {};
  }

  Result<void> ReadFactors(const Node::Entry& entry, bool only) {
    if (only && entry.value.kind == Node::Kind::kNull) return {};
    const Result<std::vector<std::string>> words = Words(entry.value);
    if (!words) return words.error();
    std::vector<std::string> named;
    for (const std::string& word : *words) {
      const Result<Factor> factor = ParseFactor(entry.value, word);
      if (!factor) return factor.error();
      named.push_back(factor->dim);
      Demand demand = Make(entry, kRange, target_.Factor(factor->dim));
      const auto value = static_cast<double>(factor->value);
      if (factor->op == "<=" || factor->op == "<") {
        demand.max = factor->op == "<" ? value - 1 : value;
      } else if (factor->op == ">=" || factor->op == ">") {
        demand.min = factor->op == ">" ? value + 1 : value;
      } else if (factor->value == 0) {
        demand.rule = kWhole;  // as Timeloop reads it
      } else {
        demand.rule = kAllowed;
        demand.values = {fmt::format("{}", factor->value)};
      }
      out_.demands.push_back(std::move(demand));
    }
    if (!only) return {};
    Demand rest = Make(entry, kAllowed, target_.Factor("*"));
    rest.values = {"1"};
    rest.except = std::move(named);
    out_.demands.push_back(std::move(rest));
    return {};
  }

  // The dimensions of some tensors, or all others, have no loop here.
  Result<void> ReadIteration(const Node::Entry& entry, bool must) {
    const Result<std::vector<std::string>> tensors = Words(entry.value);
    if (!tensors) return tensors.error();
    if (tensors->empty()) return {};
    Demand demand = Make(entry, kAllowed, target_.Factor("*"));
    demand.values = {"1"};
    demand.tensors = *tensors;
    demand.others = must;
    out_.demands.push_back(std::move(demand));
    return {};
  }

  // From the inside: "KC" or [K, C]; what stands after a '*' is outermost.
  Result<void> ReadPermutation(const Node::Entry& entry) {
    const Result<std::vector<std::string>> words = Words(entry.value);
    if (!words) return words.error();
    std::vector<std::string> inner, outer;
    bool after = false;
    // A text without separators has a letter per dimension.
    const bool letters = entry.value.kind == Node::Kind::kScalar && words->size() == 1;
    const std::string joined = letters ? words->front() : "";
    std::vector<std::string> items;
    for (const char c : joined) items.emplace_back(1, c);
    for (const std::string& item : letters ? items : *words) {
      if (item == "*") {
        after = true;
      } else {
        (after ? outer : inner).push_back(item);
      }
    }
    if (target_.spatial) return ReadSplit(inner);
    const std::string order = fmt::format("order_{}", target_.level);
    if (!inner.empty()) {
      out_.demands.push_back(Make(entry, kInnermost, order));
      out_.demands.back().values = std::move(inner);
    }
    if (!outer.empty()) {
      out_.demands.push_back(Make(entry, kOutermost, order));
      out_.demands.back().values = std::move(outer);
    }
    return {};
  }

  // So many leading dimensions of a spatial permutation lie on X, the others on Y.
  Result<void> ReadSplit(const std::vector<std::string>& order) {
    const auto entry = std::find_if(node_.entries.begin(), node_.entries.end(),
                                    [](const Node::Entry& e) { return e.key == "split"; });
    if (entry == node_.entries.end()) return {};
    const Result<int64_t> split = entry->value.AsInt(0, 999);
    if (!split) return split.error();
    const auto on_x = std::min(static_cast<size_t>(*split), order.size());
    for (size_t k = 0; k < order.size(); ++k) {
      Demand demand = Make(*entry, kAllowed, fmt::format("{}_{}_axis", order[k], target_.level));
      demand.values = {k < on_x ? "X" : "Y"};
      out_.demands.push_back(std::move(demand));
    }
    if (static_cast<size_t>(*split) > order.size()) return {};
    Demand rest = Make(*entry, kAllowed, fmt::format("*_{}_axis", target_.level));
    rest.values = {"Y"};
    rest.except = order;
    out_.demands.push_back(std::move(rest));
    return {};
  }

  const Node& node_;
  const Target target_;
  Constraints& out_;
};

std::string TextOf(const Node& map, std::string_view key) {
  const Node* node = map.Find(key);
  return node == nullptr ? "" : node->scalar;
}

// {type: utilization, min: 0.5}: of all MACs, whatever the target.
Result<void> ReadUtilization(const Node& node, Constraints& out) {
  const Node* least = node.Find("min");
  const Result<double> part = least == nullptr ? Result<double>(0) : least->AsDouble();
  if (!part || !(*part > 0 && *part <= 1)) {
    return node.ErrorHere(ErrorKind::kBadValue, "a utilization needs 'min' above 0, at most 1");
  }
  out.demands.push_back({.rule = kParallel, .min = *part, .where = node.where()});
  return {};
}

// {target: GLB, type: temporal, factors: C=1, ...}.
Result<void> ReadDirective(const Node& node, bool v04, Constraints& out) {
  const std::string target = TextOf(node, "target"), type = TextOf(node, "type");
  if (type == "utilization" || type == "parallelism") return ReadUtilization(node, out);
  if (target.empty()) {
    return node.ErrorHere(ErrorKind::kBadValue, "a constraint without 'target'");
  }
  const std::vector<std::string_view> handled = {"target", "type", "name"};
  if (type == "temporal") return Directive(node, {.level = target}, out).ReadLoops(handled);
  if (type == "spatial") {
    return Directive(node, {.level = (v04 ? "^" : "") + target, .spatial = true}, out)
        .ReadLoops(handled);
  }
  if (type == "bypass" || type == "dataspace" || type == "datatype") {
    return Directive(node, {.level = target}, out).ReadTensors(handled);
  }
  if (type.empty()) return ReadNodeConstraints(node, target, "^" + target, out);
  out.notes.push_back(fmt::format("constraint of type '{}' on '{}' (line {}) is not used", type,
                                  target, node.line));
  return {};
}

const Node* ListOf(const Node& section) {
  if (section.kind == Node::Kind::kSequence) return &section;
  for (const std::string_view key : {"targets", "constraints"}) {
    const Node* list = section.Find(key);
    if (list != nullptr) return ListOf(*list);
  }
  return nullptr;
}

}  // namespace

bool HoldsConstraints(const Node& root) {
  return root.Find("format") == nullptr &&
         std::any_of(kKeys.begin(), kKeys.end(),
                     [&](std::string_view key) { return root.Find(key) != nullptr; });
}

Result<Constraints> ReadConstraints(const Node& root,
                                    const std::function<bool(const std::string&)>& known) {
  Constraints constraints;
  for (const std::string_view key : kKeys) {
    const Node* section = root.Find(key);
    if (section == nullptr) continue;
    const Node* list = ListOf(*section);
    if (list == nullptr) continue;  // a mapspace may have a template alone
    const bool v04 = TextOf(*section, "version") == "0.4" || TextOf(*section, "version") == "0.5";
    for (const Node& directive : list->items) {
      const std::string target = TextOf(directive, "target");
      if (known && !target.empty() && !known(target)) {
        constraints.notes.push_back(
            fmt::format("constraint on '{}' (line {}) is not used: there is no such level", target,
                        directive.line));
        continue;
      }
      if (Result<void> ok = ReadDirective(directive, v04, constraints); !ok) return ok.error();
    }
  }
  return constraints;
}

Result<void> ReadNodeConstraints(const Node& constraints, const std::string& level,
                                 const std::string& parent, Constraints& out) {
  for (const Node::Entry& entry : constraints.entries) {
    if (entry.value.kind != Node::Kind::kMap) continue;
    const bool temporal = entry.key == "temporal" && !level.empty();
    const bool spatial = entry.key == "spatial" && !parent.empty();
    const bool dataspace = entry.key == "dataspace" && !level.empty();
    Result<void> ok;
    if (temporal) {
      ok = Directive(entry.value, {.level = level}, out).ReadLoops({});
    } else if (spatial) {
      ok = Directive(entry.value, {.level = parent, .spatial = true}, out).ReadLoops({});
    } else if (dataspace) {
      ok = Directive(entry.value, {.level = level}, out).ReadTensors({});
    } else {
      out.notes.push_back(fmt::format(
          "constraints '{}' on line {} are not used: {}", entry.key, entry.key_where.line,
          entry.key == "spatial" ? "there is no fan-out" : "nothing is stored there"));
    }
    if (!ok) return ok;
  }
  return {};
}

}  // namespace tessera::timeloop
