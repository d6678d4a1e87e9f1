// The list of sub-commands, in the order of `tessera --help`.
#ifndef TESSERA_CLI_COMMANDS_H_
#define TESSERA_CLI_COMMANDS_H_

#include <span>

#include "tessera/cli/command.h"

namespace tessera {

std::span<const Command* const> Commands();

}  // namespace tessera

#endif  // TESSERA_CLI_COMMANDS_H_
