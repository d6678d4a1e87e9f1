// Which node is looked into next.
#include "tessera/interlayer/optimizer.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tessera/record/clock.h"

namespace tessera::interlayer {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kEqual = 1e-9;  // relative; values within it are equal

// Parts that are refined between two looks at plans, and the least share of the largest gap that
// makes a part worth it.
constexpr size_t kMostParts = 8;
constexpr double kWorth = 0.1;

struct Candidate {
  int staircase = -1;
  Room room = {};
  double weight = 0;  // infinite: nothing is known that fits
};

class Refiner {
 public:
  Refiner(const GraphProblem& problem, NodeCosts& costs, const OptimizerOptions& options,
          ThreadPool& pool)
      : costs_(costs),
        options_(options),
        pool_(pool),
        planner_(problem, costs,
                 {.objective = options.objective,
                  .freedom = options.freedom,
                  .stopped = [this](Side side) { return Enough(side); }}) {
    best_.plan = options.start;
  }

  Result<Optimized> Run() {
    while (true) {
      double bound = 0;
      const Plan promised = planner_.Best(Side::kLower, &bound);
      // No plan at all: everything that could be better was ruled out.
      if (promised.found || best_.plan.found) best_.bound = std::max(best_.bound, bound);
      std::vector<Candidate> candidates = CandidatesOf(promised);
      // What is promised has to be possible before anything else is known.
      Plan known = planner_.Best(Side::kUpper);
      began_ = true;
      if (known.found && (!best_.plan.found || ValueOf(known.spent, options_.objective) <
                                                   ValueOf(best_.plan.spent, options_.objective))) {
        best_.plan = std::move(known);
      }
      const double value =
          best_.plan.found ? ValueOf(best_.plan.spent, options_.objective) : kInfinity;
      if (best_.plan.found) {
        best_.bound = std::min(best_.bound, value);
        planner_.Beat(value);
      }
      if (options_.tell && best_.plan.found) options_.tell(value, best_.bound);
      best_.proved = value <= best_.bound * (1 + std::max(kEqual, options_.target_gap));
      if (best_.proved || Over()) return best_;
      for (const Candidate& other : CandidatesOf(best_.plan)) candidates.push_back(other);
      if (!Work(candidates)) {
        best_.exhausted = true;
        return best_;
      }
      if (options_.keep) {
        if (Result<void> kept = options_.keep(); !kept) return kept.error();
      }
      ++best_.rounds;
    }
  }

 private:
  bool Over() const { return Past(options_.deadline); }
  bool Past(double deadline) const {
    return (options_.stopped && options_.stopped()) || SteadySeconds() >= deadline;
  }

  // Whether a search for plans ends where it is.
  bool Enough(Side side) const {
    if (options_.stopped && options_.stopped()) return true;
    if (!best_.plan.found) return began_ && side == Side::kLower && Over();
    if (!began_) return Past(options_.latest);
    return side == Side::kLower ? Over() : SteadySeconds() >= options_.latest;
  }

  double WeightOf(const Part& part) {
    const Front& lower = costs_.Lower(part.staircase, part.room);
    const Front& upper = costs_.Upper(part.staircase, part.room);
    if (upper.empty()) return kInfinity;
    if (lower.empty()) return 0;
    const auto least = [](const Front& front, double Spent::*member) {
      double value = kInfinity;
      for (const CostPoint& point : front) value = std::min(value, point.spent.*member);
      return value;
    };
    const auto times = static_cast<double>(part.times);
    const double cycles = times * (least(upper, &Spent::cycles) - least(lower, &Spent::cycles));
    const double energy =
        times * (least(upper, &Spent::energy_pj) - least(lower, &Spent::energy_pj));
    if (options_.objective == Objective::kLatency) return cycles;
    if (options_.objective == Objective::kEnergy) return energy;
    const Spent& all = best_.plan.spent;
    if (!best_.plan.found || all.cycles <= 0 || all.energy_pj <= 0) return cycles + energy;
    // Fronts of several points differ in between, too.
    constexpr double kSome = 1e-6;
    return cycles / all.cycles + energy / all.energy_pj + kSome;
  }

  std::vector<Candidate> CandidatesOf(const Plan& plan) {
    std::map<std::pair<int, Room>, double> weights;
    for (const Stage& stage : plan.stages) {
      for (const Part& part : stage.parts) weights[{part.staircase, part.room}] += WeightOf(part);
    }
    std::vector<Candidate> candidates;
    for (const auto& [at, weight] : weights) {
      if (weight > 0) candidates.push_back({at.first, at.second, weight});
    }
    return candidates;
  }

  // Some rounds for the heaviest; those of which nothing is known come first, all of them.
  bool Work(std::vector<Candidate>& candidates) {
    std::ranges::stable_sort(
        candidates, [](const Candidate& a, const Candidate& b) { return a.weight > b.weight; });
    double heaviest = 0;
    size_t done = 0;
    bool worked = false;
    for (const Candidate& candidate : candidates) {
      if (worked && Over()) break;
      if (candidate.weight != kInfinity) {
        if (done >= kMostParts || candidate.weight < kWorth * heaviest) break;
      }
      if (!costs_.Refine(candidate.staircase, candidate.room, /*rounds=*/1, pool_)) continue;
      worked = true;
      if (candidate.weight == kInfinity) continue;
      heaviest = std::max(heaviest, candidate.weight);
      ++done;
    }
    return worked;
  }

  NodeCosts& costs_;
  const OptimizerOptions& options_;
  ThreadPool& pool_;
  Planner planner_;
  Optimized best_;
  bool began_ = false;
};

}  // namespace

Result<Optimized> Optimize(const GraphProblem& problem, NodeCosts& costs,
                           const OptimizerOptions& options, ThreadPool& pool) {
  return Refiner(problem, costs, options, pool).Run();
}

}  // namespace tessera::interlayer
