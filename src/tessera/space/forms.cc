// The spaces, one per form.
#include "tessera/space/forms.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "tessera/mapping.h"
#include "tessera/space/loop_space.h"
#include "tessera/space/maestro_space.h"

namespace tessera {
namespace {

using SpacePointer = std::unique_ptr<MappingSpace>;

// What the user demands of mappings of a layer.
Constraints DemandsOn(const Layer& layer, const SpaceOptions& options) {
  return ConstraintsOn(options.constraints, TypeName(layer), options.layer);
}

// And what the machine does, whose constraints are about its hierarchy.
Constraints DemandsOn(const Layer& layer, const Accelerator& accelerator,
                      const SpaceOptions& options) {
  Constraints demands = ConstraintsOn(accelerator.constraints, TypeName(layer), options.layer);
  std::ranges::move(DemandsOn(layer, options).demands, std::back_inserter(demands.demands));
  return demands;
}

Result<SpacePointer> DataflowSpace(const Layer& layer, const Accelerator& accelerator,
                                   const SpaceRules& rules, const SpaceOptions& options) {
  Result<std::unique_ptr<MaestroSpace>> space =
      MaestroSpace::Make(layer, *accelerator.pe_array,
                         {.sizes = options.sizes,
                          .decide_pes = options.decide_pes,
                          .kernel_tiles = rules.kernel_tiles,
                          .parallel_kernel = rules.parallel_kernel,
                          .strided_tiles = rules.strided_tiles,
                          .constraints = DemandsOn(layer, options)});
  if (!space) return space.error();
  return SpacePointer(*std::move(space));
}

Result<SpacePointer> LoopsSpace(const Layer& layer, const Accelerator& accelerator,
                                const SpaceRules& rules, const SpaceOptions& options) {
  const Result<LoopProblem> problem = MakeLoopProblem(layer);
  if (!problem) return problem.error();
  Result<std::unique_ptr<LoopSpace>> space = LoopSpace::Make(
      *problem, *accelerator.hierarchy,
      {.decide_keep = options.decide_keep,
       .spatial_orders = rules.always_order_parallel_loops ? SpatialOrders::kAlways
                                                           : SpatialOrders::kWhereTheyMatter,
       .store_holes = rules.store_holes,
       .constraints = DemandsOn(layer, accelerator, options)});
  if (!space) return space.error();
  return SpacePointer(*std::move(space));
}

// In the order of MappingForm.
constexpr std::array kSpaces = {DataflowSpace, LoopsSpace};

}  // namespace

Result<SpacePointer> MakeMappingSpace(MappingForm form, const Layer& layer,
                                      const Accelerator& accelerator, const SpaceRules& rules,
                                      const SpaceOptions& options) {
  return kSpaces[static_cast<size_t>(form)](layer, accelerator, rules, options);
}

}  // namespace tessera
