// The list of targets.
#include "tessera/coopt/targets.h"

#include <optional>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/part.h"

namespace tessera::coopt {

#define TESSERA_TARGETS(PART)  \
  PART(TargetInfo, kVtaTarget) \
  PART(TargetInfo, kMaestroTarget)

TESSERA_TARGETS(TESSERA_DECLARE_PART)

namespace {

constexpr const TargetInfo* kTargets[] = {TESSERA_TARGETS(TESSERA_PART_ADDRESS)};

}  // namespace

std::span<const TargetInfo* const> Targets() { return kTargets; }

std::vector<std::string> TargetNames() {
  std::vector<std::string> names;
  for (const TargetInfo* target : Targets()) names.emplace_back(target->name);
  return names;
}

Result<const TargetInfo*> FindTarget(std::string_view name) {
  for (const TargetInfo* target : Targets()) {
    if (target->name == name) return target;
  }
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown target {}", Quoted(name)),
               .hint = DidYouMean(name, TargetNames())};
}

std::string TargetsWith(bool TargetInfo::*capability) {
  std::string names;
  for (const TargetInfo* target : Targets()) {
    if (target->*capability) names += fmt::format("{}{}", names.empty() ? "" : ", ", target->name);
  }
  return names;
}

Result<TargetPointer> MakeTarget(const TargetInfo& info, const HardwareLimits& limits,
                                 const std::optional<std::string>& hardware) {
  if (limits.sram_power_mw > 0 && !info.limits_power) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("--budget-power is for --target {}",
                                        TargetsWith(&TargetInfo::limits_power))};
  }
  return hardware ? info.fixed(*hardware) : info.within(limits);
}

}  // namespace tessera::coopt
