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

  // Makes the move of all agents; false, and nothing changed, if there is no such accelerator or
  // the schedule has no program. With `freeze_hardware` the hardware agent's choice has no effect.
  bool Apply(const float* actions, bool freeze_hardware, Request& state) const;

 private:
  bool MoveHardware(int64_t choice, Request& state) const;
  void MoveKnob(size_t first, size_t count, int64_t choice, Request& state) const;

  const CooptProblem& problem_;
  const bool decides_hardware_;
  const size_t mapping_knobs_, scheduling_knobs_;
};

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_JOINT_WALK_H_
