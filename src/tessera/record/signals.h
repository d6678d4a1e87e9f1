// Ctrl-C: the first asks the running command to stop at its next safe point, where it keeps what it
// has; the second ends the program at once with exit code 130.
#ifndef TESSERA_RECORD_SIGNALS_H_
#define TESSERA_RECORD_SIGNALS_H_

namespace tessera {

inline constexpr int kInterruptedExitCode = 130;

// Takes over SIGINT and SIGTERM. Called once, by the program and not by the library.
void InstallStopSignals();

// Whether somebody asked to stop. Long work polls this between steps; any thread may ask.
bool StopRequested();

// What a signal does, for tests and for other ways to stop.
void RequestStop();

// Forgets a request.
void ResetStop();

}  // namespace tessera

#endif  // TESSERA_RECORD_SIGNALS_H_
