// What is co-optimized: the accelerators that a budget allows, and the schedules of a layer on each
// of them. Methods see nothing else, so every one of them works on every target.
#ifndef TESSERA_COOPT_TARGET_H_
#define TESSERA_COOPT_TARGET_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/coopt/hardware.h"
#include "tessera/coopt/schedule_space.h"
#include "tessera/cooptimize.h"
#include "tessera/network.h"
#include "tessera/result.h"
#include "tessera/search.h"
#include "tessera/vta/codegen/conv.h"
#include "tessera/vta/sim/timing.h"

namespace tessera::coopt {

// A target reads its own part and ignores the others.
struct CooptOptions {
  Generator generator = Generator::kBest;                  // of VTA. Default: kBest.
  CooptObjective objective = CooptObjective::kThroughput;  // Default: kThroughput.
  vta::Epilogue epilogue = {};                             // of VTA. Default: shift 8, bias, ReLU.
  vta::TimingParameters timing = {};                       // of VTA. Default: the published design.
  double clock_mhz = 100;                                  // Default: 100.
  // Limits that raise the objective instead of excluding, and by how much. Default: 0 (they do
  // not).
  HardwareLimits limits = {};
  double limit_penalty = 0;
};

struct TaskLayer {
  std::string name;
  std::string network;
  Layer layer = {};
  vta::ConvShape shape = {};  // the layer as VTA sees it; for that target only
  int64_t count = 1;
};

struct TargetInfo;  // coopt/targets.h

// Contract:
//   Threads      const functions may be called by many threads.
//   Ownership    spaces keep no reference to the target.
class Target : public HardwareSpace {
 public:
  virtual ~Target() = default;

  virtual const TargetInfo& info() const = 0;

  // An accelerator in a word, its description as a file, and what it costs.
  virtual std::string Name(size_t hardware) const = 0;
  virtual std::string FileText(size_t hardware) const = 0;
  virtual HardwareCost Cost(size_t hardware, double clock_mhz) const = 0;

  // Images that a program of this accelerator works on.
  virtual int64_t Images(size_t hardware) const = 0;

  // Cycles that a layer needs at least, for all images, whatever the schedule.
  virtual double FloorCycles(size_t hardware, const TaskLayer& layer,
                             const CooptOptions& options) const = 0;

  // What a result says of an accelerator beyond name and cost, and of how it was measured.
  virtual std::vector<Note> HardwareNotes(size_t /*hardware*/, double /*clock_mhz*/) const {
    return {};
  }
  virtual std::vector<Note> RunNotes(size_t /*hardware*/, const CooptOptions& /*options*/) const {
    return {};
  }

  virtual std::unique_ptr<const ScheduleSpace> MakeSpace(size_t hardware, const TaskLayer& layer,
                                                         const CooptOptions& options) const = 0;

 protected:
  using HardwareSpace::HardwareSpace;
};

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_TARGET_H_
