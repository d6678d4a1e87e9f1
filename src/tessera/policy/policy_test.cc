// Games, agents and networks of policies.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/accelerator.h"
#include "tessera/base/temporary_folder.h"
#include "tessera/policy/game.h"
#include "tessera/policy/learn.h"
#include "tessera/policy/networks.h"
#include "tessera/policy/play.h"
#include "tessera/policy/shipped.h"
#include "tessera/space.h"

namespace tessera::policy {
namespace {

struct Case {
  std::string machine;
  Layer layer;
  bool bypass = true;
  std::string constraints = {};
  Objective objective = Objective::kEdp;
};

// Strides, primes, depthwise and products, with and without bypass, one with constraints.
std::vector<Case> Cases() {
  const Layer conv{.k = 64, .c = 24, .y = 57, .x = 57, .r = 3, .s = 3, .stride = {2, 2}};
  const Layer depthwise{.k = 96, .c = 96, .y = 30, .x = 30, .r = 3, .s = 3, .groups = 96};
  const Layer full{.type = LayerType::kFullyConnected, .n = 7, .k = 509, .c = 768};
  const Layer product{.type = LayerType::kMatmul, .h = 12, .m = 128, .n = 64, .k = 197};
  return {{"simple3", conv},
          {"eyeriss-256", conv},
          {"eyeriss-256", depthwise, false},
          {"tpu-128", full},
          {"nvdla", product},
          {"simba", depthwise},
          {"simple3", full, false},
          {"eyeriss-256", conv, true,
           "format: tessera-constraints-1\nrange: {K_GLB: {max: 8}, C_WeightRF: {min: 2}}\n"
           "order: {order_GLB: [[C, K]]}\n"}};
}

std::unique_ptr<MappingProblem> ProblemOf(const Case& c) {
  const Result<Accelerator> machine = LoadAccelerator(c.machine);
  const Result<CostModelChoice> model = ChooseCostModel("loopnest", {});
  MappingProblemOptions options{.objective = c.objective};
  options.space.decide_keep = c.bypass;
  if (!c.constraints.empty()) {
    options.space.constraints = *ParseConstraints(c.constraints, "test.yaml");
  }
  Result<std::unique_ptr<MappingProblem>> made =
      MappingProblem::Make(c.layer, *machine, *model, options);
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

std::unique_ptr<MappingProblem> MaestroProblemOf(const Layer& layer) {
  Result<std::unique_ptr<MappingProblem>> made =
      MappingProblem::Make(layer, *LoadAccelerator("maestro-256"), *ChooseCostModel("maestro", {}),
                           {.objective = Objective::kEdp});
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

Networks Untrained(const Game& game, uint64_t seed = 5) {
  return Networks(game.features(), {64, 64}, seed);
}

// Illegal values are masked, not repaired: whatever is drawn is legal as it is.
TEST(LoopGame, EveryDrawIsLegal) {
  for (const Case& c : Cases()) {
    const std::unique_ptr<MappingProblem> problem = ProblemOf(c);
    const std::unique_ptr<Game> game = MakeGame(*problem);
    ASSERT_NE(game, nullptr);
    const std::vector<Draft> drafts = Play(*game, Untrained(*game), {.count = 40, .seed = 3});
    std::set<size_t> different;
    for (const Draft& draft : drafts) {
      const Result<void> legal = problem->space().Check(draft.point);
      EXPECT_TRUE(legal) << c.machine << ": " << legal.error().message;
      EXPECT_TRUE(problem->Evaluate(draft.point).feasible());
      different.insert(PointHash()(draft.point));
    }
    EXPECT_GT(different.size(), 30u) << c.machine;
  }
}

// Every mapping of the space can come about, so that every label can be imitated; what makes no
// difference may come out in another way.
TEST(LoopGame, AnyLegalPointCanBePlayed) {
  for (const Case& c : Cases()) {
    if (!c.constraints.empty()) continue;  // A mask may leave out some there.
    const std::unique_ptr<MappingProblem> problem = ProblemOf(c);
    const std::unique_ptr<Game> game = MakeGame(*problem);
    CounterRng rng(7, 7);
    for (int i = 0; i < 30; ++i) {
      const Point target = problem->space().Sample(rng, 4);
      const std::unique_ptr<Episode> episode = game->Begin();
      Turn turn;
      while (episode->Next(turn)) {
        const size_t value = episode->Match(target);
        ASSERT_LT(value, turn.values) << c.machine << " " << problem->space().Describe(target);
        episode->Take(value);
      }
      EXPECT_EQ(problem->Evaluate(episode->point()).value, problem->Evaluate(target).value);
    }
  }
}

// Dataflows: legal in their space as they are drawn, and all that fit the memories within reach.
// The estimate that drafts are chosen by is near what they cost: windows, words that several units
// ask for and hops are counted, ragged windows and half-empty vectors are not.
TEST(LoopGame, EstimatesAreNearCosts) {
  std::vector<Case> cases = Cases();
  cases.push_back({"shidiannao", cases[0].layer});
  cases.push_back({"eyeriss-168", cases[2].layer});
  for (const Case& c : cases) {
    const std::unique_ptr<MappingProblem> problem = ProblemOf(c);
    const std::unique_ptr<Game> game = MakeGame(*problem);
    std::vector<double> off;
    for (const Draft& draft : Play(*game, Untrained(*game), {.count = 40, .seed = 3})) {
      const Outcome outcome = problem->Evaluate(draft.point);
      if (outcome.feasible()) off.push_back(std::log2(outcome.value) - draft.outline.front());
    }
    ASSERT_GE(off.size(), 30u) << c.machine;
    std::ranges::sort(off);
    const double middle = off[off.size() / 2];  // What is the same for all mappings of a layer.
    EXPECT_LT(off[off.size() - 4] - middle, 0.15) << c.machine << ' ' << ToString(c.layer);
    EXPECT_LT(middle - off[3], 0.15) << c.machine << ' ' << ToString(c.layer);
  }
}

TEST(MaestroGame, DrawsAreLegalAndAnyPointCanBePlayed) {
  const Layer conv{.k = 64, .c = 24, .y = 30, .x = 30, .r = 3, .s = 3};
  const Layer depthwise{.k = 96, .c = 96, .y = 30, .x = 30, .r = 3, .s = 3, .groups = 96};
  const Layer product{.type = LayerType::kMatmul, .m = 128, .n = 64, .k = 197};
  for (const Layer& layer : {conv, depthwise, product}) {
    const std::unique_ptr<MappingProblem> problem = MaestroProblemOf(layer);
    const MappingSpace& space = problem->space();
    const std::unique_ptr<Game> game = MakeGame(*problem);
    ASSERT_NE(game, nullptr);
    for (const Draft& draft : Play(*game, Untrained(*game), {.count = 30, .seed = 3})) {
      const Result<void> legal = space.Check(draft.point);
      EXPECT_TRUE(legal) << legal.error().message;
    }
    CounterRng rng(7, 7);
    for (int i = 0, played = 0; played < 30; ++i) {
      ASSERT_LT(i, 1000);
      const Point target = space.Sample(rng, 4);
      if (!problem->Evaluate(target).feasible()) continue;
      ++played;
      const std::unique_ptr<Episode> episode = game->Begin();
      Turn turn;
      while (episode->Next(turn)) {
        const size_t value = episode->Match(target);
        ASSERT_LT(value, turn.values) << space.Describe(target);
        episode->Take(value);
      }
      EXPECT_EQ(episode->point(), target) << space.Describe(target);
    }
  }
}

TEST(Actor, ProposesEachPointOnceAndTheFirstWhateverTheSeed) {
  const std::unique_ptr<MappingProblem> problem = ProblemOf(Cases()[1]);
  const std::unique_ptr<Game> game = MakeGame(*problem);
  const Networks networks = Untrained(*game);
  Actor one(*game, networks, 1), two(*game, networks, 2), again(*game, networks, 1);
  const std::vector<Point> a = one.Propose(20), b = two.Propose(20), c = again.Propose(20);
  EXPECT_EQ(a.size(), 20u);
  EXPECT_EQ(a.front(), b.front());
  EXPECT_EQ(a, c);
  EXPECT_NE(a, b);
  std::set<size_t> different;
  for (const Point& point : a) different.insert(PointHash()(point));
  for (const Point& point : one.Propose(20)) different.insert(PointHash()(point));
  EXPECT_EQ(different.size(), 40u);
}

// A run with more samples goes on from one with fewer, however many are asked for at a time, with
// either model; so does one whose space has no more of them.
TEST(Actor, MoreProposalsGoOnFromFewer) {
  constexpr int64_t kMost = 90;
  const auto check = [](const MappingProblem& problem, int64_t least) {
    const std::unique_ptr<Game> game = MakeGame(problem);
    const Networks networks = Untrained(*game);
    const ActorOptions options{.first = 32, .each = 4, .rethink = 2};
    const std::vector<Point> all = Actor(*game, networks, 1, options).Propose(kMost);
    EXPECT_GE(std::ssize(all), least);
    for (const int64_t k : {1, 2, 4, 5, 16, 17, 64, 65}) {
      const auto asked = std::min(k, std::ssize(all));
      const std::vector<Point> first = Actor(*game, networks, 1, options).Propose(k);
      EXPECT_EQ(first, std::vector<Point>(all.begin(), all.begin() + asked)) << k;
    }
    for (const int64_t batch : {1, 7}) {
      Actor actor(*game, networks, 1, options);
      std::vector<Point> some;
      for (std::vector<Point> more; std::ssize(some) < kMost;
           std::ranges::copy(more, std::back_inserter(some))) {
        more = actor.Propose(std::min(batch, kMost - std::ssize(some)));
        if (more.empty()) break;
      }
      EXPECT_EQ(some, all) << batch;
    }
  };
  check(*ProblemOf(Cases()[1]), kMost);
  const Layer conv{.k = 64, .c = 24, .y = 30, .x = 30, .r = 3, .s = 3};
  check(*MaestroProblemOf(conv), kMost);
  const Layer tiny{.type = LayerType::kFullyConnected, .n = 1, .k = 2, .c = 1};
  check(*ProblemOf({"simple3", tiny, false}), 2);
}

// Agents that think again change something, keep most of the rest, and stay legal.
TEST(Actor, ThinkingAgainStaysNearAndLegal) {
  for (const Case& c : Cases()) {
    const std::unique_ptr<MappingProblem> problem = ProblemOf(c);
    const std::unique_ptr<Game> game = MakeGame(*problem);
    const Networks networks = Untrained(*game);
    const std::vector<Draft> drafts = Play(*game, networks, {.count = 20, .seed = 3});
    std::vector<const Draft*> follow;
    for (const Draft& draft : drafts) follow.push_back(&draft);
    const std::vector<Draft> again =
        Play(*game, networks, {.count = 20, .seed = 3, .follow = follow});
    size_t changed = 0, kept = 0, all = 0;
    for (size_t i = 0; i < again.size(); ++i) {
      const Result<void> legal = problem->space().Check(again[i].point);
      ASSERT_TRUE(legal) << c.machine << ": " << legal.error().message;
      changed += again[i].point == drafts[i].point ? 0 : 1;
      for (size_t k = 0; k < problem->space().size(); ++k) {
        kept += again[i].point[k] == drafts[i].point[k] ? 1 : 0;
        ++all;
      }
    }
    EXPECT_GE(changed, 15u) << c.machine;
    EXPECT_GT(10 * kept, 7 * all) << c.machine;
  }
}

// Each objective has its own first proposal, which is the best of all by that one; also power,
// which agents never learn about.
TEST(Actor, ProposesForTheObjective) {
  std::vector<Objective> objectives = {Objective::kLatency, Objective::kEnergy, Objective::kEdp,
                                       Objective::kPower};
  for (const Case& c : {Cases()[0], Cases()[3]}) {
    std::vector<Cost> costs;
    for (const Objective objective : objectives) {
      Case own = c;
      own.objective = objective;
      const std::unique_ptr<MappingProblem> problem = ProblemOf(own);
      const std::unique_ptr<Game> game = MakeGame(*problem);
      const Point point = Actor(*game, Untrained(*game), 1).Propose(1).front();
      costs.push_back(problem->CostOf({.point = point, .outcome = problem->Evaluate(point)}));
    }
    for (size_t i = 0; i < objectives.size(); ++i) {
      for (const Cost& other : costs) {
        EXPECT_LE(ValueOf(costs[i], objectives[i]), 1.02 * ValueOf(other, objectives[i]))
            << c.machine << ' ' << i;
      }
    }
  }
}

// What it is for: the first proposal costs less. The margin is a fifth, in the geometric mean; with
// agents that know nothing it is a lot more.
TEST(Actor, ThinkingAgainPays) {
  double sum = 0;
  for (const Case& c : Cases()) {
    const std::unique_ptr<MappingProblem> problem = ProblemOf(c);
    const std::unique_ptr<Game> game = MakeGame(*problem);
    const Networks networks = Untrained(*game);
    const auto first = [&](int64_t rethink) {
      Actor actor(*game, networks, 1, {.first = 16, .rethink = rethink});
      return problem->Evaluate(actor.Propose(1).front()).value;
    };
    sum += std::log(first(12) / first(0));
  }
  EXPECT_LT(sum / static_cast<double>(Cases().size()), std::log(0.8));
}

// A file's sizes are no reason to take memory, or minutes to fill it.
TEST(Networks, SizesWithoutTheirArraysAreRefusedAtOnce) {
  const TemporaryFolder folder;
  constexpr int64_t kLayers = 8, kWidth = 4096;
  TensorWriter writer;
  writer.AddInt("policy.version", 1);
  writer.AddInt("policy.layers", kLayers);
  for (int64_t i = 1; i <= kLayers; ++i) {
    writer.AddInt("policy.hidden" + std::to_string(i), kWidth);
  }
  for (const std::string_view kind : kAgentNames) {
    writer.AddInt(std::string(kind) + ".features", kWidth);
  }
  ASSERT_TRUE(writer.Write(folder.File("p")));
  const std::clock_t begin = std::clock();
  const Result<Networks> loaded = Networks::Load(*TensorReader::Open(folder.File("p")));
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("keep.w1"), std::string::npos) << loaded.error().message;
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 1);
}

TEST(Student, LearnsTheSameOnAnyNumberOfThreads) {
  const std::unique_ptr<MappingProblem> problem = ProblemOf(Cases()[0]);
  const std::unique_ptr<Game> game = MakeGame(*problem);
  CounterRng rng(1, 1);
  Lessons lessons;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(Imitate(*game, problem->space().Sample(rng, 4), 1, lessons));
  }
  std::vector<std::vector<float>> parameters;
  for (const int threads : {1, 3}) {
    Networks networks = Untrained(*game);
    Student student(networks, 3e-3);
    ThreadPool pool(threads);
    const double before =
        student.Learn(lessons, 0, pool)->at(static_cast<size_t>(AgentKind::kTile));
    double after = before;
    for (int i = 0; i < 60; ++i) {
      after = student.Learn(lessons, 0, pool)->at(static_cast<size_t>(AgentKind::kTile));
    }
    EXPECT_LT(after, 0.8 * before);
    const auto tile = networks.parameters(AgentKind::kTile);
    parameters.emplace_back(tile.begin(), tile.end());
  }
  EXPECT_EQ(parameters[0], parameters[1]);
}

TEST(Networks, ComeBackFromTheirFile) {
  const std::unique_ptr<MappingProblem> problem = ProblemOf(Cases()[0]);
  const std::unique_ptr<Game> game = MakeGame(*problem);
  const Networks networks = Untrained(*game);
  const TemporaryFolder folder;
  TensorWriter writer;
  networks.Save(writer);
  ASSERT_TRUE(writer.Write(folder.File("p.safetensors")));
  const auto read = LoadPolicy(folder.File("p.safetensors"), "loopnest");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(Play(*game, **read, {.count = 3}).back().point,
            Play(*game, networks, {.count = 3}).back().point);
  TensorWriter other;
  other.AddInt("something", 1);
  ASSERT_TRUE(other.Write(folder.File("o.safetensors")));
  EXPECT_EQ(LoadPolicy(folder.File("o.safetensors"), "loopnest").error().message,
            "the file holds no policy");
}

TEST(Shipped, PoliciesLoadAndSayWhereTheyComeFrom) {
  ASSERT_FALSE(ShippedPolicies().empty());
  for (const ShippedPolicy& policy : ShippedPolicies()) {
    EXPECT_TRUE(LoadPolicy(policy.name, policy.model)) << policy.name;
    ASSERT_NE(DefaultPolicy(policy.model), nullptr) << policy.name;
    EXPECT_EQ(DefaultPolicy(policy.model)->name, policy.name);
    EXPECT_EQ(policy.data_hash.size(), 64u) << policy.name;
    EXPECT_NE(policy.command.find("tessera train --env mapping --curriculum"), std::string::npos);
    EXPECT_FALSE(policy.summary.empty());
    EXPECT_LT(policy.bytes.size(), 4u << 20);
  }
}

}  // namespace
}  // namespace tessera::policy
