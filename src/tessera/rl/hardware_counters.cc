// perf_event_open for two events of the calling thread.
#include "tessera/rl/hardware_counters.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace tessera {
namespace {

int OpenEvent(uint32_t type, uint64_t config) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = type;
  attr.config = config;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  return static_cast<int>(
      ::syscall(SYS_perf_event_open, &attr, /*pid=*/0, /*cpu=*/-1, /*group_fd=*/-1, /*flags=*/0));
}

int64_t ReadEvent(int fd) {
  int64_t value = 0;
  return ::read(fd, &value, sizeof(value)) == sizeof(value) ? value : 0;
}

}  // namespace

Result<std::unique_ptr<HardwareCounters>> HardwareCounters::Open() {
  const int cache = OpenEvent(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES);
  const int cache_error = errno;
  const int dtlb =
      OpenEvent(PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_DTLB | PERF_COUNT_HW_CACHE_OP_READ << 8 |
                                        PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
  const int dtlb_error = errno;
  if (cache >= 0 && dtlb >= 0) {
    return std::unique_ptr<HardwareCounters>(new HardwareCounters(cache, dtlb));
  }
  if (cache >= 0) ::close(cache);
  if (dtlb >= 0) ::close(dtlb);
  const int error = cache < 0 ? cache_error : dtlb_error;
  return Error{.kind = ErrorKind::kUnsupported,
               .message = fmt::format("no hardware counters for cache and dTLB misses: {}",
                                      std::strerror(error)),
               .hint = error == EACCES || error == EPERM
                           ? "lower /proc/sys/kernel/perf_event_paranoid"
                           : "the processor or the virtual machine does not offer them"};
}

HardwareCounters::~HardwareCounters() {
  ::close(cache_fd_);
  ::close(dtlb_fd_);
}

int64_t HardwareCounters::CacheMisses() const { return ReadEvent(cache_fd_); }
int64_t HardwareCounters::DtlbMisses() const { return ReadEvent(dtlb_fd_); }

}  // namespace tessera
