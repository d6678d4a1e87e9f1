// What a signal handler may touch: lock-free numbers, kill and _exit.
#include "tessera/base/stop.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace tessera {
namespace {

// Handlers get no argument of ours, so these have to be global.
std::atomic<bool> g_stop = false;
std::array<std::atomic<pid_t>, 256> g_groups = {};  // 0: free
thread_local AbandonScope* t_scope = nullptr;       // the innermost one
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<pid_t>::is_always_lock_free);

}  // namespace

bool StopRequested() { return g_stop.load(std::memory_order_relaxed); }
bool RequestStop() { return g_stop.exchange(true); }
void ResetStop() { g_stop = false; }

Error Interrupted(const std::string& doing) {
  return Error{.kind = ErrorKind::kInterrupted, .message = "interrupted while " + doing};
}

void StopAtOnce() {
  for (const std::atomic<pid_t>& group : g_groups) {
    if (const pid_t leader = group.load(); leader > 0) ::kill(-leader, SIGKILL);
  }
  ::_exit(kInterruptedExitCode);
}

AbandonScope::AbandonScope(std::function<bool()> unwanted)
    : unwanted_(std::move(unwanted)), outer_(std::exchange(t_scope, this)) {}

AbandonScope::~AbandonScope() { t_scope = outer_; }

bool AbandonScope::Ask() {
  abandoned_ = abandoned_ || unwanted_() || (outer_ != nullptr && outer_->Ask());
  return abandoned_;
}

bool Abandoned() { return t_scope != nullptr && t_scope->Ask(); }

bool WasAbandoned() { return t_scope != nullptr && t_scope->abandoned(); }

ProcessGroup::ProcessGroup(pid_t leader) {
  for (std::atomic<pid_t>& place : g_groups) {
    pid_t free = 0;
    if (!place.compare_exchange_strong(free, leader)) continue;
    place_ = &place;
    return;
  }
}

ProcessGroup::~ProcessGroup() {
  if (place_ != nullptr) *place_ = 0;
}

}  // namespace tessera
