// Memory: what a setting would need is compared with what there is before any of it is taken.
#ifndef TESSERA_BASE_MEMORY_H_
#define TESSERA_BASE_MEMORY_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/base/result.h"

namespace tessera {

// Bytes that this process may still take: the least of what the machine has to give, of its
// container and of its own limit (ulimit -v). The largest number if nothing can be found out.
int64_t AvailableMemoryBytes();

// "12.3 GiB", "640 MiB" or "17 bytes".
std::string MemoryText(double bytes);

// An error if `what` does not fit: "WHAT: needs 12.3 GiB of memory > 5.1 GiB that are left; HINT".
// A double, so that products of any sizes can be asked about.
Result<void> RequireMemory(std::string_view what, double bytes, std::string_view hint);

}  // namespace tessera

#endif  // TESSERA_BASE_MEMORY_H_
