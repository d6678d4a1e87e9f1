// Words and values of an enum: both ways, and what a word that is none gets to hear.
#include "tessera/part.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

enum class Fruit { kApple, kPear, kPlum };
constexpr std::array<std::string_view, 3> kFruits = {"apple", "pear", "plum"};

TEST(Names, EveryValueHasItsWordAndBack) {
  for (const Fruit fruit : {Fruit::kApple, Fruit::kPear, Fruit::kPlum}) {
    const Result<Fruit> found = FindName<Fruit>("fruit", NameOf(fruit, kFruits), kFruits);
    ASSERT_TRUE(found) << found.error();
    EXPECT_EQ(*found, fruit);
  }
}

TEST(Names, AnUnknownWordIsAUsageErrorWithTheNearestOne) {
  const Result<Fruit> found = FindName<Fruit>("fruit", "peer", kFruits);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(found.error().message, "unknown fruit 'peer'");
  EXPECT_EQ(found.error().hint, "did you mean 'pear'?");
}

TEST(Names, WordsAreTakenAsTheyAreWritten) {
  EXPECT_FALSE(FindPosition("fruit", "Apple", kFruits));
  EXPECT_FALSE(FindPosition("fruit", "", kFruits));
  EXPECT_FALSE(FindPosition("fruit", "apple", {}));
}

}  // namespace
}  // namespace tessera
