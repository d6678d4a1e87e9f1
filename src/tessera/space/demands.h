// Constraints in the terms of one space: patterns and dataflows become demands on single decisions,
// and demands that cannot hold together are narrowed down to as few as possible.
#ifndef TESSERA_SPACE_DEMANDS_H_
#define TESSERA_SPACE_DEMANDS_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/result.h"
#include "tessera/space.h"

namespace tessera {

// What demands may refer to beside the names of decisions. The default knows nothing.
class SpaceNames {
 public:
  virtual ~SpaceNames() = default;

  // The decision that a name stands for, where it is not the name of one.
  virtual std::string Resolve(const std::string& name) const { return name; }

  // What an order calls a dimension; empty if the layer has no loop over it.
  virtual std::string Item(const std::string& name) const { return name; }

  virtual bool HasDimension(std::string_view /*tensor*/, std::string_view /*dimension*/) const {
    return false;
  }

  // The size of a dimension.
  virtual int64_t Whole(std::string_view /*dimension*/) const { return 1; }

  // An order that makes no difference is no decision, and demands on it always hold.
  virtual bool MakesNoDifference(std::string_view /*decision*/) const { return false; }

  // Whether parallel factors can be asked to use a part of all MACs.
  virtual bool HasUtilization() const { return false; }

  // What a dataflow asks for.
  virtual Result<std::vector<Constraints::Demand>> Dataflow(std::string_view name) const;
};

// A demand on decisions that exist: never of rule kWhole or kDataflow, never a pattern.
struct ConcreteDemand {
  Constraints::Demand demand = {};
  size_t source = 0;  // index of the demand that it comes from
};

// Patterns fit the first `num_open` decisions only: what follows are constants that a demand may
// name, such as factors of a dimension that the layer does not have. Errors: names and values that
// do not exist, rules that do not suit a decision.
Result<std::vector<ConcreteDemand>> MakeConcrete(const Constraints& constraints,
                                                 std::span<const Decision> decisions,
                                                 size_t num_open, const SpaceNames& names);

// Cuts the decisions down to what the demands of the sources with `active` leave. Returns
// relations, or nothing if a decision is left without a value.
std::optional<std::vector<Relation>> Restrict(std::span<const ConcreteDemand> demands,
                                              const std::vector<bool>& active,
                                              std::vector<Decision>& decisions);

// A smallest set of demands that is not feasible, as far as the time for finding it allows; at
// least every part of it is feasible. `feasible` says so of the demands that are true; of all
// together it is false, and a part of something feasible is feasible.
std::vector<size_t> SmallestConflict(size_t count,
                                     const std::function<bool(const std::vector<bool>&)>& feasible);

// "K_GLB is one of 1, 2, 4", where a single demand leaves a decision without a value; otherwise
// nothing.
std::string WhyEmpty(std::span<const ConcreteDemand> demands, const std::vector<size_t>& members,
                     std::span<const Decision> decisions);

// The error that names them. `why` is the inequality that they break, if known.
Error Conflict(const Constraints& constraints, const std::vector<size_t>& members,
               const std::string& why);

}  // namespace tessera

#endif  // TESSERA_SPACE_DEMANDS_H_
