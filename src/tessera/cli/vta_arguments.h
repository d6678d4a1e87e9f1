// What the commands around VTA share: which configuration, which timing.
#ifndef TESSERA_CLI_VTA_ARGUMENTS_H_
#define TESSERA_CLI_VTA_ARGUMENTS_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/cli/command.h"
#include "tessera/result.h"
#include "tessera/vta.h"

namespace tessera {

// --vta for one configuration.
Flag VtaFlag(std::string& config);

// --configs: a file of further configurations that batch rows may name.
Flag ConfigsFlag(std::string& path);

// --read-delay, --beat-gap, --write-delay, --bus-bytes, --gemm-startup and --alu-startup.
std::vector<Flag> TimingFlags(vta::TimingParameters& timing);

// Refuses flags that `mode` ("--batch") would have to ignore, each with whether it was given.
Result<void> RefuseWith(std::string_view mode,
                        std::initializer_list<std::pair<bool, std::string_view>> flags);

}  // namespace tessera

#endif  // TESSERA_CLI_VTA_ARGUMENTS_H_
