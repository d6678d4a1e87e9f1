// A problem for search: a decision space and what its points cost. Where the price comes from (a
// cost model, a simulator, another program) is the problem's own business.
#ifndef TESSERA_SPACE_PROBLEM_H_
#define TESSERA_SPACE_PROBLEM_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "tessera/base/thread_pool.h"
#include "tessera/space/decision_space.h"

namespace tessera {

enum class OutcomeKind : uint8_t {
  kFeasible,    // `value` holds the objective
  kInfeasible,  // a rule of the problem is violated; `why` names the inequality
  kFailed,      // the evaluation itself went wrong; `why` says how
};

// What one point costs.
struct Outcome {
  OutcomeKind kind = OutcomeKind::kFailed;
  double value = std::numeric_limits<double>::infinity();  // the objective: lower is better
  // Whatever the objective is, for observations and reports; 0 where the problem has no such thing.
  double cycles = 0, energy_pj = 0, power_mw = 0, area_um2 = 0;
  // How far an infeasible point is from the rules that it breaks: less is closer, 0 if the problem
  // cannot tell. Searches that have seen nothing feasible yet walk where it falls.
  double excess = 0;
  std::string why = {};

  bool feasible() const { return kind == OutcomeKind::kFeasible; }
  static Outcome Infeasible(std::string why, double excess = 0) {
    return {.kind = OutcomeKind::kInfeasible, .excess = excess, .why = std::move(why)};
  }
  static Outcome Failed(std::string why) {
    return {.kind = OutcomeKind::kFailed, .why = std::move(why)};
  }
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// A point with its outcome.
struct Trial {
  Point point = {};
  Outcome outcome = {};
};

// Contract:
//   Threads      Evaluate may be called by several threads at once, each with its own workspace.
//   Determinism  Evaluate is a pure function of the point; what a workspace was used for before
//                makes no difference.
//   Errors       every point has an outcome; Evaluate does not throw.
class Problem {
 public:
  // Scratch memory for one thread.
  class Workspace {
   public:
    virtual ~Workspace() = default;
  };

  virtual ~Problem() = default;

  virtual const DecisionSpace& space() const = 0;
  virtual std::unique_ptr<Workspace> MakeWorkspace() const { return std::make_unique<Workspace>(); }
  virtual Outcome Evaluate(const Point& point, Workspace& workspace) const = 0;

  // For problems whose points are cheaper by the batch: fills in all outcomes and returns true. The
  // others are asked point by point.
  virtual bool EvaluateBatch(std::span<Trial> /*trials*/, ThreadPool& /*pool*/) const {
    return false;
  }

  // One evaluation without ceremony.
  Outcome Evaluate(const Point& point) const { return Evaluate(point, *MakeWorkspace()); }
};

}  // namespace tessera

#endif  // TESSERA_SPACE_PROBLEM_H_
