// Documents keep positions, refuse what is ambiguous, and stay within their limits.
#include "tessera/base/document.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

Node ParseText(std::string_view text) {
  Result<Node> node = ParseDocument(text, "f.yaml");
  EXPECT_TRUE(node) << ToString(node.error());
  return node ? *node : Node{};
}

std::string ErrorOf(std::string_view text, const DocumentLimits& limits = {}) {
  const Result<Node> node = ParseDocument(text, "f.yaml", limits);
  return node ? "" : ToString(node.error());
}

TEST(Document, ReadsYaml) {
  const Node root = ParseText("name: net\nlayers:\n- {K: 64, C: 3}\n- {K: 8}\n");
  ASSERT_EQ(root.kind, Node::Kind::kMap);
  EXPECT_EQ(*root.Find("name")->AsString(), "net");
  const Node& layers = *root.Find("layers");
  ASSERT_EQ(layers.items.size(), 2u);
  EXPECT_EQ(*layers.items[0].Find("C")->AsInt(), 3);
  EXPECT_EQ(root.Find("missing"), nullptr);
}

TEST(Document, ReadsJson) {
  const Node root = ParseText("{\"a\": [1, 2.5, true, null, \"3\"],\n\t\"b\": {}}");
  const std::vector<Node>& items = root.Find("a")->items;
  EXPECT_EQ(*items[0].AsInt(), 1);
  EXPECT_EQ(*items[1].AsDouble(), 2.5);
  EXPECT_EQ(*items[1].AsDecimal(), *Decimal::Parse("2.5"));
  EXPECT_EQ(*items[2].AsBool(), true);
  EXPECT_EQ(*items[4].AsString(), "3");
  EXPECT_FALSE(items[4].AsInt());  // quoted: text, not a number
  EXPECT_EQ(root.Find("b")->kind, Node::Kind::kMap);
}

TEST(Document, KeepsPositions) {
  const Node root = ParseText("a: 1\nlayers:\n  - K: 64\n    C: x\n");
  const Node& layer = root.Find("layers")->items[0];
  EXPECT_EQ(layer.entries[1].key_where, (Where{"f.yaml", 4, 5}));
  EXPECT_EQ(ToString(layer.Find("C")->AsInt().error()), "f.yaml:4:8: 'x' is not an integer");
}

TEST(Document, ChecksTypesAndRanges) {
  const Node root =
      ParseText("a: 1.5\nb: [1]\nc: -1\nd: 99999999999999999999\ne: .nan\nf: yes\ng:\n");
  EXPECT_EQ(root.Find("a")->AsInt().error().message, "'1.5' is not an integer");
  EXPECT_EQ(root.Find("b")->AsInt().error().message, "expected an integer, found a list");
  EXPECT_EQ(root.Find("c")->AsInt(0, 9).error().message, "-1 is outside 0..9");
  EXPECT_EQ(root.Find("d")->AsInt().error().message,
            "'99999999999999999999' does not fit in 64 bits");
  EXPECT_EQ(root.Find("e")->AsDouble().error().message, "'.nan' is not a finite number");
  EXPECT_EQ(root.Find("f")->AsBool().error().message, "expected true or false, found 'yes'");
  EXPECT_EQ(root.Find("g")->AsString().error().message, "expected text, found nothing");
}

TEST(Document, KeepsDecimalsAsWritten) {
  const Node root = ParseText("a: 0.3\nb: 1e-2\nc: .inf\nd: '5'\n");
  EXPECT_EQ(root.Find("a")->AsDecimal()->ToString(), "0.3");
  EXPECT_EQ(root.Find("b")->AsDecimal()->ToString(), "0.01");
  EXPECT_EQ(ToString(root.Find("c")->AsDecimal().error()),
            "f.yaml:3:4: '.inf' is not a decimal number");
  EXPECT_EQ(root.Find("d")->AsDecimal().error().message, "expected a number, found '5'");
}

TEST(Document, KeepsTags) {
  const Node root =
      ParseText("- !Container\n  name: a\n- !Set [1]\n- !Word w\n- plain\n- 'quoted'\n");
  ASSERT_EQ(root.items.size(), 5u);
  EXPECT_EQ(root.items[0].tag, "!Container");
  EXPECT_EQ(*root.items[0].Find("name")->AsString(), "a");
  EXPECT_EQ(root.items[1].tag, "!Set");
  EXPECT_EQ(root.items[2].tag, "!Word");
  EXPECT_EQ(root.items[3].tag, "");
  EXPECT_EQ(root.items[4].tag, "");
  EXPECT_TRUE(root.items[4].quoted);
}

TEST(Document, RefusesDuplicateKeys) {
  EXPECT_EQ(ErrorOf("a: 1\nb: 2\na: 3\n"), "f.yaml:3:1: duplicate key 'a', first on line 1");
}

TEST(Document, RefusesBrokenSyntax) {
  EXPECT_EQ(ErrorOf("a: [1, 2\nb: 3\n").substr(0, 7), "f.yaml:");
  EXPECT_NE(ErrorOf("{"), "");
  EXPECT_NE(ErrorOf("a: *nothing"), "");
  EXPECT_EQ(ErrorOf("# only a comment\n"), "f.yaml: the file holds no values");
  EXPECT_NE(ErrorOf("a: 1\n---\nb: 2\n"), "");
  EXPECT_EQ(ErrorOf("? [a, b]\n: 1\n"), "f.yaml:1:3: a key must be plain text");
}

TEST(Document, ExpandsAliases) {
  const Node root = ParseText("base: &b {K: 1}\nlayer: *b\n");
  EXPECT_EQ(*root.Find("layer")->Find("K")->AsInt(), 1);
}

TEST(Document, StopsAliasBombs) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int level = 1; level < 12; ++level) {
    const std::string below = "*a" + std::to_string(level - 1);
    bomb += "a" + std::to_string(level) + ": &a" + std::to_string(level) + " [" + below;
    for (int i = 1; i < 10; ++i) bomb += ", " + below;
    bomb += "]\n";
  }
  EXPECT_NE(ErrorOf(bomb).find("more than 2000000 values, repeated aliases included"),
            std::string::npos);
}

TEST(Document, StopsDeepNesting) {
  for (const auto& [open, close] : {std::pair("[", "]"), std::pair("{a: ", "}")}) {
    std::string deep;
    for (int i = 0; i < 10'000; ++i) deep += open;
    for (int i = 0; i < 10'000; ++i) deep += close;
    EXPECT_NE(ErrorOf(deep).find("nested more than 64 levels deep"), std::string::npos);
  }
  std::string indented;
  for (int i = 0; i < 10'000; ++i) indented += std::string(static_cast<size_t>(i), ' ') + "a:\n";
  EXPECT_NE(ErrorOf(indented), "");
  EXPECT_EQ(ErrorOf("[[1]]", {.max_depth = 2}), "");
  EXPECT_NE(ErrorOf("[[1]]", {.max_depth = 1}), "");
}

TEST(Document, SurvivesEveryTruncation) {
  const std::string text = "a: &x [1, {b: \"q\\u0041\", c: 'd'}]\ne: *x\nf: |\n  text\n  more\n";
  for (size_t length = 0; length < text.size(); ++length) {
    static_cast<void>(ParseDocument(text.substr(0, length), "f.yaml"));
  }
}

TEST(MapReader, ReportsKeysThatNobodyAskedFor) {
  const Node root = ParseText("name: x\nlayrs: []\n");
  MapReader reader(root, "network");
  ASSERT_TRUE(reader.Check());
  EXPECT_NE(reader.Find("name"), nullptr);
  EXPECT_EQ(reader.Find("layers"), nullptr);
  EXPECT_EQ(ToString(reader.Finish().error()),
            "f.yaml:2:1: unknown key 'layrs' in a network; did you mean 'layers'?");
}

TEST(MapReader, ReportsMissingKeysAndWrongKinds) {
  const Node root = ParseText("name: x\n");
  MapReader reader(root, "network");
  EXPECT_EQ(ToString(reader.Require("layers").error()), "f.yaml:1:1: network without 'layers'");
  EXPECT_EQ(MapReader(*root.Find("name"), "layer").Check().error().message,
            "expected a map of the keys of a layer, found 'x'");
}

}  // namespace
}  // namespace tessera
