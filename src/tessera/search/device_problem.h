// A mapping problem whose batches are priced on a device (cuda/), to the same bits as on the host.
#ifndef TESSERA_SEARCH_DEVICE_PROBLEM_H_
#define TESSERA_SEARCH_DEVICE_PROBLEM_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "tessera/result.h"
#include "tessera/space.h"

namespace tessera {

// Single points, and those of a batch that the device leaves alone (they break a rule, or need more
// memory than a thread has), are priced on the host.
class DeviceProblem : public Problem {
 public:
  // Whether a device could price it; looks for none. Errors: models, machines and layers that are
  // not there, with what to do.
  static Result<void> Check(const MappingProblem& problem);

  // Errors: as Check; no device. The problem outlives what is made.
  static Result<std::unique_ptr<DeviceProblem>> Make(const MappingProblem& problem);

  // Why the device stopped working, if it did. All outcomes since then are failures.
  virtual const std::optional<Error>& failure() const = 0;

  // Points priced so far on either side.
  virtual int64_t on_device() const = 0;
  virtual int64_t on_host() const = 0;
};

}  // namespace tessera

#endif  // TESSERA_SEARCH_DEVICE_PROBLEM_H_
