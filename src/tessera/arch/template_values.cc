#include "tessera/arch/template_values.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tessera/base/text.h"

namespace tessera {
namespace {

Error BadRange(std::string message) {
  return {.kind = ErrorKind::kBadValue,
          .message = std::move(message),
          .hint = "for example {from: 16K, to: 1M, times: 2} or {from: 8, to: 32, step: 8}"};
}

}  // namespace

std::optional<double> ParseNumber(std::string_view text) {
  double factor = 1;
  constexpr std::string_view kPrefixes = "KMG";
  if (!text.empty()) {
    if (const size_t power = kPrefixes.find(text.back()); power != std::string_view::npos) {
      for (size_t i = 0; i <= power; ++i) factor *= 1024;
      text.remove_suffix(1);
    }
  }
  // What ParseDouble takes beside numbers is not one here: inf, nan.
  if (text.empty() || text.find_first_not_of("0123456789.eE+-") != std::string_view::npos) {
    return std::nullopt;
  }
  const Result<double> number = ParseDouble(text);
  if (!number || !std::isfinite(*number * factor)) return std::nullopt;
  return *number * factor;
}

std::string NumberText(double number) {
  constexpr double kExact = 9007199254740992;  // 2^53
  if (number == std::floor(number) && std::abs(number) < kExact) {
    return fmt::format("{}", static_cast<int64_t>(number));
  }
  return Decimal::FromDouble(number).ToString();
}

Result<std::vector<double>> RangeOf(double from, double to, std::optional<double> times,
                                    std::optional<double> step) {
  if (times.has_value() == step.has_value()) return BadRange("a range has either times or step");
  if (to < from) {
    return BadRange(fmt::format("the range ends at {}, before it begins at {}", NumberText(to),
                                NumberText(from)));
  }
  if (times && (*times <= 1 || from <= 0)) {
    return BadRange("times is more than 1, and the range begins above 0");
  }
  if (step && *step <= 0) return BadRange("step is more than 0");
  std::vector<double> values;
  constexpr double kSlack = 1 + 1e-12;  // of sums of parts such as 0.1
  for (double value = from; value <= to * (to > 0 ? kSlack : 1);) {
    if (values.size() == kMostValues) {
      return BadRange(fmt::format("the range has more than {} values", kMostValues));
    }
    values.push_back(value);
    const double next = times ? value * *times : from + *step * static_cast<double>(values.size());
    if (next <= value) return BadRange("the range does not get to its end");
    value = next;
  }
  return values;
}

Result<std::vector<std::string>> ParseValues(std::string_view text) {
  std::vector<std::string> values;
  const auto wrong = [&](std::string message) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = std::move(message),
                 .hint = "write 16K..1M:x2, 1..9:+2 or 8,16,32"};
  };
  for (const std::string_view part : Split(text, ',')) {
    const std::string_view word = Trim(part);
    if (word.empty()) return wrong(fmt::format("a value is missing in {}", Quoted(text)));
    const size_t dots = word.find("..");
    if (dots == std::string_view::npos) {
      const std::optional<double> number = ParseNumber(word);
      values.push_back(number ? NumberText(*number) : std::string(word));
      continue;
    }
    const size_t colon = word.find(':', dots);
    const std::string_view step = colon == std::string_view::npos ? "" : word.substr(colon + 1);
    const std::optional<double> from = ParseNumber(word.substr(0, dots));
    const std::optional<double> to = ParseNumber(
        word.substr(dots + 2, colon == std::string_view::npos ? colon : colon - dots - 2));
    const std::optional<double> by = step.starts_with('x') || step.starts_with('+')
                                         ? ParseNumber(step.substr(1))
                                         : ParseNumber(step);
    if (!from || !to || !by) return wrong(fmt::format("{} is not a range", Quoted(word)));
    const bool factor = step.starts_with('x');
    const Result<std::vector<double>> range =
        RangeOf(*from, *to, factor ? by : std::nullopt, factor ? std::nullopt : by);
    if (!range) return wrong(range.error().message);
    for (const double value : *range) values.push_back(NumberText(value));
  }
  std::vector<std::string> sorted = values;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
    return wrong(fmt::format("{} is there twice", *twice));
  }
  return values;
}

}  // namespace tessera
