// Every index is visited once, and results are the same on any number of threads.
#include "tessera/part.h"

#include <atomic>
#include <cmath>
#include <new>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(ThreadPool, TakesTheThreadsItIsGiven) {
  EXPECT_EQ(ThreadPool(1).threads(), 1);
  EXPECT_EQ(ThreadPool(5).threads(), 5);
  EXPECT_GE(ThreadPool().threads(), 1);
}

TEST(ThreadPool, VisitsEveryIndexOnce) {
  for (const int threads : {1, 2, 7}) {
    ThreadPool pool(threads);
    for (const int64_t count : {0, 1, 10, 1000}) {
      for (const int64_t chunk : {1, 3, 64, 5000}) {
        std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
        pool.ParallelFor(count, chunk, [&](int64_t begin, int64_t end, int worker) {
          ASSERT_LT(worker, threads);
          ASSERT_LE(end - begin, chunk);
          for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
        });
        for (const auto& visit : visits) ASSERT_EQ(visit, 1);
      }
    }
  }
}

// Adds by chunk, as code that sums floats on several threads does.
double SumOfNormals(ThreadPool& pool) {
  constexpr int64_t kCount = 5'000, kChunk = 17;
  std::vector<double> parts(static_cast<size_t>(kCount / kChunk + 1));
  pool.ParallelFor(kCount, kChunk, [&](int64_t begin, int64_t end, int /*worker*/) {
    double& sum = parts[static_cast<size_t>(begin / kChunk)];
    for (int64_t i = begin; i < end; ++i) {
      sum += CounterRng(3, StreamId("sum"), static_cast<uint64_t>(i)).Normal();
    }
  });
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

TEST(ThreadPool, SumsOfFloatsDoNotDependOnThreads) {
  ThreadPool one(1);
  const double expected = SumOfNormals(one);
  for (const int threads : {2, 3, 8}) {
    ThreadPool pool(threads);
    for (int repeat = 0; repeat < 10; ++repeat) EXPECT_EQ(SumOfNormals(pool), expected) << threads;
  }
}

TEST(ThreadPool, WhatABodyThrowsIsThrownAtTheCaller) {
  for (const int threads : {1, 4}) {
    ThreadPool pool(threads);
    EXPECT_THROW(pool.ParallelFor(100, 1,
                                  [](int64_t begin, int64_t, int) {
                                    if (begin == 50) throw std::bad_alloc();
                                  }),
                 std::bad_alloc);
    std::atomic<int64_t> done = 0;
    pool.ParallelFor(100, 1, [&](int64_t begin, int64_t end, int) { done += end - begin; });
    EXPECT_EQ(done, 100);
  }
}

TEST(ThreadPool, ManySmallJobsInARowDoNotMixUp) {
  ThreadPool pool(4);
  for (int64_t job = 0; job < 2'000; ++job) {
    std::atomic<int64_t> sum = 0;
    pool.ParallelFor(8, 1, [&](int64_t begin, int64_t, int) { sum += begin + job; });
    ASSERT_EQ(sum, 28 + 8 * job);
  }
}

}  // namespace
}  // namespace tessera
