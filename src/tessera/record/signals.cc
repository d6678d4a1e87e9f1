// The handler that sets the flag of base/stop.h.
#include "tessera/base/stop.h"
#include "tessera/run.h"

#include <csignal>

namespace tessera {
namespace {

extern "C" void OnStopSignal(int /*signal*/) {
  if (RequestStop()) StopAtOnce();
}

}  // namespace

void InstallStopSignals() {
  struct sigaction action {};
  action.sa_handler = OnStopSignal;
  action.sa_flags = SA_RESTART;  // whoever waits polls the flag; interrupted calls gain nothing
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  // The terminal was closed: what an evaluator has started would stay behind. nohup has its way.
  struct sigaction before {};
  ::sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) ::sigaction(SIGHUP, &action, nullptr);
}

}  // namespace tessera
