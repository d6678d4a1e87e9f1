// The kinds of tessera/result.h as numbers for scripts.
#include "tessera/cli/exit_code.h"

#include "tessera/part.h"

namespace tessera {

int ExitCode(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage: return 2;
    case ErrorKind::kIo:
    case ErrorKind::kSyntax:
    case ErrorKind::kUnknownName:
    case ErrorKind::kBadValue:
    case ErrorKind::kOverflow:
    case ErrorKind::kUnsupported: return 3;
    case ErrorKind::kInfeasible: return 4;
    case ErrorKind::kBudget: return 5;
    case ErrorKind::kInterrupted: return kInterruptedExitCode;
    case ErrorKind::kInternal: break;
  }
  return 70;
}

}  // namespace tessera
