#include "tessera/cost/maestro/breakdown.h"

#include <array>
#include <cmath>
#include <string_view>

#include "tessera/cost/maestro/analysis.h"
#include "tessera/cost/maestro/report.h"

namespace tessera::maestro {
namespace {

constexpr std::array<std::string_view, 3> kTensorNames = {"input", "filter", "output"};

std::optional<int64_t> Limit(int64_t value) {
  return value == PeArray::kUnlimited ? std::nullopt : std::optional(value);
}

using Counts = std::array<int64_t, 3>;

std::vector<TensorShare> TensorsOf(const Counts& required, const Counts& reads,
                                   const Counts& writes, const std::array<double, 3>& energy) {
  std::vector<TensorShare> tensors;
  for (const size_t t : {kInput, kFilter, kOutput}) {
    TensorShare share{.name = std::string(kTensorNames[t]),
                      .tile_words = required[t],
                      .reads = reads[t],
                      .energy_pj = kMacPj * energy[t]};
    (t == kOutput ? share.updates : share.fills) = writes[t];
    tensors.push_back(std::move(share));
  }
  return tensors;
}

// A machine without one of its limits. MAESTRO's cycles are sums of maxima, so what a limit costs
// is found by taking it away.
struct Lifted {
  std::string_view name;
  int64_t PeArray::*limit;
};
constexpr std::array kLimits = {Lifted{kComputeLimit, &PeArray::simd_lanes},
                                Lifted{"L2", &PeArray::noc_elements_per_cycle},
                                Lifted{"DRAM", &PeArray::offchip_elements_per_cycle}};

}  // namespace

CostBreakdown BreakDown(const Workload& workload, const PeArray& array,
                        const MaestroOptions& options, const Dataflow& dataflow, const Cost& cost) {
  Analyser analyser;
  Analysis a;
  analyser.Run(workload, array, options.version, dataflow, a);
  const EnergyParts energy = PartsOf(a, options.energy);
  CostBreakdown breakdown{
      .cost = cost,
      .mac_pj = kMacPj * energy.mac,
      .mac_units = array.num_pes * array.simd_lanes,
      .used_mac_units = static_cast<int64_t>(std::ceil(a.busy_units)) * array.simd_lanes};
  breakdown.levels.push_back(
      {.name = "L1",
       .tensors = TensorsOf(a.l1_required, a.l1_reads, a.l1_writes, energy.l1),
       .entries = Limit(array.l1_elements),
       .instances = array.num_pes,
       .used_instances = static_cast<int64_t>(std::ceil(a.busy_units))});
  breakdown.levels.push_back(
      {.name = "L2",
       .tensors = TensorsOf(a.l2_required, a.l2_reads, a.l2_writes, energy.l2),
       .entries = Limit(array.l2_elements)});
  if (const auto noc = Limit(array.noc_elements_per_cycle)) {
    breakdown.levels.back().bandwidth = "network";
    breakdown.levels.back().words_per_cycle = static_cast<double>(*noc);
  }
  PeArray without = array;
  without.noc_elements_per_cycle = without.offchip_elements_per_cycle = PeArray::kUnlimited;
  Analysis lifted;
  analyser.Run(workload, without, options.version, dataflow, lifted);
  breakdown.compute_cycles = lifted.cycles;
  breakdown.cycles_if_lifted = cost.cycles;
  for (const Lifted& limit : kLimits) {
    without = array;
    without.*limit.limit = PeArray::kUnlimited;
    analyser.Run(workload, without, options.version, dataflow, lifted);
    if (lifted.cycles >= breakdown.cycles_if_lifted) continue;
    breakdown.cycles_if_lifted = lifted.cycles;
    breakdown.limited_by = limit.name;
  }
  SettleParts(breakdown);
  return breakdown;
}

}  // namespace tessera::maestro
