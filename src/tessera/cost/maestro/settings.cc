#include "tessera/cost/maestro/settings.h"

namespace tessera::maestro {
namespace {

// Whether a PE cannot hold what one output needs. MAESTRO buffers an input window, its weights and
// as many outputs, all of them twice.
bool KernelTooLarge(const Layer& layer, const PeArray& array) {
  return layer.type == LayerType::kConv && 6 * layer.r * layer.s > array.l1_elements;
}

}  // namespace

SpaceRules RulesFor(const Layer& layer, const PeArray& array, MaestroVersion version,
                    MaestroLegality legality) {
  const bool head = version == MaestroVersion::kHead;
  return {.kernel_tiles = !head,
          .parallel_kernel = head && KernelTooLarge(layer, array),
          .strided_tiles = legality == MaestroLegality::kCompat};
}

}  // namespace tessera::maestro
