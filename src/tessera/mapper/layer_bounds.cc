// Bounds of layers by model.
#include "tessera/mapper/layer_bounds.h"

#include "tessera/cost/bounds.h"
#include "tessera/mapping/loop_problem.h"

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
  const std::string& model = job.settings.model;
  if (model == "maestro" && job.accelerator.pe_array) {
    const PeArray& array = *job.accelerator.pe_array;
    const double peak = static_cast<double>(array.num_pes * array.simd_lanes);
    return LayerBounds{.cycles = static_cast<double>(Macs(layer)) / peak};
  }
  if (model != "loopnest" || !job.accelerator.hierarchy) return LayerBounds{};
  const Result<LoopProblem> problem = MakeLoopProblem(layer);
  if (!problem) return problem.error();
  BoundOptions options{.semantics = job.problem.model.loopnest.semantics};
  if (!job.problem.decide_keep) {
    options.keep = KeepSets(*problem, *job.accelerator.hierarchy);
    // A machine that names nothing holds everything everywhere, as in the space.
    const uint8_t all = static_cast<uint8_t>((1u << problem->num_tensors) - 1);
    if (options.keep.empty()) options.keep.assign(job.accelerator.hierarchy->levels.size(), all);
  }
  const Result<LoopBounds> bounds = LowerBounds(*problem, *job.accelerator.hierarchy, options);
  if (!bounds) return bounds.error();
  return LayerBounds{.cycles = static_cast<double>(bounds->cycles), .energy_pj = bounds->energy_pj};
}

}  // namespace tessera
