// The flags of a command as JSON, so that a run can be continued by naming its folder alone.
#ifndef TESSERA_CLI_SAVED_FLAGS_H_
#define TESSERA_CLI_SAVED_FLAGS_H_

#include <span>

#include "tessera/cli/command.h"
#include "tessera/report/json.h"
#include "tessera/result.h"

namespace tessera {

// {"NETWORK": ["resnet18"], "--method": "dcoc", ...}; flags that were not given and have no default
// are left out.
Json SaveFlags(std::span<const Flag> flags);

// Puts saved values where the flags point; others keep their defaults. The error names a flag that
// does not exist, or a value of another type.
Result<void> RestoreFlags(const Json& saved, std::span<const Flag> flags);

}  // namespace tessera

#endif  // TESSERA_CLI_SAVED_FLAGS_H_
