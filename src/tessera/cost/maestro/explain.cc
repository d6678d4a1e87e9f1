#include "tessera/cost/maestro/explain.h"

#include <vector>

#include <fmt/format.h>

#include "tessera/cost/maestro/analysis.h"
#include "tessera/cost/maestro/report.h"

namespace tessera::maestro {
namespace {

constexpr std::array<std::string_view, 3> kTensorNames = {"input", "filter", "output"};

std::string_view ToString(State state) {
  constexpr std::array<std::string_view, kStates> kNames = {
      "start",  "start (edge)", "start (edge, last unit cut)",
      "steady", "edge",         "edge (last unit cut)"};
  return kNames[static_cast<size_t>(state)];
}

std::string Sizes(const PerDim<int64_t>& sizes) {
  std::string text;
  for (size_t i = 0; i < kDataflowDims; ++i) {
    if (sizes[i] == 0) continue;
    text += fmt::format("{}{}{}", text.empty() ? "" : " ", ToString(static_cast<Dim>(i)), sizes[i]);
  }
  return text;
}

// "C4*Y3*X8", or "1" if there is nothing to multiply.
std::string Product(const std::vector<std::string>& terms) {
  return terms.empty() ? "1" : fmt::format("{}", fmt::join(terms, "*"));
}

class Explainer {
 public:
  Explainer(const Workload& workload, const PeArray& array, const Record& record,
            const Analysis& analysis)
      : workload_(workload), array_(array), record_(record), analysis_(analysis) {}

  std::string Text(std::string_view name) {
    AddProblem(name);
    for (size_t i = 0; i < record_.levels.size(); ++i) AddLevel(i);
    Add("\nvisits, in the order in which they are needed\n");
    for (const VisitRecord& visit : record_.visits) AddVisit(visit);
    AddTotals();
    AddEnergy();
    return text_;
  }

 private:
  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  void AddProblem(std::string_view name) {
    Add("layer {}: {}, {} MACs\n", name, Sizes(workload_.size), workload_.exact_macs);
    for (size_t t = 0; t < 3; ++t) {
      std::vector<std::string> dims;
      for (const Dim dim : workload_.coupling[t]) dims.emplace_back(tessera::ToString(dim));
      Add("  {:<6} is indexed by {}\n", kTensorNames[t], fmt::join(dims, " "));
    }
    Add("machine: {} PEs, {} lanes each\n", array_.num_pes, array_.simd_lanes);
    Add("  delay(n) = {} * {} + ceil(n / {}) - 1 cycles for n elements on the network\n",
        array_.noc_hops, array_.noc_hop_latency_cycles, array_.noc_elements_per_cycle);
  }

  void AddLevel(size_t index) {
    const Level& level = record_.levels[index];
    Add("\nlevel {}: {} units, of which {} work in the last iteration of the spatial loop\n", index,
        level.units, level.edge_units);
    if (index == 0) {
      Add("  units = floor({} PEs / product of the Cluster sizes)\n", array_.num_pes);
    }
    Add("  {:<12} {:<3} {:>8} {:>8} {:>10} {:>8} {:>8} {:>10} {:>12}\n", "loop", "dim", "size",
        "offset", "dimension", "full", "unique", "edge full", "edge unique");
    for (size_t i = 0; i < level.num_maps; ++i) {
      const Map& map = level.maps[i];
      const Extent& e = level.extent[Index(map.dim)];
      Add("  {:<12} {:<3} {:>8} {:>8} {:>10} {:>8} {:>8} {:>10} {:>12}\n",
          map.spatial ? "SpatialMap" : "TemporalMap", tessera::ToString(map.dim), map.size,
          map.offset, level.size[Index(map.dim)], e.full, e.unique, e.edge_full, e.edge_unique);
    }
    for (const Dim dim : {Dim::kX, Dim::kY}) {
      if (!workload_.convolution || !level.Mapped(dim)) continue;
      const Extent& e = level.extent[Index(OutputDim(dim))];
      Add("  {:<12} {:<3} {:>8} {:>8} {:>10} {:>8} {:>8} {:>10} {:>12}\n", "outputs",
          tessera::ToString(OutputDim(dim)), "", "", "", e.full, e.unique, e.edge_full,
          e.edge_unique);
    }
  }

  void AddVisit(const VisitRecord& visit) {
    Add("\nlevel {} with {}\n", visit.level, Sizes(visit.size));
    std::vector<std::string> sum;
    for (size_t i = 0; i < visit.cases.size(); ++i) {
      AddCase(visit, i);
      const CaseRecord& c = visit.cases[i];
      if (!c.skipped) sum.push_back(fmt::format("{}*{}", c.occurrences, c.cycles.all));
    }
    Add("  level {}: {} cycles = {}; {:.6g} PEs busy on average\n", visit.level, visit.cycles,
        sum.empty() ? "0" : fmt::format("{}", fmt::join(sum, " + ")), visit.busy_units);
  }

  void AddCase(const VisitRecord& visit, size_t index) {
    const Level& level = record_.levels[visit.level];
    const CaseRecord& c = visit.cases[index];
    std::vector<std::string> moved;
    for (size_t i = 0; i < level.num_maps; ++i) {
      if (c.states[i] == State::kInit) continue;
      moved.push_back(
          fmt::format("{} {}", tessera::ToString(level.maps[i].dim), ToString(c.states[i])));
    }
    Add("  case {} of {}, {} times: {}\n", index + 1, visit.cases.size(), c.occurrences,
        moved.empty() ? "every loop at its start" : fmt::format("{}", fmt::join(moved, ", ")));
    for (const size_t t : {kInput, kFilter}) AddIngress(level, c, t);
    AddVolume("output", c.volumes.egress, c.factors.out, Product(TemporalTerms(level, c, false)),
              c.spatial.egress, Spread(level, c, workload_.coupled[kOutput]));
    AddVolume("MACs", c.volumes.macs, c.factors.all, Product(TemporalTerms(level, c, true)),
              c.spatial.macs, fmt::format("{} units", c.spatial.active));
    if (c.skipped) {
      Add("    skipped: {} partial sums on the critical path\n", c.volumes.critical);
      return;
    }
    AddCycles(visit.level, c);
  }

  void AddVolume(std::string_view what, int64_t volume, int64_t temporal,
                 const std::string& temporal_terms, int64_t units, const std::string& spread) {
    Add("    {:<8} {} = {} (by time: {}) * {} ({})\n", what, volume, temporal, temporal_terms,
        units, spread);
  }

  // "C over 2 units", or that all units take the same.
  std::string Spread(const Level& level, const CaseRecord& c, DimSet dims) const {
    std::vector<std::string_view> spread;
    for (size_t q = 0; q < level.num_spatial; ++q) {
      const Dim dim = level.maps[level.spatial[q]].dim;
      if (dims.Has(dim)) spread.push_back(tessera::ToString(dim));
    }
    if (spread.empty()) return "the same for all units";
    return fmt::format("{} over {} units", fmt::join(spread, ", "), c.spatial.active);
  }

  void AddIngress(const Level& level, const CaseRecord& c, size_t t) {
    const bool stays =
        c.factors.step != 0 && !workload_.coupled[t].Has(level.maps[c.factors.step - 1].dim);
    if (stays) {
      Add("    {:<8} 0: {} advances and does not index it\n", kTensorNames[t],
          tessera::ToString(level.maps[c.factors.step - 1].dim));
      return;
    }
    std::vector<std::string> terms;
    for (size_t i = 0; i < level.num_maps; ++i) {
      const Map& map = level.maps[i];
      if (map.spatial || !workload_.coupled[t].Has(map.dim)) continue;
      const Extent& extent = level.extent[Index(map.dim)];
      const bool advanced = c.factors.step == i + 1;
      const bool only_new = advanced && !Restarts(level, c, t, i);
      const bool starts_at_edge = IsInit(c.states[i]) && IsEdge(c.states[i]);
      terms.push_back(fmt::format("{}{}", tessera::ToString(map.dim),
                                  only_new         ? extent.unique
                                  : starts_at_edge ? extent.edge_full
                                                   : extent.full));
    }
    AddVolume(kTensorNames[t], c.volumes.ingress[t], c.step.temporal[t], Product(terms),
              c.spatial.ingress[t][c.step.mode[t]], Spread(level, c, workload_.coupled[t]));
  }

  // Whether a loop of the tensor further in than `map` has started again.
  bool Restarts(const Level& level, const CaseRecord& c, size_t t, size_t map) const {
    for (size_t i = map + 1; i < level.num_maps; ++i) {
      if (!workload_.coupled[t].Has(level.maps[i].dim)) continue;
      const auto last = static_cast<size_t>(level.last_map[Index(level.maps[i].dim)]);
      if (!c.unrolled[last]) return true;
    }
    return false;
  }

  std::vector<std::string> TemporalTerms(const Level& level, const CaseRecord& c,
                                         bool reduction) const {
    std::vector<std::string> terms;
    for (size_t i = 0; i < level.num_maps; ++i) {
      const Map& map = level.maps[i];
      const bool of_output = workload_.coupled[kOutput].Has(map.dim);
      const auto last = static_cast<size_t>(level.last_map[Index(map.dim)]);
      if (of_output ? level.FirstIsSpatial(map.dim) || last != i : map.spatial || !reduction) {
        continue;
      }
      const Dim dim = of_output ? workload_.OutputDimOf(map.dim) : map.dim;
      const Extent& extent = level.extent[Index(dim)];
      terms.push_back(fmt::format("{}{}", tessera::ToString(dim),
                                  IsEdge(c.states[last]) ? extent.edge_full : extent.full));
    }
    return terms;
  }

  void AddCycles(size_t level, const CaseRecord& c) {
    const CaseCycles& cycles = c.cycles;
    const int64_t ingress = c.volumes.ingress[kInput] + c.volumes.ingress[kFilter];
    Add("    ingress delay({}) = {}, egress delay({}) = {}, ", ingress, cycles.ingress,
        c.volumes.egress, cycles.egress);
    if (level + 1 == record_.levels.size()) {
      Add("compute = ceil({} / {} lanes) = {}\n", c.volumes.critical, array_.simd_lanes,
          cycles.compute);
    } else {
      Add("compute = slowest visit below = {}\n", cycles.compute);
    }
    const std::string offchip = level == 0 ? fmt::format(", off-chip {}", OffchipCycles()) : "";
    if (c.factors.step == 0) {
      Add("    {} cycles = {}compute + ingress{}{}\n", cycles.all, level == 0 ? "max(" : "",
          offchip, level == 0 ? ")" : "");
    } else {
      Add("    {} cycles = max(egress, compute, ingress{})\n", cycles.all, offchip);
    }
  }

  int64_t OffchipCycles() const {
    const int64_t in = analysis_.l2_required[kInput] + analysis_.l2_required[kFilter];
    const int64_t bandwidth = array_.offchip_elements_per_cycle;
    return std::max(in / bandwidth / 2, analysis_.l2_required[kOutput] / bandwidth / 2);
  }

  void AddTotals() {
    const Analysis& a = analysis_;
    Add("\nlayer, from the cases of level 0 weighted by how often they occur\n");
    Add("  cycles            {} = sum of cycles\n", a.cycles);
    Add("  MACs              {} = sum of MACs (the layer has {})\n", a.macs, workload_.exact_macs);
    Add("  L2 reads          input {}, filter {} = sums of the volumes; output {} = its size\n",
        a.l2_reads[kInput], a.l2_reads[kFilter], a.l2_reads[kOutput]);
    Add("  L2 writes         input {}, filter {} = their sizes; output {} = sum of the volumes\n",
        a.l2_writes[kInput], a.l2_writes[kFilter], a.l2_writes[kOutput]);
    Add("  L1 reads          input {}, filter {}, output {} = MACs\n", a.l1_reads[kInput],
        a.l1_reads[kFilter], a.l1_reads[kOutput]);
    Add("  L1 writes         input {}, filter {} = L2 reads; output {} = MACs\n",
        a.l1_writes[kInput], a.l1_writes[kFilter], a.l1_writes[kOutput]);
    Add("  L2 required       {} = 2 * (input {} + filter {} + output {}), volumes of case 1\n",
        L2Required(a), a.l2_required[kInput] / 2, a.l2_required[kFilter] / 2,
        a.l2_required[kOutput] / 2);
    Add("  L1 required       {} = 2 * (input {} + filter {} + output {}), tiles of the first "
        "visit\n",
        L1Required(a), a.l1_required[kInput] / 2, a.l1_required[kFilter] / 2,
        a.l1_required[kOutput] / 2);
    Add("  off-chip cycles   {} = half of the L2 requirement of inputs, or of outputs, over {} "
        "elements/cycle\n",
        OffchipCycles(), array_.offchip_elements_per_cycle);
    Add("  busy PEs          {:.6g} on average\n", a.busy_units);
  }

  void AddEnergy() {
    const Analysis& a = analysis_;
    const LayerEnergy energy = EnergyOf(a);
    const Power power = PowerOf(a, array_);
    Add("  energy            {:.9g} nJ = {} nJ * (MACs {} + 1.68 * L1 accesses {:.9g} + 18.61 * L2 "
        "accesses {:.9g})\n",
        energy.total() * kMacPj / 1000, kMacPj / 1000, a.macs, energy.l1 / 1.68, energy.l2 / 18.61);
    Add("  energy in the CSV {:.9g} nJ: L2 without reads of outputs{}\n", CsvEnergyNj(a, nullptr),
        a.single_result ? ", and L1" : "; L1 is that of the layer before in the file");
    Add("  area              {:.9g} um2 = {} * (283 * lanes + 0.104 * L1) + 0.104 * L2 + network\n",
        AreaUm2(a, array_, MaestroArea::kMaestro), array_.num_pes);
    Add("  power             {:.9g} mW = PEs {:.6g} + L1 {:.6g} + L2 {:.6g} + network {:.6g}\n",
        power.total_mw(), power.pe_mw, power.l1_mw, power.l2_mw, power.noc_mw);
    const CostFlags flags = FlagsOf(workload_, array_, a);
    Add("  flags             {}\n",
        flags.empty() ? "none" : fmt::format("{}", fmt::join(flags.Names(), " ")));
  }

  const Workload& workload_;
  const PeArray& array_;
  const Record& record_;
  const Analysis& analysis_;
  std::string text_;
};

}  // namespace

Result<std::string> Explain(const Workload& workload, const PeArray& array, MaestroVersion version,
                            std::string_view name, const Dataflow& dataflow) {
  Analyser analyser;
  Analysis analysis;
  Record record;
  const Violation broken = analyser.Run(workload, array, version, dataflow, analysis, &record);
  if (broken.rule != 0) return Describe(broken);
  return Explainer(workload, array, record, analysis).Text(name);
}

}  // namespace tessera::maestro
