// The schedules of one layer on one accelerator: a decision space, so that every search method
// works on it, with what is known of schedules before they are measured, and the measurement.
// Targets implement it.
#ifndef TESSERA_COOPT_SCHEDULE_SPACE_H_
#define TESSERA_COOPT_SCHEDULE_SPACE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tessera/part.h"
#include "tessera/space.h"

namespace tessera::coopt {

inline constexpr size_t kMaxScheduleKnobs = 16;

// A Point in 16 bytes instead of 388: joint methods keep all candidates of thousands of pairs of
// layer and accelerator. Indices of values, one per decision; unused ones are 0.
using SchedulePoint = std::array<uint8_t, kMaxScheduleKnobs>;
uint64_t HashOf(const SchedulePoint& point);
SchedulePoint Packed(const Point& point);

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

struct MeasuredOutcome {
  bool valid = false;
  int64_t cycles = 0;  // of the program, that is for all images of a batch
  double energy_pj = 0;
  double value = 0;      // CooptProblem::Value
  std::string why = {};  // not valid: the limit that is exceeded
};

// Decisions are also called knobs: joint methods move them one by one, hardware's and schedules'.
class ScheduleSpace : public DecisionSpace {
 public:
  // A point is legal if it can be measured, as far as that can be told without doing so.
  Result<void> Check(const Point& point) const final;
  // Decisions follow the nearest candidate, one after the other, until the point is valid. Where
  // nothing is valid the point stays as it is.
  void Repair(Point& point) const final;
  // Where the space is not enumerated, of all points: more than can be measured.
  double Log10Size() const final;

  // The first decisions belong to the mapping agent, the others to the scheduling agent.
  size_t mapping_knobs() const { return mapping_knobs_; }
  int64_t value(const SchedulePoint& point, size_t knob) const {
    return decisions()[knob].value(point[knob]);
  }
  Point Unpacked(const SchedulePoint& point) const;

  // All points, valid or not, are numbered in lexicographic order.
  int64_t num_points() const { return num_points_; }
  SchedulePoint At(int64_t index) const;
  int64_t IndexOf(const SchedulePoint& point) const;
  SchedulePoint AnyPoint(CounterRng& rng) const { return At(rng.UniformInt(num_points_)); }

  // The same sizes, or the nearest that exist, from a point of another accelerator's space.
  SchedulePoint Translate(const ScheduleSpace& from, const SchedulePoint& point) const;

  // Whether a point can be measured, as far as that can be told without doing so, and if not, which
  // limit it exceeds (empty: it is valid).
  virtual bool Valid(const SchedulePoint& point) const = 0;
  virtual std::string Refusal(const SchedulePoint& point) const = 0;

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

  // Everything but MeasuredOutcome::value. May be called by many threads.
  virtual MeasuredOutcome Measure(const SchedulePoint& point) const = 0;

  // The program of a schedule that was measured, with random data of `seed`, as the bytes of a
  // file; checked before anybody gets it. For targets that have programs.
  virtual Result<std::string> Program(const SchedulePoint& point, const MeasuredOutcome& outcome,
                                      uint64_t seed) const;

  // The schedule in the words of the target.
  using DecisionSpace::Describe;
  virtual std::string Describe(const SchedulePoint& point) const = 0;

 protected:
  // At most kMaxScheduleKnobs decisions of at most 256 values.
  ScheduleSpace(std::vector<Decision> decisions, size_t mapping_knobs);

 private:
  std::span<const SchedulePoint> Anchors() const;

  size_t mapping_knobs_;
  int64_t num_points_ = 1;
  // Candidates to repair towards; made when the first point is repaired.
  mutable std::once_flag anchors_made_;
  mutable std::vector<SchedulePoint> anchors_;
};

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_SCHEDULE_SPACE_H_
