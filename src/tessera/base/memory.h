// Memory: what a setting would need is compared with what there is before any of it is taken.
#ifndef TESSERA_BASE_MEMORY_H_
#define TESSERA_BASE_MEMORY_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

// An error if `what` does not fit: "WHAT: needs 12.3 GiB of memory > 5.1 GiB that are left; HINT".
// A double, so that products of any sizes can be asked about.
Result<void> RequireMemory(std::string_view what, double bytes, std::string_view hint);

}  // namespace tessera

#endif  // TESSERA_BASE_MEMORY_H_
