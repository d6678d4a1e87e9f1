// A decimal number as it was written: 0.3 is 3/10, not the nearest double. Bandwidths and energies
// of machines are kept this way, so that exact rules can be computed exactly.
#ifndef TESSERA_BASE_DECIMAL_H_
#define TESSERA_BASE_DECIMAL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/base/result.h"

namespace tessera {

// mantissa * 10^exponent, without trailing zeros in the mantissa (0 is 0 * 10^0). Every double's
// shortest decimal form fits; so do integers of up to 18 digits.
class Decimal {
 public:
  constexpr Decimal() = default;
  constexpr Decimal(int64_t value) : Decimal(value, 0) {}  // NOLINT: implicit, 16 means 16
  // The decimal with the fewest digits that reads back as `value`; value is finite.
  static Decimal FromDouble(double value);
  static Result<Decimal> Parse(std::string_view text);

  int64_t mantissa() const { return mantissa_; }
  int exponent() const { return exponent_; }
  double ToDouble() const;
  std::string ToString() const;  // Parse(ToString()) is the same number

  // Smallest integer not below, and largest integer not above, count / *this, for count >= 0 and
  // *this > 0; both saturate at the largest 64-bit integer.
  int64_t CeilQuotient(int64_t count) const;
  int64_t FloorQuotient(int64_t count) const;

  friend bool operator==(const Decimal&, const Decimal&) = default;

 private:
  constexpr Decimal(int64_t mantissa, int exponent) : mantissa_(mantissa), exponent_(exponent) {
    while (mantissa_ != 0 && mantissa_ % 10 == 0) {
      mantissa_ /= 10;
      ++exponent_;
    }
    if (mantissa_ == 0) exponent_ = 0;
  }

  int64_t mantissa_ = 0;
  int exponent_ = 0;
};

}  // namespace tessera

#endif  // TESSERA_BASE_DECIMAL_H_
