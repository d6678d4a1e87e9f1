// Values of parameters to and from text, with messages that name the rule.
#include "tessera/part.h"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/base/text.h"

namespace tessera {
namespace {

Error BadParameter(const ParameterInfo& info, std::string_view text, std::string rule,
                   std::string hint = "") {
  return Error{.kind = ErrorKind::kUsage,
               .message = fmt::format("parameter '{}' is {}, but must be {}", info.name,
                                      Quoted(text), std::move(rule)),
               .hint = std::move(hint)};
}

std::string Number(double value) { return fmt::format("{}", value); }

Result<ParameterValue> ParseBool(const ParameterInfo& info, std::string_view text) {
  if (text == "true" || text == "1") return ParameterValue(true);
  if (text == "false" || text == "0") return ParameterValue(false);
  return BadParameter(info, text, "true or false");
}

Result<ParameterValue> ParseWord(const ParameterInfo& info, std::string_view text) {
  if (info.choices.empty()) return ParameterValue(std::string(text));
  for (const std::string& choice : info.choices) {
    if (choice == text) return ParameterValue(choice);
  }
  return BadParameter(info, text, fmt::format("one of {}", fmt::join(info.choices, ", ")),
                      DidYouMean(text, info.choices));
}

bool Within(const Range& range, double value) {
  return value >= range.least && value <= range.most;
}

}  // namespace

std::string_view TypeName(const ParameterInfo& info) {
  constexpr std::string_view kNames[] = {"bool", "int", "float", "text"};
  return kNames[info.fallback.index()];
}

std::string RangeText(const ParameterInfo& info) {
  if (!info.choices.empty()) return fmt::format("{}", fmt::join(info.choices, "|"));
  const bool number = std::holds_alternative<int64_t>(info.fallback) ||
                      std::holds_alternative<double>(info.fallback);
  if (!number) return "";
  const bool low = std::isfinite(info.range.least), high = std::isfinite(info.range.most);
  if (!low && !high) return "";
  return fmt::format("{}..{}", low ? Number(info.range.least) : "",
                     high ? Number(info.range.most) : "");
}

std::string ToString(const ParameterValue& value) {
  return std::visit([](const auto& held) { return fmt::format("{}", held); }, value);
}

Result<ParameterValue> ParseValue(const ParameterInfo& info, std::string_view text) {
  if (std::holds_alternative<bool>(info.fallback)) return ParseBool(info, text);
  if (std::holds_alternative<std::string>(info.fallback)) return ParseWord(info, text);
  if (std::holds_alternative<int64_t>(info.fallback)) {
    const Result<int64_t> value = ParseInt(text);
    if (!value) return BadParameter(info, text, "an integer");
    if (Within(info.range, static_cast<double>(*value))) return ParameterValue(*value);
  } else {
    const Result<double> value = ParseDouble(text);
    if (!value) return BadParameter(info, text, "a number");
    if (Within(info.range, *value)) return ParameterValue(*value);
  }
  return BadParameter(info, text, fmt::format("in {}", RangeText(info)));
}

Result<size_t> FindParameter(std::string_view part, const std::vector<ParameterInfo>& infos,
                             std::string_view name) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].name == name) return i;
    names.push_back(infos[i].name);
  }
  return Error{.kind = ErrorKind::kUsage,
               .message = fmt::format("{} has no parameter {}", part, Quoted(name)),
               .hint = DidYouMean(name, names, names.size())};
}

}  // namespace tessera
