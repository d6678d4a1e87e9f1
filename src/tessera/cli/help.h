// Help texts, written from the declarations of the commands.
#ifndef TESSERA_CLI_HELP_H_
#define TESSERA_CLI_HELP_H_

#include <span>
#include <string>

#include "tessera/cli/command.h"

namespace tessera {

// `tessera --help`.
std::string Help(std::span<const Command* const> commands);

// `tessera COMMAND --help`.
std::string Help(const Command& command);

// "usage: tessera zoo [NAME] [OPTIONS]".
std::string Usage(const Command& command);

}  // namespace tessera

#endif  // TESSERA_CLI_HELP_H_
