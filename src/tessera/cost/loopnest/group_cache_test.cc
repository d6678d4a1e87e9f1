// What was counted before is found again, for the same question only.
#include "tessera/cost/loopnest/group_cache.h"

#include <vector>

#include <gtest/gtest.h>

namespace tessera::loopnest {
namespace {

const std::vector<FanLoop> kBelow = {{.count = 3, .key_step = 1}};
const std::vector<FanLoop> kHere = {{.count = 4, .key_step = 1}, {.count = 2, .key_step = 0}};
const std::vector<GroupClass> kClasses = {{.size = 1, .groups = 2, .half_hops = 5},
                                          {.size = 3, .groups = 4, .half_hops = 9}};

GroupQuestion Question(const std::vector<FanLoop>& below, const std::vector<FanLoop>& here,
                       FanGrid grid = {.width = 4, .height = 2}) {
  return {.below = below, .here = here, .grid = grid};
}

TEST(GroupCache, FindsWhatItKept) {
  GroupCache cache;
  cache.Reserve();
  std::vector<GroupClass> classes;
  EXPECT_EQ(cache.Find(Question(kBelow, kHere), classes), std::nullopt);
  cache.Keep(Question(kBelow, kHere), 6, kClasses);
  EXPECT_EQ(cache.Find(Question(kBelow, kHere), classes), 6);
  ASSERT_EQ(classes.size(), 2u);
  EXPECT_EQ(classes[1].size, 3);
  EXPECT_EQ(classes[1].groups, 4);
  EXPECT_EQ(classes[1].half_hops, 9);
}

TEST(GroupCache, AnotherQuestionHasAnotherAnswer) {
  GroupCache cache;
  cache.Reserve();
  std::vector<GroupClass> classes;
  cache.Keep(Question(kBelow, kHere), 6, kClasses);
  std::vector<FanLoop> other = kHere;
  other[1].key_step = 7;
  EXPECT_EQ(cache.Find(Question(kBelow, other), classes), std::nullopt);
  other = kHere;
  other[0].count = 5;
  EXPECT_EQ(cache.Find(Question(kBelow, other), classes), std::nullopt);
  EXPECT_EQ(cache.Find(Question(kBelow, kHere, {.width = 8, .height = 1}), classes), std::nullopt);
  // The same loops, divided otherwise.
  EXPECT_EQ(cache.Find(Question({kBelow[0], kHere[0]}, {kHere[1]}), classes), std::nullopt);
  EXPECT_EQ(cache.Find(Question({}, {kBelow[0], kHere[0], kHere[1]}), classes), std::nullopt);
}

TEST(GroupCache, KeepsNothingWithoutRoom) {
  GroupCache cache;
  std::vector<GroupClass> classes;
  cache.Keep(Question(kBelow, kHere), 6, kClasses);
  EXPECT_EQ(cache.Find(Question(kBelow, kHere), classes), std::nullopt);
}

TEST(GroupCache, ForgetsWhatIsTooLong) {
  GroupCache cache;
  cache.Reserve();
  std::vector<GroupClass> classes;
  const std::vector<FanLoop> many(20, FanLoop{.count = 2, .key_step = 1});
  EXPECT_EQ(cache.Find(Question(kBelow, many), classes), std::nullopt);
  cache.Keep(Question(kBelow, many), 6, kClasses);
  EXPECT_EQ(cache.Find(Question(kBelow, many), classes), std::nullopt);
  cache.Keep(Question(kBelow, kHere), 6, std::vector<GroupClass>(50));
  EXPECT_EQ(cache.Find(Question(kBelow, kHere), classes), std::nullopt);
}

}  // namespace
}  // namespace tessera::loopnest
