// A fixed set of threads that take chunks of the current job from one counter.
#include "tessera/part.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tessera/result.h"

namespace tessera {
namespace {

// Cores of this process, which may be fewer than the machine has (containers, taskset).
int UsableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

struct ThreadPool::Shared {
  std::mutex mutex;
  std::condition_variable start, finish;
  std::vector<std::jthread> workers;

  // The current job; written under the mutex while no worker is busy.
  const Body* body = nullptr;
  int64_t count = 0, chunk = 1;
  std::atomic<int64_t> next = 0;
  uint64_t generation = 0;
  int busy = 0;
  std::exception_ptr thrown;
  bool stop = false;

  void TakeChunks(int worker) {
    while (true) {
      const int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= count) return;
      (*body)(begin, std::min(begin + chunk, count), worker);
    }
  }

  void TakeChunksSafely(int worker) {
    try {
      TakeChunks(worker);
    } catch (...) {
      next = count;  // nobody starts another chunk
      const std::lock_guard lock(mutex);
      if (thrown == nullptr) thrown = std::current_exception();
    }
  }

  void Stop() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    start.notify_all();
  }

  void Work(int worker) {
    uint64_t seen = 0;
    std::unique_lock lock(mutex);
    while (true) {
      start.wait(lock, [&] { return stop || generation != seen; });
      if (stop) return;
      seen = generation;
      lock.unlock();
      TakeChunksSafely(worker);
      lock.lock();
      if (--busy == 0) finish.notify_one();
    }
  }
};

ThreadPool::ThreadPool(int threads) : shared_(std::make_unique<Shared>()) {
  TESSERA_CHECK(threads >= 0);
  const int total = threads == 0 ? UsableCores() : threads;
  try {
    for (int worker = 1; worker < total; ++worker) {
      shared_->workers.emplace_back([this, worker] { shared_->Work(worker); });
    }
  } catch (...) {
    // The system has no more threads; those that there are would be waited for in vain.
    shared_->Stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { shared_->Stop(); }

int ThreadPool::threads() const { return static_cast<int>(shared_->workers.size()) + 1; }

void ThreadPool::ParallelFor(int64_t count, int64_t chunk, const Body& body) {
  TESSERA_CHECK(count >= 0 && chunk > 0);
  if (count == 0) return;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->body = &body;
    shared_->count = count;
    shared_->chunk = chunk;
    shared_->next = 0;
    shared_->busy = static_cast<int>(shared_->workers.size());
    ++shared_->generation;
  }
  shared_->start.notify_all();
  shared_->TakeChunksSafely(/*worker=*/0);
  std::unique_lock lock(shared_->mutex);
  shared_->finish.wait(lock, [&] { return shared_->busy == 0; });
  if (shared_->thrown != nullptr) std::rethrow_exception(std::exchange(shared_->thrown, nullptr));
}

}  // namespace tessera
