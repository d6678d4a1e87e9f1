// The schedules of one layer on one accelerator: the software knobs, which combinations can be
// measured, what is known of them before, and the measurement. Targets implement it.
#ifndef TESSERA_COOPT_SCHEDULE_SPACE_H_
#define TESSERA_COOPT_SCHEDULE_SPACE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/rng.h"

namespace tessera::coopt {

inline constexpr size_t kMaxScheduleKnobs = 16;

// Indices of values, one per knob; unused ones are 0.
using SchedulePoint = std::array<uint8_t, kMaxScheduleKnobs>;
uint64_t HashOf(const SchedulePoint& point);

// What cost models see of a schedule: numbers of fixed count, whatever layer and hardware.
enum class FeatureKind : uint8_t {
  kKnob,  // the settings of hardware and schedule
  kLoop,  // lengths of the loops, and what each buffer sees of them
};
inline constexpr size_t kMaxFeatures = 64;
using FeatureRow = std::array<float, kMaxFeatures>;

// The sizes of the layer itself, for models that serve many layers: outputs (height, width),
// channels (in, out), kernel (height, width), stride, as logarithms.
inline constexpr size_t kWorkloadFeatures = 7;
using WorkloadRow = std::array<float, kWorkloadFeatures>;

struct Outcome {
  bool valid = false;
  int64_t cycles = 0;  // of the program, that is for all images of a batch
  double energy_pj = 0;
  double value = 0;      // Problem::Value
  std::string why = {};  // not valid: the limit that is exceeded
};

class ScheduleSpace {
 public:
  struct Knob {
    std::string name;
    std::vector<int64_t> values;  // ascending
  };

  virtual ~ScheduleSpace() = default;

  // The first knobs belong to the mapping agent, the others to the scheduling agent.
  std::span<const Knob> knobs() const { return knobs_; }
  size_t mapping_knobs() const { return mapping_knobs_; }
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

  // Whether a point can be measured, as far as that can be told without doing so.
  virtual bool Valid(const SchedulePoint& point) const = 0;

  // Starting points, all valid: the whole space where `enumerates`, part of it elsewhere. Empty
  // where nothing fits.
  virtual std::vector<SchedulePoint> Candidates() const = 0;
  virtual bool enumerates() const = 0;

  // What counting alone tells of a valid point: the cycles that it should take, those that it takes
  // at least (0: no bound is known), and those that no point of the layer is below.
  virtual double EstimateCycles(const SchedulePoint& point) const = 0;
  virtual int64_t LowerBoundCycles(const SchedulePoint& point) const = 0;
  virtual double FloorCycles() const = 0;

  // Fills the first features of `row` and returns how many there are, the same for all spaces of
  // one target. Shares are the parts of the estimate, written from `row`'s `size` on.
  virtual size_t FillFeatures(FeatureKind kind, const SchedulePoint& point,
                              FeatureRow& row) const = 0;
  virtual size_t AddShares(const SchedulePoint& point, FeatureRow& row, size_t size) const = 0;
  virtual WorkloadRow Workload() const = 0;

  // Everything but Outcome::value. May be called by many threads.
  virtual Outcome Measure(const SchedulePoint& point) const = 0;

  // The schedule in the words of the target.
  virtual std::string Describe(const SchedulePoint& point) const = 0;

 protected:
  ScheduleSpace(std::vector<Knob> knobs, size_t mapping_knobs);

 private:
  std::vector<Knob> knobs_;
  size_t mapping_knobs_;
  int64_t size_ = 1;
};

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_SCHEDULE_SPACE_H_
