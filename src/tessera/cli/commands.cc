// All commands: one line in each of the two lists.
#include "tessera/cli/commands.h"

#include <array>

namespace tessera {

extern const Command kZooCommand;
extern const Command kCheckCommand;
extern const Command kConvertCommand;
extern const Command kEvaluateCommand;
extern const Command kBoundCommand;
extern const Command kMapCommand;
extern const Command kResumeCommand;
extern const Command kVerifyCommand;
extern const Command kCompareCommand;
extern const Command kAssignCommand;
extern const Command kTrainCommand;
extern const Command kProfileCommand;
extern const Command kEnvCommand;
extern const Command kCooptimizeCommand;
extern const Command kCompileCommand;
extern const Command kSimulateCommand;
extern const Command kAssembleCommand;
extern const Command kDisassembleCommand;
extern const Command kListCommand;
extern const Command kCompletionCommand;

std::span<const Command* const> Commands() {
  static constexpr std::array kCommands = {
      // One command a line, in the order of the help.
      // clang-format off
      &kZooCommand,
      &kCheckCommand,
      &kConvertCommand,
      &kEvaluateCommand,
      &kBoundCommand,
      &kMapCommand,
      &kResumeCommand,
      &kVerifyCommand,
      &kCompareCommand,
      &kAssignCommand,
      &kTrainCommand,
      &kProfileCommand,
      &kEnvCommand,
      &kCooptimizeCommand,
      &kCompileCommand,
      &kSimulateCommand,
      &kAssembleCommand,
      &kDisassembleCommand,
      &kListCommand,
      &kCompletionCommand,
      // clang-format on
  };
  return kCommands;
}

}  // namespace tessera
