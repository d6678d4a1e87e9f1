// The particle worlds: random streams against NumPy's published values, forces and skipped contacts
// against the plain formula, prey controllers, bad episodes.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/env.h"
#include "tessera/env/mpe/mpe_env.h"
#include "tessera/env/mpe/numpy_random.h"
#include "tessera/env/mpe/render.h"
#include "tessera/part.h"

namespace tessera {
namespace {

TEST(NumpyRandom, Mt19937DrawsWhatNumpyDraws) {
  NumpyMt19937 random(0);  // numpy.random.seed(0); numpy.random.random_sample(3)
  EXPECT_EQ(random.Uniform(0, 1), 0.5488135039273248);
  EXPECT_EQ(random.Uniform(0, 1), 0.7151893663724195);
  EXPECT_EQ(random.Uniform(0, 1), 0.6027633760716439);
}

TEST(NumpyRandom, Pcg64DrawsWhatNumpyDraws) {
  NumpyPcg64 random(12345);  // numpy.random.default_rng(12345).random(3)
  EXPECT_EQ(random.Uniform(0, 1), 0.22733602246716966);
  EXPECT_EQ(random.Uniform(0, 1), 0.31675833970975287);
  EXPECT_EQ(random.Uniform(0, 1), 0.7973654573327341);
}

// Physics with every contact computed, however far.
void PlainStep(const MpeWorld& world, std::vector<double> forces, MpeState s) {
  const int64_t agents = world.agents();
  const auto contact = [&](int64_t a, const double* b, double reach, double sign, int64_t to) {
    const double dx = s.positions[2 * a] - b[0], dy = s.positions[2 * a + 1] - b[1];
    const double distance = std::sqrt(dx * dx + dy * dy);
    const double y = -(distance - reach) / 0.001;
    const double penetration =
        (y > 0 ? y + std::log1p(std::exp(-y)) : std::log1p(std::exp(y))) * 0.001;
    forces[static_cast<size_t>(2 * to)] += sign * (100 * dx / distance * penetration);
    forces[static_cast<size_t>(2 * to + 1)] += sign * (100 * dy / distance * penetration);
  };
  for (int64_t a = 0; a < agents; ++a) {
    for (int64_t b = a + 1; b < agents; ++b) {
      const double reach = world.size(a) + world.size(b);
      contact(a, s.positions + 2 * b, reach, 1, a);
      contact(a, s.positions + 2 * b, reach, -1, b);
    }
    for (int64_t l = 0; world.landmarks_collide() && l < world.landmarks; ++l) {
      contact(a, s.landmarks + 2 * l, world.size(a) + world.landmark_size(), 1, a);
    }
  }
  for (int64_t i = 0; i < 2 * agents; ++i) {
    s.velocities[i] = s.velocities[i] * 0.75 + forces[static_cast<size_t>(i)] * 0.1;
  }
  for (int64_t a = 0; a < agents; ++a) {
    double* const v = s.velocities + 2 * a;
    const double cap = world.max_speed(a), speed = std::sqrt(v[0] * v[0] + v[1] * v[1]);
    for (int d = 0; d < 2; ++d) {
      if (cap > 0 && speed > cap) v[d] = v[d] / speed * cap;
      s.positions[2 * a + d] += v[d] * 0.1;
    }
  }
}

TEST(World, SkippedContactsChangeNoBit) {
  for (const MpeScenario scenario : {MpeScenario::kPredatorPrey, MpeScenario::kNavigation}) {
    const MpeWorld world{.scenario = scenario, .predators = 6, .prey = 2, .landmarks = 3};
    const size_t size = static_cast<size_t>(2 * world.agents());
    CounterRng rng(/*seed=*/1, /*stream=*/1);
    for (int trial = 0; trial < 3000; ++trial) {
      // Crowded worlds with all kinds of forces: none, tiny and usual ones.
      std::vector<double> p(size), v(size), l(6), f(size);
      for (double& x : p) x = 0.4 * rng.Normal();
      for (double& x : v) x = rng.Normal();
      for (double& x : l) x = rng.Normal();
      for (double& x : f) x = rng.Normal() * std::pow(10.0, -4.0 * (trial % 6)) * (trial % 7 != 0);
      std::vector<double> p2 = p, v2 = v;
      PlainStep(world, f, {p2.data(), v2.data(), l.data()});
      StepWorld(world, f.data(), {p.data(), v.data(), l.data()});
      ASSERT_EQ(p, p2) << "trial " << trial;
      ASSERT_EQ(v, v2) << "trial " << trial;
    }
  }
}

TEST(World, VectorsAndChoicesPushInTheirDirections) {
  MpeWorld world;
  const float right[] = {0, 1, 0, 0, 0};
  double force[2];
  DecodeVector(world, 0, std::span<const float>(right), force);
  EXPECT_EQ(force[0], 3.0);  // openai: index 1 is +x
  world.compat = MpeCompat::kMpe2;
  DecodeVector(world, 0, std::span<const float>(right), force);
  EXPECT_EQ(force[0], -3.0);
  const float wild[] = {0, -5, 7, 0.25f, 2};
  DecodeVector(world, 3, std::span<const float>(wild), force);
  EXPECT_EQ(force[0], 4.0);  // clipped to 0..1
  EXPECT_EQ(force[1], 3.0);
  for (const MpeCompat compat : {MpeCompat::kOpenai, MpeCompat::kMpe2}) {
    world.compat = compat;
    DecodeChoice(world, 0, 2, force);
    EXPECT_EQ(force[0], 3.0);
    DecodeChoice(world, 0, 3, force);
    EXPECT_EQ(force[1], -3.0);
  }
}

TEST(Prey, FleesFromTheNearestPredatorAndTheWalls) {
  const MpeWorld world{.predators = 2, .prey = 1, .landmarks = 0};
  double p[] = {0, 0, 5, 5, 0.3, 0.4}, v[6] = {};
  const PreyController& flee = **FindPreyController("flee");
  CounterRng rng(1, 1);
  double force[2];
  flee.force(world, {p, v, nullptr}, 2, rng, force);
  EXPECT_NEAR(force[0], 0.6, 1e-12);
  EXPECT_NEAR(force[1], 0.8, 1e-12);
  p[4] = 0.95;  // near the right wall: minus two in x, clipped
  flee.force(world, {p, v, nullptr}, 2, rng, force);
  EXPECT_EQ(force[0], -1.0);
}

TEST(Prey, WayPointsAvoidPredators) {
  const MpeWorld world{.predators = 1, .prey = 1, .landmarks = 0};
  double p[] = {0.5, 0, 0, 0}, v[4] = {};
  for (const char* name : {"waypoints-min", "waypoints-sum"}) {
    CounterRng rng(1, 1);
    double force[2];
    (*FindPreyController(name))->force(world, {p, v, nullptr}, 1, rng, force);
    EXPECT_LT(force[0], -0.5) << name;  // the predator is on the right
    EXPECT_LE(std::hypot(force[0], force[1]), 1.0);
  }
  EXPECT_EQ(ToString(FindPreyController("fle").error()),
            "unknown prey controller 'fle'; did you mean 'flee'?");
}

TEST(Episode, CountsThatTheStartTellsNeedNotBeGiven) {
  const std::string start =
      R"("pos": [[0, 0], [0.5, 1]], "lm": [[1, 0]], "steps": [{"a": [1, 4]}]})";
  const auto steps = [](const std::string& line) {
    const Result<std::string> replayed = ReplayEpisode(line, {.file = "e.jsonl", .line = 1});
    return replayed.ok() ? replayed->substr(replayed->find("\"steps\""))
                         : ToString(replayed.error());
  };
  const std::string scenario = R"({"scenario": "cooperative_navigation", )";
  EXPECT_EQ(steps(scenario + start), steps(scenario + R"("agents": 2, "landmarks": 1, )" + start));
  EXPECT_EQ(steps(R"({"scenario": "predator_prey", "prey": 1, )" + start),
            "e.jsonl:1: key 'predators' is missing");
  std::string many = "[0, 0]";
  for (int i = 0; i < 10'000; ++i) many += ", [0, 0]";
  EXPECT_EQ(steps(scenario + R"("pos": [)" + many + R"(], "lm": [], "steps": []})"),
            "e.jsonl:1: 'agents' is '10001', not a count of 0..10000");
}

TEST(Episode, BadLinesAreErrorsWithTheirPlace) {
  const auto error = [](std::string_view line) {
    const Result<std::string> replayed = ReplayEpisode(line, {.file = "e.jsonl", .line = 3});
    return replayed.ok() ? "accepted" : ToString(replayed.error());
  };
  EXPECT_EQ(error("[1]"), "e.jsonl:3: not a JSON object");
  EXPECT_EQ(error("{\"scenario\": \"tag\"}"),
            "e.jsonl:3: unknown scenario 'tag'; known ones are predator_prey and "
            "cooperative_navigation");
  const std::string head =
      R"({"scenario": "cooperative_navigation", "agents": 1, "landmarks": 1, )";
  EXPECT_EQ(error(head + R"("steps": []})"),
            "e.jsonl:3: no start: neither 'pos' and 'lm' nor a 'seed'");
  EXPECT_EQ(error(head + R"("seed": 1, "steps": [{"a": [7]}]})"),
            "e.jsonl:3: action 7 of agent 0 in step 0 is outside 0..4");
  EXPECT_EQ(
      error(head + R"("seed": 1, "steps": [{"a": [[1, 2]]}]})"),
      "e.jsonl:3: action '[1,2]' of agent 0 in step 0 is neither an integer nor five numbers");
  EXPECT_EQ(error(head + R"("pos": [[0, 0], [1, 1]], "lm": [[0, 0]], "steps": []})"),
            "e.jsonl:3: 'pos' must hold 1 points");
  EXPECT_EQ(error(head + R"("compat": 3, "steps": []})"), "e.jsonl:3: 'compat' must be text");
  EXPECT_EQ(error(R"({"scenario": "predator_prey", "predators": -1})"),
            "e.jsonl:3: 'predators' is '-1', not a count of 0..10000");
  EXPECT_EQ(error(R"({"scenario": "predator_prey", "predators": 2, "prey": 1, "agents": 4,)"
                  R"( "landmarks": 0})"),
            "e.jsonl:3: 'agents' is '4', but predators and prey are 3");
  EXPECT_EQ(error(head + R"("local_ratio": "half"})"),
            "e.jsonl:3: 'local_ratio' is '\"half\"', not a number");
  EXPECT_EQ(error(head + R"("local_ratio": 2})"), "e.jsonl:3: local_ratio 2 is outside 0..1");
  EXPECT_EQ(error(head + R"("seed": 4294967296, "steps": []})"),
            "e.jsonl:3: 'seed' is '4294967296', not an integer of 0..4294967295");
  EXPECT_EQ(error(head + R"("seed": -1, "compat": "mpe2", "steps": []})"),
            "e.jsonl:3: 'seed' is '-1', not an integer of 0..18446744073709551615");
  EXPECT_EQ(error(head + R"("seed": 1, "steps": [{"a": []}]})"),
            "e.jsonl:3: step 0 must have actions of 1 agents");
  EXPECT_EQ(error(head + R"("seed": 1, "steps": [{}]})"), "e.jsonl:3: step 0 has no actions 'a'");
}

TEST(Render, ShowsWhoIsWhere) {
  MpeEpisode episode;
  episode.world = {.predators = 1, .prey = 1, .landmarks = 1};
  double p[] = {-1.0, 0.95, 0.9, -0.9}, v[4] = {}, l[] = {0.0, 0.0};
  episode.Add({p, v, l}, 0);
  p[0] = 5.0;  // far outside: shown at the border
  episode.Add({p, v, l}, 10);
  const std::string text = RenderText(episode, 1, 24, 12);
  EXPECT_EQ(text,
            "+------------------------+\n"
            "|                        |\n"
            "|                       A|\n"
            "|                        |\n"
            "|                        |\n"
            "|                        |\n"
            "|          ####          |\n"
            "|          ####          |\n"
            "|                        |\n"
            "|                        |\n"
            "|                        |\n"
            "|                     o  |\n"
            "|                        |\n"
            "+------------------------+\n"
            "step 1, team reward 10.000\n");
  const std::string svg = RenderSvg(episode);
  EXPECT_TRUE(svg.starts_with("<svg xmlns=")) << svg;
  EXPECT_NE(svg.find("values=\"-1.0000;5.0000\""), std::string::npos);
}

}  // namespace
}  // namespace tessera
