#include "tessera/cost/maestro/analysis.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::maestro {
namespace {

// MAESTRO prints this where no case was counted.
constexpr int64_t kNoCases = std::numeric_limits<int64_t>::min();

// Room to add a few of them within 63 bits.
constexpr double kLargestCount = 0x1p62;

Volumes VolumesOf(const Case& c, const InputAdvance& step, const SpatialFactors& factors) {
  Volumes volumes;
  for (const size_t t : {kInput, kFilter}) {
    volumes.ingress[t] = step.temporal[t] * factors.ingress[t][step.mode[t]];
  }
  volumes.egress = c.out * factors.egress;
  volumes.macs = c.all * factors.macs;
  volumes.critical = c.all * factors.critical;
  return volumes;
}

// Sum, minimum and maximum of a delay.
class DelaySum {
 public:
  void Add(int64_t occurrences, int64_t cycles) {
    sum_ += occurrences * cycles;
    min_ = std::min(min_, cycles);
    max_ = std::max(max_, cycles);
  }
  DelayStatistics Over(int64_t occurrences) const {
    if (occurrences == 0) return {kNoCases, 0, kNoCases};
    const double average = static_cast<double>(sum_) / static_cast<double>(occurrences);
    return {min_, max_, static_cast<int64_t>(average)};
  }

 private:
  int64_t sum_ = 0;
  int64_t min_ = std::numeric_limits<int64_t>::max();
  int64_t max_ = 0;
};

// The off-chip side of the top level: what a case must wait for, and the bandwidth that would have
// avoided it, which MAESTRO halves in every case.
class Offchip {
 public:
  Offchip() = default;
  Offchip(const std::array<int64_t, 3>& required, int64_t elements_per_cycle)
      : in_(required[kInput] + required[kFilter]),
        out_(required[kOutput]),
        cycles_(std::max(in_ / elements_per_cycle / 2, out_ / elements_per_cycle / 2)) {}

  int64_t cycles() const { return cycles_; }
  int64_t bandwidth() const { return bandwidth_; }

  void Add(int64_t compute_cycles) {
    if (compute_cycles != last_compute_cycles_) {
      last_compute_cycles_ = compute_cycles;
      demand_ = std::max(out_ / compute_cycles, in_ / compute_cycles);
    }
    bandwidth_ = std::max(bandwidth_, demand_) / 2;
  }

 private:
  int64_t in_ = 0, out_ = 0, cycles_ = 0;
  int64_t last_compute_cycles_ = 0, demand_ = 0, bandwidth_ = 0;
};

}  // namespace

// The sums over the cases of the top level.
class Analyser::TopSums {
 public:
  explicit TopSums(Analysis& analysis) : a_(analysis) {}

  int64_t counted() const { return counted_; }

  // Until the first case that counts; returns false if the off-chip cycles do not fit.
  void Require(const Volumes& volumes) {
    for (const size_t t : {kInput, kFilter}) a_.l2_required[t] += 2 * volumes.ingress[t];
    a_.l2_required[kOutput] = 2 * volumes.egress;
  }
  int64_t StartOffchip(int64_t elements_per_cycle) {
    offchip_ = Offchip(a_.l2_required, elements_per_cycle);
    return offchip_.cycles();
  }

  // Outputs count in skipped cases, too.
  void CountOutputs(int64_t occurrences, const Volumes& volumes) {
    a_.l2_writes[kOutput] += occurrences * volumes.egress;
    a_.l1_writes[kOutput] += occurrences * volumes.macs;
  }

  // Raises cycles.all to the off-chip cycles.
  void Count(int64_t occurrences, const Volumes& volumes, double busy_units, CaseCycles& cycles) {
    cycles.all = std::max(cycles.all, offchip_.cycles());
    offchip_.Add(cycles.compute);
    counted_ += occurrences;
    a_.cycles += occurrences * cycles.all;
    a_.macs += occurrences * volumes.macs;
    a_.busy_units += busy_units * static_cast<double>(occurrences);
    a_.l2_reads[kInput] += occurrences * volumes.ingress[kInput];
    a_.l2_reads[kFilter] += occurrences * volumes.ingress[kFilter];
    last_macs_ = volumes.macs;
    last_ingress_ = volumes.ingress[kInput] + volumes.ingress[kFilter];
    const int64_t moved = std::max(last_ingress_, volumes.egress);
    a_.noc_required = std::max(a_.noc_required, moved / cycles.compute);
    noc_sum_ += occurrences * moved / cycles.compute;
    ingress_.Add(occurrences, cycles.ingress);
    egress_.Add(occurrences, cycles.egress);
    compute_.Add(occurrences, cycles.compute);
  }

  void Finish(const Workload& workload) {
    for (const size_t t : {kInput, kFilter}) {
      a_.l1_writes[t] = a_.l2_reads[t];
      a_.l1_reads[t] = a_.macs;
      a_.l2_writes[t] = workload.elements[t];
    }
    a_.l1_reads[kOutput] = a_.l1_writes[kOutput];
    a_.l2_reads[kOutput] = workload.elements[kOutput];
    a_.offchip_required = offchip_.bandwidth();
    a_.ingress = ingress_.Over(counted_);
    a_.egress = egress_.Over(counted_);
    a_.compute = compute_.Over(counted_);
    a_.noc_average = static_cast<double>(noc_sum_) / static_cast<double>(counted_);
    if (counted_ == 0) return;
    a_.busy_units /= static_cast<double>(counted_);
    a_.arithmetic_intensity = static_cast<double>(last_macs_) / static_cast<double>(last_ingress_);
  }

 private:
  Analysis& a_;
  Offchip offchip_;
  DelaySum ingress_, egress_, compute_;
  int64_t counted_ = 0, noc_sum_ = 0, last_macs_ = 0, last_ingress_ = 0;
};

Analyser::Analyser() {
  // A key has at most one bit per dimension.
  for (std::vector<Visit>& visits : visits_) visits.resize(size_t{1} << kDataflowDims);
}

Violation Analyser::Run(const Workload& workload, const PeArray& array, MaestroVersion version,
                        const Dataflow& dataflow, Analysis& analysis, Record* record) {
  workload_ = &workload;
  array_ = &array;
  skips_ = version == MaestroVersion::kHead;
  speeds_ = {.latency_cycles = array.noc_hops * array.noc_hop_latency_cycles,
             .elements_per_cycle = array.noc_elements_per_cycle,
             .lanes = array.simd_lanes};
  record_ = record;
  if (++stamp_ == 0) {  // wrapped around: old stamps could look new
    for (std::vector<Visit>& visits : visits_) std::fill(visits.begin(), visits.end(), Visit{});
    stamp_ = 1;
  }
  Violation broken = BuildLevels(workload, array, version, dataflow, levels_, num_levels_);
  if (broken.rule != 0) return broken;
  if (record_ != nullptr) {
    record_->levels.assign(levels_.begin(), levels_.begin() + static_cast<int>(num_levels_));
    for (std::vector<CaseRecord>& records : records_) records.clear();
  }
  broken_ = {};
  if (!CountsFit()) return Broken(Rule::kOverflow);
  analysis = Analysis{};
  for (size_t i = 0; i < num_levels_; ++i) {
    tables_[i].Reset(workload, levels_[i], i == 0 ? nullptr : &levels_[i - 1]);
    analysis.tile_above_dim |= levels_[i].tile_above_dim;
  }
  AnalyseTop(analysis);
  return broken_;
}

// Whether every count and every sum below stays within 62 bits, by a bound that is generous by a
// small factor per loop: below it no arithmetic of this file can overflow.
bool Analyser::CountsFit() const {
  double cycles = 0;
  for (size_t l = num_levels_; l-- > 0;) {
    const Level& level = levels_[l];
    cycles = level.iteration_bound *
             (8 * level.volume_bound + static_cast<double>(speeds_.latency_cycles) + cycles);
  }
  return cycles < kLargestCount;
}

bool Analyser::AnalyseTop(Analysis& analysis) {
  LevelTables& tables = tables_[0];
  CaseWalk& walk = walks_[0];
  const int64_t num_cases = walk.Start(tables, 0);
  if (num_cases > kMaxCases) return Fail(Rule::kTooManyCases, 0, num_cases);

  TopSums sums(analysis);
  RequiredFrom own_required{.level = 0}, required;
  const bool complete = walk.ForEachCase([&](const Case& c, const InputAdvance& step) {
    const SpatialFactors& factors = tables.Factors(c.code);
    const Volumes volumes = VolumesOf(c, step, factors);
    const int64_t occurrences = static_cast<int32_t>(c.occurrences);
    const bool skipped = skips_ && volumes.critical <= 0, leading = sums.counted() == 0;
    if (!CheckCase(0, step, occurrences, leading || !skipped)) return false;
    if (leading) {
      ++own_required.cases;
      sums.Require(volumes);
    }
    sums.CountOutputs(occurrences, volumes);
    CaseRecord* record = record_ != nullptr ? AddRecord(0, 0, c, step, volumes) : nullptr;
    if (skipped) return true;

    if (leading) {
      // Requirements added up over skipped cases are not in the bound of CountsFit.
      const auto waits = static_cast<double>(sums.StartOffchip(array_->offchip_elements_per_cycle));
      if (waits * levels_[0].iteration_bound >= kLargestCount) return Fail(Rule::kOverflow, 0);
    }
    ComputePhase phase;
    if (!Compute(0, c, factors, volumes.critical, phase)) return false;
    if (phase.cycles == 0) return Fail(Rule::kNoCompute, 0);
    if (required.cases == 0) required = phase.required;
    CaseCycles cycles{
        .compute = phase.cycles,
        .ingress = speeds_.DelayCycles(volumes.ingress[kInput] + volumes.ingress[kFilter]),
        .egress = speeds_.DelayCycles(volumes.egress)};
    cycles.all = c.step == 0 ? cycles.compute + cycles.ingress
                             : std::max({cycles.egress, cycles.compute, cycles.ingress});
    sums.Count(occurrences, volumes, phase.busy_units, cycles);
    if (record != nullptr) {
      record->cycles = cycles;
      record->busy_units = phase.busy_units;
    }
    return true;
  });
  if (!complete) return false;
  sums.Finish(*workload_);
  analysis.single_result = required.cases == 0;
  if (analysis.single_result) required = own_required;
  analysis.l1_required = TileRequired(required);
  if (record_ != nullptr) {
    record_->l1_from = required;
    FinishRecord(0, 0, analysis.cycles, analysis.busy_units);
  }
  return true;
}

// A level below the top matters through its time, its busy units and its buffer requirement only.
bool Analyser::AnalyseBelow(size_t level, uint32_t key, Visit& visit) {
  LevelTables& tables = tables_[level];
  CaseWalk& walk = walks_[level];
  const int64_t num_cases = walk.Start(tables, key);
  if (num_cases > kMaxCases) return Fail(Rule::kTooManyCases, level, num_cases);

  int64_t counted = 0;
  RequiredFrom own_required{.level = level};
  visit = {.stamp = stamp_};
  const bool complete = walk.ForEachCase([&](const Case& c, const InputAdvance& step) {
    const SpatialFactors& factors = tables.Factors(c.code);
    const Volumes volumes = VolumesOf(c, step, factors);
    const int64_t occurrences = static_cast<int32_t>(c.occurrences);
    const bool skipped = skips_ && volumes.critical <= 0;
    if (!CheckCase(level, step, occurrences, counted == 0 || !skipped)) return false;
    if (counted == 0) ++own_required.cases;
    CaseRecord* record = record_ != nullptr ? AddRecord(level, key, c, step, volumes) : nullptr;
    if (skipped) return true;

    ComputePhase phase;
    if (!Compute(level, c, factors, volumes.critical, phase)) return false;
    if (visit.required.cases == 0) visit.required = phase.required;
    CaseCycles cycles{
        .compute = phase.cycles,
        .ingress = speeds_.DelayCycles(volumes.ingress[kInput] + volumes.ingress[kFilter]),
        .egress = speeds_.DelayCycles(volumes.egress)};
    cycles.all = c.step == 0 ? cycles.compute + cycles.ingress
                             : std::max({cycles.egress, cycles.compute, cycles.ingress});
    counted += occurrences;
    visit.cycles += occurrences * cycles.all;
    visit.busy_units += phase.busy_units * static_cast<double>(occurrences);
    if (record != nullptr) {
      record->cycles = cycles;
      record->busy_units = phase.busy_units;
    }
    return true;
  });
  if (!complete) return false;
  if (counted != 0) visit.busy_units /= static_cast<double>(counted);
  if (visit.required.cases == 0) visit.required = own_required;
  if (record_ != nullptr) FinishRecord(level, key, visit.cycles, visit.busy_units);
  return true;
}

// AnalyseBelow for the innermost level, where it can be done in few steps.
bool Analyser::SumLeaf(size_t level, uint32_t key, Visit& visit) {
  LeafSum sum;
  if (!leaf_.Add(tables_[level], key, speeds_, sum)) return false;
  visit.stamp = stamp_;
  visit.cycles = sum.cycles;
  visit.busy_units = static_cast<double>(sum.busy_units) / static_cast<double>(sum.occurrences);
  visit.required = {.level = level, .cases = 1};
  return true;
}

const Analyser::Visit* Analyser::VisitOnce(size_t level, uint32_t key) {
  Visit& visit = visits_[level][key];
  if (visit.stamp == stamp_) return &visit;
  const bool leaf = level + 1 == num_levels_ && record_ == nullptr;
  return (leaf && SumLeaf(level, key, visit)) || AnalyseBelow(level, key, visit) ? &visit : nullptr;
}

bool Analyser::Fail(Rule rule, size_t level, int64_t have) {
  broken_ = Broken(rule, static_cast<int>(level), Dim::kOther, have);
  return false;
}

// MAESTRO computes the ingress of every case that it counts, and of those before the first one.
bool Analyser::CheckCase(size_t level, const InputAdvance& step, int64_t occurrences,
                         bool has_ingress) {
  if (step.unique_zero && has_ingress) return Fail(Rule::kUniqueZero, level);
  return occurrences > 0 || Fail(Rule::kOccurrences, level, occurrences);
}

// At an edge one unit may have a smaller tile than the others.
VisitsBelow VisitsBelowOf(const Level& level, const Case& c, const SpatialFactors& factors) {
  const uint32_t edge_key = c.edge_key | factors.edge_key;
  const uint32_t full_key = level.edge_units == 1 ? edge_key : c.edge_key;
  if (!factors.edge_edge) return {1, {full_key, 0}, {factors.active, 0}};
  if (level.edge_units == 1) return {1, {edge_key, 0}, {1, 0}};
  return {2, {edge_key, full_key}, {1, level.edge_units - 1}};
}

// c.8 step 6: at the innermost level every PE does its MACs; elsewhere the units run the level
// below, at an edge with up to two different tiles, and the slower one decides.
bool Analyser::Compute(size_t level, const Case& c, const SpatialFactors& factors, int64_t critical,
                       ComputePhase& phase) {
  const auto active = static_cast<double>(factors.active);
  if (level + 1 == num_levels_) {
    phase.cycles = speeds_.ComputeCycles(critical);
    phase.busy_units = active;
    return true;
  }
  const VisitsBelow below = VisitsBelowOf(levels_[level], c, factors);
  const Visit* visit = VisitOnce(level + 1, below.key[0]);
  if (visit == nullptr) return false;
  phase.required = visit->required;
  phase.cycles = std::max<int64_t>(0, visit->cycles);
  phase.busy_units = visit->busy_units * static_cast<double>(below.units[0]);
  if (below.num == 2) {
    visit = VisitOnce(level + 1, below.key[1]);
    if (visit == nullptr) return false;
    phase.cycles = std::max(phase.cycles, visit->cycles);
    phase.busy_units += visit->busy_units * static_cast<double>(below.units[1]);
  }
  if (phase.busy_units == 0) phase.busy_units = active;
  return true;
}

// What one unit below a level must hold, double buffered. MAESTRO adds the inputs up over the cases
// before the first one that it counts.
std::array<int64_t, 3> Analyser::TileRequired(const RequiredFrom& from) const {
  std::array<int64_t, 3> required;
  for (const size_t t : {kInput, kFilter, kOutput}) {
    required[t] = t == kOutput ? 2 : 2 * from.cases;
    for (const Dim dim : workload_->coupling[t]) {
      required[t] *= levels_[from.level].extent[Index(dim)].full;
    }
  }
  return required;
}

CaseRecord* Analyser::AddRecord(size_t level, uint32_t key, const Case& c, const InputAdvance& step,
                                const Volumes& volumes) {
  CaseRecord record{.occurrences = static_cast<int32_t>(c.occurrences),
                    .factors = c,
                    .step = step,
                    .spatial = tables_[level].Factors(c.code),
                    .volumes = volumes,
                    .skipped = skips_ && volumes.critical <= 0};
  for (size_t i = 0; i < levels_[level].num_maps; ++i) {
    record.states[i] = walks_[level].StateOfMap(tables_[level], key, i);
    record.unrolled[i] = tables_[level].States(i, key).unrolled;
  }
  records_[level].push_back(record);
  return &records_[level].back();
}

void Analyser::FinishRecord(size_t level, uint32_t key, int64_t cycles, double busy_units) {
  VisitRecord visit{.level = level, .key = key, .cycles = cycles, .busy_units = busy_units};
  for (size_t i = 0; i < kDataflowDims; ++i) {
    if (levels_[level].size[i] == 0) continue;
    visit.size[i] = tables_[level].ActualSize(static_cast<Dim>(i), key);
  }
  visit.cases.swap(records_[level]);
  record_->visits.push_back(std::move(visit));
}

}  // namespace tessera::maestro
