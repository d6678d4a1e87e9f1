// The search for the best machines of a template. Machines are kept in groups; a group has a lower
// bound, of one machine that is at least as good as each of its members. The group that could hold
// the greatest improvement comes next: its bound is raised by the exact mapper, or it is divided,
// until it cannot hold anything better, or is one machine, whose layers are then mapped. The demand
// on improvements falls from half to nothing, so that an answer is good early and exact late.
#ifndef TESSERA_EXPLORE_EXPLORER_H_
#define TESSERA_EXPLORE_EXPLORER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tessera/arch/template.h"
#include "tessera/cooptimize.h"
#include "tessera/explore/cells.h"
#include "tessera/part.h"
#include "tessera/result.h"
#include "tessera/run.h"

namespace tessera {

// A layer of some networks, and how much it counts in each: occurrences times weight.
struct LayerUse {
  Layer layer = {};
  std::string name = {};             // of the first
  bool by_name = false;              // constraints look at the name
  std::vector<double> weights = {};  // by network
  double weight = 0;                 // of all
};
// Of all networks of a job. Equal layers are one, unless constraints tell them apart by their
// names.
std::vector<LayerUse> UsesOf(const ExploreJob& job);

// Lower bounds of a layer's cost, or the cost itself.
struct LayerLow {
  double cycles = 0, energy_pj = 0, edp = 0;
};

// Sums of them over all layers. A product of sums is at least the square of the sum of roots of
// products (Cauchy-Schwarz), which is what bounds of layers' EDP come to.
struct Low {
  double cycles = 0, energy_pj = 0, edp = 0, area_um2 = 0;

  double Of(Objective objective) const;
};
Low SumOf(const std::vector<LayerUse>& uses, const std::vector<LayerLow>& layers, double area_um2);

// One machine whose layers are, or can be, mapped.
struct Candidate {
  int64_t number = 0;  // of the template's combinations, from 0
  TemplateMachine machine = {};
  std::vector<LayerLow> lows = {};   // known without search
  std::vector<MapCell*> cells = {};  // by layer; empty: not looked at
  bool looked_at() const { return !cells.empty(); }
};

// Whether no mapping of its layer has a lower value than the one that it knows.
bool IsProved(const MapCell& cell);

// Machines with their mappings so far.
class Machines {
 public:
  // Everything outlives it.
  Machines(const ExploreJob& job, ThreadPool& pool, CellTable& table,
           std::function<bool()> stopped);

  // All machines of the template that can be built and are within limits, with first bounds; the
  // others get their records.
  // `over`: no time is left for more; may be empty.
  Result<void> List(std::vector<MachineRecord>& records, const std::function<bool()>& over);
  // What is known of every layer on a machine without search.
  Result<std::vector<LayerLow>> FirstBounds(const Accelerator& accelerator) const;
  // One of them; an error says why it is none.
  Result<Candidate> Make(int64_t number) const;

  std::vector<Candidate>& candidates() { return candidates_; }
  const std::vector<Candidate>& candidates() const { return candidates_; }
  const std::vector<LayerUse>& uses() const { return uses_; }
  const MapJob& base() const { return job_.base; }
  const MachineLimits& limits() const { return limits_; }

  // A question about a layer, on one of them or on one that stands for several.
  CellQuestion Question(const LayerUse& use, const Accelerator& accelerator) const;

  // Tasks that map the layers of a machine with so many rounds each, in those layers that have not
  // ended; `settle`: to the end of what `map` does.
  void AddTasks(Candidate& candidate, int64_t rounds, bool settle,
                std::vector<CellTable::Task>& tasks);

  bool Possible(const Candidate& candidate, std::string* why = nullptr) const;
  bool Mapped(const Candidate& candidate) const;    // every layer has a mapping
  bool Settled(const Candidate& candidate) const;   // and nothing is left to do
  bool Complete(const Candidate& candidate) const;  // every layer has the least value
  bool Proved(const Candidate& candidate) const;    // no layer has a lower value
  Low Costs(const Candidate& candidate) const;      // of the mappings
  Low Bounds(const Candidate& candidate) const;     // below which the costs cannot get
  double PowerMw(const Low& costs) const;

  Result<ExploredMachine> Show(const Candidate& candidate) const;

 private:
  const ExploreJob& job_;
  ThreadPool& pool_;
  CellTable& table_;
  const std::function<bool()> stopped_;
  const std::vector<LayerUse> uses_;
  MachineLimits limits_;
  std::vector<Candidate> candidates_;
};

Result<MachineLimits> LimitsOf(const ExploreJob& job);

// The objectives that an answer is about: those of the front, or the one.
std::vector<Objective> Objectives(const ExploreSettings& settings);

// By how much a machine with these bounds could be better than all of some points: the least, over
// the points, of the largest ratio of a point to the bounds, less 1. Infinite without points.
double PossibleGain(const std::vector<Objective>& objectives, const Low& bounds,
                    const std::vector<Low>& points);

}  // namespace tessera

#endif  // TESSERA_EXPLORE_EXPLORER_H_
