// Features: every kind of decision as numbers between 0 and 1.
#include "tessera/space/features.h"

#include <vector>

#include <gtest/gtest.h>

#include "tessera/space/synthetic.h"

namespace tessera {
namespace {

TEST(Features, EncodesEachKind) {
  const DecisionSpace space({Decision::Ordinal("tile", {1, 2, 4, 16}),
                             Decision::Ordinal("constant", {7}),
                             Decision::Categorical("parallel", {"K", "C", "Y"}),
                             Decision::Order("order", {"K", "C", "Y"})});
  const Features features(space);
  ASSERT_EQ(features.size(), 7u);
  EXPECT_EQ(features.columns()[1].decision, 2u);
  Point point(4);
  point[0] = 2;
  point[2] = 1;
  point[3] = *space.decisions()[3].Parse("Y K C");
  std::vector<double> row(7);
  features.Encode(point, row);
  EXPECT_EQ(row, (std::vector<double>{0.5, 0, 1, 0, 0.5, 1, 0}));
}

TEST(Features, StayBetweenZeroAndOne) {
  const SyntheticSpace space;
  const Features features(space);
  std::vector<double> row(features.size());
  for (uint64_t step = 0; step < 100; ++step) {
    CounterRng rng(1, 2, step);
    features.Encode(space.Sample(rng, 0), row);
    for (const double value : row) {
      ASSERT_GE(value, 0);
      ASSERT_LE(value, 1);
    }
  }
}

}  // namespace
}  // namespace tessera
