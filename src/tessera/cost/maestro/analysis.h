// The analysis of a mapped layer (c.8): walks the iteration cases of the top level, analyses the
// levels below as often as their actual sizes differ, and adds up time, traffic and requirements.
#ifndef TESSERA_COST_MAESTRO_ANALYSIS_H_
#define TESSERA_COST_MAESTRO_ANALYSIS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/cost.h"
#include "tessera/cost/maestro/cases.h"
#include "tessera/cost/maestro/leaf.h"
#include "tessera/cost/maestro/level.h"
#include "tessera/cost/maestro/options.h"
#include "tessera/cost/maestro/workload.h"

namespace tessera::maestro {

// Over the cases of a level that were not skipped, weighted by occurrence.
struct DelayStatistics {
  int64_t min_cycles = 0;
  int64_t max_cycles = 0;
  int64_t average_cycles = 0;  // truncated
};

// What MAESTRO knows about a layer when it has analysed the top level, in elements and cycles.
// Arrays are by tensor: input, filter, output.
struct Analysis {
  int64_t cycles = 0;
  int64_t macs = 0;
  std::array<int64_t, 3> l1_reads = {}, l1_writes = {};
  std::array<int64_t, 3> l2_reads = {}, l2_writes = {};
  std::array<int64_t, 3> l2_required = {};  // double buffered
  std::array<int64_t, 3> l1_required = {};  // of the first level that was analysed to its end
  int64_t noc_required = 0;                 // elements per cycle, the largest of any case
  double noc_average = 0;                   // NaN if every case was skipped
  int64_t offchip_required = 0;
  DelayStatistics ingress = {}, egress = {}, compute = {};
  double busy_units = 0;  // PEs, on average
  double arithmetic_intensity = 0;
  bool single_result = true;  // no level below the top was analysed
  bool tile_above_dim = false;
};

// Elements that move in one case, and the MACs of all units and of the slowest.
struct Volumes {
  std::array<int64_t, 2> ingress = {};
  int64_t egress = 0;
  int64_t macs = 0;
  int64_t critical = 0;
};

// Cycles of one case and what they are made of.
struct CaseCycles {
  int64_t compute = 0, ingress = 0, egress = 0;
  int64_t all = 0;
};

// One case as it was computed, for explanations: the volumes, and the factors that gave them.
struct CaseRecord {
  int64_t occurrences = 0;
  std::array<State, kMaxMaps> states = {};   // by map
  std::array<bool, kMaxMaps> unrolled = {};  // the loop has one tile; by map
  Case factors = {};
  InputAdvance step = {};
  SpatialFactors spatial = {};
  Volumes volumes = {};
  bool skipped = false;  // no partial sums on the critical path (version head)
  CaseCycles cycles = {};
  double busy_units = 0;
};

// What the units of a level do in a case: up to two kinds of visits to the level below.
struct VisitsBelow {
  size_t num = 1;
  std::array<uint32_t, 2> key = {};  // whose dimensions are at an edge: Level::edge_bit
  std::array<int64_t, 2> units = {};
};
VisitsBelow VisitsBelowOf(const Level& level, const Case& c, const SpatialFactors& factors);

// One visit to a level, when it is complete. Visits below it come before it.
struct VisitRecord {
  size_t level = 0;
  uint32_t key = 0;
  PerDim<int64_t> size = {};  // actual
  int64_t cycles = 0;
  double busy_units = 0;
  std::vector<CaseRecord> cases = {};
};

// The level that decides how large L1 must be, and over how many of its cases MAESTRO adds that up.
struct RequiredFrom {
  size_t level = 0;
  int64_t cases = 0;  // 0: not known yet
};

struct Record {
  std::vector<Level> levels = {};
  std::vector<VisitRecord> visits = {};
  RequiredFrom l1_from = {};
};

// The time in which the units of a level work on one case.
struct ComputePhase {
  int64_t cycles = 0;
  double busy_units = 0;
  RequiredFrom required = {};  // of the first level below that was analysed to its end
};

// Scratch memory and results of earlier visits; large, and reusable for any layer and machine.
class Analyser {
 public:
  Analyser();

  // Returns the first rule that is broken, in the order in which MAESTRO would notice. With
  // `record`, also says how it got there; slower.
  Violation Run(const Workload& workload, const PeArray& array, MaestroVersion version,
                const Dataflow& dataflow, Analysis& analysis, Record* record = nullptr);

 private:
  // What a level needs to know of the levels below it, for one set of actual sizes.
  struct Visit {
    uint32_t stamp = 0;
    int64_t cycles = 0;
    double busy_units = 0;
    RequiredFrom required = {};
  };

  class TopSums;

  bool CountsFit() const;
  // These return false where a rule is broken; broken_ says which.
  bool AnalyseTop(Analysis& analysis);
  bool AnalyseBelow(size_t level, uint32_t key, Visit& visit);
  bool SumLeaf(size_t level, uint32_t key, Visit& visit);
  const Visit* VisitOnce(size_t level, uint32_t key);  // null where a rule is broken
  bool Compute(size_t level, const Case& c, const SpatialFactors& factors, int64_t critical,
               ComputePhase& phase);
  bool CheckCase(size_t level, const InputAdvance& step, int64_t occurrences, bool has_ingress);
  bool Fail(Rule rule, size_t level, int64_t have = 0);

  std::array<int64_t, 3> TileRequired(const RequiredFrom& from) const;
  CaseRecord* AddRecord(size_t level, uint32_t key, const Case& c, const InputAdvance& step,
                        const Volumes& volumes);
  void FinishRecord(size_t level, uint32_t key, int64_t cycles, double busy_units);

  const Workload* workload_ = nullptr;
  const PeArray* array_ = nullptr;
  bool skips_ = true;  // version head skips cases without partial sums
  Speeds speeds_;

  size_t num_levels_ = 0;
  std::array<Level, kMaxLevels> levels_;
  std::array<LevelTables, kMaxLevels> tables_;
  std::array<CaseWalk, kMaxLevels> walks_;
  LeafWalk leaf_;
  uint32_t stamp_ = 0;
  std::array<std::vector<Visit>, kMaxLevels> visits_;  // by key; valid if its stamp is stamp_

  Violation broken_;

  Record* record_ = nullptr;
  std::array<std::vector<CaseRecord>, kMaxLevels> records_;
};

}  // namespace tessera::maestro

#endif  // TESSERA_COST_MAESTRO_ANALYSIS_H_
