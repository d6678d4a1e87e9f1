// Threads for batches of independent work, with results that do not depend on how many there are.
#ifndef TESSERA_BASE_THREAD_POOL_H_
#define TESSERA_BASE_THREAD_POOL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace tessera {

// Contract:
//   Threads      ParallelFor is called by one thread at a time, never from inside `body`.
//   Determinism  chunk boundaries depend on (count, chunk) alone. A body that writes only what
//                belongs to its own indices therefore gives the same result on any number of
//                threads; sums of floats are kept by chunk and added in the order of the chunks.
//   Errors       `body` must not throw.
class ThreadPool {
 public:
  // Work on the half-open range [begin, end); `worker` is 0 .. threads()-1, for scratch space.
  using Body = std::function<void(int64_t begin, int64_t end, int worker)>;

  // threads = 0 takes one per core this process may use. The calling thread is one of them.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  // Calls body for every chunk of [0, count) and returns when all are done.
  void ParallelFor(int64_t count, int64_t chunk, const Body& body);

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace tessera

#endif  // TESSERA_BASE_THREAD_POOL_H_
