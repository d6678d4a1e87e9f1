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
  const Result<void> applied = Apply(*constraints, decisions);
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
  const Result<void> applied = Apply(*constraints, decisions);
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

TEST(Constraints, SayWhatIsWrong) {
  EXPECT_EQ(MessageOf("fixed: {k_l3: 1}"),
            "c.yaml:2:9: the space has no decision 'k_l3'; did you mean 'k_l2'?");
  EXPECT_EQ(MessageOf("fixed: {k_l2: 3}"),
            "c.yaml:2:9: k_l2 is '3', but must be one of 1, 2, 4, 8");
  EXPECT_EQ(MessageOf("forbidden: {k_l2: [1, 2, 4, 8]}"),
            "c.yaml:2:13: k_l2: every value is forbidden");
  EXPECT_EQ(MessageOf("order: {order_l2: [[C, K], [K, C]]}"),
            "c.yaml:2:9: order_l2: K before C contradicts C before K (c.yaml:2:9)");
  EXPECT_EQ(MessageOf("fixed: {k_l2: 2}\nforbidden: {k_l2: [4, 2]}"),
            "c.yaml:3:13: k_l2: forbidden 4, 2 contradicts fixed 2 (c.yaml:2:9)");
  EXPECT_EQ(MessageOf("order: {order_l2: [[C, K], [K, Y], [Y, C]]}"),
            "c.yaml:2:9: order_l2: Y before C contradicts the other constraints");
  EXPECT_EQ(MessageOf("order: {order_l2: [C, Z]}"),
            "c.yaml:2:9: order_l2 has no item 'Z'; known: K, C, Y, X");
  EXPECT_EQ(MessageOf("order: {k_l2: [C, K]}"),
            "c.yaml:2:9: k_l2 is not an order, so its values have none");
  EXPECT_EQ(MessageOf("fix: {k_l2: 1}"),
            "c.yaml:2:1: unknown key 'fix' in a constraints file; known: format, fixed, forbidden, "
            "order");
  EXPECT_EQ(MessageOf("forbidden: {k_l2: []}"), "c.yaml:2:19: no values are given");
}

}  // namespace
}  // namespace tessera
