// What can be co-optimized, by name: everything that commands, runs and reports ask about a target.
// A target is one class behind target.h, one behind schedule_space.h, a descriptor, and one line in
// targets.cc.
#ifndef TESSERA_COOPT_TARGETS_H_
#define TESSERA_COOPT_TARGETS_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/coopt/problem.h"
#include "tessera/coopt/target.h"
#include "tessera/result.h"

namespace tessera::coopt {

using TargetPointer = std::shared_ptr<const Target>;

struct TargetInfo {
  std::string_view name;     // as --target has it
  std::string_view summary;  // one line for lists and --help

  // Whether HardwareLimits::sram_power_mw means something here. Default: false.
  bool limits_power = false;

  // Whether schedules have lower bounds, so that the optimum can be proved. Default: false.
  bool has_bounds = false;

  // The file that describes an accelerator. If it ends in .json, its fields are part of the result;
  // otherwise the knobs are.
  std::string_view hardware_file;

  // How the name of a layer's program ends. Default: none, the target has no programs.
  std::string_view program_suffix = {};

  // The layers that it runs, as CollectTasks gives them.
  Result<TaskList> (*tasks)(std::span<const Network> networks);

  // All accelerators within limits; the error quotes the inequality that the smallest one breaks.
  Result<TargetPointer> (*within)(const HardwareLimits& limits);

  // One accelerator by name or file, whatever it costs.
  Result<TargetPointer> (*fixed)(const std::string& hardware);
};

// In the order of --help; the first is the default.
std::span<const TargetInfo* const> Targets();
Result<const TargetInfo*> FindTarget(std::string_view name);

// The accelerators of a target: the one that `hardware` names, if any, or all within limits. The
// error is also for a limit that the target does not know.
Result<TargetPointer> MakeTarget(const TargetInfo& info, const HardwareLimits& limits,
                                 const std::optional<std::string>& hardware);

// "vta" or "a, b": the targets that have something, for messages.
std::string TargetsWith(bool TargetInfo::*capability);

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_TARGETS_H_
