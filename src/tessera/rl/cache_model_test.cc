// Caches and TLBs against traces that were counted by hand.
#include "tessera/rl/cache_model.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(SimulatedCache, ReplacesWhatWasUsedLongestAgo) {
  SimulatedCache cache({.entries = 4, .ways = 2, .line_bytes = 64});  // two sets of two
  EXPECT_FALSE(cache.Access(0));
  EXPECT_FALSE(cache.Access(2));  // the same set
  EXPECT_TRUE(cache.Access(0));
  EXPECT_FALSE(cache.Access(4));  // 2 goes, 0 was used later
  EXPECT_TRUE(cache.Access(0));
  EXPECT_FALSE(cache.Access(2));
  EXPECT_FALSE(cache.Access(1));  // the other set is empty
  EXPECT_TRUE(cache.Access(1));
}

constexpr CacheModel kTiny = {.name = "tiny",
                              .summary = "",
                              .l1 = {2, 1, 64},
                              .l2 = {4, 4, 64},
                              .last = {8, 8, 64},
                              .dtlb = {2, 2, 4096}};

TEST(CacheSimulator, CountsEveryLevelAndPages) {
  CacheSimulator caches(kTiny);
  caches.Touch(0, 0, 130);  // three lines of one page; the third shares a set of L1 with the first
  EXPECT_EQ(caches.counts().accesses, 3);
  EXPECT_EQ(caches.counts().l1_misses, 3);
  EXPECT_EQ(caches.counts().l2_misses, 3);
  EXPECT_EQ(caches.counts().last_misses, 3);
  EXPECT_EQ(caches.counts().dtlb_misses, 1);
  caches.ClearCounts();
  caches.Touch(0, 0, 4);  // gone from L1, still in L2
  EXPECT_EQ(caches.counts().l1_misses, 1);
  EXPECT_EQ(caches.counts().l2_misses, 0);
  caches.Touch(0, 4, 8);  // the same line again
  EXPECT_EQ(caches.counts().l1_misses, 1);
  caches.ClearCounts();
  caches.Touch(0, 4090, 12);  // over the end of a page: two lines, a new page
  EXPECT_EQ(caches.counts().accesses, 2);
  EXPECT_EQ(caches.counts().dtlb_misses, 1);
}

// Three pages in turn with a TLB of two entries miss every time; two never again.
TEST(CacheSimulator, ThrashesATlbThatIsTooSmall) {
  for (const int pages : {2, 3}) {
    CacheSimulator caches(kTiny);
    for (int round = 0; round < 10; ++round) {
      for (int page = 0; page < pages; ++page) caches.Touch(0, page * 4096, 1);
    }
    EXPECT_EQ(caches.counts().dtlb_misses, pages == 2 ? 2 : 30);
  }
}

TEST(CacheModels, HaveWholeSets) {
  for (const CacheModel& model : CacheModels()) {
    for (const CacheShape& shape : {model.l1, model.l2, model.last, model.dtlb}) {
      EXPECT_EQ(shape.entries % shape.ways, 0) << model.name;
      EXPECT_EQ((shape.entries / shape.ways) & (shape.entries / shape.ways - 1), 0) << model.name;
    }
    EXPECT_TRUE(FindCacheModel(model.name));
  }
  EXPECT_EQ(ToString(FindCacheModel("zen").error()),
            "unknown cache model 'zen'; did you mean 'zen2'?");
}

}  // namespace
}  // namespace tessera
