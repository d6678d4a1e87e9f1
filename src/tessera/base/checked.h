// 64-bit arithmetic that notices overflow. A Checked remembers that some step overflowed, so a
// formula is written as it stands in the text and asked once at its end:
//
//   const Checked macs = Checked(n) * k * c;
//   if (!macs.ok()) return Error{...};
#ifndef TESSERA_BASE_CHECKED_H_
#define TESSERA_BASE_CHECKED_H_

#include <cstdint>
#include <optional>

#include "tessera/result.h"

namespace tessera {

class Checked {
 public:
  constexpr Checked(int64_t value) : value_(value) {}  // NOLINT: implicit, formulas mix both

  constexpr bool ok() const { return ok_; }
  constexpr std::optional<int64_t> get() const {
    return ok_ ? std::optional<int64_t>(value_) : std::nullopt;
  }
  // The value; only if ok().
  constexpr int64_t value() const {
    TESSERA_CHECK(ok_);
    return value_;
  }

  friend constexpr Checked operator+(Checked a, Checked b) {
    return Make(a, b,
                [](int64_t x, int64_t y, int64_t* z) { return __builtin_add_overflow(x, y, z); });
  }
  friend constexpr Checked operator-(Checked a, Checked b) {
    return Make(a, b,
                [](int64_t x, int64_t y, int64_t* z) { return __builtin_sub_overflow(x, y, z); });
  }
  friend constexpr Checked operator*(Checked a, Checked b) {
    return Make(a, b,
                [](int64_t x, int64_t y, int64_t* z) { return __builtin_mul_overflow(x, y, z); });
  }

 private:
  template <typename Operation>
  static constexpr Checked Make(Checked a, Checked b, Operation overflows) {
    Checked result(0);
    result.ok_ = !overflows(a.value_, b.value_, &result.value_) && a.ok_ && b.ok_;
    return result;
  }

  int64_t value_;
  bool ok_ = true;
};

// Smallest integer not below a / b, for a >= 0 and b > 0.
constexpr int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

}  // namespace tessera

#endif  // TESSERA_BASE_CHECKED_H_
