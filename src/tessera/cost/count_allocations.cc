// In a file of its own, where no caller is inlined: a compiler that sees malloc behind new and free
// behind delete takes them for a mismatch.
#include "tessera/cost/count_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<int64_t> allocations = 0;
}  // namespace

void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
// std::stable_sort takes its buffer from this one and gives it back to the delete below.
void* operator new(size_t size, const std::nothrow_t& /*tag*/) noexcept {
  ++allocations;
  return std::malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t /*size*/) noexcept { std::free(memory); }

namespace tessera {

int64_t CountAllocations() { return allocations; }

}  // namespace tessera
