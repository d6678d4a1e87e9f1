// What fits and what is said of what does not.
#include "tessera/base/memory.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Memory, SomeIsLeft) { EXPECT_GT(AvailableMemoryBytes(), 0); }

TEST(Memory, IsWrittenInTheUnitThatFits) {
  EXPECT_EQ(MemoryText(17), "17 bytes");
  EXPECT_EQ(MemoryText(640.0 * (1 << 20)), "640 MiB");
  EXPECT_EQ(MemoryText(12.34 * (1 << 30)), "12.3 GiB");
}

TEST(Memory, WhatDoesNotFitIsRefusedWithItsSize) {
  EXPECT_TRUE(RequireMemory("a little", 1 << 20, ""));
  const Result<void> refused = RequireMemory("replay", 1e18, "lower 'capacity'");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message.find("replay: needs 931322574.6 GiB of memory > "), 0u);
  EXPECT_EQ(refused.error().hint, "lower 'capacity'");
}

}  // namespace
}  // namespace tessera
