// Constraints from YAML: what they leave, and what is said about those that cannot be met.
#include "tessera/space.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

std::vector<Decision> Decisions() {
  return {Decision::Ordinal("k_l2", {1, 2, 4, 8}),
          Decision::Categorical("parallel_l2", {"K", "C", "Y", "X"}),
          Decision::Order("order_l2", {"K", "C", "Y", "X"})};
}

std::string MessageOf(const std::string& body) {
  std::vector<Decision> decisions = Decisions();
  const Result<Constraints> constraints =
      ParseConstraints("format: tessera-constraints-1\n" + body, "c.yaml");
  if (!constraints) return ToString(constraints.error());
  const auto applied = Apply(*constraints, decisions);
  return applied ? "no error" : ToString(applied.error());
}

TEST(Constraints, CutDecisionsDown) {
  std::vector<Decision> decisions = Decisions();
  const Result<Constraints> constraints = ParseConstraints(
      "format: tessera-constraints-1\n"
      "fixed: {parallel_l2: C}\n"
      "forbidden: {k_l2: [1, 8]}\n"
      "order: {order_l2: [[C, K], [C, Y, X]]}\n",
      "c.yaml");
  ASSERT_TRUE(constraints) << constraints.error();
  const auto applied = Apply(*constraints, decisions);
  ASSERT_TRUE(applied) << applied.error();
  EXPECT_EQ(decisions[0].size(), 2);
  EXPECT_EQ(decisions[0].Label(0), "2");
  EXPECT_EQ(decisions[1].size(), 1);
  EXPECT_EQ(decisions[1].Label(0), "C");
  EXPECT_EQ(decisions[2].size(), 3);  // C first, then Y before X with K anywhere
}

TEST(Constraints, FixAWholeOrder) {
  std::vector<Decision> decisions = Decisions();
  const Result<Constraints> constraints = ParseConstraints(
      "format: tessera-constraints-1\nfixed: {order_l2: [X, Y, C, K]}\n", "c.yaml");
  ASSERT_TRUE(constraints) << constraints.error();
  ASSERT_TRUE(Apply(*constraints, decisions));
  ASSERT_EQ(decisions[2].size(), 1);
  EXPECT_EQ(decisions[2].Label(0), "X Y C K");
  EXPECT_EQ(decisions[2].IndexOfOrder(PermutationAt(0, 4)), 0);
}

TEST(Constraints, LimitNumbersAndRelateThem) {
  std::vector<Decision> decisions = Decisions();
  decisions.push_back(Decision::Ordinal("c_l2", {1, 2, 4}));
  const Result<Constraints> constraints = ParseConstraints(
      "format: tessera-constraints-1\n"
      "range: {k_l2: [2, 6], c_l2: {max: 3}}\n"
      "ratio: {k_l2 / c_l2: 2}\n"
      "allowed: {parallel_l2: [Y, X]}\n",
      "c.yaml");
  ASSERT_TRUE(constraints) << constraints.error();
  const auto relations = Apply(*constraints, decisions);
  ASSERT_TRUE(relations) << relations.error();
  EXPECT_EQ(decisions[0].size(), 2);
  EXPECT_EQ(decisions[0].Label(1), "4");
  EXPECT_EQ(decisions[1].size(), 2);
  EXPECT_EQ(decisions[3].size(), 2);
  ASSERT_EQ(relations->size(), 1u);
  EXPECT_TRUE(relations->front().Holds(4, 2));
  EXPECT_FALSE(relations->front().Holds(4, 4));
}

TEST(Constraints, ArePatternsOfDecisions) {
  std::vector<Decision> decisions = {Decision::Ordinal("K_RF", {1, 2}),
                                     Decision::Ordinal("C_RF", {1, 2}),
                                     Decision::Ordinal("C_GLB", {1, 2})};
  const Result<Constraints> constraints =
      ParseConstraints("format: tessera-constraints-1\nfixed: {'*_RF': 2}\n", "c.yaml");
  ASSERT_TRUE(constraints) << constraints.error();
  ASSERT_TRUE(Apply(*constraints, decisions));
  EXPECT_EQ(decisions[0].size(), 1);
  EXPECT_EQ(decisions[1].size(), 1);
  EXPECT_EQ(decisions[2].size(), 2);
}

TEST(Constraints, PatternsFitWholeNames) {
  EXPECT_TRUE(FitsPattern("layer1.*", "layer1.0.conv1"));
  EXPECT_FALSE(FitsPattern("layer1.*", "layer2.0.conv1"));
  EXPECT_TRUE(FitsPattern("*conv?", "layer1.0.conv1"));
  EXPECT_FALSE(FitsPattern("conv", "conv1"));
  EXPECT_TRUE(FitsPattern("*", ""));
  EXPECT_TRUE(FitsPattern("a*b*c", "aXbbYc"));
  EXPECT_FALSE(FitsPattern("a*b*c", "aXbbY"));
}

TEST(Constraints, AreForLayersByType) {
  const Result<Constraints> constraints = ParseConstraints(
      "format: tessera-constraints-1\n"
      "fixed: {k_l2: 1}\n"
      "types: {fc: {dataflow: output-stationary, range: {k_l2: {min: 2}}}}\n",
      "c.yaml");
  ASSERT_TRUE(constraints) << constraints.error();
  EXPECT_EQ(ConstraintsOn(*constraints, "fc", "").demands.size(), 3u);
  EXPECT_EQ(ConstraintsOn(*constraints, "conv", "").demands.size(), 1u);
}

TEST(Constraints, SayWhatIsWrong) {
  EXPECT_EQ(MessageOf("fixed: {k_l3: 1}"),
            "c.yaml:2:9: the space has no decision 'k_l3'; did you mean 'k_l2'?");
  EXPECT_EQ(MessageOf("fixed: {k_l2: x}"),
            "c.yaml:2:9: k_l2 is 'x', but must be one of 1, 2, 4, 8");
  EXPECT_EQ(MessageOf("fixed: {k_l2: 3}"),
            "no mapping is possible: k_l2 is one of 1, 2, 4, 8; a constraint that cannot hold: "
            "k_l2 = 3 (c.yaml:2:9)");
  EXPECT_EQ(MessageOf("forbidden: {k_l2: [1, 2, 4, 8]}"),
            "no mapping is possible: k_l2 is one of 1, 2, 4, 8; a constraint that cannot hold: "
            "k_l2 not 1, 2, 4, 8 (c.yaml:2:13)");
  EXPECT_EQ(MessageOf("order: {order_l2: [[C, K], [K, C]]}"),
            "no mapping is possible; constraints that do not go together: order_l2: C before K "
            "(c.yaml:2:20), order_l2: K before C (c.yaml:2:28)");
  EXPECT_EQ(MessageOf("fixed: {k_l2: 2}\nforbidden: {k_l2: [4, 2]}"),
            "no mapping is possible; constraints that do not go together: k_l2 = 2 (c.yaml:2:9), "
            "k_l2 not 4, 2 (c.yaml:3:13)");
  // Of four demands, the three that go round in a circle.
  EXPECT_EQ(
      MessageOf("order: {order_l2: [[C, K], [X, Y], [K, Y], [Y, C]]}"),
      "no mapping is possible; constraints that do not go together: order_l2: C before K "
      "(c.yaml:2:20), order_l2: K before Y (c.yaml:2:36), order_l2: Y before C (c.yaml:2:44)");
  EXPECT_EQ(MessageOf("order: {order_l2: [C, Z]}"),
            "c.yaml:2:9: order_l2 has no item 'Z'; known: K, C, Y, X");
  EXPECT_EQ(MessageOf("order: {k_l2: [C, K]}"),
            "c.yaml:2:9: k_l2 is not an order, so its values have none");
  EXPECT_EQ(MessageOf("range: {parallel_l2: [1, 2]}"),
            "c.yaml:2:9: parallel_l2 is not a number, so it has no limits");
  EXPECT_EQ(MessageOf("range: {k_l2: [4, 2]}"),
            "c.yaml:2:15: the least value 4 is above the most, 2");
  EXPECT_EQ(MessageOf("ratio: {k_l2: 2}"),
            "c.yaml:2:9: a ratio is not of two decisions: 'k_l2'; write K_GLB / C_GLB: 2");
  EXPECT_EQ(MessageOf("fix: {k_l2: 1}"),
            "c.yaml:2:1: unknown key 'fix' in a constraints file; known: format, dataflow, "
            "utilization, fixed, allowed, forbidden, range, ratio, order, types, layers, demands");
  EXPECT_EQ(MessageOf("forbidden: {k_l2: []}"), "c.yaml:2:19: no values are given");
}

}  // namespace
}  // namespace tessera
