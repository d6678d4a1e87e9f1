// All commands: one line in each of the two lists.
#include "tessera/cli/commands.h"

#include <array>

namespace tessera {

extern const Command kListCommand;
extern const Command kCompletionCommand;

std::span<const Command* const> Commands() {
  static constexpr std::array kCommands = {
      &kListCommand,
      &kCompletionCommand,
  };
  return kCommands;
}

}  // namespace tessera
