// The --accelerator option that many commands share.
#ifndef TESSERA_CLI_ACCELERATOR_ARGUMENT_H_
#define TESSERA_CLI_ACCELERATOR_ARGUMENT_H_

#include <string>
#include <vector>

#include "tessera/cli/command.h"

namespace tessera {

// Load the result with LoadAccelerator, and show Accelerator::notes as remarks.
Flag AcceleratorFlag(std::string& accelerator, bool required = true);

// Names for shell completion.
std::vector<std::string> AcceleratorNames();

}  // namespace tessera

#endif  // TESSERA_CLI_ACCELERATOR_ARGUMENT_H_
