// Decisions: values by index, number, label and order, before and after some are ruled out.
#include "tessera/space.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

std::string MessageOf(const Decision& decision, std::string_view label) {
  const Result<int32_t> index = decision.Parse(label);
  return index ? "no error" : ToString(index.error());
}

TEST(Decision, OrdinalFindsNumbers) {
  const Decision tile = Decision::Ordinal("k_l2", {1, 2, 4, 8, 64});
  EXPECT_EQ(tile.size(), 5);
  EXPECT_EQ(tile.Label(4), "64");
  EXPECT_EQ(tile.Find(8), 3);
  EXPECT_EQ(tile.Find(5), -1);
  EXPECT_EQ(tile.AtMost(7), 2);
  EXPECT_EQ(tile.AtMost(0), 0);
  EXPECT_EQ(tile.AtMost(1000), 4);
  EXPECT_EQ(tile.Nearest(20), 3);
  EXPECT_EQ(tile.Nearest(24), 4);  // 24/8 > 64/24
  EXPECT_EQ(tile.Nearest(0.5), 0);
  EXPECT_EQ(MessageOf(tile, "5"), "k_l2 is '5', but must be one of 1, 2, 4, 8, 64");
}

TEST(Decision, CategoricalKeepsCodesWhenCutDown) {
  Decision parallel = Decision::Categorical("parallel", {"K", "C", "Y"});
  ASSERT_TRUE(parallel.Keep({true, false, true}));
  EXPECT_EQ(parallel.size(), 2);
  EXPECT_EQ(parallel.Label(1), "Y");
  EXPECT_EQ(parallel.value(1), 2);
  EXPECT_FALSE(parallel.Parse("C"));
  EXPECT_FALSE(parallel.Keep({false, false}));
  EXPECT_EQ(parallel.size(), 2);
}

TEST(Decision, OrderReadsAndWritesItems) {
  const Decision order = Decision::Order("order", {"K", "C", "Y"});
  EXPECT_EQ(order.size(), 6);
  EXPECT_EQ(order.Label(0), "K C Y");
  EXPECT_EQ(order.Label(5), "Y C K");
  for (int32_t i = 0; i < 6; ++i) EXPECT_EQ(*order.Parse(order.Label(i)), i);
  for (const char* bad : {"K C", "K C C", "K C Y K", "K C Z", ""}) {
    EXPECT_EQ(MessageOf(order, bad),
              std::string("order is '") + bad + "', but must be an allowed order of K C Y");
  }
}

TEST(Decision, PartialOrdersLeaveTheirLinearExtensions) {
  Decision order = Decision::Order("order", {"K", "C", "Y", "X"});
  ASSERT_TRUE(order.KeepBefore(1, 0));  // C before K
  ASSERT_TRUE(order.KeepBefore(1, 3));  // C before X
  EXPECT_EQ(order.size(), 8);           // 4!/3: C is the first of three
  for (int32_t i = 0; i < order.size(); ++i) {
    const std::string label = order.Label(i);
    EXPECT_LT(label.find('C'), label.find('K'));
    EXPECT_LT(label.find('C'), label.find('X'));
    EXPECT_EQ(order.IndexOfOrder(order.OrderAt(i)), i);
  }
  EXPECT_FALSE(order.KeepBefore(3, 1));
  // K C Y X is not allowed; C has to go in front, the rest stays.
  EXPECT_EQ(order.Label(order.IndexOfOrder(PermutationAt(0, 4))), "C K Y X");
}

}  // namespace
}  // namespace tessera
