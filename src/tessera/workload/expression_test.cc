// Values of size expressions, and what is said about those without one.
#include "tessera/workload/expression.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

const std::map<std::string, int64_t> kParameters = {{"batch", 2}, {"seq", 128}, {"past", 0}};

TEST(Expression, FollowsTheUsualRules) {
  const std::pair<const char*, int64_t> cases[] = {
      {"64", 64},
      {"  7 ", 7},
      {"batch*seq", 256},
      {"12*batch", 24},
      {"seq + past", 128},
      {"1+2*3", 7},
      {"(1+2)*3", 9},
      {"10-4-3", 3},
      {"64/4/2", 8},
      {"(seq+2)/2*batch", 130},
      {"-3+5", 2},
      {"--3", 3},
      {"((((1))))", 1},
      {"-8/-1", 8},
      {"9223372036854775807", 9223372036854775807},
  };
  for (const auto& [text, value] : cases) {
    const Result<int64_t> result = EvaluateExpression(text, kParameters);
    ASSERT_TRUE(result) << text << ": " << result.error();
    EXPECT_EQ(*result, value) << text;
  }
}

TEST(Expression, SaysWhatIsWrongAtItsColumn) {
  const struct {
    std::string text;
    int64_t column;
    const char* message;
  } cases[] = {
      {"", 1, "expected a number or a parameter, found nothing"},
      {"1+", 3, "expected a number or a parameter, found nothing"},
      {"1+*2", 3, "expected a number or a parameter, found '*2'"},
      {"(1+2", 5, "expected ')' in an expression"},
      {"1 2", 3, "unexpected '2' in an expression"},
      {"1.5", 1, "'1.5' is not an integer"},
      {"1e3", 1, "'1e3' is not an integer"},
      {".nan", 1, "'.nan' is not an integer"},
      {"7/2", 2, "7 / 2 is not an integer"},
      {"7/past", 2, "division by zero"},
      {"9223372036854775807+1", 20, "the expression does not fit in 64 bits"},
      {"(-9223372036854775807-1)/-1", 25, "the expression does not fit in 64 bits"},
      {"4294967296*4294967296", 11, "the expression does not fit in 64 bits"},
      {"9223372036854775808", 1, "'9223372036854775808' does not fit in 64 bits"},
      {"2*sequ", 3, "'sequ' is neither an integer nor a parameter"},
      {std::string(1'000'000, '('), 33, "an expression nested more than 32 levels deep"},
      {std::string(1'000'000, '-'), 33, "an expression nested more than 32 levels deep"},
  };
  for (const auto& [text, column, message] : cases) {
    const Result<int64_t> result = EvaluateExpression(text, kParameters);
    ASSERT_FALSE(result) << text.substr(0, 40);
    EXPECT_EQ(result.error().message, message);
    EXPECT_EQ(result.error().where.column, column) << text.substr(0, 40);
  }
  EXPECT_EQ(EvaluateExpression("sequ", kParameters).error().hint, "did you mean 'seq'?");
}

TEST(Expression, ParameterNamesAreIdentifiers) {
  for (const char* name : {"seq", "_x", "N2", "BATCH"}) EXPECT_TRUE(IsParameterName(name));
  for (const char* name : {"", "2x", "a-b", "a b", "\xc3\xa9"}) EXPECT_FALSE(IsParameterName(name));
}

}  // namespace
}  // namespace tessera
