// A flag that signal handlers may set.
#include "tessera/run.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace tessera {
namespace {

// Handlers get no argument of ours, so this one flag has to be global.
std::atomic<bool> g_stop = false;
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void OnStopSignal(int /*signal*/) {
  if (g_stop.exchange(true)) ::_exit(kInterruptedExitCode);
}

}  // namespace

void InstallStopSignals() {
  struct sigaction action {};
  action.sa_handler = OnStopSignal;
  action.sa_flags = SA_RESTART;  // the flag is polled; interrupted calls would gain nothing
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool StopRequested() { return g_stop.load(std::memory_order_relaxed); }
void RequestStop() { g_stop = true; }
void ResetStop() { g_stop = false; }

}  // namespace tessera
