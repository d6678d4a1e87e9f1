// The two-level space of MAESTRO mappings: for L2 and for L1 a loop order, a parallel dimension and
// a tile of every dimension, and the number of PEs that form a cluster. A convolution has 17
// decisions, named order_l2 parallel_l2 k_l2 c_l2 r_l2 s_l2 y_l2 x_l2, the same with _l1, and
// cluster.
#ifndef TESSERA_SPACE_MAESTRO_SPACE_H_
#define TESSERA_SPACE_MAESTRO_SPACE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/mapping.h"
#include "tessera/network.h"
#include "tessera/result.h"
#include "tessera/space.h"
#include "tessera/space/demands.h"
#include "tessera/space/relation_search.h"

namespace tessera {

struct MaestroSpaceOptions {
  // Which sizes tiles and clusters may have. Default: kDivisors.
  TileSizes sizes = TileSizes::kDivisors;

  // Whether the number of PEs is a decision, num_pe, up to that of the machine. Default: false.
  bool decide_pes = false;

  // Whether tiles of R and S may be smaller than the kernel. MAESTRO's head version rejects them,
  // the one that GAMMA uses takes them. Default: false (one value each, the whole kernel).
  bool kernel_tiles = false;

  // Whether R and S may be parallel at L1, an element of the kernel per PE: the only way to use a
  // kernel that is too large for L1. Default: false.
  bool parallel_kernel = false;

  // Whether tiles of a strided Y or X may have more than one output. MAESTRO then counts too many
  // MACs, which strict legality rejects. Default: false (one value each, 1).
  bool strided_tiles = false;

  Constraints constraints = {};
};

// A tile at L1 is never larger than the tile of the same dimension at L2. Tiles of Y and X are of
// outputs, so their largest size is the true output size. Dimensions by layer type: K C R S Y X,
// without K for depthwise ones, with G for grouped and N for batched ones; M N K for GEMM.
class MaestroSpace final : public MappingSpace {
 public:
  // Errors: a layer that MAESTRO cannot express, or constraints that leave nothing.
  static Result<std::unique_ptr<MaestroSpace>> Make(const Layer& layer, const PeArray& array,
                                                    const MaestroSpaceOptions& options = {});

  Mapping Decode(const Point& point) const override;
  Result<Point> Encode(const Mapping& mapping) const override;

  size_t pes_decision() const override { return pes_; }

  Result<void> Check(const Point& point) const override;
  void Repair(Point& point) const override;
  // Without regard to relations.
  double Log10Size() const override;

  std::span<const Relation> relations() const override { return relations_; }

 private:
  struct Dimension {
    DataflowDim dim;      // as directives name it: Y' for Y
    size_t outer, inner;  // positions of its tile decisions
  };
  struct Plan;
  class Names;

  // What demands leave; null if that is nothing.
  static std::unique_ptr<MaestroSpace> Restricted(const Plan& plan,
                                                  const std::vector<Decision>& decisions,
                                                  std::span<const ConcreteDemand> demands,
                                                  const std::vector<bool>& active);
  bool Bind(std::vector<Relation> relations);

  MaestroSpace(std::vector<Decision> decisions, Plan plan);
  void AddLevel(const Point& point, int level, Dataflow& dataflow) const;

  std::vector<Dimension> dimensions_;  // in the order of the items of order_l2 and order_l1
  std::vector<size_t> spatial_[2];     // dimensions_ by the labels of parallel_l2 and parallel_l1
  size_t order_[2], parallel_[2], cluster_, pes_;  // positions; pes_ is size() if not decided
  std::vector<Relation> relations_;
  std::vector<DecisionPair> pairs_;  // of relations, with the nesting of the tiles in them
};

// Formula 1 of the paper as log10: (n^d * d! * d!/(d-k)!)^l for d dimensions with n tile sizes
// each, k parallel ones, and l memory levels.
double PaperLog10Size(double sizes, int dimensions, int parallel, int levels);

}  // namespace tessera

#endif  // TESSERA_SPACE_MAESTRO_SPACE_H_
