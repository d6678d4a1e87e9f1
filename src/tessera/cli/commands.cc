// All commands, one line each.
#include "tessera/cli/commands.h"

#include <array>

#include "tessera/part.h"

namespace tessera {

// In the order of the help.
#define TESSERA_COMMANDS(PART)       \
  PART(Command, kZooCommand)         \
  PART(Command, kCheckCommand)       \
  PART(Command, kConvertCommand)     \
  PART(Command, kComponentCommand)   \
  PART(Command, kEvaluateCommand)    \
  PART(Command, kBoundCommand)       \
  PART(Command, kMapCommand)         \
  PART(Command, kResumeCommand)      \
  PART(Command, kVerifyCommand)      \
  PART(Command, kExplainCommand)     \
  PART(Command, kDiffCommand)        \
  PART(Command, kReportCommand)      \
  PART(Command, kServeCommand)       \
  PART(Command, kCompareCommand)     \
  PART(Command, kStudyCommand)       \
  PART(Command, kAssignCommand)      \
  PART(Command, kTrainCommand)       \
  PART(Command, kProfileCommand)     \
  PART(Command, kEnvCommand)         \
  PART(Command, kExploreCommand)     \
  PART(Command, kSweepCommand)       \
  PART(Command, kCooptimizeCommand)  \
  PART(Command, kCompileCommand)     \
  PART(Command, kSimulateCommand)    \
  PART(Command, kAssembleCommand)    \
  PART(Command, kDisassembleCommand) \
  PART(Command, kListCommand)        \
  PART(Command, kCompletionCommand)

TESSERA_COMMANDS(TESSERA_DECLARE_PART)

std::span<const Command* const> Commands() {
  static constexpr std::array kCommands = {TESSERA_COMMANDS(TESSERA_PART_ADDRESS)};
  return kCommands;
}

}  // namespace tessera
