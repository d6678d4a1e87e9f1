// The schedules of one layer on one accelerator: the software knobs, which combinations a program
// exists for, and the program itself.
#ifndef TESSERA_COOPT_SCHEDULE_SPACE_H_
#define TESSERA_COOPT_SCHEDULE_SPACE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/rng.h"
#include "tessera/vta/codegen/conv.h"
#include "tessera/vta/codegen/reference.h"
#include "tessera/vta/codegen/tiled.h"

namespace tessera::coopt {

// Which code generator makes programs of schedules, as --generator names them.
enum class Generator : uint8_t { kReference, kBest };
inline constexpr std::array<std::string_view, 2> kGeneratorNames = {"reference", "best"};
Result<Generator> FindGenerator(std::string_view name);

// Software knobs. The first four belong to the mapping agent, the others to the scheduling agent.
// The reference template has two thread knobs; the improved generator has slots of the weight and
// input buffers in their place (as many as there are, operands are loaded while others are used),
// the loop order and the first channel tile.
inline constexpr size_t kMappingKnobs = 4;
inline constexpr size_t kMaxScheduleKnobs = 8;

// Indices of values, one per knob; unused ones are 0.
using SchedulePoint = std::array<uint8_t, kMaxScheduleKnobs>;
uint64_t HashOf(const SchedulePoint& point);

// A program and its schedule as `compile --schedule` takes it.
struct GeneratedSchedule {
  vta::Kernel kernel;
  std::string text;
};

class ScheduleSpace {
 public:
  struct Knob {
    std::string_view name;
    std::vector<int64_t> values;  // ascending
  };

  // `shape` is valid on `config`.
  ScheduleSpace(const vta::ConvShape& shape, const vta::Config& config, Generator generator);

  const vta::ConvShape& shape() const { return shape_; }
  const vta::Config& config() const { return config_; }
  Generator generator() const { return generator_; }
  std::span<const Knob> knobs() const { return knobs_; }
  int64_t value(const SchedulePoint& point, size_t knob) const {
    return knobs_[knob].values[point[knob]];
  }

  // All points, valid or not, are numbered in lexicographic order.
  int64_t size() const { return size_; }
  SchedulePoint At(int64_t index) const;
  int64_t IndexOf(const SchedulePoint& point) const;
  SchedulePoint Sample(CounterRng& rng) const { return At(rng.UniformInt(size_)); }

  // The same sizes, or the nearest that exist, from a point of another accelerator's space.
  SchedulePoint Translate(const ScheduleSpace& from, const SchedulePoint& point) const;

  vta::Knobs ReferenceKnobs(const SchedulePoint& point) const;
  vta::TiledSchedule Tiled(const SchedulePoint& point) const;

  // Whether a program exists, without making it: exact for the reference template; for the improved
  // generator buffers are checked and micro-ops are not.
  vta::Verdict Check(const SchedulePoint& point) const;
  bool Valid(const SchedulePoint& point) const;

  // The program; the improved generator trims as much padding as micro-ops allow. The error is for
  // points that are not valid, and quotes the limit.
  Result<GeneratedSchedule> Generate(const SchedulePoint& point,
                                     const vta::Epilogue& epilogue) const;

 private:
  vta::Verdict CheckTiled(const SchedulePoint& point) const;

  vta::ConvShape shape_;
  vta::Config config_;
  Generator generator_;
  std::vector<Knob> knobs_;
  int64_t size_ = 1;
};

// Programs with more instructions would take longer to simulate than all others together; they are
// ruled out with the reason "instructions".
inline constexpr int64_t kMaxInstructions = 250'000;

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_SCHEDULE_SPACE_H_
