// Ctrl-C: the first asks the running command to stop at its next safe point, where it keeps what it
// has (base/stop.h); the second ends the program at once with exit code 130.
#ifndef TESSERA_RECORD_SIGNALS_H_
#define TESSERA_RECORD_SIGNALS_H_

#include "tessera/base/stop.h"

namespace tessera {

// Takes over SIGINT and SIGTERM. Called once, by the program and not by the library.
void InstallStopSignals();

}  // namespace tessera

#endif  // TESSERA_RECORD_SIGNALS_H_
