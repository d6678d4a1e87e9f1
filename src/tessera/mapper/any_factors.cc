// Which jobs can have factors that need not divide.
#include "tessera/mapper/any_factors.h"

#include <utility>

#include "tessera/mapper/map_settings.h"

namespace tessera {
namespace {

Error Refused(std::string message, std::string hint) {
  return Error{.kind = ErrorKind::kUsage, .message = std::move(message), .hint = std::move(hint)};
}

}  // namespace

Result<void> CheckAnyFactors(const MapJob& job) {
  if (!job.prove) {
    return Refused("factors any needs method auto or exact", "leave out --method or --factors");
  }
  if (job.settings.model->semantics() != loopnest::Semantics::kExact) {
    return Refused("factors that do not divide are counted by semantics exact only",
                   "leave out --semantics or --factors");
  }
  if (!job.problem.space.constraints.demands.empty()) {
    return Refused("constraints are about factors that divide",
                   "leave out --constraints, --dataflow or --factors");
  }
  if (!job.accelerator.constraints.demands.empty()) {
    return Refused("constraints, which the machine has, are about factors that divide",
                   "leave out --factors");
  }
  return {};
}

}  // namespace tessera
