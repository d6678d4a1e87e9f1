// What a machine of a template has, as far as its file alone says it, and what it may have at most.
#ifndef TESSERA_ARCH_MACHINE_LIMITS_H_
#define TESSERA_ARCH_MACHINE_LIMITS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/accelerator.h"

namespace tessera {

struct TemplateMachine {
  Accelerator accelerator = {};
  double area_um2 = 0;    // of the parts whose area is known; 0: of none
  double sram_bytes = 0;  // of all levels but the outermost
  double aspect = 1;      // of the array of MACs, at least 1
};

// Limits on machines, by their names in files and flags; none by default.
struct MachineLimits {
  std::optional<double> area_um2 = {}, power_w = {}, sram_bytes = {}, aspect = {};

  // "area_mm2" and 2. False if there is no such limit.
  bool Set(std::string_view name, double most);
  static std::vector<std::string_view> Names();
  // "area_mm2 2.31 > 2": the limit that a machine exceeds; empty if none. Power is known only after
  // mapping, so it is not looked at.
  std::string Broken(const TemplateMachine& machine) const;
};

// A machine and these numbers of it.
TemplateMachine Measured(Accelerator accelerator);

}  // namespace tessera

#endif  // TESSERA_ARCH_MACHINE_LIMITS_H_
