// Values that templates and what-if questions list: numbers with K, M and G, and ranges of them.
#ifndef TESSERA_ARCH_TEMPLATE_VALUES_H_
#define TESSERA_ARCH_TEMPLATE_VALUES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/result.h"

namespace tessera {

// More values than this are no choice.
inline constexpr size_t kMostValues = 10'000;

// "16K" as 16384, K, M and G by 1,024; other numbers as they are. None: no number.
std::optional<double> ParseNumber(std::string_view text);

// A number as files have it: "16384", "0.5".
std::string NumberText(double number);

// From `from` to at most `to`: each `times` the one before, or `step` more. Errors without a place.
Result<std::vector<double>> RangeOf(double from, double to, std::optional<double> times,
                                    std::optional<double> step);

// "16K..1M:x2", "1..9:+2", "8,16,32": values as flags have them. K and so on are gone; words stay.
Result<std::vector<std::string>> ParseValues(std::string_view text);

}  // namespace tessera

#endif  // TESSERA_ARCH_TEMPLATE_VALUES_H_
