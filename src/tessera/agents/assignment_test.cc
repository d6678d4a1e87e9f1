// Algorithm 1 from trials to agents, and assignments that go to a file and to another layer.
#include "tessera/agents/assignment.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using DecisionLists = std::vector<std::vector<size_t>>;

DecisionSpace FourDecisions() {
  return DecisionSpace({Decision::Ordinal("k", {1, 2, 3, 4}), Decision::Ordinal("c", {1, 2, 3, 4}),
                        Decision::Ordinal("y", {1, 2, 3, 4}),
                        Decision::Ordinal("x", {1, 2, 3, 4})});
}

// k and c move together, y and x do as they like.
std::vector<Trial> CorrelatedTrials() {
  std::vector<Trial> trials;
  for (uint64_t i = 0; i < 400; ++i) {
    CounterRng rng(1, 2, i);
    Point point(4);
    point[0] = static_cast<int32_t>(rng.UniformInt(4));
    point[1] = point[0];
    point[2] = static_cast<int32_t>(rng.UniformInt(4));
    point[3] = static_cast<int32_t>(rng.UniformInt(4));
    trials.push_back({point, {.kind = OutcomeKind::kFeasible, .value = 1 + rng.Uniform()}});
  }
  return trials;
}

TEST(AssignAgents, PutsCorrelatedDecisionsTogether) {
  const DecisionSpace space = FourDecisions();
  for (const Linkage linkage :
       {Linkage::kSingle, Linkage::kComplete, Linkage::kAverage, Linkage::kWard}) {
    for (const auto distance : {CorrelationDistance::kRows, CorrelationDistance::kOneMinusR}) {
      const auto study = AssignAgents(space, CorrelatedTrials(),
                                      {.distance = distance, .linkage = linkage, .agents = 3});
      ASSERT_TRUE(study) << study.error();
      EXPECT_EQ(study->assignment, (Assignment{{{"k", "c"}, {"y"}, {"x"}}}));
    }
  }
}

TEST(AssignAgents, CutsByThreshold) {
  const DecisionSpace space = FourDecisions();
  const auto at = [&](double threshold) {
    return AssignAgents(space, CorrelatedTrials(), {.threshold = threshold})
        ->assignment.agents.size();
  };
  EXPECT_EQ(at(100), 1u);
  EXPECT_EQ(at(0.5), 3u);
}

TEST(AssignAgents, RefusesMoreAgentsThanDecisions) {
  const auto study = AssignAgents(FourDecisions(), CorrelatedTrials(), {.agents = 5});
  EXPECT_EQ(ToString(study.error()),
            "5 agents for 4 decisions with a choice: an agent must have at least one");
}

TEST(AssignAgents, SeesChoicesOnly) {
  const DecisionSpace space({Decision::Ordinal("k", {1, 2, 3, 4}), Decision::Ordinal("g", {7}),
                             Decision::Ordinal("c", {1, 2, 3, 4})});
  std::vector<Trial> trials;
  for (const Trial& trial : CorrelatedTrials()) {
    Point point(3);
    point[0] = trial.point[0];
    point[2] = trial.point[2];
    trials.push_back({point, trial.outcome});
  }
  const auto study = AssignAgents(space, trials, {.agents = 2});
  ASSERT_TRUE(study) << study.error();
  EXPECT_EQ(study->assignment, (Assignment{{{"k"}, {"c"}}}));
  EXPECT_EQ(study->matrix.constant, std::vector<std::string>{"g"});
  EXPECT_FALSE(AssignAgents(space, trials, {.agents = 3}));
  EXPECT_EQ(AgentPerDecision(space).agents.size(), 2u);
  const AppliedAssignment applied = Apply({{{"g"}, {"k", "g"}}}, space);
  EXPECT_EQ(applied.agents, (DecisionLists{{0}, {2}}));
  EXPECT_EQ(applied.added, std::vector<std::string>{"c"});
}

TEST(Assignment, AppliesToOtherSpaces) {
  const DecisionSpace space = FourDecisions();
  const AppliedAssignment applied = Apply({{{"k", "g"}, {"m"}, {"x", "c"}}}, space);
  EXPECT_EQ(applied.agents, (std::vector<std::vector<size_t>>{{0}, {3, 1}, {2}}));
  EXPECT_EQ(applied.added, std::vector<std::string>{"y"});
  EXPECT_EQ(applied.unused, (std::vector<std::string>{"g", "m"}));
  EXPECT_EQ(Apply({{{"k", "c", "x", "y"}}}, space).agents.size(), 1u);
  EXPECT_EQ(Apply(AgentPerDecision(space), space).agents.size(), 4u);
}

TEST(Assignment, SurvivesItsFile) {
  const Assignment assignment{{{"k_l2", "c_l2"}, {"order_l2"}}};
  const Result<Assignment> read = ParseAssignment(ToJsonText(assignment), "a.json");
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(*read, assignment);
}

std::string MessageOf(const std::string& text) {
  const Result<Assignment> read = ParseAssignment(text, "a.json");
  return read ? "no error" : ToString(read.error());
}

TEST(Assignment, SaysWhatIsWrongWithAFile) {
  EXPECT_EQ(MessageOf(R"({"format": "tessera-assignment-1", "agents": [["k"], ["k"]]})"),
            "a.json:1:55: decision 'k' has two agents");
  EXPECT_EQ(MessageOf(R"({"format": "x", "agents": []})"),
            "a.json:1:12: unknown format 'x'; this version reads tessera-assignment-1");
  EXPECT_EQ(MessageOf(R"({"format": "tessera-assignment-1", "agents": [[]]})"),
            "a.json:1:47: an agent must be a list of decisions");
  EXPECT_EQ(MessageOf(R"({"format": "tessera-assignment-1", "agents": 7})"),
            "a.json:1:46: agents must be a list of lists");
}

}  // namespace
}  // namespace tessera
