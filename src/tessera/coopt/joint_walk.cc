// Moves of the three agents, and what they see.
#include "tessera/coopt/joint_walk.h"

#include <optional>
#include <string>
#include <utility>

#include "tessera/result.h"

namespace tessera::coopt {
namespace {

// Choice 0 stays; 1 and 2 move the first knob down and up, 3 and 4 the second, and so on.
int64_t Choices(size_t knobs) { return 1 + 2 * static_cast<int64_t>(knobs); }

}  // namespace

JointWalk::JointWalk(const CooptProblem& problem)
    : problem_(problem),
      decides_hardware_(!problem.hardware().fixed()),
      mapping_knobs_(problem.task(0, 0).space.mapping_knobs()),
      scheduling_knobs_(problem.task(0, 0).space.size() - mapping_knobs_) {}

EnvSpec JointWalk::Spec(std::string name) const {
  EnvSpec spec{.name = std::move(name)};
  const auto add = [&spec](std::string agent, size_t knobs) {
    spec.agents.push_back({.name = std::move(agent),
                           .observation_size = static_cast<int64_t>(knobs + kWorkloadFeatures),
                           .action = {.kind = ActionKind::kChoice, .size = Choices(knobs)}});
  };
  if (decides_hardware_) add("hardware", problem_.hardware().knobs());
  add("scheduling", scheduling_knobs_);
  add("mapping", mapping_knobs_);
  return spec;
}

void JointWalk::Observe(const Request& state, float* out) const {
  const ScheduleSpace& space = problem_.task(state.hardware, state.layer).space;
  const WorkloadRow workload = space.Workload();
  const auto add_workload = [&] {
    for (const float feature : workload) *out++ = feature / 8;
  };
  if (decides_hardware_) {
    const HardwarePoint& point = problem_.hardware().point(state.hardware);
    for (size_t knob = 0; knob < problem_.hardware().knobs(); ++knob) {
      *out++ = static_cast<float>(point[knob]) /
               static_cast<float>(problem_.hardware().values(knob).size());
    }
    add_workload();
  }
  const auto add_knobs = [&](size_t first, size_t count) {
    for (size_t knob = first; knob < first + count; ++knob) {
      *out++ = static_cast<float>(state.point[knob]) /
               static_cast<float>(space.decisions()[knob].size());
    }
    add_workload();
  };
  add_knobs(mapping_knobs_, scheduling_knobs_);
  add_knobs(0, mapping_knobs_);
}

JointWalk::Move JointWalk::MoveHardware(int64_t choice, Request& state) const {
  if (choice == 0) return Move::kMade;
  HardwarePoint point = problem_.hardware().point(state.hardware);
  const auto knob = static_cast<size_t>((choice - 1) / 2);
  const int next = point[knob] + (choice % 2 == 0 ? 1 : -1);
  if (next < 0 || next >= std::ssize(problem_.hardware().values(knob))) return Move::kNowhere;
  point[knob] = static_cast<uint8_t>(next);
  const std::optional<size_t> found = problem_.hardware().Find(point);
  if (!found) return Move::kRefused;
  const ScheduleSpace& from = problem_.task(state.hardware, state.layer).space;
  state.hardware = static_cast<uint32_t>(*found);
  state.point = problem_.task(state.hardware, state.layer).space.Translate(from, state.point);
  return Move::kMade;
}

JointWalk::Move JointWalk::MoveKnob(size_t first, size_t count, int64_t choice,
                                    Request& state) const {
  if (choice == 0) return Move::kMade;
  const size_t knob = first + static_cast<size_t>((choice - 1) / 2);
  TESSERA_CHECK(knob < first + count);
  const ScheduleSpace& space = problem_.task(state.hardware, state.layer).space;
  const int next = state.point[knob] + (choice % 2 == 0 ? 1 : -1);
  if (next < 0 || next >= space.decisions()[knob].size()) return Move::kNowhere;
  state.point[knob] = static_cast<uint8_t>(next);
  return Move::kMade;
}

bool JointWalk::Apply(const float* actions, bool freeze_hardware, Request& state,
                      uint8_t* acted) const {
  Request next = state;
  const auto choice = [&actions] { return static_cast<int64_t>(*actions++); };
  const auto note = [&acted](bool effect) {
    if (acted != nullptr) *acted++ = effect ? 1 : 0;
  };
  if (decides_hardware_) {
    const int64_t own = choice();
    const Move move = freeze_hardware ? Move::kNowhere : MoveHardware(own, next);
    note(move != Move::kNowhere);
    if (move == Move::kRefused) {
      // The others' moves were not tried.
      note(false);
      note(false);
      return false;
    }
  }
  note(MoveKnob(mapping_knobs_, scheduling_knobs_, choice(), next) == Move::kMade);
  note(MoveKnob(0, mapping_knobs_, choice(), next) == Move::kMade);
  if (!problem_.task(next.hardware, next.layer).space.Valid(next.point)) return false;
  state = next;
  return true;
}

}  // namespace tessera::coopt
