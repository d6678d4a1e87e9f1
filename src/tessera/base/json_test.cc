// JSON lines become the trees that the YAML reader would make of them.
#include "tessera/base/json.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(ParseJson, MakesTheTreeOfTheYamlReader) {
  const char* text = R"({"id": "a", "list": [1, -2, 0.30, true, null], "map": {"x": {}}})";
  const Result<Node> json = ParseJson(text, "rows.jsonl", 7);
  ASSERT_TRUE(json) << json.error();
  EXPECT_EQ(*json->Find("id")->AsString(), "a");
  const std::vector<Node>& list = json->Find("list")->items;
  ASSERT_EQ(list.size(), 5u);
  EXPECT_EQ(*list[0].AsInt(), 1);
  EXPECT_EQ(*list[1].AsInt(), -2);
  EXPECT_EQ(list[2].scalar, "0.30");
  EXPECT_TRUE(*list[3].AsBool());
  EXPECT_EQ(list[4].kind, Node::Kind::kNull);
  EXPECT_EQ(json->Find("map")->Find("x")->kind, Node::Kind::kMap);
  EXPECT_EQ(list[0].where(), (Where{"rows.jsonl", 7, 0}));
}

TEST(ParseJson, StringsAreNotNumbers) { EXPECT_FALSE(ParseJson(R"("1")", "f")->AsInt()); }

TEST(ParseJson, SaysWhereItStopsBeingJson) {
  const Error error = ParseJson(R"({"a": 1,, "b": 2})", "rows.jsonl", 3).error();
  EXPECT_EQ(ToString(error), "rows.jsonl:3:9: this is not JSON");
  EXPECT_EQ(ParseJson("", "f").error().kind, ErrorKind::kSyntax);
  EXPECT_EQ(ParseJson("[1] 2", "f").error().kind, ErrorKind::kSyntax);
}

TEST(ParseJson, RefusesDuplicateKeysAndDepth) {
  EXPECT_EQ(ParseJson(R"({"a": 1, "a": 2})", "f").error().message, "key 'a' occurs twice");
  const std::string deep(100, '[');
  EXPECT_EQ(ParseJson(deep, "f").error().message, "nested more than 64 deep");
  const DocumentLimits few{.max_nodes = 3};
  EXPECT_EQ(ParseJson("[1, 2, 3]", "f", 1, few).error().message, "more than 3 values");
}

}  // namespace
}  // namespace tessera
