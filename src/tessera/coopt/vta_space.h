// The schedules of a convolution on a VTA: programs of the reference template or of the improved
// generator, timed by the cycle simulator.
#ifndef TESSERA_COOPT_VTA_SPACE_H_
#define TESSERA_COOPT_VTA_SPACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/coopt/schedule_space.h"
#include "tessera/coopt/target.h"
#include "tessera/result.h"
#include "tessera/vta/codegen/conv.h"
#include "tessera/vta/codegen/reference.h"
#include "tessera/vta/codegen/tiled.h"

namespace tessera::coopt {

// A program and its schedule as `compile --schedule` takes it.
struct GeneratedSchedule {
  vta::Kernel kernel;
  std::string text;
};

// Knobs: tiles, which belong to the mapping agent. The reference template has two thread knobs; the
// improved generator has slots of the weight and input buffers in their place (as many as there
// are, operands are loaded while others are used), the loop order and the first channel tile. Where
// no schedule of a layer keeps the uses of its sums apart, which happens with very few outputs, all
// schedules split their products (TiledSchedule::split_products).
class VtaSpace final : public ScheduleSpace {
 public:
  // `shape` is that of all images of a batch. A space without candidates is one of a shape that is
  // not valid on `config`.
  VtaSpace(const vta::ConvShape& shape, const vta::Config& config, const CooptOptions& options);

  const vta::ConvShape& shape() const { return shape_; }
  const vta::Config& config() const { return config_; }
  const CooptOptions& options() const { return options_; }

  vta::Knobs ReferenceKnobs(const SchedulePoint& point) const;
  vta::TiledSchedule Tiled(const SchedulePoint& point) const;

  // Whether a program exists, without making it: exact for the reference template; the improved
  // generator may still refuse a schedule for the micro-ops that it takes.
  vta::Verdict Judge(const SchedulePoint& point) const;

  // The program; the improved generator trims as much padding as micro-ops allow. The error is for
  // points that are not valid, and quotes the limit.
  Result<GeneratedSchedule> Generate(const SchedulePoint& point) const;

  bool Valid(const SchedulePoint& point) const override { return Judge(point).valid(); }
  std::string Refusal(const SchedulePoint& point) const override;
  std::vector<SchedulePoint> Candidates() const override;
  bool enumerates() const override { return options_.generator == Generator::kReference; }
  double EstimateCycles(const SchedulePoint& point) const override;
  int64_t LowerBoundCycles(const SchedulePoint& point) const override;
  double FloorCycles() const override;
  size_t FillFeatures(FeatureKind kind, const SchedulePoint& point, FeatureRow& row) const override;
  size_t AddShares(const SchedulePoint& point, FeatureRow& row, size_t size) const override;
  WorkloadRow Workload() const override;
  MeasuredOutcome Measure(const SchedulePoint& point) const override;
  // It has passed the checker, ran in the functional simulator, gave what a plain convolution
  // gives, and takes the measured cycles; the error says which of these failed.
  Result<std::string> Program(const SchedulePoint& point, const MeasuredOutcome& outcome,
                              uint64_t seed) const override;
  using ScheduleSpace::Describe;
  std::string Describe(const SchedulePoint& point) const override;

 private:
  // Positions of the knobs; of the improved generator, kOc and kH are slots.
  enum : size_t { kTileH, kTileW, kTileCi, kTileCo, kOc, kH, kOrder, kLead };

  // Depends on nothing but the layer and the blocks, so that accelerators that differ in buffers
  // run the same programs.
  bool NeedsSplitProducts() const;
  // With as much trimming as micro-ops allow, or the refusal without any.
  Result<GeneratedSchedule> GenerateTrimmed(vta::TiledSchedule schedule,
                                            const vta::Config& config) const;
  vta::Verdict CheckTiled(const SchedulePoint& point) const;
  void AddCoarseGrid(std::vector<SchedulePoint>& candidates) const;

  vta::ConvShape shape_;
  vta::Config config_;
  CooptOptions options_;
  bool split_products_ = false;
};

// Cycles that no program is below: one product a cycle, or all operands over the bus once. Products
// with padding count for the reference template, which makes them.
int64_t FloorCycles(const vta::ConvShape& shape, const vta::Config& config,
                    const CooptOptions& options);

// Programs with more instructions would take longer to simulate than all others together; they are
// ruled out with the reason "instructions".
inline constexpr int64_t kMaxInstructions = 250'000;

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_VTA_SPACE_H_
