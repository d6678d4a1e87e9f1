// Bounds of layers by objective.
#include "tessera/map.h"

namespace tessera {

std::optional<double> LayerBounds::Of(Objective objective) const {
  switch (objective) {
    case Objective::kLatency: return cycles;
    case Objective::kEnergy: return energy_pj;
    case Objective::kEdp:
      return cycles && energy_pj ? std::optional(*cycles * *energy_pj) : std::nullopt;
    case Objective::kPower:
    case Objective::kArea: break;
  }
  return std::nullopt;
}

Result<LayerBounds> BoundsOf(const Layer& layer, const MapJob& job) {
  const Result<CostBounds> bounds =
      job.settings.model->BoundsFor(layer, job.accelerator, job.problem.space.decide_keep);
  if (!bounds) return bounds.error();
  return LayerBounds{.cycles = bounds->cycles, .energy_pj = bounds->energy_pj};
}

}  // namespace tessera
