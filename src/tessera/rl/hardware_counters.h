// Cache and TLB misses of this thread from the kernel's performance events, where it offers them.
#ifndef TESSERA_RL_HARDWARE_COUNTERS_H_
#define TESSERA_RL_HARDWARE_COUNTERS_H_

#include <cstdint>
#include <memory>

#include "tessera/result.h"

namespace tessera {

class HardwareCounters {
 public:
  // An error of kind kUnsupported says why there are none (a virtual machine, a setting).
  static Result<std::unique_ptr<HardwareCounters>> Open();
  ~HardwareCounters();

  int64_t CacheMisses() const;
  int64_t DtlbMisses() const;

 private:
  HardwareCounters(int cache_fd, int dtlb_fd) : cache_fd_(cache_fd), dtlb_fd_(dtlb_fd) {}

  const int cache_fd_, dtlb_fd_;
};

}  // namespace tessera

#endif  // TESSERA_RL_HARDWARE_COUNTERS_H_
