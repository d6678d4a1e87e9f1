// Small buffers from the heap, large ones from mmap with a hint for huge pages.
#include "tessera/base/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

namespace tessera {
namespace {

constexpr int64_t kCacheLineBytes = 64;
constexpr int64_t kHugePageBytes = int64_t{2} << 20;

constexpr int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// mmap aligns to small pages, so a range one huge page longer is cut to a huge-page boundary.
void* MapHuge(int64_t bytes) {
  const int64_t padded = bytes + kHugePageBytes;
  void* const mapped = ::mmap(nullptr, static_cast<size_t>(padded), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(mapped);
  const int64_t address = static_cast<int64_t>(reinterpret_cast<intptr_t>(mapped));
  const int64_t lead = RoundUp(address, kHugePageBytes) - address;
  const int64_t rest = kHugePageBytes - lead;
  if (lead > 0) ::munmap(begin, static_cast<size_t>(lead));
  if (rest > 0) ::munmap(begin + lead + bytes, static_cast<size_t>(rest));
  ::madvise(begin + lead, static_cast<size_t>(bytes), MADV_HUGEPAGE);  // a hint: may be refused
  return begin + lead;
}

}  // namespace

void* AllocateZeroed(int64_t bytes) {
  if (bytes < 0 || bytes > (int64_t{1} << 46)) return nullptr;
  if (bytes >= kHugePageBytes) return MapHuge(RoundUp(bytes, kHugePageBytes));
  const size_t size = static_cast<size_t>(RoundUp(bytes + (bytes == 0), kCacheLineBytes));
  void* const memory = std::aligned_alloc(kCacheLineBytes, size);
  if (memory != nullptr) std::memset(memory, 0, size);
  return memory;
}

void FreeZeroed(void* memory, int64_t bytes) {
  if (memory == nullptr) return;
  if (bytes >= kHugePageBytes) {
    ::munmap(memory, static_cast<size_t>(RoundUp(bytes, kHugePageBytes)));
  } else {
    std::free(memory);
  }
}

}  // namespace tessera
