// Learners whose networks and experience are on a device: what a loop that keeps the environments
// there, too, asks of them.
#ifndef TESSERA_RL_DEVICE_LEARNER_H_
#define TESSERA_RL_DEVICE_LEARNER_H_

#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "tessera/cuda/worlds.h"
#include "tessera/env.h"
#include "tessera/result.h"

namespace tessera {

class DeviceLearner : public Learner {
 public:
  // Steps of every lane before the next round falls due, at most `most`.
  virtual int64_t StepsToUpdate(int64_t most) const = 0;
  // Starts `steps` steps in `worlds`, whose episodes end every `horizon` steps, and the rounds that
  // fall due after the last of them.
  virtual Result<void> Play(cuda::WorldBatch& worlds, int64_t steps, int64_t horizon) = 0;
  // Waits for what was started; losses of the last round.
  virtual Result<UpdateReport> Finish() = 0;
  virtual int64_t lanes() const = 0;
  virtual int64_t rounds() const = 0;
};

// What devices have of networks.
inline constexpr int64_t kDeviceHidden = 64, kDeviceLayers = 2;

inline Error NotOnDevice(std::string_view what, std::string hint) {
  return Error{.kind = ErrorKind::kUnsupported,
               .message = fmt::format("{} on --device cuda", what),
               .hint = std::move(hint)};
}

inline Result<void> CheckDeviceNetworks(int64_t layers, int64_t hidden) {
  if (layers == kDeviceLayers && hidden == kDeviceHidden) return {};
  return NotOnDevice(fmt::format("{} hidden layers of {} units are not", layers, hidden),
                     "take layers=2 and hidden=64, or --device cpu");
}

// Errors: a name that is not there, which options cannot have.
inline cuda::Precision PrecisionOf(std::string_view name) {
  int index = 0;
  while (cuda::kPrecisionNames[index] != name) ++index;
  return static_cast<cuda::Precision>(index);
}

}  // namespace tessera

#endif  // TESSERA_RL_DEVICE_LEARNER_H_
