#include "tessera/cost/maestro/explain.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/cost/maestro/analysis.h"
#include "tessera/cost/maestro/explain_levels.h"
#include "tessera/cost/maestro/explain_totals.h"
#include "tessera/cost/maestro/spatial.h"

namespace tessera::maestro {
namespace {

constexpr std::array<std::string_view, 3> kTensorNames = {"input", "filter", "output"};

std::string_view StateName(State state) {
  constexpr std::array<std::string_view, kStates> kNames = {
      "start", "start at the edge",      "start at the edge, last unit cut off", "steady",
      "edge",  "edge, last unit cut off"};
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
std::string ProductText(const std::vector<std::string>& terms) {
  return terms.empty() ? "1" : fmt::format("{}", fmt::join(terms, "*"));
}

std::string Factor(Dim dim, int64_t extent) {
  return extent < 0 ? fmt::format("({})", extent)
                    : fmt::format("{}{}", tessera::ToString(dim), extent);
}

// "(2 + 3*2 + 1)" and what its terms are.
std::string UnitsText(const UnitSum& sum) {
  const struct {
    int64_t units, value;
    std::string_view name;
  } kinds[] = {{sum.units.first, sum.values.first, "first unit"},
               {sum.units.first_cut, sum.values.first_cut, "first unit, cut off"},
               {sum.units.later, sum.values.later, "later"},
               {sum.units.later_cut, sum.values.later_cut, "cut off"}};
  std::vector<std::string> terms, names;
  for (const auto& [units, value, name] : kinds) {
    if (units == 0) continue;
    const bool first = names.empty();
    terms.push_back(units == 1 ? fmt::format("{}", value) : fmt::format("{}*{}", units, value));
    names.push_back(first ? std::string(name) : fmt::format("{} {}", units, name));
  }
  if (terms.size() == 1) return fmt::format("{}  [{}, or one copy for all]", terms[0], names[0]);
  return fmt::format("({})  [{}]", fmt::join(terms, " + "), fmt::join(names, ", "));
}

class Explainer {
 public:
  Explainer(const Workload& workload, const PeArray& array, const Record& record,
            const Analysis& analysis)
      : workload_(workload),
        array_(array),
        record_(record),
        analysis_(analysis),
        spatial_(record.levels.size()) {
    for (size_t i = 0; i < spatial_.size(); ++i) spatial_[i].Reset(workload, record.levels[i]);
  }

  std::string Text(std::string_view name, const Dataflow& dataflow) {
    AddProblem(name);
    text_ += ExplainLevels(workload_, array_, dataflow, record_.levels);
    for (size_t i = 0; i < record_.visits.size(); ++i) AddVisit(i);
    text_ += ExplainTotals(workload_, array_, record_, analysis_);
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
    Add("  n elements take {} * {} + ceil(n / {}) - 1 cycles on the network: hops, cycles of a "
        "hop, "
        "elements per cycle\n",
        array_.noc_hops, array_.noc_hop_latency_cycles, array_.noc_elements_per_cycle);
  }

  void AddVisit(size_t index) {
    const VisitRecord& visit = record_.visits[index];
    Add("\nvisit {}: level {} with {}\n", index + 1, visit.level, Sizes(visit.size));
    if (visit.level == 0) {
      offchip_need_ = 0;
      Add("  off-chip cycles {} = {}  [half of what L2 requires, over the bandwidth: inputs, "
          "outputs]\n",
          OffchipCycles(), OffchipFormula(array_, analysis_));
    }
    std::vector<std::string> cycles, busy;
    int64_t occurrences = 0;
    for (size_t i = 0; i < visit.cases.size(); ++i) {
      AddCase(visit, i);
      const CaseRecord& c = visit.cases[i];
      if (c.skipped) continue;
      occurrences += c.occurrences;
      cycles.push_back(fmt::format("{}*{}", c.occurrences, c.cycles.all));
      busy.push_back(fmt::format("{}*{:.12g}", c.occurrences, c.busy_units));
    }
    if (cycles.empty()) cycles.emplace_back("0");
    Add("  visit {} takes cycles {} = {}\n", index + 1, visit.cycles, fmt::join(cycles, " + "));
    if (occurrences == 0) return;
    Add("  and has busy PEs {:.12g} = ({}) / {}\n", visit.busy_units, fmt::join(busy, " + "),
        occurrences);
  }

  void AddCase(const VisitRecord& visit, size_t index) {
    const Level& level = record_.levels[visit.level];
    const CaseRecord& c = visit.cases[index];
    std::vector<std::string> moved;
    std::vector<uint32_t> occurrences = {1};
    for (size_t i = 0; i < level.num_maps; ++i) {
      const Map& map = level.maps[i];
      if (c.states[i] == State::kInit) continue;
      moved.push_back(fmt::format("{} {}", tessera::ToString(map.dim), StateName(c.states[i])));
      const LoopStates states = StatesOf(map, level.units, visit.size[Index(map.dim)]);
      for (size_t s = 1; s < states.num; ++s) {
        if (states.state[s] == c.states[i]) occurrences.push_back(states.occurrences[s]);
      }
    }
    Add("  case {} of {}, times {} = {}  [{}]\n", index + 1, visit.cases.size(), c.occurrences,
        fmt::join(occurrences, "*"),
        moved.empty() ? "every loop at its start" : fmt::format("{}", fmt::join(moved, ", ")));
    const SpatialLoops& spatial = spatial_[visit.level];
    for (const size_t t : {kInput, kFilter}) AddIngress(level, c, t, spatial);
    Add("    output {} = {} * {}\n", c.volumes.egress, ProductText(TemporalTerms(level, c, false)),
        UnitsText(spatial.EgressSum(c.factors.code)));
    const std::string all = ProductText(TemporalTerms(level, c, true));
    Add("    MACs {} = {} * {}\n", c.volumes.macs, all, UnitsText(spatial.MacsSum(c.factors.code)));
    if (c.skipped || visit.level + 1 == record_.levels.size()) {
      Add("    of the slowest unit {} = {} * {}\n", c.volumes.critical, all, c.spatial.critical);
    }
    if (c.skipped) {
      Add("    skipped, because the slowest unit has none\n");
      return;
    }
    AddCycles(visit.level, c);
    if (visit.level == 0) AddBandwidths(c);
  }

  void AddIngress(const Level& level, const CaseRecord& c, size_t t, const SpatialLoops& spatial) {
    const bool stays =
        c.factors.step != 0 && !workload_.coupled[t].Has(level.maps[c.factors.step - 1].dim);
    if (stays) {
      Add("    {} 0: {} advances and does not index it\n", kTensorNames[t],
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
      const auto last = static_cast<size_t>(level.last_map[Index(map.dim)]);
      const bool starts_at_edge = c.states[last] == State::kInitEdge;
      terms.push_back(Factor(map.dim, only_new         ? extent.unique
                                      : starts_at_edge ? extent.edge_full
                                                       : extent.full));
    }
    Add("    {} {} = {} * {}\n", kTensorNames[t], c.volumes.ingress[t], ProductText(terms),
        UnitsText(spatial.IngressSum(t, c.step.mode[t], c.factors.code)));
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
      terms.push_back(Factor(dim, IsEdge(c.states[last]) ? extent.edge_full : extent.full));
    }
    return terms;
  }

  void AddDelay(std::string_view name, const std::string& volume, int64_t elements,
                int64_t cycles) {
    Add("    {} cycles {}", name, cycles);
    if (elements < 0) {
      Add("  [of a negative volume]\n");
    } else {
      Add(" = {}*{} + ceil({} / {}) - 1\n", array_.noc_hops, array_.noc_hop_latency_cycles, volume,
          array_.noc_elements_per_cycle);
    }
  }

  void AddCycles(size_t level, const CaseRecord& c) {
    const CaseCycles& cycles = c.cycles;
    const int64_t in = c.volumes.ingress[kInput], filter = c.volumes.ingress[kFilter];
    AddDelay("ingress", fmt::format("({} + {})", in, filter), in + filter, cycles.ingress);
    AddDelay("egress", fmt::format("{}", c.volumes.egress), c.volumes.egress, cycles.egress);
    if (level + 1 == record_.levels.size()) {
      Add("    compute cycles {} = ceil({} / {})  [lanes]\n", cycles.compute, c.volumes.critical,
          array_.simd_lanes);
      Add("    busy PEs {:.12g}\n", c.busy_units);
    } else {
      AddBelow(level, c);
    }
    std::string sum = c.factors.step == 0 ? fmt::format("{} + {}", cycles.compute, cycles.ingress)
                                          : fmt::format("max({}, {}, {})", cycles.egress,
                                                        cycles.compute, cycles.ingress);
    if (level == 0) sum = fmt::format("max({}, {})", sum, OffchipCycles());
    Add("    cycles {} = {}  [{}{}]\n", cycles.all, sum,
        c.factors.step == 0 ? "compute + ingress" : "egress, compute, ingress",
        level == 0 ? ", off-chip" : "");
  }

  int64_t OffchipCycles() const {
    const int64_t in = analysis_.l2_required[kInput] + analysis_.l2_required[kFilter];
    const int64_t bandwidth = array_.offchip_elements_per_cycle;
    return std::max(in / bandwidth / 2, analysis_.l2_required[kOutput] / bandwidth / 2);
  }

  // The visits to the level below that the units make.
  void AddBelow(size_t level, const CaseRecord& c) {
    const VisitsBelow below = VisitsBelowOf(record_.levels[level], c.factors, c.spatial);
    std::vector<std::string> names, cycles, busy;
    bool any_busy = false;
    for (size_t i = 0; i < below.num; ++i) {
      const size_t index = FindVisit(level + 1, below.key[i]);
      const VisitRecord& visit = record_.visits[index];
      names.push_back(fmt::format("{}", index + 1));
      cycles.push_back(fmt::format("{}", visit.cycles));
      busy.push_back(fmt::format("{}*{:.12g}", below.units[i], visit.busy_units));
      any_busy |= visit.busy_units != 0;
    }
    Add("    compute cycles {} = max(0, {})  [visit {}]\n", c.cycles.compute,
        fmt::join(cycles, ", "), fmt::join(names, " and "));
    if (any_busy) {
      Add("    busy PEs {:.12g} = {}  [units * busy PEs of a visit]\n", c.busy_units,
          fmt::join(busy, " + "));
    } else {
      Add("    busy PEs {:.12g}  [the visits have none, so the units count]\n", c.busy_units);
    }
  }

  size_t FindVisit(size_t level, uint32_t key) const {
    size_t i = 0;
    while (record_.visits[i].level != level || record_.visits[i].key != key) ++i;
    return i;
  }

  // MAESTRO halves the off-chip requirement in every case.
  void AddBandwidths(const CaseRecord& c) {
    const int64_t in = c.volumes.ingress[kInput] + c.volumes.ingress[kFilter];
    const int64_t moved = std::max(in, c.volumes.egress), compute = c.cycles.compute;
    Add("    NoC bandwidth {} = int(max({}, {}) / {})\n", moved / compute, in, c.volumes.egress,
        compute);
    const int64_t required_in = analysis_.l2_required[kInput] + analysis_.l2_required[kFilter];
    const int64_t required_out = analysis_.l2_required[kOutput];
    const int64_t before = offchip_need_;
    offchip_need_ = std::max({before, required_in / compute, required_out / compute}) / 2;
    Add("    off-chip bandwidth {} = int(max({}, int({} / {}), int({} / {})) / 2)  [the case "
        "before; "
        "L2 required of inputs, of outputs]\n",
        offchip_need_, before, required_in, compute, required_out, compute);
  }

  const Workload& workload_;
  const PeArray& array_;
  const Record& record_;
  const Analysis& analysis_;
  std::vector<SpatialLoops> spatial_;  // by level
  int64_t offchip_need_ = 0;           // after the cases so far
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
  return Explainer(workload, array, record, analysis).Text(name, dataflow);
}

}  // namespace tessera::maestro
