#include "tessera/cost/maestro/report.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace tessera::maestro {
namespace {

// In units of one MAC.
constexpr double kL2Access = 18.61, kL1Access = 1.68;
constexpr double kMacNj = 0.00023;

int64_t Sum(const std::array<int64_t, 3>& values) {
  return std::accumulate(values.begin(), values.end(), int64_t{0});
}

double Ratio(int64_t a, int64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

// MAESTRO takes an empty buffer for one element.
double Elements(int64_t required) { return required == 0 ? 1.0 : static_cast<double>(required); }

// The network on chip: a bus that grows with the PEs, and an arbiter that grows with their square.
double BusSize(const PeArray& array) {
  return 14.662 * static_cast<double>(array.num_pes) + 28.895;
}
double ArbiterSize(const PeArray& array) {
  const int64_t n = array.num_pes;
  return 1.2886 * static_cast<double>(n * n) + 5.5814 * static_cast<double>(n) - 23.711;
}
double NocMw(const PeArray& array) {
  return 0.8 * BusSize(array) / 1000 * static_cast<double>(array.noc_elements_per_cycle) +
         std::max(0.34 * ArbiterSize(array) / 1000, 0.34);
}
double NocUm2(const PeArray& array) {
  return 101.7938 * BusSize(array) * static_cast<double>(array.noc_elements_per_cycle) +
         std::max(395.473 * ArbiterSize(array), 395.473);
}

// One PE with its L1.
double MacMw(const PeArray& array) { return 1.2223 * static_cast<double>(array.simd_lanes); }
double L1Mw(const Analysis& analysis) { return 0.00345 * Elements(L1Required(analysis)); }
double PeUm2(const Analysis& analysis, const PeArray& array) {
  return 283 * static_cast<double>(array.simd_lanes) + 0.104 * Elements(L1Required(analysis));
}

double L2Mw(const Analysis& analysis) { return 0.00345 * Elements(L2Required(analysis)); }
double L2Um2(const Analysis& analysis) { return 0.104 * Elements(L2Required(analysis)); }

double MaestroAreaUm2(const Analysis& analysis, const PeArray& array) {
  return static_cast<double>(array.num_pes) * PeUm2(analysis, array) + L2Um2(analysis) +
         NocUm2(array);
}

// Adds PE after PE, as MAESTRO does, because a column's last printed digit can depend on it. Beyond
// this many PEs, which MAESTRO has no memory for, the product has to do.
double AddedUp(double per_pe, int64_t pes) {
  constexpr int64_t kMaxAdded = int64_t{1} << 20;
  if (pes > kMaxAdded) return per_pe * static_cast<double>(pes);
  double sum = 0;
  for (int64_t i = 0; i < pes; ++i) sum += per_pe;
  return sum;
}

double GammaAreaUm2(const Analysis& analysis, const PeArray& array) {
  const auto pes = static_cast<double>(array.num_pes);
  const auto l1 = static_cast<double>(L1Required(analysis));
  const auto l2 = static_cast<double>(L2Required(analysis));
  return pes * 282 + (l1 * pes + l2) * 0.086 * 8;
}

double ArchGymAreaUm2(const Analysis& analysis, const PeArray& array) {
  const auto pes = static_cast<double>(array.num_pes);
  const auto l1 = static_cast<double>(L1Required(analysis));
  const auto l2 = static_cast<double>(L2Required(analysis));
  return pes * 4470 + std::ceil(l2 / 32768) * 4161.536 + std::ceil(l1 / 64) * 4505.1889 * pes;
}

bool AnyNegative(const Analysis& a) {
  int64_t sign = a.cycles | a.macs | L1Required(a) | L2Required(a);
  for (const auto* counts : {&a.l1_reads, &a.l1_writes, &a.l2_reads, &a.l2_writes}) {
    sign |= (*counts)[0] | (*counts)[1] | (*counts)[2];
  }
  for (const DelayStatistics* delay : {&a.ingress, &a.egress, &a.compute}) {
    sign |= delay->min_cycles | delay->average_cycles;
  }
  return sign < 0 || a.noc_average < 0 || a.busy_units < 0 || a.arithmetic_intensity < 0;
}

// A ratio of the CSV file is not a number where both parts are zero.
bool AnyNan(const Analysis& a) {
  const bool no_traffic = a.l2_reads[kInput] == 0 || a.l2_reads[kFilter] == 0;
  const bool no_outputs = a.l1_writes[kOutput] == 0;
  return (a.macs == 0 && a.cycles == 0) || no_traffic || no_outputs || std::isnan(a.noc_average) ||
         std::isnan(a.arithmetic_intensity);
}

constexpr std::array<std::string_view, kColumns> kColumnNames = {
    "NumPEs",
    "Runtime (Cycles)",
    "Activity count-based Energy (nJ)",
    "Throughput (MACs/Cycle)",
    "Throughput Per Energy (GMACs/s*J)",
    "Area",
    "Power",
    "NoC BW Req (Elements/cycle)",
    "Avg BW Req",
    "Peak BW Req",
    "Vector Width",
    "Offchip BW Req (Elements/cycle)",
    "L2 SRAM Size Req (Bytes)",
    "L1 SRAM Size Req (Bytes)",
    "Multicasting Factor (Weight)",
    "Multicasting Factor (Input)",
    "Num Total Input Pixels",
    "Num Total Weight Pixels",
    "Ops/J",
    "Num MACs",
    "PE power",
    "L1 power",
    "L2 power",
    "NOC power",
    "input l1 read",
    "input l1 write",
    "input l2 read",
    "input l2 write",
    "input reuse factor",
    "filter l1 read",
    "filter l1 write",
    "filter l2 read",
    "filter l2 write",
    "filter reuse factor",
    "output l1 read",
    "output l1 write",
    "output l2 read",
    "output l2 write",
    "output reuse factor",
    "Ingress Delay (Min)",
    "Ingress Delay (Max)",
    "Ingress Delay (Avg)",
    "Egress Delay (Min)",
    "Egress Delay (Max)",
    "Egress Delay (Avg)",
    "Compute Delay (Min)",
    "Compute Delay (Max)",
    "Compute Delay (Avg)",
    "Avg number of utilized PEs",
    "Arithmetic Intensity"};

// Columns up to here are separated by a bare comma, those after it by a comma and a blank.
constexpr size_t kLastPowerColumn = 23;

}  // namespace

LayerEnergy EnergyOf(const Analysis& analysis) {
  return {.mac = static_cast<double>(analysis.macs),
          .l1 = kL1Access * static_cast<double>(Sum(analysis.l1_reads) + Sum(analysis.l1_writes)),
          .l2 = kL2Access * static_cast<double>(Sum(analysis.l2_reads) + Sum(analysis.l2_writes))};
}

double CsvEnergyNj(const Analysis& analysis, const Analysis* previous) {
  double energy = 0;
  const auto add = [&energy](double per_access, int64_t accesses) {
    energy += per_access * static_cast<double>(accesses);
  };
  for (const size_t t : {kInput, kFilter}) {
    add(kL2Access, analysis.l2_reads[t]);
    add(kL2Access, analysis.l2_writes[t]);
  }
  add(kL2Access, analysis.l2_writes[kOutput]);
  const Analysis* l1 = analysis.single_result ? &analysis : previous;
  for (const size_t t : {kInput, kFilter, kOutput}) {
    if (l1 == nullptr) break;
    add(kL1Access, l1->l1_reads[t]);
    add(kL1Access, l1->l1_writes[t]);
  }
  return energy * kMacNj;
}

EnergyParts PartsOf(const Analysis& analysis, MaestroEnergy energy) {
  const bool all = energy == MaestroEnergy::kLayer;
  EnergyParts parts{.mac = all ? static_cast<double>(analysis.macs) : 0.0};
  for (const size_t t : {kInput, kFilter, kOutput}) {
    const int64_t l2_reads = all || t != kOutput ? analysis.l2_reads[t] : 0;
    parts.l2[t] = kL2Access * static_cast<double>(l2_reads + analysis.l2_writes[t]);
    if (!all && !analysis.single_result) continue;
    parts.l1[t] = kL1Access * static_cast<double>(analysis.l1_reads[t] + analysis.l1_writes[t]);
  }
  return parts;
}

int64_t L1Required(const Analysis& analysis) {
  return static_cast<int32_t>(static_cast<uint32_t>(Sum(analysis.l1_required)));
}

int64_t L2Required(const Analysis& analysis) {
  return static_cast<int32_t>(static_cast<uint32_t>(Sum(analysis.l2_required)));
}

Power PowerOf(const Analysis& analysis, const PeArray& array) {
  const auto pes = static_cast<double>(array.num_pes);
  return {.pe_mw = pes * MacMw(array),
          .l1_mw = pes * L1Mw(analysis),
          .l2_mw = L2Mw(analysis),
          .noc_mw = NocMw(array)};
}

double AreaUm2(const Analysis& analysis, const PeArray& array, MaestroArea formula) {
  switch (formula) {
    case MaestroArea::kMaestro: return MaestroAreaUm2(analysis, array);
    case MaestroArea::kGamma: return GammaAreaUm2(analysis, array);
    case MaestroArea::kArchGym: return ArchGymAreaUm2(analysis, array);
  }
  return 0;
}

CostFlags FlagsOf(const Workload& workload, const PeArray& array, const Analysis& analysis) {
  CostFlags flags;
  flags.Set(CostFlag::kL1, L1Required(analysis) > array.l1_elements);
  flags.Set(CostFlag::kL2, L2Required(analysis) > array.l2_elements);
  flags.Set(CostFlag::kNoc, analysis.noc_required > array.noc_elements_per_cycle);
  flags.Set(CostFlag::kOffchip, analysis.offchip_required > array.offchip_elements_per_cycle);
  flags.Set(CostFlag::kRuntime, analysis.cycles <= 0);
  flags.Set(CostFlag::kNegative, AnyNegative(analysis));
  flags.Set(CostFlag::kNan, AnyNan(analysis));
  flags.Set(CostFlag::kMacs, analysis.macs != workload.exact_macs);
  const double peak = static_cast<double>(array.num_pes) * static_cast<double>(array.simd_lanes);
  flags.Set(CostFlag::kAbovePeak,
            analysis.cycles > 0 &&
                static_cast<double>(analysis.macs) > peak * static_cast<double>(analysis.cycles));
  flags.Set(CostFlag::kTileAboveDim, analysis.tile_above_dim);
  return flags;
}

namespace {

// Doublings of L1 and L2 above their sizes, so that a search can walk towards what fits. A mapping
// with impossible numbers is further away than any that is only too large.
double ExcessOf(const PeArray& array, const Analysis& analysis, CostFlags flags) {
  constexpr double kImpossible = 64;
  constexpr CostFlags kDoubts = {CostFlag::kRuntime, CostFlag::kNan, CostFlag::kNegative,
                                 CostFlag::kMacs, CostFlag::kAbovePeak};
  const auto doublings = [](int64_t required, int64_t size) {
    return required > size ? std::log2(static_cast<double>(required) / static_cast<double>(size))
                           : 0.0;
  };
  const double sizes = doublings(L1Required(analysis), array.l1_elements) +
                       doublings(L2Required(analysis), array.l2_elements);
  return (flags & kDoubts).empty() ? sizes : kImpossible + sizes;
}

}  // namespace

Violation CheckStrict(const Workload& workload, const PeArray& array, const Analysis& analysis,
                      CostFlags flags) {
  const auto broken = [&](Rule rule, double have, double limit) {
    Violation violation = Broken(rule);
    violation.have = have;
    violation.limit = limit;
    violation.excess = ExcessOf(array, analysis, flags);
    return violation;
  };
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  if (flags.Has(CostFlag::kRuntime)) {
    return broken(Rule::kStrictRuntime, number(analysis.cycles), 1);
  }
  if (flags.Has(CostFlag::kNan)) return broken(Rule::kStrictNan, 0, 0);
  if (flags.Has(CostFlag::kNegative)) return broken(Rule::kStrictNegative, 0, 0);
  if (flags.Has(CostFlag::kMacs)) {
    return broken(Rule::kStrictMacs, number(analysis.macs), number(workload.exact_macs));
  }
  if (flags.Has(CostFlag::kAbovePeak)) {
    return broken(Rule::kStrictPeak, Ratio(analysis.macs, analysis.cycles),
                  number(array.num_pes) * number(array.simd_lanes));
  }
  if (flags.Has(CostFlag::kL1)) {
    return broken(Rule::kStrictL1, number(L1Required(analysis)), number(array.l1_elements));
  }
  if (flags.Has(CostFlag::kL2)) {
    return broken(Rule::kStrictL2, number(L2Required(analysis)), number(array.l2_elements));
  }
  return {};
}

std::array<Column, kColumns> ColumnsOf(const Workload& workload, const PeArray& array,
                                       const Analysis& a, double csv_energy_nj) {
  const int64_t pes = array.num_pes;
  const double throughput = Ratio(a.macs, a.cycles);
  std::array<Column, kColumns> columns;
  size_t next = 0;
  const auto add = [&](std::initializer_list<Column> values) {
    for (const Column& value : values) columns[next++] = value;
  };
  add({pes, a.cycles, csv_energy_nj, throughput, throughput / csv_energy_nj * 1e9});
  add({AddedUp(PeUm2(a, array), pes) + L2Um2(a) + NocUm2(array)});
  add({AddedUp(MacMw(array) + L1Mw(a), pes) + L2Mw(a) + NocMw(array)});
  add({a.noc_required, a.noc_average, a.noc_required, array.simd_lanes, a.offchip_required});
  add({L2Required(a), L1Required(a)});
  add({Ratio(a.l1_writes[kFilter], a.l2_reads[kFilter]),
       Ratio(a.l1_writes[kInput], a.l2_reads[kInput])});
  add({workload.declared_input_elements, workload.declared_filter_elements});
  add({static_cast<double>(a.macs) / csv_energy_nj * 1e9, a.macs});
  add({AddedUp(MacMw(array), pes), AddedUp(L1Mw(a), pes), L2Mw(a), NocMw(array)});
  for (const size_t t : {kInput, kFilter, kOutput}) {
    add({a.l1_reads[t], a.l1_writes[t], a.l2_reads[t], a.l2_writes[t],
         Ratio(a.l1_reads[t], a.l1_writes[t])});
  }
  for (const DelayStatistics* delay : {&a.ingress, &a.egress, &a.compute}) {
    add({delay->min_cycles, delay->max_cycles, delay->average_cycles});
  }
  add({a.busy_units, a.arithmetic_intensity});
  return columns;
}

std::string_view CsvHeader() {
  return "Neural Network Name, Layer Number, NumPEs, Runtime (Cycles), Activity count-based Energy "
         "(nJ), Throughput (MACs/Cycle), Throughput Per Energy (GMACs/s*J), Area, Power, NoC BW "
         "Req "
         "(Elements/cycle), Avg BW Req, Peak BW Req, Vector Width, Offchip BW Req "
         "(Elements/cycle),  L2 SRAM Size Req (Bytes), L1 SRAM Size Req (Bytes), Multicasting "
         "Factor (Weight), Multicasting Factor (Input), Num Total Input Pixels, Num Total Weight "
         "Pixels, Ops/J, Num MACs, PE power, L1 power, L2 power, NOC power, input l1 read, input "
         "l1 "
         "write, input l2 read, input l2 write, input reuse factor,filter l1 read, filter l1 "
         "write, "
         "filter l2 read, filter l2 write, filter reuse factor,output l1 read, output l1 write, "
         "output l2 read, output l2 write, output reuse factor,Ingress Delay (Min), Ingress Delay "
         "(Max), Ingress Delay (Avg), Egress Delay (Min), Egress Delay (Max),  Egress Delay "
         "(Avg),Compute Delay (Min), Compute Delay (Min), Compute Delay (Avg),Avg number of "
         "utilized PEs, Arithmetic Intensity";
}

std::string CsvRow(std::string_view network, std::string_view layer,
                   const std::array<Column, kColumns>& columns) {
  std::string row = fmt::format("{},{}", network, layer);
  for (size_t i = 0; i < kColumns; ++i) {
    row += i > kLastPowerColumn + 1 ? ", " : ",";
    if (const int64_t* integer = std::get_if<int64_t>(&columns[i])) {
      row += fmt::format("{}", *integer);
    } else {
      const double value = *std::get_if<double>(&columns[i]);
      row += std::isnan(value) ? "-nan" : fmt::format("{:g}", value);
    }
  }
  return row;
}

std::span<const std::string_view, kColumns> ColumnNames() { return kColumnNames; }

}  // namespace tessera::maestro
