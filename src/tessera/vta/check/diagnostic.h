// What is wrong with a program, instruction by instruction.
#ifndef TESSERA_VTA_CHECK_DIAGNOSTIC_H_
#define TESSERA_VTA_CHECK_DIAGNOSTIC_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::vta {

enum class Severity : uint8_t { kError, kWarning };

// In the order in which they are looked for: a program with several defects is described by the
// first of its errors, or by its first warning.
enum class Defect : uint8_t {
  kMissingFinish,  // no FINISH instruction
  kBadOpcode,      // opcode without a meaning
  kBadMemoryType,  // a memory that this instruction cannot reach
  kBadAluOpcode,
  kIllegalDependence,  // a token from or to a stage that does not exist
  kZeroRows,           // columns to transfer, but no rows
  kStorePadding,       // padding on a STORE
  kSramRange,          // tiles beyond the end of a buffer
  kDramRange,          // bytes outside the memory image
  kUopRange,           // micro-ops beyond the end of their buffer
  kFinishFlags,        // warning: tokens on FINISH
  kFinishNotLast,      // warning: instructions after FINISH
  kEmptyIteration,     // warning: a loop of no rounds, which hardware takes for 16384
  kFinishEarly,        // FINISH may run before a LOAD or STORE has
  kTokenDeadlock,      // an instruction waits for a token that never comes
  kTokensLeftOver,     // warning: pushed and never popped
  kTileIndexRange,     // a computed tile index beyond the end of its buffer
  kRace,               // two stages meet at one place and no token orders them
  kUninitialisedRead,  // a tile or micro-op that nothing has written
};

struct Diagnostic {
  Defect defect = Defect::kMissingFinish;
  Severity severity = Severity::kError;
  int64_t insn = -1;       // index; -1 in an empty program
  int64_t with_insn = -1;  // races: the other instruction
  std::string message = {};
};

// "token_deadlock", as golden data and JSON output name it.
std::string_view DefectName(Defect defect);

// "error: instruction 3: race: ...".
std::string ToString(const Diagnostic& diagnostic);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CHECK_DIAGNOSTIC_H_
