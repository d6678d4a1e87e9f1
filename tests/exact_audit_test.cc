// Pruning by example: random mappings below what searches leave out never cost less than the bound
// that left it out; and the audit notices bounds that are a little too high.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "exact_audits.h"
#include "loopnest_random.h"
#include "tessera/accelerator.h"
#include "tessera/cost.h"
#include "tessera/search/exact/audit.h"
#include "tessera/search/exact/mapper.h"
#include "thorough.h"

namespace tessera::exact {
namespace {

using loopnest::Semantics;

const int64_t kEnough = static_cast<int64_t>(Thorough(200'000, 30'000));

struct Kind {
  double scale = 1;
  bool widths = false, decide_keep = false;
};

void RunRandom(Semantics semantics, uint64_t cases, const Kind& kind, Audits& audits) {
  for (uint64_t k = 0; k < cases; ++k) {
    CounterRng rng(11, StreamId("exact.audit", static_cast<uint64_t>(semantics)), k);
    const RandomCase random = MakeRandomCase(
        rng, {.max_macs = 120, .max_levels = 4, .perfect = true, .widths = kind.widths});
    std::vector<uint8_t> keep = KeepSets(random.mapping);
    const auto all = static_cast<uint8_t>((1u << random.problem.num_tensors) - 1);
    for (uint8_t& set : keep) set &= all;
    keep.back() = all;
    const MapperOptions options{.goal = static_cast<Goal>(k % 3),
                                .semantics = semantics,
                                .keep = keep,
                                .decide_keep = kind.decide_keep,
                                .node_steps = 5'000,
                                .bound_scale = kind.scale};
    audits.Run(random.problem, random.machine, options, k, 120, 12'000);
  }
}

// Rules of a search with one choice of kept tensors.
constexpr size_t kRulesOfOneChoice = static_cast<size_t>(Rule::kChoice);

const uint64_t kCases = Thorough(350, 175);

TEST(ExactAudit, NoMappingIsBelowItsBound) {
  for (const Semantics semantics : {Semantics::kTimeloop3, Semantics::kExact}) {
    Audits audits(kEnough);
    RunRandom(semantics, kCases, {}, audits);
    audits.Print(loopnest::kSemanticsNames[static_cast<size_t>(semantics)].data());
    for (size_t r = 0; r < kRulesOfOneChoice; ++r) {
      EXPECT_EQ(audits.rules()[r].violations, 0) << audits.first_violation();
      EXPECT_GE(audits.rules()[r].audited, kEnough / 2) << kRuleNames[r];
    }
  }
}

TEST(ExactAudit, HoldsWithWidths) {
  Audits audits(kEnough);
  RunRandom(Semantics::kExact, Thorough(350, 30), {.widths = true}, audits);
  audits.Print("widths");
  for (const RuleAudit& rule : audits.rules()) {
    EXPECT_EQ(rule.violations, 0) << audits.first_violation();
  }
}

// What closed formulas and the arrays say of a choice of kept tensors.
TEST(ExactAudit, HoldsOverChoicesOfKeptTensors) {
  for (const double scale : {1.0, 1.02}) {
    Audits audits(kEnough);
    RunRandom(Semantics::kExact, scale > 1 ? 60 : Thorough(600, 60),
              {.scale = scale, .decide_keep = true}, audits);
    audits.Print(scale > 1 ? "choices, bounds multiplied by 1.02" : "choices");
    const RuleAudit& rule = audits.Of(Rule::kChoice);
    EXPECT_GE(rule.audited, static_cast<int64_t>(scale > 1 ? 5'000 : Thorough(100'000, 5'000)));
    if (scale > 1) {
      EXPECT_GT(rule.violations, 0);
    } else {
      for (const RuleAudit& any : audits.rules()) {
        EXPECT_EQ(any.violations, 0) << audits.first_violation();
      }
    }
  }
}

// Deep hierarchies, many instances and real sizes; only the first rounds, since proofs take long.
TEST(ExactAudit, HoldsOnRealMachines) {
  const LoopProblem strided = *MakeLoopProblem(
      "conv", {{"R", 3}, {"S", 3}, {"P", 28}, {"Q", 28}, {"C", 16}, {"K", 32}, {"N", 2}},
      {{"Wstride", 2}, {"Hstride", 2}});
  const LoopProblem gemm = *MakeLoopProblem("gemm", {{"M", 128}, {"N", 96}, {"K", 64}});
  const auto mappings = static_cast<int64_t>(Thorough(1'000, 300));
  const int rounds = static_cast<int>(Thorough(4, 1));
  for (const char* name : {"simple3", "eyeriss-256", "tpu-128", "simba", "nvdla", "shidiannao"}) {
    const Result<Accelerator> machine = LoadAccelerator(name);
    ASSERT_TRUE(machine) << machine.error();
    for (const Semantics semantics : {Semantics::kTimeloop3, Semantics::kExact}) {
      Audits audits(kEnough);
      for (const LoopProblem* problem : {&strided, &gemm}) {
        const MapperOptions options{.goal = Goal::kEdp,
                                    .semantics = semantics,
                                    .round_nodes = 4,
                                    .node_steps = 2'000,
                                    .dive_width = 8};
        audits.Run(*problem, *machine->hierarchy, options, 1, 1, mappings, rounds);
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
    Audits audits(kEnough);
    RunRandom(semantics, 70, {.scale = 1.02}, audits);
    audits.Print("bounds multiplied by 1.02");
    for (size_t r = 0; r < kRulesOfOneChoice; ++r) {
      EXPECT_GT(audits.rules()[r].violations, 0) << kRuleNames[r];
    }
  }
}

}  // namespace
}  // namespace tessera::exact
