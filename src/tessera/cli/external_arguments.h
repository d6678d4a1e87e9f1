// Options of a user's program as evaluator: --model exec:COMMAND and its limits.
#ifndef TESSERA_CLI_EXTERNAL_ARGUMENTS_H_
#define TESSERA_CLI_EXTERNAL_ARGUMENTS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/cli/command.h"
#include "tessera/cost/external/external.h"

namespace tessera {

// --exec-timeout, --exec-memory and --exec-batch, by the fields of ExternalOptions.
std::vector<Flag> ExternalFlags(double& timeout_seconds, int64_t& memory_mib, int64_t& batch_rows);

// Whether there is something after "exec:".
Result<void> CheckExternalCommand(std::string_view command);

}  // namespace tessera

#endif  // TESSERA_CLI_EXTERNAL_ARGUMENTS_H_
