// JSON keeps every digit and the order of its keys.
#include "tessera/report/json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tessera {
namespace {

TEST(Json, KeepsAllDigitsAndTheOrderOfKeys) {
  const Json json = {{"z", int64_t{9223372036854775807}}, {"a", 0.1}, {"m", 1.0}, {"n", 1e300}};
  EXPECT_EQ(ToText(json),
            "{\n  \"z\": 9223372036854775807,\n  \"a\": 0.1,\n  \"m\": 1.0,\n  \"n\": 1e+300\n}\n");
}

TEST(Json, ListsOfPlainValuesStayOnOneLine) {
  const Json json = {{"pad", {1, 1, 0, 0}}, {"none", Json::array()}, {"rows", {{{"a", 1}}}}};
  EXPECT_EQ(ToText(json),
            "{\n  \"pad\": [1, 1, 0, 0],\n  \"none\": [],\n  \"rows\": [\n    {\n"
            "      \"a\": 1\n    }\n  ]\n}\n");
  EXPECT_EQ(Json::parse(ToText(json)), json);
}

TEST(Json, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(ToText(Json("a\xff")), "\"a\xEF\xBF\xBD\"\n");
}

TEST(Json, ErrorsHaveNullForWhatIsNotKnown) {
  const Json full = ToJson(Error{.kind = ErrorKind::kUnknownName,
                                 .message = "unknown dimension 'KK'",
                                 .where = {.file = "net.m", .line = 1, .column = 47},
                                 .hint = "did you mean 'K'?"});
  EXPECT_EQ(full.dump(),
            R"({"file":"net.m","line":1,"column":47,"message":"unknown dimension 'KK'",)"
            R"("hint":"did you mean 'K'?"})");
  const Json bare = ToJson(Error{.message = "bad"});
  EXPECT_EQ(bare.dump(), R"({"file":null,"line":null,"column":null,"message":"bad","hint":null})");
}

TEST(Json, DecimalsAreIntegersWhereTheyCanBe) {
  EXPECT_EQ(ToJson(Decimal(64)).dump(), "64");
  EXPECT_EQ(ToJson(*Decimal::Parse("0.56")).dump(), "0.56");
  EXPECT_EQ(ToJson(*Decimal::Parse("6.4e1")).dump(), "64");
}

}  // namespace
}  // namespace tessera
