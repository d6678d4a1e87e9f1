#include "tessera/arch/template_choice.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "tessera/arch/template_nodes.h"
#include "tessera/arch/template_values.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

using Kind = Node::Kind;

}  // namespace

bool IsBareChoice(const Node& node, std::string_view path, std::string_view key) {
  if (node.kind != Kind::kSequence || key == "keep" || key == "notes") return false;
  if (path.starts_with("constraints")) return false;
  return !node.items.empty() && std::ranges::all_of(node.items, [](const Node& item) {
    return item.kind == Kind::kScalar;
  });
}

Result<std::vector<Node>> ChosenValues(const Node& list) {
  if (list.kind != Kind::kSequence) {
    return list.ErrorHere(ErrorKind::kBadValue, "choose is a list of values",
                          "for example {choose: [16K, 32K, 64K]}");
  }
  if (list.items.empty()) return list.ErrorHere(ErrorKind::kBadValue, "there is nothing to choose");
  if (list.items.size() > kMostValues) {
    return list.ErrorHere(ErrorKind::kBadValue,
                          fmt::format("more than {} values to choose from", kMostValues));
  }
  std::vector<Node> values;
  std::set<std::string> texts;
  for (const Node& item : list.items) {
    const bool nested = std::ranges::any_of(
        item.items, [](const Node& inner) { return inner.kind != Kind::kScalar; });
    if (item.kind == Kind::kMap || nested) {
      return item.ErrorHere(ErrorKind::kBadValue, "a choice is between values or lists of them");
    }
    values.push_back(Plain(item));
    if (!texts.insert(FlowText(values.back())).second) {
      return item.ErrorHere(ErrorKind::kBadValue,
                            fmt::format("{} is there twice", FlowText(values.back())));
    }
  }
  return values;
}

Result<double> NumberIn(const Node& node, std::string_view what) {
  std::optional<double> number;
  if (node.kind == Kind::kScalar && !node.quoted) number = ParseNumber(node.scalar);
  if (number) return *number;
  return node.ErrorHere(ErrorKind::kBadValue, fmt::format("{} is a number", what),
                        "for example 64K or 0.5; K is 1,024");
}

Result<std::vector<Node>> RangeValues(const Node& node) {
  std::optional<double> from, to, times, step;
  const std::pair<std::string_view, std::optional<double>*> keys[] = {
      {"from", &from}, {"to", &to}, {"times", &times}, {"step", &step}};
  for (const auto& [key, value] : keys) {
    const Node* found = node.Find(key);
    if (found == nullptr) continue;
    const Result<double> number = NumberIn(*found, key);
    if (!number) return number.error();
    *value = *number;
  }
  if (!from || !to) {
    return node.ErrorHere(ErrorKind::kBadValue, "a range has both from and to",
                          "for example {from: 16K, to: 1M, times: 2}");
  }
  const Result<std::vector<double>> range = RangeOf(*from, *to, times, step);
  if (!range) {
    return node.ErrorHere(ErrorKind::kBadValue, range.error().message, range.error().hint);
  }
  std::vector<Node> values;
  for (const double value : *range) values.push_back(ScalarLike(node, NumberText(value)));
  return values;
}

Result<void> CheckChoiceKeys(const Node& node, std::initializer_list<std::string_view> known) {
  for (const Node::Entry& entry : node.entries) {
    if (std::ranges::find(known, entry.key) != known.end()) continue;
    return Error{.kind = ErrorKind::kUnknownName,
                 .message = fmt::format("{} does not belong to a choice", Quoted(entry.key)),
                 .where = entry.key_where,
                 .hint = "a choice has choose, or from, to and times or step; and as"};
  }
  return {};
}

static bool IsLabel(std::string_view text) {
  const auto letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
  return !text.empty() && letter(text[0]) && std::ranges::all_of(text, [&](char c) {
    return letter(c) || c == '_' || (c >= '0' && c <= '9');
  });
}

Result<std::string> LabelIn(const Node& node) {
  if (node.kind == Kind::kScalar && !node.quoted && IsLabel(node.scalar)) return node.scalar;
  return node.ErrorHere(ErrorKind::kBadValue, "as is a name of letters, digits and _",
                        "for example {choose: [8, 16], as: rows}, and elsewhere {as: rows}");
}

}  // namespace tessera
