#include "tessera/cost/maestro/explain_totals.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/cost/maestro/report.h"

namespace tessera::maestro {
namespace {

constexpr std::array<std::string_view, 3> kNamesInTotals = {"input", "filter", "output"};
constexpr auto kTensorsInTotals = {kInput, kFilter, kOutput};

class TotalsText {
 public:
  TotalsText(const Workload& workload, const PeArray& array, const Record& record,
             const Analysis& analysis)
      : workload_(workload), array_(array), record_(record), a_(analysis) {
    for (const CaseRecord& c : record.visits.back().cases) {
      all_.push_back(&c);
      if (!c.skipped) counted_.push_back(&c);
    }
  }

  std::string Text() {
    Add("\nlayer, from the cases of level 0\n");
    AddRuntime();
    AddAccesses();
    AddBuffers();
    AddBandwidths();
    AddEnergy();
    AddAreaAndPower();
    const CostFlags flags = FlagsOf(workload_, array_, a_);
    Add("  flags: {}\n", flags.empty() ? "none" : fmt::format("{}", fmt::join(flags.Names(), " ")));
    return text_;
  }

 private:
  using Cases = std::vector<const CaseRecord*>;

  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  // "1*864 + 5*432": a value of each case times its occurrences.
  template <typename Value>
  static std::string Sum(const Cases& cases, const Value& value) {
    std::vector<std::string> terms;
    for (const CaseRecord* c : cases) {
      terms.push_back(fmt::format("{}*{}", c->occurrences, value(*c)));
    }
    return terms.empty() ? "0" : fmt::format("{}", fmt::join(terms, " + "));
  }

  int64_t Occurrences() const {
    int64_t sum = 0;
    for (const CaseRecord* c : counted_) sum += c->occurrences;
    return sum;
  }

  // A ratio with its name, unless it is none.
  void AddRatio(std::string_view name, double value, const std::string& formula) {
    if (std::isfinite(value)) {
      Add("  {} {:.12g} = {}\n", name, value, formula);
    } else {
      Add("  {} {}\n", name, value);
    }
  }

  void AddRuntime() {
    Add("  cycles {} = {}\n", a_.cycles,
        Sum(counted_, [](const CaseRecord& c) { return c.cycles.all; }));
    Add("  MACs {} = {}  [the layer has {}]\n", a_.macs,
        Sum(counted_, [](const CaseRecord& c) { return c.volumes.macs; }), workload_.exact_macs);
    AddRatio("MACs per cycle", static_cast<double>(a_.macs) / static_cast<double>(a_.cycles),
             fmt::format("{} / {}", a_.macs, a_.cycles));
    AddDelay("ingress", a_.ingress, [](const CaseRecord& c) { return c.cycles.ingress; });
    AddDelay("egress", a_.egress, [](const CaseRecord& c) { return c.cycles.egress; });
    AddDelay("compute", a_.compute, [](const CaseRecord& c) { return c.cycles.compute; });
  }

  template <typename Value>
  void AddDelay(std::string_view name, const DelayStatistics& delay, const Value& value) {
    Add("  {} cycles: least {}, most {}, average {}", name, delay.min_cycles, delay.max_cycles,
        delay.average_cycles);
    if (!counted_.empty()) Add(" = int(({}) / {})", Sum(counted_, value), Occurrences());
    Add("\n");
  }

  void AddAccesses() {
    for (const size_t t : {kInput, kFilter}) {
      Add("  L2 reads of {} {} = {}\n", kNamesInTotals[t], a_.l2_reads[t],
          Sum(counted_, [t](const CaseRecord& c) { return c.volumes.ingress[t]; }));
    }
    Add("  L2 writes of output {} = {}\n", a_.l2_writes[kOutput],
        Sum(all_, [](const CaseRecord& c) { return c.volumes.egress; }));
    for (const size_t t : kTensorsInTotals) {
      const int64_t moved = t == kOutput ? a_.l2_reads[t] : a_.l2_writes[t];
      Add("  L2 {} of {} {} = {}  [its size]\n", t == kOutput ? "reads" : "writes",
          kNamesInTotals[t], moved, TensorSize(t));
    }
    for (const size_t t : {kInput, kFilter}) {
      Add("  L1 writes of {} {}  [L2 reads]\n", kNamesInTotals[t], a_.l1_writes[t]);
      Add("  L1 reads of {} {}  [MACs]\n", kNamesInTotals[t], a_.l1_reads[t]);
    }
    Add("  L1 writes and reads of output {} = {}  [MACs, of skipped cases too]\n",
        a_.l1_writes[kOutput], Sum(all_, [](const CaseRecord& c) { return c.volumes.macs; }));
    for (const size_t t : kTensorsInTotals) {
      AddRatio(fmt::format("reuse of {}", kNamesInTotals[t]),
               static_cast<double>(a_.l1_reads[t]) / static_cast<double>(a_.l1_writes[t]),
               fmt::format("{} / {}", a_.l1_reads[t], a_.l1_writes[t]));
    }
  }

  std::string TensorSize(size_t tensor) const {
    std::vector<std::string> terms;
    for (const Dim dim : workload_.coupling[tensor]) {
      const int64_t size = workload_.size[Index(dim)];
      const bool window = tensor == kOutput && workload_.OutputDimOf(dim) != dim;
      terms.push_back(window ? fmt::format("({}{} - {}{} + 1)", ToString(dim), size,
                                           ToString(KernelDim(dim)),
                                           workload_.size[Index(KernelDim(dim))])
                             : fmt::format("{}{}", ToString(dim), size));
    }
    return fmt::format("{}", fmt::join(terms, "*"));
  }

  // Double buffered, and of inputs added up over the cases before the first that counts.
  void AddBuffers() {
    Cases leading;
    for (const CaseRecord* c : all_) {
      leading.push_back(c);
      if (!c->skipped) break;
    }
    for (const size_t t : kTensorsInTotals) {
      std::vector<int64_t> volumes;
      for (const CaseRecord* c : leading) {
        volumes.push_back(t == kOutput ? c->volumes.egress : c->volumes.ingress[t]);
      }
      if (t == kOutput) volumes = {volumes.back()};
      Add("  L2 required of {} {} = 2*({})\n", kNamesInTotals[t], a_.l2_required[t],
          fmt::join(volumes, " + "));
    }
    AddRequired("L2", L2Required(a_), a_.l2_required);
    const RequiredFrom& from = record_.l1_from;
    for (const size_t t : kTensorsInTotals) {
      std::vector<std::string> terms = {"2"};
      if (t != kOutput && from.cases != 1) terms.push_back(fmt::format("{}", from.cases));
      for (const Dim dim : workload_.coupling[t]) {
        const Extent& extent = record_.levels[from.level].extent[Index(dim)];
        terms.push_back(fmt::format("{}{}", ToString(dim), extent.full));
      }
      Add("  L1 required of {} {} = {}  [full tiles of level {}]\n", kNamesInTotals[t],
          a_.l1_required[t], fmt::join(terms, "*"), from.level);
    }
    AddRequired("L1", L1Required(a_), a_.l1_required);
  }

  void AddRequired(std::string_view name, int64_t sum, const std::array<int64_t, 3>& parts) {
    Add("  {} required {}", name, sum);
    if (sum == parts[0] + parts[1] + parts[2]) {
      Add(" = {}\n", fmt::join(parts, " + "));
    } else {
      Add("  [MAESTRO's 32 bits of the sum]\n");
    }
  }

  void AddBandwidths() {
    std::vector<int64_t> peaks;
    std::vector<std::string> sums;
    for (const CaseRecord* c : counted_) {
      const int64_t moved =
          std::max(c->volumes.ingress[kInput] + c->volumes.ingress[kFilter], c->volumes.egress);
      peaks.push_back(moved / c->cycles.compute);
      sums.push_back(fmt::format("int({}*{} / {})", c->occurrences, moved, c->cycles.compute));
    }
    if (counted_.empty()) return;
    Add("  NoC bandwidth required {} = max(0, {})\n", a_.noc_required, fmt::join(peaks, ", "));
    AddRatio("NoC bandwidth on average", a_.noc_average,
             fmt::format("({}) / {}", fmt::join(sums, " + "), Occurrences()));
    Add("  off-chip bandwidth required {}  [of the last case]\n", a_.offchip_required);
    const Volumes& last = counted_.back()->volumes;
    AddRatio("arithmetic intensity", a_.arithmetic_intensity,
             fmt::format("{} / ({} + {})  [of the last case]", last.macs, last.ingress[kInput],
                         last.ingress[kFilter]));
    Add("  busy PEs {:.12g} = ({}) / {}\n", a_.busy_units,
        Sum(counted_, [](const CaseRecord& c) { return c.busy_units; }), Occurrences());
  }

  static std::string SumOf(std::initializer_list<std::array<int64_t, 3>> counts) {
    std::vector<int64_t> all;
    for (const std::array<int64_t, 3>& by_tensor : counts) {
      all.insert(all.end(), by_tensor.begin(), by_tensor.end());
    }
    return fmt::format("{}", fmt::join(all, " + "));
  }

  void AddEnergy() {
    const LayerEnergy energy = EnergyOf(a_);
    Add("  energy of MACs {:.12g} = {}  [in units of one MAC, {} nJ]\n", energy.mac, a_.macs,
        kMacPj / 1000);
    const std::string l1 = SumOf({a_.l1_reads, a_.l1_writes});
    Add("  energy of L1 {:.12g} = 1.68*({})\n", energy.l1, l1);
    Add("  energy of L2 {:.12g} = 18.61*({})\n", energy.l2, SumOf({a_.l2_reads, a_.l2_writes}));
    Add("  energy in nJ {:.12g} = {}*({:.12g} + {:.12g} + {:.12g})\n",
        energy.total() * kMacPj / 1000, kMacPj / 1000, energy.mac, energy.l1, energy.l2);
    const double csv = CsvEnergyNj(a_, nullptr);
    Add("  energy in the CSV, nJ {:.12g} = 0.00023*(18.61*({} + {} + {} + {} + {}){})  [{}]\n", csv,
        a_.l2_reads[kInput], a_.l2_writes[kInput], a_.l2_reads[kFilter], a_.l2_writes[kFilter],
        a_.l2_writes[kOutput], a_.single_result ? fmt::format(" + 1.68*({})", l1) : "",
        a_.single_result ? "no MACs, no L2 reads of outputs"
                         : "no MACs, no L2 reads of outputs, and L1 of the layer before");
    AddRatio("throughput per energy in the CSV",
             static_cast<double>(a_.macs) / static_cast<double>(a_.cycles) / csv * 1e9,
             fmt::format("{} / {} / {:.12g} * 1e9", a_.macs, a_.cycles, csv));
    AddRatio("ops per joule in the CSV", static_cast<double>(a_.macs) / csv * 1e9,
             fmt::format("{} / {:.12g} * 1e9", a_.macs, csv));
  }

  void AddAreaAndPower() {
    const int64_t n = array_.num_pes, lanes = array_.simd_lanes;
    const int64_t l1 = L1Required(a_), l2 = L2Required(a_),
                  bandwidth = array_.noc_elements_per_cycle;
    const int64_t l1_or_1 = l1 == 0 ? 1 : l1, l2_or_1 = l2 == 0 ? 1 : l2;
    const std::string bus = fmt::format("(14.662*{} + 28.895)*{}", n, bandwidth);
    const std::string arbiter = fmt::format("(1.2886*{}*{} + 5.5814*{} - 23.711)", n, n, n);
    Add("  area in um2 {:.12g} = {}*(283*{} + 0.104*{}) + 0.104*{} + 101.7938*{} + "
        "max(395.473*{}, 395.473)\n",
        AreaUm2(a_, array_, MaestroArea::kMaestro), n, lanes, l1_or_1, l2_or_1, bus, arbiter);
    Add("  area by GAMMA in um2 {:.12g} = {}*282 + ({}*{} + {})*0.086*8\n",
        AreaUm2(a_, array_, MaestroArea::kGamma), n, l1, n, l2);
    Add("  area by ArchGym in um2 {:.12g} = {}*4470 + ceil({} / 32768)*4161.536 + ceil({} / "
        "64)*4505.1889*{}\n",
        AreaUm2(a_, array_, MaestroArea::kArchGym), n, l2, l1, n);
    const Power power = PowerOf(a_, array_);
    Add("  power of PEs in mW {:.12g} = 1.2223*{}*{}\n", power.pe_mw, lanes, n);
    Add("  power of L1 in mW {:.12g} = 0.00345*{}*{}\n", power.l1_mw, l1_or_1, n);
    Add("  power of L2 in mW {:.12g} = 0.00345*{}\n", power.l2_mw, l2_or_1);
    Add("  power of the network in mW {:.12g} = 0.8*{} / 1000 + max(0.34*{} / 1000, 0.34)\n",
        power.noc_mw, bus, arbiter);
    Add("  power in mW {:.12g} = {:.12g} + {:.12g} + {:.12g} + {:.12g}\n", power.total_mw(),
        power.pe_mw, power.l1_mw, power.l2_mw, power.noc_mw);
  }

  const Workload& workload_;
  const PeArray& array_;
  const Record& record_;
  const Analysis& a_;
  Cases all_, counted_;
  std::string text_;
};

}  // namespace

std::string ExplainTotals(const Workload& workload, const PeArray& array, const Record& record,
                          const Analysis& analysis) {
  return TotalsText(workload, array, record, analysis).Text();
}

std::string OffchipFormula(const PeArray& array, const Analysis& analysis) {
  const int64_t bandwidth = array.offchip_elements_per_cycle;
  return fmt::format("max(int(({} + {}) / {} / 2), int({} / {} / 2))", analysis.l2_required[kInput],
                     analysis.l2_required[kFilter], bandwidth, analysis.l2_required[kOutput],
                     bandwidth);
}

}  // namespace tessera::maestro
