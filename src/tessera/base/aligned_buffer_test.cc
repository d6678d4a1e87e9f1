// Aligned buffers: alignment, zeroes, moves, and sizes that cannot be had.
#include "tessera/base/aligned_buffer.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(AlignedBuffer, StartsAtACacheLineAndIsZero) {
  for (const int64_t size : {int64_t{0}, int64_t{1}, int64_t{1000}, int64_t{3'000'000}}) {
    AlignedBuffer<float> buffer(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
    for (const float value : buffer.span()) ASSERT_EQ(value, 0.0f);
    if (size > 0) buffer[size - 1] = 1;
  }
}

TEST(AlignedBuffer, MovesItsMemory) {
  AlignedBuffer<int32_t> first(8);
  first[3] = 7;
  const AlignedBuffer<int32_t> second = std::move(first);
  EXPECT_EQ(second[3], 7);
  EXPECT_EQ(second.size(), 8);
}

TEST(AlignedBuffer, AnImpossibleSizeIsAnError) {
  const Result<AlignedBuffer<float>> buffer = AlignedBuffer<float>::Allocate(int64_t{1} << 50);
  ASSERT_FALSE(buffer.ok());
  EXPECT_EQ(buffer.error().kind, ErrorKind::kInfeasible);
  EXPECT_EQ(buffer.error().message, "out of memory: 4503599627370496 bytes asked for");
}

}  // namespace
}  // namespace tessera
