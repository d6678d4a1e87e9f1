// Decimals: text to mantissa and exponent, and exact division of a count.
#include "tessera/part.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr int kMaxExponent = 400;  // beyond the range of doubles; keeps sums of exponents in int

Error BadDecimal(std::string_view text, std::string_view why) {
  return Error{.kind = ErrorKind::kBadValue,
               .message = fmt::format("{} is not a decimal number{}", Quoted(text), why)};
}

// value * 10^power, or the largest Wide where that does not fit.
Wide TimesPowerOfTen(Wide value, int power) {
  for (; power > 0; --power) {
    if (value > ~Wide{0} / 10) return ~Wide{0};
    value *= 10;
  }
  return value;
}

// count / divisor as a fraction of integers.
std::pair<Wide, Wide> Fraction(const Decimal& divisor, int64_t count) {
  TESSERA_CHECK(count >= 0 && divisor.mantissa() > 0);
  return {TimesPowerOfTen(static_cast<Wide>(count), -divisor.exponent()),
          TimesPowerOfTen(static_cast<Wide>(divisor.mantissa()), divisor.exponent())};
}

int64_t Saturate(Wide value) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return value > static_cast<Wide>(kMost) ? kMost : static_cast<int64_t>(value);
}

}  // namespace

Decimal Decimal::FromDouble(double value) {
  TESSERA_CHECK(std::isfinite(value));
  Result<Decimal> decimal = Parse(fmt::format("{}", value));
  return *decimal;  // a shortest form has at most 17 digits
}

Result<Decimal> Decimal::Parse(std::string_view text) {
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  Checked mantissa = 0;
  int exponent = 0;
  bool any_digit = false, after_point = false;
  while (!rest.empty() && (rest[0] == '.' || (rest[0] >= '0' && rest[0] <= '9'))) {
    if (rest[0] == '.') {
      if (after_point) return BadDecimal(text, "");
      after_point = true;
    } else {
      any_digit = true;
      mantissa = mantissa * 10 + (rest[0] - '0');
      exponent -= after_point ? 1 : 0;
    }
    rest.remove_prefix(1);
  }
  if (!any_digit) return BadDecimal(text, "");
  if (!rest.empty()) {
    if (rest[0] != 'e' && rest[0] != 'E') return BadDecimal(text, "");
    const Result<int64_t> written = ParseInt(rest.substr(1));
    if (!written || std::abs(*written) > kMaxExponent) return BadDecimal(text, "");
    exponent += static_cast<int>(*written);
  }
  if (!mantissa.ok() || std::abs(exponent) > kMaxExponent) {
    return BadDecimal(text, " of at most 18 digits");
  }
  return Decimal(negative ? -mantissa.value() : mantissa.value(), exponent);
}

double Decimal::ToDouble() const {
  // Through text, because from_chars rounds correctly and a product of powers of ten does not.
  const std::string text = fmt::format("{}e{}", mantissa_, exponent_);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string Decimal::ToString() const {
  std::string digits = fmt::format("{}", mantissa_ < 0 ? -mantissa_ : mantissa_);
  const char* sign = mantissa_ < 0 ? "-" : "";
  if (exponent_ > 0 && exponent_ + std::ssize(digits) <= 18) {
    return sign + digits + std::string(static_cast<size_t>(exponent_), '0');
  }
  if (exponent_ > 0 || exponent_ < -20) return fmt::format("{}{}e{}", sign, digits, exponent_);
  if (exponent_ == 0) return sign + digits;
  const size_t decimals = static_cast<size_t>(-exponent_);
  if (digits.size() <= decimals) digits.insert(0, decimals + 1 - digits.size(), '0');
  digits.insert(digits.size() - decimals, ".");
  return sign + digits;
}

int64_t Decimal::CeilQuotient(int64_t count) const {
  const auto [numerator, denominator] = Fraction(*this, count);
  return Saturate(numerator / denominator + (numerator % denominator != 0));
}

int64_t Decimal::FloorQuotient(int64_t count) const {
  const auto [numerator, denominator] = Fraction(*this, count);
  return Saturate(numerator / denominator);
}

}  // namespace tessera
