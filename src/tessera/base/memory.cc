// Numbers of the kernel about memory.
#include "tessera/base/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include <fmt/format.h>

namespace tessera {
namespace {

constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

// The first number after `key`, or kUnknown ("max" is no number).
int64_t NumberAfter(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string word; !key.empty() && file >> word && word != key;) {
  }
  int64_t number = 0;
  return file >> number ? number : kUnknown;
}

int64_t MachineBytes() {
  const int64_t kilobytes = NumberAfter("/proc/meminfo", "MemAvailable:");
  return kilobytes == kUnknown ? kUnknown : kilobytes * 1024;
}

int64_t ContainerBytes() {
  const int64_t most = NumberAfter("/sys/fs/cgroup/memory.max", "");
  const int64_t used = NumberAfter("/sys/fs/cgroup/memory.current", "");
  return most == kUnknown || used == kUnknown ? kUnknown : std::max<int64_t>(0, most - used);
}

int64_t ProcessBytes() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnknown;
  const int64_t pages = NumberAfter("/proc/self/statm", "");
  const int64_t used = pages == kUnknown ? 0 : pages * ::sysconf(_SC_PAGESIZE);
  const auto most = static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, kUnknown));
  return std::max<int64_t>(0, most - used);
}

}  // namespace

int64_t AvailableMemoryBytes() {
  return std::min({MachineBytes(), ContainerBytes(), ProcessBytes()});
}

std::string MemoryText(double bytes) {
  constexpr double kMib = 1 << 20, kGib = 1 << 30;
  if (bytes >= kGib) return fmt::format("{:.1f} GiB", bytes / kGib);
  if (bytes >= kMib) return fmt::format("{:.0f} MiB", bytes / kMib);
  return fmt::format("{:.0f} bytes", bytes);
}

Result<void> RequireMemory(std::string_view what, double bytes, std::string_view hint) {
  constexpr double kSmall = 64 << 20;  // not worth a look at the kernel's files
  if (bytes <= kSmall) return {};
  const auto left = static_cast<double>(AvailableMemoryBytes());
  if (bytes <= left) return {};
  return Error{.kind = ErrorKind::kInfeasible,
               .message = fmt::format("{}: needs {} of memory > {} that are left", what,
                                      MemoryText(bytes), MemoryText(left)),
               .hint = std::string(hint)};
}

}  // namespace tessera
