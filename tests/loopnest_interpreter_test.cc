// Semantics `exact` equals the interpreter: on the golden rows, and on thousands of random
// problems that cover every combination of what is hard.
#include "tessera/cost/loopnest/interpreter.h"

#include <array>
#include <cmath>
#include <iostream>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loopnest_random.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/base/text.h"
#include "tessera/cost/loopnest/evaluation.h"
#include "tessera/cost/loopnest/row.h"

namespace tessera {
namespace {

using loopnest::ExactLevel;
using loopnest::ExactResult;
using loopnest::NestError;
using loopnest::Prepare;
using loopnest::Semantics;
using loopnest::Setup;
using loopnest::Workspace;

// Collects what differs, by name.
class Difference {
 public:
  void Ints(std::string_view name, int64_t walked, int64_t ours) {
    if (walked != ours) text_ += fmt::format("{}: walked {}, ours {}\n", name, walked, ours);
  }
  void Doubles(std::string_view name, double walked, double ours) {
    if (std::abs(walked - ours) <= 1e-9 * std::abs(walked)) return;
    text_ += fmt::format("{}: walked {}, ours {}\n", name, walked, ours);
  }
  void Texts(std::string_view name, const std::string& walked, const std::string& ours) {
    if (walked != ours) text_ += fmt::format("{}: walked '{}', ours '{}'\n", name, walked, ours);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void CompareTensor(const std::string& at, const InterpretedLevel& walked, const ExactLevel& ours,
                   int v, Difference& difference) {
  const InterpretedTensor& a = walked.tensors[static_cast<size_t>(v)];
  const loopnest::ExactTensor& b = ours.tensors[v];
  difference.Ints(at + "capacity", a.capacity, b.capacity);
  difference.Ints(at + "reads", a.reads, b.reads);
  difference.Ints(at + "fills", a.fills, b.fills);
  difference.Ints(at + "updates", a.updates, b.updates);
  difference.Doubles(at + "energy", a.energy, b.energy);
  difference.Doubles(at + "address energy", a.address_energy, b.address_energy);
  const InterpretedNetwork& c = walked.network[static_cast<size_t>(v)];
  const loopnest::ExactNetworkTensor& d = ours.network[v];
  std::map<int64_t, int64_t> ingresses;
  for (const auto& [multicast, words] : d.ingresses) ingresses[multicast] += words;
  if (ingresses != c.ingresses) difference.Texts(at + "ingresses", "", "differ");
  for (const auto& [multicast, words] : c.ingresses) {
    difference.Ints(fmt::format("{}ingress {}", at, multicast), words, ingresses[multicast]);
  }
  difference.Doubles(at + "hops", c.hops, static_cast<double>(d.half_hops) / 2);
  difference.Ints(at + "down words", c.down_words, d.down_words);
  difference.Ints(at + "link transfers", c.link_transfers, d.link_transfers);
  difference.Ints(at + "spatial reductions", c.spatial_reductions, d.spatial_reductions);
  difference.Doubles(at + "network energy", c.energy + c.link_energy, d.energy + d.link_energy);
}

// Every number of an evaluation; empty if all are equal.
std::string Compare(const LoopProblem& problem, const Hierarchy& machine,
                    const LoopMapping& mapping, const Interpreted& walked, Workspace& workspace) {
  const Result<Setup> setup = Prepare(problem, machine, Semantics::kExact);
  if (!setup) return ToString(setup.error());
  Evaluate(*setup, mapping, workspace);
  Difference difference;
  const bool bad_factors = workspace.nest_error.kind != NestError::Kind::kNone;
  const ExactResult& ours = workspace.exact;
  const bool error = bad_factors || ours.status == ExactResult::Status::kOutermostBypass;
  difference.Ints("error", walked.error.empty() ? 0 : 1, error ? 1 : 0);
  if (error) return difference.text();
  std::string rejection = DescribeRejection(ours);
  if (!rejection.empty()) {
    rejection = machine.levels[static_cast<size_t>(ours.level)].name + ": " + rejection;
  }
  const auto widths = [&](int i) -> const LevelWidths& { return setup->machine.levels[i].widths; };
  const bool in_bits = ours.status == ExactResult::Status::kCapacity &&
                       !widths(ours.level).plain(problem.num_tensors);
  if (in_bits) {
    rejection =
        fmt::format("{}: capacity {} >", machine.levels[static_cast<size_t>(ours.level)].name,
                    ours.have * widths(ours.level).unit_bits);
    difference.Texts("rejection", walked.rejection.substr(0, rejection.size()), rejection);
  } else {
    difference.Texts("rejection", walked.rejection, rejection);
  }
  if (!rejection.empty()) return difference.text();
  for (size_t i = 0; i < machine.levels.size(); ++i) {
    const InterpretedLevel& a = walked.levels[i];
    const ExactLevel& b = ours.levels[i];
    const std::string at = machine.levels[i].name + " ";
    for (int v = 0; v < problem.num_tensors; ++v) {
      const std::string name(problem.tensors[static_cast<size_t>(v)].name.view());
      CompareTensor(at + name + " ", a, b, v, difference);
    }
    const LevelWidths& units = widths(static_cast<int>(i));
    const int64_t scale = units.plain(problem.num_tensors) ? 1 : units.unit_bits;
    difference.Ints(at + "busiest reads", a.busiest_reads, b.busiest_reads * scale);
    difference.Ints(at + "busiest writes", a.busiest_writes, b.busiest_writes * scale);
    difference.Ints(at + "busiest both", a.busiest_both, b.busiest_both * scale);
    difference.Ints(at + "cycles", a.cycles, b.cycles);
    difference.Doubles(at + "energy", a.energy, b.energy);
  }
  difference.Ints("computes", walked.computes, ours.computes);
  difference.Ints("compute cycles", walked.compute_cycles, ours.compute_cycles);
  difference.Ints("cycles", walked.cycles, ours.cycles);
  difference.Doubles("energy", walked.energy, ours.energy);
  difference.Doubles("utilization", walked.utilization, ours.utilization);
  return difference.text();
}

std::vector<std::string> LevelNames(const Hierarchy& machine) {
  std::vector<std::string> names;
  for (const MemoryLevel& level : machine.levels) names.push_back(level.name);
  return names;
}

// The interpreter itself is right about the golden rows, so the comparison below means something.
TEST(LoopnestInterpreter, WalksTheGoldenRows) {
  const Result<std::string> text =
      ReadFile(TESSERA_SOURCE_DIR "/tests/golden/exact/train.jsonl.gz");
  ASSERT_TRUE(text) << text.error();
  int64_t rows = 0;
  for (const std::string_view line : Split(*text, '\n')) {
    if (line.empty()) continue;
    const Result<Node> node = ParseJson(line, "train", ++rows);
    const Result<loopnest::Row> row = loopnest::ReadRow(*node);
    ASSERT_TRUE(row) << row.error();
    const Interpreted walked = Interpret(row->problem, *row->machine.hierarchy, row->mapping);
    const Node& golden = *node->Find("result");
    if (golden.Find("status")->scalar == "rejected") {
      EXPECT_EQ(walked.rejection,
                golden.Find("level")->scalar + ": " + golden.Find("reason")->scalar);
      continue;
    }
    EXPECT_EQ(walked.cycles, *golden.Find("cycles")->AsInt()) << row->id;
    EXPECT_NEAR(walked.energy, *golden.Find("energy_total")->AsDouble(), 1e-9 * walked.energy)
        << row->id;
    for (size_t i = 0; i < walked.levels.size(); ++i) {
      const Node& level = golden.Find("levels")->items[i];
      for (int v = 0; v < row->problem.num_tensors; ++v) {
        const std::string name(row->problem.tensors[static_cast<size_t>(v)].name.view());
        const Node* tensor = level.Find("tensors")->Find(name);
        if (tensor == nullptr) continue;
        const InterpretedTensor& ours = walked.levels[i].tensors[static_cast<size_t>(v)];
        EXPECT_EQ(ours.reads, *tensor->Find("reads_total")->AsInt()) << row->id;
        EXPECT_EQ(ours.fills, *tensor->Find("fills_total")->AsInt()) << row->id;
        EXPECT_EQ(ours.updates, *tensor->Find("updates_total")->AsInt()) << row->id;
      }
      EXPECT_EQ(walked.levels[i].busiest_both, *level.Find("busiest")->Find("both")->AsInt());
    }
  }
  EXPECT_EQ(rows, 518);
}

// How many accepted cases had a feature, by family of problems.
class Coverage {
 public:
  void Add(const RandomCase& random_case, const Interpreted& walked) {
    const CaseFeatures features = FeaturesOf(random_case);
    std::array<int, kNumColumns>& row = rows_[random_case.family];
    const bool marks[kNumColumns] = {true,
                                     features.bypass,
                                     features.spatial_reduction,
                                     features.deep,
                                     features.imperfect_temporal,
                                     features.imperfect_spatial,
                                     walked.idle,
                                     HasLinks(walked)};
    for (size_t k = 0; k < kNumColumns; ++k) row[k] += marks[k] ? 1 : 0;
  }

  std::string Print() const {
    std::string text = fmt::format("{:18}", "family");
    for (const std::string_view column : kColumns) text += fmt::format("{:>20}", column);
    for (const auto& [family, counts] : rows_) {
      text += fmt::format("\n{:18}", family);
      for (const int count : counts) text += fmt::format("{:>20}", count);
    }
    return text + "\n";
  }

  // The least number in the cells that the model must be tested in.
  int Least() const {
    int least = 1'000'000;
    for (const std::string family :
         {"stride 2", "dilation 2", "stride > kernel", "depthwise", "batched gemm"}) {
      for (size_t k = 1; k <= 5; ++k) least = std::min(least, rows_.at(family)[k]);
    }
    return least;
  }

 private:
  static constexpr size_t kNumColumns = 8;
  static constexpr std::array<std::string_view, kNumColumns> kColumns = {
      "accepted",           "bypass",
      "spatial reduction",  "3+ levels",
      "imperfect temporal", "imperfect spatial",
      "idle instances",     "links"};

  static bool HasLinks(const Interpreted& walked) {
    for (const InterpretedLevel& level : walked.levels) {
      for (const InterpretedNetwork& network : level.network) {
        if (network.link_transfers > 0) return true;
      }
    }
    return false;
  }

  std::map<std::string, std::array<int, kNumColumns>> rows_;
};

TEST(LoopnestInterpreter, AgreesOnRandomProblems) {
  constexpr int kCases = 12'000;
  Coverage coverage;
  Workspace workspace;
  int accepted = 0, wrong = 0;
  for (int i = 0; i < kCases; ++i) {
    CounterRng rng(5, StreamId("loopnest.random"), static_cast<uint64_t>(i));
    RandomCaseOptions options{.max_macs = i % 10 == 0 ? 300 : 100};
    if (i % 50 == 0) options.max_levels = 8;
    options.narrow = i % 10 == 5;
    const RandomCase random_case = MakeRandomCase(rng, options);
    const Interpreted walked =
        Interpret(random_case.problem, random_case.machine, random_case.mapping);
    const std::string difference =
        Compare(random_case.problem, random_case.machine, random_case.mapping, walked, workspace);
    if (!difference.empty() && ++wrong <= 3) {
      ADD_FAILURE() << "case " << i << ", " << random_case.family << ", "
                    << ToString(random_case.problem) << " links " << random_case.machine.links
                    << "\n"
                    << PrintLoopNest(random_case.mapping, random_case.problem,
                                     LevelNames(random_case.machine))
                    << difference;
    }
    if (!walked.error.empty() || !walked.rejection.empty()) continue;
    ++accepted;
    coverage.Add(random_case, walked);
  }
  std::cout << coverage.Print();
  EXPECT_EQ(wrong, 0) << "of " << kCases;
  EXPECT_GE(accepted, 5'000);
  EXPECT_GE(coverage.Least(), 200);
}

// Tensors of all widths, and words of several sizes.
TEST(LoopnestInterpreter, AgreesOnWidths) {
  constexpr int kCases = 1'500;
  Workspace workspace;
  int accepted = 0, wrong = 0, narrower = 0;
  for (int i = 0; i < kCases; ++i) {
    CounterRng rng(6, StreamId("loopnest.widths"), static_cast<uint64_t>(i));
    const RandomCase random_case = MakeRandomCase(rng, {.max_macs = 60, .widths = true});
    const Interpreted walked =
        Interpret(random_case.problem, random_case.machine, random_case.mapping);
    const std::string difference =
        Compare(random_case.problem, random_case.machine, random_case.mapping, walked, workspace);
    if (!difference.empty() && ++wrong <= 3) {
      ADD_FAILURE() << "case " << i << ", " << ToString(random_case.problem) << " machine "
                    << ToString(random_case.machine.bits) << "\n"
                    << difference;
    }
    if (!walked.error.empty() || !walked.rejection.empty()) continue;
    ++accepted;
    narrower +=
        Prepare(random_case.problem, random_case.machine, Semantics::kExact)->machine.plain ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0) << "of " << kCases;
  EXPECT_GE(accepted, kCases / 3);
  EXPECT_GE(narrower, accepted / 2);
}

Decimal Times(const Decimal& value, double factor) {
  return Decimal::FromDouble(value.ToDouble() * factor);
}

// A machine on which words do what elements of `factor` words do on the other one.
Hierarchy Scaled(Hierarchy machine, double factor) {
  for (MemoryLevel& level : machine.levels) {
    if (level.entries) {
      level.entries = static_cast<int64_t>(static_cast<double>(*level.entries) / factor);
    }
    for (const auto rate : {&MemoryLevel::read_words_per_cycle, &MemoryLevel::write_words_per_cycle,
                            &MemoryLevel::shared_words_per_cycle}) {
      if (level.*rate) level.*rate = Times(*(level.*rate), 1 / factor);
    }
    for (const auto energy :
         {&MemoryLevel::read_pj, &MemoryLevel::fill_pj, &MemoryLevel::update_pj}) {
      level.*energy = Times(level.*energy, factor);
    }
    for (const auto energy :
         {&LevelNetwork::hop_pj, &LevelNetwork::router_pj, &LevelNetwork::ingress_pj}) {
      level.network.*energy = Times(level.network.*energy, factor);
    }
  }
  return machine;
}

// The slow and obvious meaning of widths: elements of k words are words on a machine with a k-th of
// the room and of the bandwidth, at k times the energy. Powers of two, so that doubles are exact.
TEST(LoopnestWidths, OfAllTensorsAlikeAreAnotherMachine) {
  Workspace wide, scaled;
  int compared = 0;
  for (int i = 0; i < 800; ++i) {
    CounterRng rng(7, StreamId("loopnest.scaled"), static_cast<uint64_t>(i));
    RandomCase random_case = MakeRandomCase(rng, {.max_macs = 100});
    for (MemoryLevel& level : random_case.machine.levels) {
      level.word_bits = 16;
      if (level.entries) *level.entries *= 4;
    }
    for (const int32_t bits : {4, 8, 16, 32, 64}) {
      Hierarchy machine = random_case.machine;
      machine.bits = {.weights = bits, .inputs = bits, .outputs = bits};
      LoopProblem problem = random_case.problem;
      for (LoopTensor& tensor : problem.tensors) {
        if (tensor.role == TensorRole::kOther) tensor.bits = bits;
      }
      const Hierarchy other = Scaled(random_case.machine, bits / 16.0);
      const Result<loopnest::Setup> ours = Prepare(problem, machine, Semantics::kExact);
      const Result<loopnest::Setup> theirs = Prepare(random_case.problem, other, Semantics::kExact);
      ASSERT_EQ(static_cast<bool>(ours), static_cast<bool>(theirs));
      if (!ours) continue;
      Evaluate(*ours, random_case.mapping, wide);
      Evaluate(*theirs, random_case.mapping, scaled);
      if (wide.nest_error.kind != NestError::Kind::kNone) continue;
      ASSERT_EQ(wide.exact.status, scaled.exact.status) << i << " " << bits;
      if (wide.exact.status != ExactResult::Status::kOk) continue;
      ++compared;
      EXPECT_EQ(wide.exact.cycles, scaled.exact.cycles) << i << " " << bits;
      EXPECT_EQ(wide.exact.energy, scaled.exact.energy) << i << " " << bits;
    }
  }
  EXPECT_GT(compared, 1'000);
}

TEST(LoopnestWidths, NeedSemanticsExact) {
  const LoopProblem problem = *MakeLoopProblem("gemm", {{"M", 4}, {"N", 4}, {"K", 4}});
  Hierarchy machine;
  machine.levels = {{.name = "L1", .entries = 16}, {.name = "DRAM"}};
  machine.bits = {.weights = 8};
  EXPECT_FALSE(Prepare(problem, machine, Semantics::kTimeloop3));
  EXPECT_FALSE(Prepare(problem, machine, Semantics::kTimeloop4));
  EXPECT_TRUE(Prepare(problem, machine, Semantics::kExact));
  machine.bits = {.weights = 16, .inputs = 16, .outputs = 16};  // words
  EXPECT_TRUE(Prepare(problem, machine, Semantics::kTimeloop3));
}

}  // namespace
}  // namespace tessera
