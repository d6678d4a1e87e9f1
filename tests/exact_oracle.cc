// Slot by slot: factors of each dimension, axes, then orders, each by plain recursion.
#include "exact_oracle.h"

#include <algorithm>

#include "tessera/cost/loopnest/evaluation.h"

namespace tessera {
namespace {

class Oracle {
 public:
  Oracle(const LoopProblem& problem, const Hierarchy& machine, loopnest::Semantics semantics,
         const std::vector<uint8_t>& keep, const std::function<bool(const LoopMapping&)>& allowed,
         const std::vector<int>& homes, bool any = false)
      : problem_(problem),
        machine_(machine),
        allowed_(allowed),
        any_(any),
        setup_(*loopnest::Prepare(problem, machine, semantics)) {
    for (size_t v = 0; v < homes.size(); ++v) setup_.machine.homes[v] = homes[v];
    mapping_.num_levels = static_cast<int32_t>(machine.levels.size());
    for (size_t i = 0; i < machine.levels.size(); ++i) mapping_.levels[i].keep = keep[i];
  }

  OracleResult Run() {
    any_ ? AnyFactors(0, 0, 1) : Factors(0, 0, problem_.dimensions[0].bound);
    return result_;
  }

 private:
  size_t Levels() const { return machine_.levels.size(); }
  size_t Dims() const { return static_cast<size_t>(problem_.num_dimensions); }

  // Temporal and parallel factors of dimension d from level i on, of which `rest` is left.
  void Factors(size_t d, size_t i, int64_t rest) {
    if (i == Levels()) {
      if (rest != 1) return;
      if (d + 1 == Dims()) return Axes(0, 0);
      return Factors(d + 1, 0, problem_.dimensions[d + 1].bound);
    }
    LoopLevel& level = mapping_.levels[i];
    const bool fan = FanoutX(machine_, i) * FanoutY(machine_, i) > 1;
    for (int32_t s = 1; s <= (fan ? rest : 1); ++s) {
      if (rest % s != 0) continue;
      for (int32_t t = 1; t <= rest / s; ++t) {
        if (rest / s % t != 0) continue;
        level.spatial[d] = s;
        level.temporal[d] = t;
        Factors(d, i + 1, rest / s / t);
      }
    }
    level.spatial[d] = level.temporal[d] = 1;
  }

  // The same where loops stop at the bound: from level i on, outside tiles of `extent`.
  void AnyFactors(size_t d, size_t i, int64_t extent) {
    const int64_t bound = problem_.dimensions[d].bound;
    if (i == Levels()) {
      if (extent < bound) return;
      return d + 1 == Dims() ? Axes(0, 0) : AnyFactors(d + 1, 0, 1);
    }
    LoopLevel& level = mapping_.levels[i];
    const bool fan = FanoutX(machine_, i) * FanoutY(machine_, i) > 1;
    const auto most = [&](int64_t inside) {
      return std::max<int64_t>(1, (bound + inside - 1) / inside);
    };
    for (int32_t s = 1; s <= (fan ? most(extent) : 1); ++s) {
      for (int32_t t = 1; t <= most(extent * s); ++t) {
        level.spatial[d] = s;
        level.temporal[d] = t;
        AnyFactors(d, i + 1, extent * s * t);
      }
    }
    level.spatial[d] = level.temporal[d] = 1;
  }

  void Axes(size_t i, size_t d) {
    if (i == Levels()) return Orders(0);
    if (d == Dims()) {
      int64_t x = 1, y = 1;
      for (size_t k = 0; k < Dims(); ++k) (on_y_[i][k] ? y : x) *= mapping_.levels[i].spatial[k];
      if (x > FanoutX(machine_, i) || y > FanoutY(machine_, i)) return;
      return Axes(i + 1, 0);
    }
    on_y_[i][d] = false;
    Axes(i, d + 1);
    if (mapping_.levels[i].spatial[d] == 1) return;
    on_y_[i][d] = true;
    Axes(i, d + 1);
    on_y_[i][d] = false;
  }

  template <typename Use>
  void Permute(std::vector<uint8_t> dims, const Use& use) {
    do {
      use(dims);
    } while (std::next_permutation(dims.begin(), dims.end()));
  }

  void Orders(size_t i) {
    if (i == Levels()) return Evaluate();
    LoopLevel& level = mapping_.levels[i];
    std::vector<uint8_t> temporal, x, y, idle;
    for (size_t d = 0; d < Dims(); ++d) {
      const auto dim = static_cast<uint8_t>(d);
      if (level.temporal[d] > 1) temporal.push_back(dim);
      if (level.spatial[d] > 1) (on_y_[i][d] ? y : x).push_back(dim);
      if (level.temporal[d] == 1) idle.push_back(dim);
    }
    Permute(temporal, [&](const std::vector<uint8_t>& order) {
      std::ranges::copy(order, level.temporal_order.begin());
      std::ranges::copy(idle, level.temporal_order.begin() + std::ssize(order));
      Permute(x, [&](const std::vector<uint8_t>& order_x) {
        Permute(y, [&](const std::vector<uint8_t>& order_y) {
          auto place = std::ranges::copy(order_x, level.spatial_order.begin()).out;
          place = std::ranges::copy(order_y, place).out;
          for (size_t d = 0; d < Dims(); ++d) {
            if (level.spatial[d] == 1) *place++ = static_cast<uint8_t>(d);
          }
          level.split = static_cast<uint8_t>(order_x.size());
          Orders(i + 1);
        });
      });
    });
  }

  void Evaluate() {
    if (allowed_ && !allowed_(mapping_)) return;
    ++result_.mappings;
    loopnest::Evaluate(setup_, mapping_, workspace_);
    if (workspace_.nest_error.kind != loopnest::NestError::Kind::kNone) return;
    double cycles = 0, energy = 0;
    if (setup_.semantics == loopnest::Semantics::kExact) {
      if (workspace_.exact.status != loopnest::ExactResult::Status::kOk) return;
      cycles = static_cast<double>(workspace_.exact.cycles);
      energy = workspace_.exact.energy;
    } else {
      if (workspace_.timeloop.status != loopnest::TimeloopResult::Status::kOk) return;
      cycles = static_cast<double>(workspace_.timeloop.cycles);
      energy = workspace_.timeloop.energy;
    }
    ++result_.valid;
    result_.cycles = std::min(result_.cycles, cycles);
    result_.energy = std::min(result_.energy, energy);
    double& least = result_.least_energy.try_emplace(cycles, energy).first->second;
    least = std::min(least, energy);
    result_.edp = std::min(result_.edp, cycles * energy);
  }

  const LoopProblem& problem_;
  const Hierarchy& machine_;
  const std::function<bool(const LoopMapping&)>& allowed_;
  const bool any_;
  loopnest::Setup setup_;
  loopnest::Workspace workspace_;
  LoopMapping mapping_;
  bool on_y_[LoopMapping::kMaxLevels][LoopProblem::kMaxDimensions] = {};
  OracleResult result_;
};

}  // namespace

OracleResult SearchEverything(const LoopProblem& problem, const Hierarchy& machine,
                              loopnest::Semantics semantics, const std::vector<uint8_t>& keep,
                              const std::function<bool(const LoopMapping&)>& allowed,
                              const std::vector<int>& homes) {
  return Oracle(problem, machine, semantics, keep, allowed, homes).Run();
}

OracleResult SearchAnyFactors(const LoopProblem& problem, const Hierarchy& machine,
                              const std::vector<uint8_t>& keep) {
  const std::function<bool(const LoopMapping&)> all;
  return Oracle(problem, machine, loopnest::Semantics::kExact, keep, all, {}, /*any=*/true).Run();
}

}  // namespace tessera
