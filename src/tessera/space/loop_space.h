// The space of loop-nest mappings on a memory hierarchy: how each dimension is split over the
// levels and their parallel children, the order of loops at every level, and which tensors a level
// passes by. Decisions are named by dimension and level: K_GLB (factor of K at GLB), K_GLB_par
// (parallel factor), K_GLB_axis, order_GLB, par_order_GLB, keep_GLB_Weights.
#ifndef TESSERA_SPACE_LOOP_SPACE_H_
#define TESSERA_SPACE_LOOP_SPACE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/mapping.h"
#include "tessera/mapping/widths.h"
#include "tessera/result.h"
#include "tessera/space.h"

namespace tessera {

enum class SpatialOrders : uint8_t {
  kWhereTheyMatter,  // where words pay for hops or routers, or neighbours hand words on
  kAlways,
};

struct LoopSpaceOptions {
  // Whether a level may pass a tensor by is decided; otherwise the machine says so. Default: false.
  bool decide_keep = false;

  // Where the order of parallel loops is a decision. Default: kWhereTheyMatter.
  SpatialOrders spatial_orders = SpatialOrders::kWhereTheyMatter;

  // Strides and dilations leave elements between those that a tile touches. Whether a level stores
  // them, too: it does under Timeloop's rules, and not under semantics exact. Default: true.
  bool store_holes = true;

  Constraints constraints = {};
};

// Legal points have factors whose product divides the bound (what is left over goes to the
// outermost level), parallel factors that fit the fan-out of their axis, and tiles that fit the
// memory of their level. Repair keeps inner loops and moves outward what does not fit.
class LoopSpace final : public MappingSpace {
 public:
  // Errors: more decisions than a point holds, or constraints or memories that leave nothing.
  static Result<std::unique_ptr<LoopSpace>> Make(const LoopProblem& problem,
                                                 const Hierarchy& hierarchy,
                                                 const LoopSpaceOptions& options = {});

  Mapping Decode(const Point& point) const override;
  Result<Point> Encode(const Mapping& mapping) const override;

  Result<void> Check(const Point& point) const override;
  void Repair(Point& point) const override;

  // Of distinct mappings, those that do not fit a memory included: the orders of loops of factor 1
  // and the axes of parallel factors of 1 do not count. Exact up to rounding, unless constraints
  // rule out some orders or relate decisions.
  double Log10Size() const override;

  std::span<const Decision> leftovers() const override { return leftovers_; }

  // What somebody needs who builds up points decision by decision (policy/).
  static constexpr size_t kMaxDims = LoopProblem::kMaxDimensions;
  const LoopProblem& problem() const { return problem_; }
  bool constrained() const { return constrained_; }
  // Units that an instance of a level can hold (mapping/widths.h); none: no limit.
  const std::optional<int64_t>& capacity(size_t level) const { return levels_[level].entries; }
  const LevelWidths& widths(size_t level) const { return levels_[level].widths; }
  // Tensors that a level holds where that is no decision, bit by bit.
  uint8_t held(size_t level) const { return levels_[level].keep; }
  // Words of a tensor's tile, from its extent in each dimension of the problem.
  int64_t WordsOf(size_t tensor, const std::array<int64_t, kMaxDims>& extent) const;
  std::span<const Relation> relations() const override { return relations_; }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  // A dimension of a bound above 1, with the positions of its decisions by level, or kNone.
  struct Dim {
    int index = 0;  // in the problem
    int64_t bound = 1;
    std::array<size_t, LoopMapping::kMaxLevels> temporal = {}, spatial = {}, axis = {};
  };
  struct Level {
    std::string name = {};
    int64_t fan_x = 1, fan_y = 1;
    std::optional<int64_t> entries = {};  // units
    LevelWidths widths = {};
    uint8_t keep = 0xff;  // tensors held, where that is not decided
    size_t order = kNone, spatial_order = kNone;
    std::array<size_t, LoopProblem::kMaxTensors> keep_decision = {};
    bool HasFan() const { return fan_x * fan_y > 1; }
  };
  // The factors of a point, by level and position in dims_.
  struct Factors;
  struct Plan;
  struct Signature;
  class Names;
  class Legality;

  // A relation by position: of a decision, of a leftover (behind them), or kNone: always 1.
  struct Bond {
    size_t over = kNone, under = kNone;
    Relation relation = {};
  };

  LoopSpace(std::vector<Decision> decisions, Plan plan);

  static Result<std::unique_ptr<LoopSpace>> MakeConstrained(Plan plan, const Hierarchy& hierarchy,
                                                            const LoopSpaceOptions& options);
  static std::unique_ptr<LoopSpace> Remainder(const Plan& plan, const std::vector<bool>& active);
  // The space that demands leave, with a legal point; null if there is none.
  static std::unique_ptr<LoopSpace> Restricted(const Plan& plan, const std::vector<bool>& active);
  static std::string WhyNot(const Plan& plan, const std::vector<bool>& active);
  // Whether there is a legal point, or that could not be settled; it is kept.
  bool FindLegal();
  void Bind(std::vector<Relation> relations);
  double ValueAt(const Point& point, const Factors& factors, size_t variable) const;
  // What the constraints on leftovers and pairs say of a point; empty: they hold.
  std::string BrokenConstraint(const Point& point, const Factors& factors) const;
  int64_t LeastUnits(size_t level, const std::array<int64_t, kMaxDims>& extent) const;
  void DropWhatDoesNotFit(Point& point) const;
  void FitRelations(Point& point) const;
  void ReturnToLegal(Point& point) const;

  size_t FillFactors(const Point& point, bool stop, Factors& factors) const;
  Factors FactorsOf(const Point& point) const;
  bool OnX(const Point& point, size_t dim, size_t level) const;
  uint8_t KeepAt(const Point& point, size_t level) const;
  int64_t RankWords(const TensorRank& rank, const std::array<int64_t, kMaxDims>& extent) const;
  int64_t TileUnits(const Point& point, const Factors& factors, size_t level,
                    std::string* names = nullptr) const;
  int32_t Fit(const Decision& decision, int32_t index, int64_t rest, int64_t most) const;
  void FitFactors(Point& point) const;
  void FitMemories(Point& point) const;
  bool MoveOutward(Point& point, size_t level) const;
  bool PassBy(Point& point, size_t level) const;
  void FitAxes(Point& point, size_t level) const;
  int64_t LeastParallel(size_t dim, size_t level) const;
  bool EncodeFactors(const LoopLevel& level, size_t at, size_t d, Point& point) const;
  void EncodeOrder(size_t decision, const std::array<uint8_t, kMaxDims>& innermost_first,
                   Point& point) const;
  std::vector<Signature> SignaturesOf(const Dim& dim) const;

  LoopProblem problem_;
  bool store_holes_;
  std::vector<Dim> dims_;
  std::vector<Level> levels_;  // next to the MACs first

  std::vector<Decision> leftovers_;  // outermost factors, by position in dims_

  // What constraints add.
  bool constrained_ = false;
  std::vector<Relation> relations_;
  std::vector<Bond> bonds_;
  int64_t least_parallel_ = 1;  // product of all parallel factors
  std::optional<Point> legal_;  // a point that is
};

}  // namespace tessera

#endif  // TESSERA_SPACE_LOOP_SPACE_H_
