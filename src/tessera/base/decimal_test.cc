// Decimals keep what was written, and divide exactly.
#include "tessera/part.h"

#include <limits>

#include <gtest/gtest.h>

#include "tessera/base/checked.h"

namespace tessera {
namespace {

TEST(Decimal, KeepsWhatWasWritten) {
  const Decimal third = *Decimal::Parse("0.3");
  EXPECT_EQ(third.mantissa(), 3);
  EXPECT_EQ(third.exponent(), -1);
  EXPECT_EQ(third.ToDouble(), 0.3);
  EXPECT_EQ(*Decimal::Parse("0.30"), third);
  EXPECT_EQ(*Decimal::Parse("3e-1"), third);
  EXPECT_EQ(*Decimal::Parse("16"), Decimal(16));
  EXPECT_EQ(*Decimal::Parse("0.000"), Decimal(0));
}

TEST(Decimal, PrintsPlainly) {
  for (const char* text :
       {"0.3", "16", "200", "0.56", "-7.4", "81920000", "0.001", "1e30", "1e-25"}) {
    EXPECT_EQ(Decimal::Parse(text)->ToString(), text);
  }
}

TEST(Decimal, RefusesWhatIsNotANumber) {
  for (const char* text :
       {"", ".", "-", "nan", "inf", "1.2.3", "1e", "1e1.5", "0x1", "1e9999", "1 "}) {
    EXPECT_FALSE(Decimal::Parse(text)) << text;
  }
  EXPECT_EQ(Decimal::Parse("12345678901234567890").error().message,
            "'12345678901234567890' is not a decimal number of at most 18 digits");
}

TEST(Decimal, OfADoubleIsItsShortestForm) {
  CounterRng rng(1, StreamId("decimal"));
  EXPECT_EQ(Decimal::FromDouble(0.1).mantissa(), 1);
  for (int i = 0; i < 10'000; ++i) {
    const double value = rng.Normal() * 1e3;
    EXPECT_EQ(Decimal::FromDouble(value).ToDouble(), value);
    EXPECT_EQ(*Decimal::Parse(Decimal::FromDouble(value).ToString()), Decimal::FromDouble(value));
  }
}

TEST(Decimal, CeilQuotientIsExact) {
  // In doubles 6 / 0.3 is 20.000000000000004, which would round up to 21.
  EXPECT_EQ(Decimal::Parse("0.3")->CeilQuotient(6), 20);
  EXPECT_EQ(Decimal::Parse("0.7")->CeilQuotient(20), 29);
  EXPECT_EQ(Decimal(16).CeilQuotient(0), 0);
  EXPECT_EQ(Decimal(16).CeilQuotient(17), 2);
  EXPECT_EQ(Decimal::Parse("1e30")->CeilQuotient(5), 1);
  EXPECT_EQ(Decimal::Parse("1e-30")->CeilQuotient(std::numeric_limits<int64_t>::max()),
            std::numeric_limits<int64_t>::max());
}

TEST(Decimal, QuotientsEqualIntegerDivision) {
  CounterRng rng(2, StreamId("decimal"));
  for (int i = 0; i < 10'000; ++i) {
    const int64_t count = rng.UniformInt(1'000'000'000), tenths = 1 + rng.UniformInt(1'000);
    const Decimal rate = *Decimal::Parse(std::to_string(tenths) + "e-1");
    EXPECT_EQ(rate.CeilQuotient(count), CeilDiv(count * 10, tenths));
    EXPECT_EQ(rate.FloorQuotient(count), count * 10 / tenths);
  }
}

}  // namespace
}  // namespace tessera
