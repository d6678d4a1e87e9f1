// Flags of programs as evaluators.
#include "tessera/cli/external_arguments.h"

#include "tessera/base/text.h"

namespace tessera {

std::vector<Flag> ExternalFlags(double& timeout_seconds, int64_t& memory_mib, int64_t& batch_rows) {
  return {{.name = "--exec-timeout",
           .target = &timeout_seconds,
           .help = "exec: longest time to the first answer and between answers",
           .value = "SECONDS",
           .least = 0.001},
          {.name = "--exec-memory",
           .target = &memory_mib,
           .help = "exec: memory of the program, 0 for no limit",
           .value = "MIB",
           .least = 0,
           .most = 1 << 30},
          {.name = "--exec-batch",
           .target = &batch_rows,
           .help = "exec: rows that one run of the program gets",
           .value = "N",
           .least = 1,
           .most = 1 << 30}};
}

Result<void> CheckExternalCommand(std::string_view command) {
  if (!Trim(command).empty()) return {};
  return Error{.kind = ErrorKind::kUsage,
               .message = "--model exec: has no command",
               .hint = "write --model 'exec:./my_model --option'"};
}

}  // namespace tessera
