// One walk through accelerators and schedules of a layer, by the agents of DCOC: one for the
// hardware, one for scheduling (threads, order) and one for mapping (tiles). At every step each of
// them may move one of its own knobs by one. What methods learn from and what an environment plays
// is the same walk.
#ifndef TESSERA_COOPT_JOINT_WALK_H_
#define TESSERA_COOPT_JOINT_WALK_H_

#include <cstddef>
#include <cstdint>

#include "tessera/coopt/simulator.h"
#include "tessera/env.h"

namespace tessera::coopt {

class JointWalk {
 public:
  // The problem outlives the walk.
  explicit JointWalk(const CooptProblem& problem);

  // The agents with what they see and may choose; an agent for the hardware only if it is decided.
  EnvSpec Spec(std::string name) const;

  // What all agents see of a state, one after another: their own knobs, and the layer.
  void Observe(const Request& state, float* out) const;

  bool decides_hardware() const { return decides_hardware_; }

  // Makes the move of all agents; false, and nothing changed, if there is no such accelerator or
  // the schedule has no program. With `freeze_hardware` the hardware agent does not act. `acted`,
  // unless null, gets for every agent whether it acted with an effect: not over the end of a knob.
  bool Apply(const float* actions, bool freeze_hardware, Request& state,
             uint8_t* acted = nullptr) const;

 private:
  // What became of a move.
  enum class Move : uint8_t {
    kMade,     // staying counts as one
    kNowhere,  // over the end of a knob
    kRefused,  // there is no such accelerator
  };
  Move MoveHardware(int64_t choice, Request& state) const;
  Move MoveKnob(size_t first, size_t count, int64_t choice, Request& state) const;

  const CooptProblem& problem_;
  const bool decides_hardware_;
  const size_t mapping_knobs_, scheduling_knobs_;
};

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_JOINT_WALK_H_
