// Reading constraints, and cutting decisions down to what they leave.
#include "tessera/space.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/document.h"
#include "tessera/base/file.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

constexpr std::string_view kFormat = "tessera-constraints-1";

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

Result<void> ReadDemand(const Node::Entry& entry, Constraints::Rule rule, Constraints& out) {
  const Node& node = entry.value;
  // Chains of an order may be given as one list or as a list of lists.
  const bool nested = node.kind == Node::Kind::kSequence && !node.items.empty() &&
                      node.items.front().kind == Node::Kind::kSequence;
  const std::span<const Node> lists = nested ? std::span(node.items) : std::span(&node, 1);
  for (const Node& list : lists) {
    Result<std::vector<std::string>> words = ReadWords(list);
    if (!words) return words.error();
    if (rule == Constraints::Rule::kFixed && words->size() != 1) {
      // An order is written as a list of its items; everything else is one word.
      *words = {fmt::format("{}", fmt::join(*words, " "))};
    }
    if (rule == Constraints::Rule::kOrder && words->size() < 2) {
      return list.ErrorHere(ErrorKind::kBadValue, "an order needs at least two items");
    }
    out.demands.push_back({.decision = entry.key,
                           .rule = rule,
                           .values = *std::move(words),
                           .where = entry.key_where});
  }
  return {};
}

Error At(const Constraints::Demand& demand, ErrorKind kind, std::string message,
         std::string hint = "") {
  return Error{
      .kind = kind, .message = std::move(message), .where = demand.where, .hint = std::move(hint)};
}

// `unconstrained` has the values that others may have taken from `decision`.
Result<void> ApplyValues(const Constraints::Demand& demand, const Decision& unconstrained,
                         Decision& decision) {
  const bool fixed = demand.rule == Constraints::Rule::kFixed;
  std::vector<bool> allowed(static_cast<size_t>(decision.size()), !fixed);
  for (const std::string& label : demand.values) {
    const Result<int32_t> known = unconstrained.Parse(label);
    if (!known) return At(demand, known.error().kind, known.error().message);
    const Result<int32_t> index = decision.Parse(label);
    if (!index) continue;
    allowed[static_cast<size_t>(*index)] = fixed;
  }
  if (!decision.Keep(allowed)) {
    return At(demand, ErrorKind::kInfeasible,
              fmt::format("{}: every value is forbidden", decision.name()));
  }
  return {};
}

Result<void> ApplyOrder(const Constraints::Demand& demand, Decision& decision) {
  if (decision.kind() != DecisionKind::kPermutation) {
    return At(demand, ErrorKind::kBadValue,
              fmt::format("{} is not an order, so its values have none", decision.name()));
  }
  std::vector<size_t> items;
  for (const std::string& word : demand.values) {
    const auto found = std::find(decision.labels().begin(), decision.labels().end(), word);
    if (found == decision.labels().end()) {
      return At(demand, ErrorKind::kUnknownName,
                fmt::format("{} has no item {}", decision.name(), Quoted(word)),
                DidYouMean(word, decision.labels()));
    }
    items.push_back(static_cast<size_t>(found - decision.labels().begin()));
  }
  for (size_t i = 0; i + 1 < items.size(); ++i) {
    if (!decision.KeepBefore(items[i], items[i + 1])) {
      return At(demand, ErrorKind::kInfeasible,
                fmt::format("{}: {} before {} contradicts the other constraints", decision.name(),
                            demand.values[i], demand.values[i + 1]));
    }
  }
  return {};
}

Result<void> ApplyOne(const Constraints::Demand& demand, const Decision& unconstrained,
                      Decision& decision) {
  return demand.rule == Constraints::Rule::kOrder ? ApplyOrder(demand, decision)
                                                  : ApplyValues(demand, unconstrained, decision);
}

// "fixed 16" or "C before K", as it stands in the file.
std::string Describe(const Constraints::Demand& demand) {
  switch (demand.rule) {
    case Constraints::Rule::kFixed: return fmt::format("fixed {}", fmt::join(demand.values, ", "));
    case Constraints::Rule::kForbidden:
      return fmt::format("forbidden {}", fmt::join(demand.values, ", "));
    case Constraints::Rule::kOrder: break;
  }
  return fmt::format("{}", fmt::join(demand.values, " before "));
}

// The earlier demand that alone rules out `demands[failed]`, if there is one, is named beside it.
Error NamePair(std::span<const Constraints::Demand> demands, size_t failed,
               const Decision& unconstrained, Error error) {
  if (error.kind != ErrorKind::kInfeasible) return error;
  for (const Constraints::Demand& other : demands.first(failed)) {
    if (other.decision != unconstrained.name()) continue;
    Decision decision = unconstrained;
    if (!ApplyOne(other, unconstrained, decision) ||
        ApplyOne(demands[failed], unconstrained, decision)) {
      continue;
    }
    error.message = fmt::format("{}: {} contradicts {} ({})", unconstrained.name(),
                                Describe(demands[failed]), Describe(other), ToString(other.where));
    break;
  }
  return error;
}

}  // namespace

Result<Constraints> ParseConstraints(std::string_view text, const std::string& file) {
  const Result<Node> root = ParseDocument(text, file);
  if (!root) return root.error();
  MapReader reader(*root, "constraints file");
  if (Result<void> map = reader.Check(); !map) return map.error();
  if (Result<void> format = reader.RequireFormat(kFormat); !format) return format.error();
  Constraints constraints;
  const std::array<std::pair<std::string_view, Constraints::Rule>, 3> sections = {
      {{"fixed", Constraints::Rule::kFixed},
       {"forbidden", Constraints::Rule::kForbidden},
       {"order", Constraints::Rule::kOrder}}};
  for (const auto& [key, rule] : sections) {
    const Node* section = reader.Find(key);
    if (section == nullptr) continue;
    if (Result<void> map = MapReader(*section, std::string(key)).Check(); !map) return map.error();
    for (const Node::Entry& entry : section->entries) {
      if (Result<void> read = ReadDemand(entry, rule, constraints); !read) return read.error();
    }
  }
  if (Result<void> done = reader.Finish(); !done) return done.error();
  return constraints;
}

Result<Constraints> ReadConstraints(const std::string& path) {
  const Result<std::string> text = ReadTextFile(path);
  if (!text) return text.error();
  return ParseConstraints(*text, path);
}

Result<void> Apply(const Constraints& constraints, std::vector<Decision>& decisions) {
  const std::vector<Decision> unconstrained = decisions;
  for (size_t k = 0; k < constraints.demands.size(); ++k) {
    const Constraints::Demand& demand = constraints.demands[k];
    const auto found =
        std::find_if(decisions.begin(), decisions.end(),
                     [&](const Decision& decision) { return decision.name() == demand.decision; });
    if (found == decisions.end()) {
      std::vector<std::string_view> names;
      for (const Decision& decision : decisions) names.push_back(decision.name());
      return At(demand, ErrorKind::kUnknownName,
                fmt::format("the space has no decision {}", Quoted(demand.decision)),
                DidYouMean(demand.decision, names));
    }
    const Decision& whole = unconstrained[static_cast<size_t>(found - decisions.begin())];
    if (Result<void> applied = ApplyOne(demand, whole, *found); !applied) {
      return NamePair(constraints.demands, k, whole, applied.error());
    }
  }
  return {};
}

}  // namespace tessera
