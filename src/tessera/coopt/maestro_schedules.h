// The mappings of a layer on a PE array, as model `maestro` prices them: the schedules of the
// second target. A measurement is one evaluation of the model.
#ifndef TESSERA_COOPT_MAESTRO_SCHEDULES_H_
#define TESSERA_COOPT_MAESTRO_SCHEDULES_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/coopt/schedule_space.h"
#include "tessera/cost.h"
#include "tessera/network.h"
#include "tessera/result.h"
#include "tessera/space/maestro_space.h"

namespace tessera::coopt {

// Sizes that tiles are cut from: out channels, in channels, and places of outputs. A product of
// matrices has N, K and M in the first three; a depthwise layer has no out channels of its own.
inline constexpr size_t kTiledDims = 4;
struct TiledShape {
  std::array<int64_t, kTiledDims> sizes = {1, 1, 1, 1};
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1;
  bool depthwise = false;

  int64_t macs() const;
};

// The error says what the model or this space cannot express: layers with groups or batches have
// more dimensions to tile than there are knobs.
Result<TiledShape> TiledShapeOf(const Layer& layer);

// Knobs of the mapping agent: a tile of each dimension for a cluster of PEs (at L2), and for a PE
// (at L1). Knobs of the scheduling agent: the dimension that clusters share, the one that PEs of a
// cluster share, the loop order at L2, and the PEs of a cluster. Kernels are never cut, Y comes
// before X, and loops at L1 have one order.
class MaestroSchedules final : public ScheduleSpace {
 public:
  // The layer has a TiledShape.
  static Result<std::unique_ptr<const ScheduleSpace>> Make(const Layer& layer,
                                                           const PeArray& array);

  bool Valid(const SchedulePoint& point) const override;
  std::string Refusal(const SchedulePoint& point) const override;
  std::vector<SchedulePoint> Candidates() const override;
  bool enumerates() const override { return false; }
  double EstimateCycles(const SchedulePoint& point) const override;
  int64_t LowerBoundCycles(const SchedulePoint& /*point*/) const override { return 0; }
  double FloorCycles() const override;
  size_t FillFeatures(FeatureKind kind, const SchedulePoint& point, FeatureRow& row) const override;
  size_t AddShares(const SchedulePoint& point, FeatureRow& row, size_t size) const override;
  WorkloadRow Workload() const override;
  MeasuredOutcome Measure(const SchedulePoint& point) const override;
  using ScheduleSpace::Describe;
  std::string Describe(const SchedulePoint& point) const override;

 private:
  using Sizes = std::array<int64_t, kTiledDims>;

  // What a mapping does, by counting.
  struct Work {
    double compute = 0, network = 0;  // cycles
    double l1_elements = 0, l2_elements = 0;
    double active_clusters = 0, active_pes = 0;  // of each, at once
  };

  struct Parts {
    std::unique_ptr<MaestroSpace> space;
    std::unique_ptr<CostModel> model;
    std::vector<Decision> knobs;
    std::vector<size_t> decisions;                // of the space by knob; size() of the space: none
    std::array<std::vector<size_t>, 2> parallel;  // dimension by value of the parallel knobs
  };
  static void AssignKnobs(bool gemm, Parts& parts);
  MaestroSchedules(const TiledShape& shape, const PeArray& array, Parts parts);

  Sizes TilesAt(const SchedulePoint& point, size_t first) const;
  size_t ParallelAt(const SchedulePoint& point, size_t level) const;
  double Elements(const Sizes& tile) const;  // of all three tensors
  Work Count(const SchedulePoint& point) const;
  Point MappingPoint(const SchedulePoint& point) const;

  TiledShape shape_;
  PeArray array_;
  std::unique_ptr<MaestroSpace> space_;
  std::unique_ptr<CostModel> model_;
  std::vector<size_t> decisions_;
  std::array<std::vector<size_t>, 2> parallel_;
};

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_MAESTRO_SCHEDULES_H_
