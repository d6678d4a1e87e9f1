// Numbers in text are taken whole or refused; checked arithmetic notices overflow anywhere.
#include "tessera/base/text.h"

#include <limits>

#include <gtest/gtest.h>

#include "tessera/base/checked.h"

namespace tessera {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST(ParseInt, TakesDecimalIntegers) {
  EXPECT_EQ(*ParseInt("64"), 64);
  EXPECT_EQ(*ParseInt("-3"), -3);
  EXPECT_EQ(*ParseInt("+7"), 7);
  EXPECT_EQ(*ParseInt("007"), 7);
  EXPECT_EQ(*ParseInt("9223372036854775807"), kMax);
  EXPECT_EQ(*ParseInt("-9223372036854775808"), kMin);
}

TEST(ParseInt, RefusesEverythingElse) {
  for (const char* text :
       {"", " 1", "1 ", "1.0", "1e3", "0x10", "+-3", "--3", "1,000", "nan", "-"}) {
    ASSERT_FALSE(ParseInt(text)) << text;
    EXPECT_EQ(ParseInt(text).error().kind, ErrorKind::kBadValue) << text;
  }
  EXPECT_EQ(ParseInt("9223372036854775808").error().message,
            "'9223372036854775808' does not fit in 64 bits");
  EXPECT_EQ(ParseInt("9223372036854775808").error().kind, ErrorKind::kOverflow);
}

TEST(ParseDouble, TakesFiniteNumbersOnly) {
  EXPECT_EQ(*ParseDouble("0.5"), 0.5);
  EXPECT_EQ(*ParseDouble("-1e-3"), -1e-3);
  for (const char* text : {"", "nan", "inf", "-inf", "1e999", "0.5x", "0,5", " 1"}) {
    EXPECT_FALSE(ParseDouble(text)) << text;
  }
}

TEST(Text, TrimsAndSplits) {
  EXPECT_EQ(Trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(Trim(" \n"), "");
  const std::vector<std::string_view> parts = {"a", "", "b", ""};
  EXPECT_EQ(Split("a,,b,", ','), parts);
}

TEST(Text, GroupsDigits) {
  EXPECT_EQ(WithThousands(0), "0");
  EXPECT_EQ(WithThousands(999), "999");
  EXPECT_EQ(WithThousands(-1000), "-1,000");
  EXPECT_EQ(WithThousands(1'814'073'344), "1,814,073,344");
}

TEST(Text, QuotesWithoutControlCharactersAndBounded) {
  EXPECT_EQ(Quoted("K"), "'K'");
  EXPECT_EQ(Quoted("a\nb\x7f"), "'a\\x0ab\\x7f'");
  EXPECT_LT(Quoted(std::string(10'000, 'x')).size(), 50u);
}

TEST(Text, EscapesWhatMovesACursorOrTurnsALine) {
  EXPECT_EQ(Printable("a\xc2\x9b"
                      "b\xe2\x80\xae"
                      "c"),
            "a\\u009bb\\u202ec");
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half a surrogate
  EXPECT_EQ(PrintableLines("a\tb\n\x1b[2J\x7f\r"), "a\tb\n\\x1b[2J\\u007f\\x0d");
}

TEST(Text, ShortensWithoutCuttingACharacter) {
  EXPECT_EQ(Shortened("abc", 3), "abc");
  EXPECT_EQ(Shortened("ab\xc3\xb6"
                      "cd",
                      3),
            "ab... (4 more bytes)");
}

TEST(Text, WritesWholeNumbersOfAnySize) {
  EXPECT_EQ(WholeText(1234567), "1,234,567");
  EXPECT_EQ(WholeText(1e19), "1e+19");
}

TEST(Text, MakesNamesPrintable) {
  EXPECT_EQ(Printable("conv1/gr\xc3\xb6\xc3\x9f"
                      "e"),
            "conv1/gr\xc3\xb6\xc3\x9f"
            "e");
  EXPECT_EQ(Printable("a\x1b[1m\n"), "a\\x1b[1m\\x0a");
  EXPECT_EQ(Printable("a\xff\xc3"), "a\\xff\\xc3");
  EXPECT_EQ(Quoted("\xff"), "'\\xff'");
}

TEST(Text, MakesYamlScalars) {
  EXPECT_EQ(YamlScalar("layer1.0/conv-1"), "layer1.0/conv-1");
  EXPECT_EQ(YamlScalar("null"), "\"null\"");
  EXPECT_EQ(YamlScalar("-x"), "\"-x\"");
  EXPECT_EQ(YamlScalar(""), "\"\"");
  EXPECT_EQ(YamlScalar("a: \"b\"\n"), "\"a: \\\"b\\\"\\x0A\"");
}

TEST(Text, MakesFileNamesFromAnything) {
  EXPECT_EQ(SafeFileName("squeezenet1.0"), "squeezenet1.0");
  EXPECT_EQ(SafeFileName("a/b c:\\d"), "a_b_c__d");
  EXPECT_EQ(SafeFileName(".."), "_..");
  EXPECT_EQ(SafeFileName(""), "_");
  EXPECT_EQ(SafeFileName(std::string(1000, 'x')).size(), 200u);
}

TEST(Checked, ComputesWhatFits) {
  EXPECT_EQ((Checked(3) * 5 + 2 - 20).value(), -3);
  EXPECT_EQ((Checked(kMax) + 0).value(), kMax);
}

TEST(Checked, RemembersAnOverflowToTheEnd) {
  EXPECT_FALSE((Checked(kMax) + 1).ok());
  EXPECT_FALSE((Checked(kMin) - 1).ok());
  EXPECT_FALSE((Checked(int64_t{1} << 32) * (int64_t{1} << 31)).ok());
  EXPECT_FALSE(((Checked(kMax) + 1) * 0).ok());
  EXPECT_EQ((Checked(kMax) * 2).get(), std::nullopt);
}

TEST(Checked, CeilDivRoundsUp) {
  EXPECT_EQ(CeilDiv(0, 4), 0);
  EXPECT_EQ(CeilDiv(8, 4), 2);
  EXPECT_EQ(CeilDiv(9, 4), 3);
  EXPECT_EQ(CeilDiv(kMax, 1), kMax);
}

}  // namespace
}  // namespace tessera
