// No mapping costs less than its bounds: all golden rows, and random mappings by the million, under
// each semantics.
#include "tessera/cost.h"
#include "tessera/cost/array_bound.h"
#include "tessera/cost/keep_bounds.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loopnest_golden.h"
#include "loopnest_random.h"
#include "tessera/cost/compute_cycles.h"
#include "tessera/cost/loopnest/evaluation.h"
#include "thorough.h"

namespace tessera {
namespace {

using loopnest::ExactResult;
using loopnest::kSemanticsNames;
using loopnest::NestError;
using loopnest::Semantics;
using loopnest::Setup;
using loopnest::TimeloopResult;
using loopnest::Workspace;

// Cost of the mapping last evaluated, in the terms of the bounds.
struct Measured {
  int64_t cycles = 0;
  double energy_pj = 0;
  std::vector<LevelBound> levels = {};
};

std::optional<Measured> Measure(const Setup& setup, const Workspace& workspace) {
  if (workspace.nest_error.kind != NestError::Kind::kNone) return std::nullopt;
  Measured measured;
  for (int i = 0; i < setup.machine.num_levels; ++i) {
    LevelBound& level = measured.levels.emplace_back();
    for (int v = 0; v < setup.data.problem.num_tensors; ++v) {
      TrafficBound& traffic = level.tensors[static_cast<size_t>(v)];
      if (setup.semantics == Semantics::kExact) {
        const loopnest::ExactTensor& tensor = workspace.exact.levels[i].tensors[v];
        traffic = {tensor.reads, tensor.fills, tensor.updates};
      } else {
        const loopnest::TimeloopTensor& tensor = workspace.timeloop.levels[i].tensors[v];
        const int64_t used = workspace.nest.used[i];
        traffic = {static_cast<int64_t>(tensor.reads) * used,
                   static_cast<int64_t>(tensor.fills) * used,
                   static_cast<int64_t>(tensor.updates) * used};
      }
      level.words += traffic.reads + traffic.updates;
    }
    const bool exact = setup.semantics == Semantics::kExact;
    level.cycles = exact ? workspace.exact.levels[i].cycles : workspace.timeloop.levels[i].cycles;
    level.energy_pj =
        exact ? workspace.exact.levels[i].energy : workspace.timeloop.levels[i].energy;
    level.network_pj = exact ? workspace.exact.levels[i].network_energy
                             : workspace.timeloop.levels[i].network_energy;
  }
  if (setup.semantics == Semantics::kExact) {
    if (workspace.exact.status != ExactResult::Status::kOk) return std::nullopt;
    measured.cycles = workspace.exact.cycles;
    measured.energy_pj = workspace.exact.energy;
  } else {
    if (workspace.timeloop.status != TimeloopResult::Status::kOk) return std::nullopt;
    measured.cycles = workspace.timeloop.cycles;
    measured.energy_pj = workspace.timeloop.energy;
  }
  return measured;
}

// What a measured cost undercuts; empty if nothing.
std::string Undercut(const LoopBounds& bounds, const Measured& measured, const Setup& setup) {
  std::string text;
  const auto check = [&](const std::string& what, double bound, double cost) {
    if (bound > cost * (1 + 1e-9))
      text += fmt::format("{}: bound {} > cost {}\n", what, bound, cost);
  };
  check("cycles", static_cast<double>(bounds.cycles), static_cast<double>(measured.cycles));
  check("energy", bounds.energy_pj, measured.energy_pj);
  for (size_t i = 0; i < bounds.levels.size(); ++i) {
    const LevelBound &a = bounds.levels[i], &b = measured.levels[i];
    check(a.name + " words", static_cast<double>(a.words), static_cast<double>(b.words));
    check(a.name + " cycles", static_cast<double>(a.cycles), static_cast<double>(b.cycles));
    check(a.name + " energy", a.energy_pj, b.energy_pj);
    check(a.name + " network", a.network_pj, b.network_pj);
    for (size_t v = 0; v < static_cast<size_t>(setup.data.problem.num_tensors); ++v) {
      const std::string at =
          a.name + " " + std::string(setup.data.problem.tensors[v].name.view()) + " ";
      check(at + "reads", static_cast<double>(a.tensors[v].reads),
            static_cast<double>(b.tensors[v].reads));
      check(at + "fills", static_cast<double>(a.tensors[v].fills),
            static_cast<double>(b.tensors[v].fills));
      check(at + "updates", static_cast<double>(a.tensors[v].updates),
            static_cast<double>(b.tensors[v].updates));
    }
  }
  return text;
}

class BoundChecker {
 public:
  // Evaluates a mapping against the bounds for its keep sets and for any.
  void Check(const Setup& setup, const Hierarchy& machine, const LoopMapping& mapping,
             const std::string& name) {
    loopnest::Evaluate(setup, mapping, workspace_);
    const std::optional<Measured> measured = Measure(setup, workspace_);
    if (!measured) return;
    ++checked_;
    if (setup.semantics == Semantics::kExact) CheckJoint(setup, mapping, name);
    for (const bool any_levels : {false, true}) {
      const BoundOptions options{.semantics = setup.semantics,
                                 .keep = any_levels ? std::vector<uint8_t>{} : KeepSets(mapping)};
      const LoopBounds& bounds = BoundsFor(setup, machine, options);
      const std::string undercut = Undercut(bounds, *measured, setup);
      if (undercut.empty()) continue;
      if (++wrong_ <= 5) {
        std::vector<std::string> levels;
        for (const MemoryLevel& level : machine.levels) levels.push_back(level.name);
        ADD_FAILURE() << name << (any_levels ? " (any levels) " : " ")
                      << ToString(setup.data.problem) << "\n"
                      << PrintLoopNest(mapping, setup.data.problem, levels) << undercut;
      }
    }
  }

  // The bound with operands that share parallel loops.
  void CheckJoint(const Setup& setup, const LoopMapping& mapping, const std::string& name) {
    const std::vector<uint8_t> keep = KeepSets(mapping);
    auto known = joint_.find(keep);
    if (known == joint_.end()) {
      std::optional<int64_t> compute_cycles;
      known =
          joint_.emplace(keep, KeepBounds(setup.data, setup.machine, keep, compute_cycles)).first;
    }
    const double energy = workspace_.exact.energy;
    if (energy < *known->second.energy_pj * (1 - 1e-12) && ++wrong_ <= 5) {
      ADD_FAILURE() << name << " " << ToString(setup.data.problem) << ": joint bound "
                    << *known->second.energy_pj << " > " << energy;
    }
    if (workspace_.nest.perfect) CheckArray(setup, keep, energy, name);
  }

  // What instances of the array need, with perfect factors.
  void CheckArray(const Setup& setup, const std::vector<uint8_t>& keep, double energy,
                  const std::string& name) {
    auto known = array_.find(keep);
    if (known == array_.end()) {
      known = array_.emplace(keep, ArrayBound(setup.data, setup.machine).Energy(keep)).first;
    }
    ++array_checked_;
    if (known->second > 0) tightest_ = std::max(tightest_, known->second / energy);
    if (known->second > *joint_.at(keep).energy_pj) ++array_larger_;
    if (energy < known->second * (1 - 1e-12) && ++wrong_ <= 5) {
      ADD_FAILURE() << name << " " << ToString(setup.data.problem) << ": array bound "
                    << known->second << " > " << energy;
    }
  }
  int array_checked() const { return array_checked_; }
  int array_larger() const { return array_larger_; }
  double tightest() const { return tightest_; }

  void Forget() {
    bounds_.clear();
    joint_.clear();
    array_.clear();
  }
  int checked() const { return checked_; }
  int wrong() const { return wrong_; }

 private:
  // Bounds depend on the keep sets only, so those of one problem and machine are found once.
  const LoopBounds& BoundsFor(const Setup& setup, const Hierarchy& machine,
                              const BoundOptions& options) {
    const auto known = bounds_.find(options.keep);
    if (known != bounds_.end()) return known->second;
    const Result<LoopBounds> bounds = LowerBounds(setup.data.problem, machine, options);
    EXPECT_TRUE(bounds) << bounds.error();
    return bounds_.emplace(options.keep, *bounds).first->second;
  }

  Workspace workspace_;
  std::map<std::vector<uint8_t>, LoopBounds> bounds_;
  std::map<std::vector<uint8_t>, CostBounds> joint_;
  std::map<std::vector<uint8_t>, double> array_;
  int checked_ = 0, wrong_ = 0, array_checked_ = 0, array_larger_ = 0;
  double tightest_ = 0;
};

void CheckGolden(const std::string& name, std::optional<Semantics> semantics = {}) {
  BoundChecker checker;
  uint64_t number = 0;
  loopnest::ForEachRow(name, [&](const loopnest::Row& row, std::string_view) {
    if (number++ % Thorough(1, 3) != 0) return;
    const Result<Setup> setup = loopnest::Prepare(
        row.problem, *row.machine.hierarchy, semantics.value_or(row.semantics), row.extrapolate);
    checker.Forget();
    checker.Check(*setup, *row.machine.hierarchy, row.mapping, row.id);
  });
  EXPECT_EQ(checker.wrong(), 0) << "of " << checker.checked();
  EXPECT_GT(checker.checked(), 100);
}

TEST(Bounds, HoldOnTheGoldenRowsOfTimeloop) {
  for (const std::string file :
       {"train", "fuzz_train", "xfan_train", "noextrap_train", "v4rule_train"}) {
    CheckGolden("timeloop/" + file + ".jsonl.gz");
  }
}

TEST(Bounds, HoldOnTheGoldenRowsUnderExactSemantics) {
  CheckGolden("exact/train.jsonl.gz", Semantics::kExact);
  CheckGolden("timeloop/train.jsonl.gz", Semantics::kExact);
  CheckGolden("timeloop/fuzz_train.jsonl.gz", Semantics::kExact);
}

// How much more than usual to try: `make soak` sets it.
int SoakFactor() {
  const char* text = std::getenv("TESSERA_SOAK");
  return text == nullptr ? 1 : std::max(1, std::atoi(text));
}

// Many mappings for each of many problems and machines; millions with TESSERA_SOAK=50.
TEST(Bounds, HoldOnRandomMappings) {
  constexpr int kMappings = 120;
  const int problems = 400 * SoakFactor();
  for (const Semantics semantics :
       {Semantics::kExact, Semantics::kTimeloop3, Semantics::kTimeloop4}) {
    BoundChecker checker;
    for (int i = 0; i < problems; ++i) {
      CounterRng rng(11, StreamId("bounds"), static_cast<uint64_t>(i));
      const RandomCase random_case = MakeRandomCase(rng, {.max_macs = 20'000});
      const Result<loopnest::Setup> setup =
          loopnest::Prepare(random_case.problem, random_case.machine, semantics);
      if (!setup) continue;
      // Timeloop's own formulas for windows that are written give negative counts.
      if (semantics != Semantics::kExact && random_case.family == "transposed") continue;
      checker.Forget();
      for (int k = 0; k < kMappings; ++k) {
        // Imperfect factors take longer, so they get a share of the mappings only.
        const bool perfect = semantics != Semantics::kExact || k % 8 != 0;
        const LoopMapping mapping =
            MakeRandomMapping(rng, random_case.problem, random_case.machine, perfect);
        checker.Check(*setup, random_case.machine, mapping, fmt::format("case {}", i));
      }
    }
    std::cout << kSemanticsNames[static_cast<size_t>(semantics)] << ": " << checker.checked()
              << " mappings accepted, all at or above their bounds\n";
    EXPECT_EQ(checker.wrong(), 0) << "of " << checker.checked();
    EXPECT_GT(checker.checked(), 60 * problems);
    if (semantics != Semantics::kExact) continue;
    std::cout << "spread over the array: " << checker.array_checked() << " mappings, in "
              << checker.array_larger() << " the larger bound, at most " << checker.tightest()
              << " of the energy\n";
    EXPECT_GT(checker.array_larger(), checker.array_checked() / 20);
  }
}

// Tensors of all widths.
TEST(Bounds, HoldWithWidths) {
  BoundChecker checker;
  const int problems = 250 * SoakFactor();
  for (int i = 0; i < problems; ++i) {
    CounterRng rng(11, StreamId("bounds.widths"), static_cast<uint64_t>(i));
    const RandomCase random_case = MakeRandomCase(rng, {.max_macs = 20'000, .widths = true});
    const Result<loopnest::Setup> setup =
        loopnest::Prepare(random_case.problem, random_case.machine, Semantics::kExact);
    if (!setup) continue;
    checker.Forget();
    for (int k = 0; k < 80; ++k) {
      const LoopMapping mapping = MakeRandomMapping(rng, random_case.problem, random_case.machine,
                                                    /*perfect=*/k % 8 != 0);
      checker.Check(*setup, random_case.machine, mapping, fmt::format("case {}", i));
    }
  }
  EXPECT_EQ(checker.wrong(), 0) << "of " << checker.checked();
  EXPECT_GT(checker.checked(), 20 * problems);
}

TEST(FewestComputeCycles, EqualsTryingAllWaysToFillTheArray) {
  for (int i = 0; i < 300; ++i) {
    CounterRng rng(3, StreamId("fill"), static_cast<uint64_t>(i));
    NamedValues bounds;
    for (const char* name : {"M", "N", "K"}) bounds.emplace_back(name, 1 + rng.UniformInt(12));
    const LoopProblem problem = *MakeLoopProblem("gemm", bounds);
    const int64_t columns = 1 + rng.UniformInt(9), rows = 1 + rng.UniformInt(5);
    for (const bool perfect : {false, true}) {
      int64_t fewest = INT64_MAX;
      int64_t f[6];
      for (f[0] = 1; f[0] <= columns; ++f[0])
        for (f[1] = 1; f[0] * f[1] <= columns; ++f[1])
          for (f[2] = 1; f[0] * f[1] * f[2] <= columns; ++f[2])
            for (f[3] = 1; f[3] <= rows; ++f[3])
              for (f[4] = 1; f[3] * f[4] <= rows; ++f[4])
                for (f[5] = 1; f[3] * f[4] * f[5] <= rows; ++f[5]) {
                  int64_t cycles = 1;
                  bool divides = true;
                  for (size_t d = 0; d < 3; ++d) {
                    const int64_t bound = problem.dimensions[d].bound, s = f[d] * f[d + 3];
                    divides = divides && bound % s == 0;
                    cycles *= (bound + s - 1) / s;
                  }
                  if (divides || !perfect) fewest = std::min(fewest, cycles);
                }
      EXPECT_EQ(FewestComputeCycles(problem, columns, rows, perfect), fewest)
          << ToString(problem) << " on " << columns << " x " << rows << " perfect " << perfect;
    }
  }
}

}  // namespace
}  // namespace tessera
