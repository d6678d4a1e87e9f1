// Pruning by example: random mappings below what searches leave out never cost less than the bound
// that left it out; and the audit notices bounds that are a little too high.
#include <array>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loopnest_random.h"
#include "tessera/accelerator.h"
#include "tessera/cost.h"
#include "tessera/search/exact/audit.h"
#include "tessera/search/exact/mapper.h"
#include "thorough.h"

namespace tessera::exact {
namespace {

using loopnest::Semantics;

// A few problems have very many orders; their first parts are enough here.
constexpr int kRounds = 40;

// Rules that come up more often than others are left alone after so many mappings.
const int64_t kEnough = static_cast<int64_t>(Thorough(200'000, 30'000));

class Audits {
 public:
  // Searches one problem for one goal with an auditor; the first search only finds the optimum, so
  // that the second one prunes as much as it can.
  void Run(const LoopProblem& problem, const Hierarchy& machine, MapperOptions options,
           uint64_t seed, int64_t per_part, int64_t most, int rounds = kRounds) {
    ThreadPool pool(1);
    const double scale = options.bound_scale;
    options.bound_scale = 1;
    const auto mapper = Mapper::Make(problem, machine, options);
    if (!mapper) return;
    for (int round = 0; round < rounds && (*mapper)->Step(pool); ++round) {
    }
    const Progress progress = (*mapper)->progress();
    if (!progress.best) return;
    Auditor auditor(options.goal, seed, per_part, most);
    options.bound_scale = scale;
    for (size_t r = 0; r < kRules; ++r) {
      if (rules_[r].audited >= kEnough) auditor.Skip(static_cast<Rule>(r));
    }
    options.observer = &auditor;
    options.dive_width = 0;
    const auto audited = Mapper::Make(problem, machine, options);
    // A little above the optimum, so that the search still goes down to single orders.
    (*audited)->OfferValue(progress.best->value * 1.02);
    for (int round = 0; round < rounds && (*audited)->Step(pool); ++round) {
    }
    for (size_t r = 0; r < kRules; ++r) {
      rules_[r].audited += auditor.rules()[r].audited;
      rules_[r].violations += auditor.rules()[r].violations;
      rules_[r].tightest = std::max(rules_[r].tightest, auditor.rules()[r].tightest);
    }
    if (first_violation_.empty() && !auditor.first_violation().empty()) {
      first_violation_ = ToString(problem) + ", " + auditor.first_violation();
    }
  }

  void RunRandom(Semantics semantics, uint64_t cases, double scale, bool widths = false) {
    for (uint64_t k = 0; k < cases; ++k) {
      CounterRng rng(11, StreamId("exact.audit", static_cast<uint64_t>(semantics)), k);
      const RandomCase random = MakeRandomCase(
          rng, {.max_macs = 120, .max_levels = 4, .perfect = true, .widths = widths});
      std::vector<uint8_t> keep = KeepSets(random.mapping);
      const auto all = static_cast<uint8_t>((1u << random.problem.num_tensors) - 1);
      for (uint8_t& set : keep) set &= all;
      keep.back() = all;
      const MapperOptions options{.goal = static_cast<Goal>(k % 3),
                                  .semantics = semantics,
                                  .keep = keep,
                                  .node_steps = 5'000,
                                  .bound_scale = scale};
      Run(random.problem, random.machine, options, k, 120, 12'000);
    }
  }

  void Print(const char* what) const {
    fmt::print("{:12} {:>9} {:>10} {:>10}   {}\n", "rule", "audited", "violations", "tightest",
               what);
    for (size_t r = 0; r < kRules; ++r) {
      fmt::print("{:12} {:>9} {:>10} {:>10.6f}\n", kRuleNames[r], rules_[r].audited,
                 rules_[r].violations, rules_[r].tightest);
    }
  }

  const std::array<RuleAudit, kRules>& rules() const { return rules_; }
  const std::string& first_violation() const { return first_violation_; }

 private:
  std::array<RuleAudit, kRules> rules_ = {};
  std::string first_violation_;
};

const uint64_t kCases = Thorough(350, 175);

TEST(ExactAudit, NoMappingIsBelowItsBound) {
  for (const Semantics semantics : {Semantics::kTimeloop3, Semantics::kExact}) {
    Audits audits;
    audits.RunRandom(semantics, kCases, 1);
    audits.Print(loopnest::kSemanticsNames[static_cast<size_t>(semantics)].data());
    for (size_t r = 0; r < kRules; ++r) {
      EXPECT_EQ(audits.rules()[r].violations, 0) << audits.first_violation();
      EXPECT_GE(audits.rules()[r].audited, kEnough / 2) << kRuleNames[r];
    }
  }
}

TEST(ExactAudit, HoldsWithWidths) {
  Audits audits;
  audits.RunRandom(Semantics::kExact, Thorough(350, 30), 1, /*widths=*/true);
  audits.Print("widths");
  for (const RuleAudit& rule : audits.rules()) {
    EXPECT_EQ(rule.violations, 0) << audits.first_violation();
  }
}

// Deep hierarchies, many instances and real sizes; only the first rounds, since proofs take long.
TEST(ExactAudit, HoldsOnRealMachines) {
  const LoopProblem strided = *MakeLoopProblem(
      "conv", {{"R", 3}, {"S", 3}, {"P", 28}, {"Q", 28}, {"C", 16}, {"K", 32}, {"N", 2}},
      {{"Wstride", 2}, {"Hstride", 2}});
  const LoopProblem gemm = *MakeLoopProblem("gemm", {{"M", 128}, {"N", 96}, {"K", 64}});
  const auto mappings = static_cast<int64_t>(Thorough(1'000, 300));
  for (const char* name : {"simple3", "eyeriss-256", "tpu-128", "simba", "nvdla", "shidiannao"}) {
    const Result<Accelerator> machine = LoadAccelerator(name);
    ASSERT_TRUE(machine) << machine.error();
    for (const Semantics semantics : {Semantics::kTimeloop3, Semantics::kExact}) {
      Audits audits;
      for (const LoopProblem* problem : {&strided, &gemm}) {
        const MapperOptions options{.goal = Goal::kEdp,
                                    .semantics = semantics,
                                    .round_nodes = 4,
                                    .node_steps = 2'000,
                                    .dive_width = 8};
        audits.Run(*problem, *machine->hierarchy, options, 1, 1, mappings, /*rounds=*/4);
      }
      for (const RuleAudit& rule : audits.rules()) {
        EXPECT_EQ(rule.violations, 0) << name << ": " << audits.first_violation();
      }
      audits.Print(name);
    }
  }
}

// What every proof gets: nothing to report, unless bounds are too high.
TEST(ExactAudit, SamplesOfProofsNoticeBoundsThatAreTooHigh) {
  const Accelerator machine = *LoadAccelerator("simple3");
  const LoopProblem conv = *MakeLoopProblem(
      "conv", {{"R", 3}, {"S", 3}, {"P", 14}, {"Q", 14}, {"C", 16}, {"K", 24}, {"N", 1}});
  for (const Goal goal : {Goal::kCycles, Goal::kEnergy, Goal::kEdp}) {
    MapperOptions options{.goal = goal, .decide_keep = true};
    ThreadPool pool(1);
    const auto mapper = Mapper::Make(conv, *machine.hierarchy, options);
    for (int round = 0; round < 4; ++round) (*mapper)->Step(pool);
    const LoopMapping best = (*mapper)->progress().best->mapping;
    const auto right = AuditSample(conv, *machine.hierarchy, options, best, 1);
    ASSERT_TRUE(right) << right.error();
    EXPECT_EQ(*right, "");
    options.bound_scale = 4;
    const auto wrong = AuditSample(conv, *machine.hierarchy, options, best, 1);
    ASSERT_TRUE(wrong) << wrong.error();
    EXPECT_NE(*wrong, "");
  }
}

TEST(ExactAudit, BoundsTwoPercentTooHighAreNoticed) {
  for (const Semantics semantics : {Semantics::kTimeloop3, Semantics::kExact}) {
    Audits audits;
    audits.RunRandom(semantics, 70, 1.02);
    audits.Print("bounds multiplied by 1.02");
    for (size_t r = 0; r < kRules; ++r) {
      EXPECT_GT(audits.rules()[r].violations, 0) << kRuleNames[r];
    }
  }
}

}  // namespace
}  // namespace tessera::exact
