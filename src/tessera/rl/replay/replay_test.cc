// Replay: all layouts hold the same transitions as a plain list, batches are those transitions,
// samplers keep their contract and their distributions.
#include <cmath>
#include <deque>
#include <filesystem>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "tessera/base/temporary_folder.h"
#include "tessera/part.h"
#include "tessera/rl/replay/buffer.h"
#include "tessera/rl/replay/sampler.h"
#include "tessera/rl/replay/sum_tree.h"

namespace tessera {
namespace {

// Two agents whose observations are the state's halves, so that all layouts apply.
EnvSpec ExampleSpec() {
  EnvSpec spec;
  spec.name = "example";
  spec.horizon = 7;
  spec.state_size = 5;
  spec.agents.push_back({"a", 3, {ActionKind::kSoftChoice, 2}});
  spec.agents.push_back({"b", 2, {ActionKind::kSoftChoice, 3}});
  spec.observation_maps.push_back({3, {{0, 0, 1.0f}, {1, 1, 1.0f}, {2, 2, 1.0f}}});
  spec.observation_maps.push_back({2, {{0, 3, 1.0f}, {1, 4, 1.0f}}});
  return spec;
}

struct PlainTransition {
  std::vector<float> now, actions, rewards, next;
  EpisodeEnd end;
};

// Steps a made-up environment: values say where they come from.
class Feeder {
 public:
  Feeder(ReplayBuffer& buffer, int64_t lanes)
      : buffer_(buffer), steps_(static_cast<size_t>(lanes)) {}

  void Step(int64_t lane, Sampler* sampler = nullptr) {
    int64_t& step = steps_[static_cast<size_t>(lane)];
    PlainTransition t;
    // Lanes have episodes of different lengths, some shorter than the horizon.
    const bool ends = (step + 1) % (7 - lane) == 0;
    t.end = !ends           ? EpisodeEnd::kNone
            : step % 2 == 0 ? EpisodeEnd::kTerminated
                            : EpisodeEnd::kTruncated;
    const float id = static_cast<float>(1000 * lane + step);
    const float next_id = ends ? id + 0.5f : id + 1;
    for (int i = 0; i < 5; ++i) {
      t.now.push_back(id + 0.01f * static_cast<float>(i));
      t.next.push_back(next_id + 0.01f * static_cast<float>(i));
      t.actions.push_back(id + 0.1f * static_cast<float>(i + 1));
    }
    t.rewards = {id, -id};
    std::vector<int64_t> dropped;
    const int64_t slot =
        buffer_.Append(lane, {t.now, t.now, t.actions, t.rewards, t.next, t.next, t.end}, &dropped);
    if (sampler != nullptr) {
      sampler->Dropped(dropped);
      sampler->Added(slot);
    }
    for (const int64_t old : dropped) held.erase(old);
    held[slot] = t;
    order.push_back(slot);
    ++step;
  }

  std::map<int64_t, PlainTransition> held;  // by slot
  std::deque<int64_t> order;

 private:
  ReplayBuffer& buffer_;
  std::vector<int64_t> steps_;
};

class LayoutTest : public testing::TestWithParam<ReplayLayout> {};

void ExpectBatchInOrder(const ReplayBuffer& buffer, const Feeder& feeder, int64_t agent,
                        FeatureBatch::Order order) {
  ReplayBatch batch(buffer.layout(), 400, order);
  for (const auto& [slot, transition] : feeder.held) batch.slots.push_back(slot);
  batch.SetRows();
  for (int64_t b = 0; b < batch.now.blocks(); ++b) buffer.GatherBlock(b, agent, batch);
  for (int64_t r = 0; r < batch.rows(); ++r) {
    const PlainTransition& t = feeder.held.at(batch.slots[static_cast<size_t>(r)]);
    for (int64_t i = 0; i < 5; ++i) {
      const size_t at = static_cast<size_t>(i);
      ASSERT_EQ(batch.now.Get(r, i), t.now[at]);
      ASSERT_EQ(batch.next.Get(r, i), t.next[at]);
      ASSERT_EQ(batch.now.Get(r, 5 + i), t.actions[at]);
    }
    ASSERT_EQ(batch.rewards.Get(r, 0), t.rewards[static_cast<size_t>(agent)]);
    ASSERT_EQ(batch.live.Get(r, 0), t.end == EpisodeEnd::kTerminated ? 0.0f : 1.0f);
  }
}

void ExpectBatch(const ReplayBuffer& buffer, const Feeder& feeder, int64_t agent) {
  ExpectBatchInOrder(buffer, feeder, agent, FeatureBatch::Order::kByFeature);
  ExpectBatchInOrder(buffer, feeder, agent, FeatureBatch::Order::kByRow);
}

TEST_P(LayoutTest, HoldsTheNewestTransitions) {
  for (const int64_t lanes : {1, 3}) {
    Result<std::unique_ptr<ReplayBuffer>> buffer =
        MakeReplayBuffer(GetParam(), ExampleSpec(), 60, lanes);
    ASSERT_TRUE(buffer.ok()) << buffer.error();
    Feeder feeder(**buffer, lanes);
    for (int64_t step = 0; step < 400; ++step) {
      for (int64_t lane = 0; lane < lanes; ++lane) feeder.Step(lane);
      ASSERT_EQ((*buffer)->size(), std::ssize(feeder.held));
      ASSERT_LE((*buffer)->size(), 60);
      if (step == 10 || step == 61 || step == 399) ExpectBatch(**buffer, feeder, step % 2);
    }
    for (int64_t slot = 0; slot < std::ssize((*buffer)->kinds()); ++slot) {
      EXPECT_EQ((*buffer)->kinds()[static_cast<size_t>(slot)] != SlotKind::kEmpty,
                feeder.held.contains(slot));
    }
    EXPECT_EQ((*buffer)->newest(lanes - 1), feeder.order.back());
    if (lanes > 1) continue;
    EXPECT_EQ((*buffer)->size(), 60) << "episodes have the horizon's length";
  }
}

TEST_P(LayoutTest, ResumesWhereItWasSaved) {
  const TemporaryFolder folder;
  const std::string path = folder.File("replay.safetensors");
  Result<std::unique_ptr<ReplayBuffer>> buffer = MakeReplayBuffer(GetParam(), ExampleSpec(), 40, 2);
  Result<std::unique_ptr<ReplayBuffer>> copy = MakeReplayBuffer(GetParam(), ExampleSpec(), 40, 2);
  Feeder feeder(**buffer, 2);
  for (int64_t step = 0; step < 53; ++step) feeder.Step(step % 2);
  TensorWriter writer;
  (*buffer)->Save("replay.", writer);
  ASSERT_TRUE(writer.Write(path).ok());
  const Result<TensorReader> reader = TensorReader::Open(path);
  ASSERT_TRUE(reader.ok()) << reader.error();
  const Result<void> loaded = (*copy)->Load("replay.", *reader);
  ASSERT_TRUE(loaded.ok()) << loaded.error();
  ExpectBatch(**copy, feeder, 0);
  Result<std::unique_ptr<ReplayBuffer>> other = MakeReplayBuffer(GetParam(), ExampleSpec(), 20, 2);
  EXPECT_FALSE((*other)->Load("replay.", *reader).ok()) << "of another capacity";
}

TEST_P(LayoutTest, SavesWhatItHoldsAndNotItsCapacity) {
  const TemporaryFolder folder;
  const std::string path = folder.File("replay.safetensors");
  const Result<std::unique_ptr<ReplayBuffer>> buffer =
      MakeReplayBuffer(GetParam(), ExampleSpec(), 100'000, 2);
  ASSERT_TRUE(buffer.ok()) << buffer.error();
  Feeder feeder(**buffer, 2);
  for (int64_t step = 0; step < 7; ++step) feeder.Step(0);
  TensorWriter writer;
  (*buffer)->Save("replay.", writer);
  ASSERT_TRUE(writer.Write(path).ok());
  EXPECT_LT(std::filesystem::file_size(path), 10'000u);

  const Result<TensorReader> reader = TensorReader::Open(path);
  const Result<std::unique_ptr<ReplayBuffer>> copy =
      MakeReplayBuffer(GetParam(), ExampleSpec(), 100'000, 2);
  const Result<void> loaded = (*copy)->Load("replay.", *reader);
  ASSERT_TRUE(loaded.ok()) << loaded.error();
  ExpectBatch(**copy, feeder, 1);
}

INSTANTIATE_TEST_SUITE_P(All, LayoutTest,
                         testing::Values(ReplayLayout::kJoint, ReplayLayout::kCompact,
                                         ReplayLayout::kPerAgent),
                         [](const auto& test) {
                           return std::string(kReplayLayoutNames[static_cast<size_t>(test.param)]);
                         });

TEST(ReplayBuffer, ImpossibleSizesAreErrors) {
  const auto message = [](ReplayLayout layout, EnvSpec spec, int64_t capacity) {
    return ToString(MakeReplayBuffer(layout, spec, capacity, 1).error());
  };
  EXPECT_EQ(message(ReplayLayout::kJoint, ExampleSpec(), 0),
            "replay of 0 transitions for 1 environments: each needs at least one");
  EnvSpec plain = ExampleSpec();
  plain.observation_maps.clear();
  EXPECT_EQ(message(ReplayLayout::kCompact, plain, 10),
            "environment example has no compact state; take the joint layout");
  EXPECT_NE(message(ReplayLayout::kJoint, ExampleSpec(), int64_t{1} << 40).find("GiB of memory"),
            std::string::npos);
  EXPECT_EQ(ToString(ParseReplayLayout("compct").error()),
            "unknown replay layout 'compct'; did you mean 'compact'?");
}

class SamplerTest : public testing::TestWithParam<const SamplerInfo*> {};

TEST_P(SamplerTest, PicksTransitionsAndIsDeterministic) {
  for (const ReplayLayout layout : {ReplayLayout::kJoint, ReplayLayout::kPerAgent}) {
    const auto play = [&] {
      std::vector<int64_t> trace;
      Result<std::unique_ptr<ReplayBuffer>> buffer =
          MakeReplayBuffer(layout, ExampleSpec(), 100, 2);
      Result<std::unique_ptr<Sampler>> sampler =
          GetParam()->make({}, std::ssize((*buffer)->kinds()));
      EXPECT_TRUE(sampler.ok()) << sampler.error();
      Feeder feeder(**buffer, 2);
      std::vector<int64_t> slots;
      std::vector<float> weights;
      for (int64_t step = 0; step < 160; ++step) {
        feeder.Step(step % 2, sampler->get());
        (*sampler)->Sample(**buffer,
                           {.rows = 32,
                            .seed = 3,
                            .round = static_cast<uint64_t>(step),
                            .trainer = static_cast<uint64_t>(step % 3)},
                           slots, weights);
        EXPECT_GE(std::ssize(slots), 32);
        EXPECT_LE(std::ssize(slots), 32 + (*sampler)->surplus());
        EXPECT_EQ(slots.size(), weights.size());
        std::vector<float> errors;
        for (size_t i = 0; i < slots.size(); ++i) {
          EXPECT_TRUE(feeder.held.contains(slots[i])) << GetParam()->name << " " << slots[i];
          EXPECT_GT(weights[i], 0.0f);
          errors.push_back(0.1f * static_cast<float>(slots[i] % 7));
        }
        (*sampler)->Observe(slots, errors);
        trace.insert(trace.end(), slots.begin(), slots.end());
      }
      return trace;
    };
    EXPECT_EQ(play(), play());
  }
}

INSTANTIATE_TEST_SUITE_P(All, SamplerTest, testing::ValuesIn(Samplers().begin(), Samplers().end()),
                         [](const auto& test) {
                           std::string name(test.param->name);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// How often each held transition is picked, relative to the uniform share.
std::map<int64_t, double> Frequencies(const char* name, const Assignments& assignments,
                                      std::vector<int64_t>* first_batch = nullptr) {
  Result<std::unique_ptr<ReplayBuffer>> buffer =
      MakeReplayBuffer(ReplayLayout::kJoint, ExampleSpec(), 70, 1);
  Result<std::unique_ptr<Sampler>> sampler =
      (*FindSampler(name))->make(assignments, std::ssize((*buffer)->kinds()));
  EXPECT_TRUE(sampler.ok()) << sampler.error();
  Feeder feeder(**buffer, 1);
  for (int64_t step = 0; step < 70; ++step) feeder.Step(0, sampler->get());
  std::map<int64_t, double> counts;
  std::vector<int64_t> slots;
  std::vector<float> weights;
  for (uint64_t round = 0; round < 400; ++round) {
    (*sampler)->Sample(**buffer, {.rows = 60, .seed = 1, .round = round}, slots, weights);
    if (round == 0 && first_batch != nullptr) *first_batch = slots;
    for (const int64_t slot : slots)
      counts[slot] += 70.0 / (400.0 * static_cast<double>(slots.size()));
  }
  EXPECT_EQ(counts.size(), 70u);
  return counts;
}

TEST(Samplers, UniformIsUniform) {
  for (const auto& [slot, frequency] : Frequencies("uniform", {})) {
    EXPECT_NEAR(frequency, 1.0, 0.2) << slot;
  }
}

TEST(Samplers, NeighborTakesWindowsWithoutTheirCentre) {
  std::vector<int64_t> batch;
  const std::map<int64_t, double> frequencies = Frequencies("neighbor", {}, &batch);
  EXPECT_GE(batch.size(), 60u);
  for (const auto& [slot, frequency] : frequencies) EXPECT_GT(frequency, 0.4) << slot;
  EXPECT_LT(frequencies.begin()->second, 0.75) << "the first has neighbours on one side only";
  std::vector<int64_t> exact;
  Frequencies("neighbor", {{"truncate", "true"}}, &exact);
  EXPECT_EQ(exact.size(), 60u);
  for (const auto& [slot, frequency] : Frequencies("neighbor", {{"wrap", "true"}})) {
    EXPECT_NEAR(frequency, 1.0, 0.3) << slot;
  }
}

TEST(Samplers, NeighborsFollowTheirRules) {
  Result<std::unique_ptr<ReplayBuffer>> buffer =
      MakeReplayBuffer(ReplayLayout::kJoint, ExampleSpec(), 70, 1);
  Feeder feeder(**buffer, 1);
  for (int64_t step = 0; step < 20; ++step) feeder.Step(0);
  const std::deque<int64_t>& at = feeder.order;  // slots in time order; episodes of 7
  const auto around = [&](size_t index, NeighborRules rules) {
    std::vector<int64_t> slots;
    AppendNeighbors(**buffer, at[index], rules, slots);
    return slots;
  };
  using Slots = std::vector<int64_t>;
  EXPECT_EQ(around(5, {.radius = 2}), (Slots{at[3], at[4], at[6], at[7]}));
  EXPECT_EQ(around(5, {.radius = 2, .include_center = true}),
            (Slots{at[3], at[4], at[5], at[6], at[7]}));
  EXPECT_EQ(around(5, {.radius = 2, .same_episode = true}), (Slots{at[3], at[4], at[6]}));
  EXPECT_EQ(around(7, {.radius = 2, .same_episode = true}), (Slots{at[8], at[9]}));
  EXPECT_EQ(around(0, {.radius = 2}), (Slots{at[1], at[2]}));
  EXPECT_EQ(around(0, {.radius = 2, .wrap = true}), (Slots{at[18], at[19], at[1], at[2]}));
  EXPECT_EQ(around(19, {.radius = 1}), (Slots{at[18]}));
}

TEST(Samplers, RunsAreConsecutive) {
  std::vector<int64_t> batch;
  Frequencies("runs", {{"length", "6"}}, &batch);
  int64_t consecutive = 0;
  for (size_t i = 1; i < batch.size(); ++i) {
    const int64_t step = batch[i] - batch[i - 1];
    consecutive += step == 1 || step == 2;  // 2: over the record that closes an episode
  }
  EXPECT_GE(consecutive, 45);
}

TEST(Samplers, PrioritizedFollowsErrorsAndWeightsCorrectThem) {
  Result<std::unique_ptr<ReplayBuffer>> buffer =
      MakeReplayBuffer(ReplayLayout::kJoint, ExampleSpec(), 70, 1);
  Result<std::unique_ptr<Sampler>> sampler =
      (*FindSampler("prioritized"))
          ->make({{"alpha", "1"}, {"beta", "1"}}, std::ssize((*buffer)->kinds()));
  Feeder feeder(**buffer, 1);
  for (int64_t step = 0; step < 70; ++step) feeder.Step(0, sampler->get());
  for (const int64_t slot : feeder.order) {
    const float error = slot == feeder.order[10] ? 9.0f : 1.0f;
    (*sampler)->Observe(std::span(&slot, 1), std::span(&error, 1));
  }
  std::map<int64_t, double> counts, weighted;
  std::vector<int64_t> slots;
  std::vector<float> weights;
  for (uint64_t round = 0; round < 500; ++round) {
    (*sampler)->Sample(**buffer, {.rows = 64, .seed = 1, .round = round}, slots, weights);
    for (size_t i = 0; i < slots.size(); ++i) {
      counts[slots[i]] += 1;
      weighted[slots[i]] += weights[i];
    }
  }
  const int64_t favourite = feeder.order[10], other = feeder.order[30];
  EXPECT_NEAR(counts[favourite] / counts[other], 9.0, 1.5);
  EXPECT_NEAR(weighted[favourite] / weighted[other], 1.0, 0.2);
}

TEST(Samplers, ReuseRepeatsABatchWithinItsWindow) {
  Result<std::unique_ptr<ReplayBuffer>> buffer =
      MakeReplayBuffer(ReplayLayout::kJoint, ExampleSpec(), 70, 1);
  Result<std::unique_ptr<Sampler>> sampler =
      (*FindSampler("reuse"))
          ->make({{"window", "3"}, {"base", "uniform"}}, std::ssize((*buffer)->kinds()));
  Feeder feeder(**buffer, 1);
  for (int64_t step = 0; step < 70; ++step) feeder.Step(0, sampler->get());
  std::set<std::vector<int64_t>> batches;
  std::vector<int64_t> slots;
  std::vector<float> weights;
  for (uint64_t round = 0; round < 9; ++round) {
    (*sampler)->Sample(**buffer, {.rows = 16, .seed = 1, .round = round}, slots, weights);
    batches.insert(slots);
  }
  EXPECT_EQ(batches.size(), 3u);
}

// A batch of windows may have more rows than were asked for; settings that are not those of `reuse`
// go to its base.
TEST(Samplers, ReuseTakesTheSettingsOfItsBase) {
  Result<std::unique_ptr<ReplayBuffer>> buffer =
      MakeReplayBuffer(ReplayLayout::kJoint, ExampleSpec(), 70, 1);
  const auto make = [&](const char* name, const Assignments& settings) {
    return (*FindSampler(name))->make(settings, std::ssize((*buffer)->kinds()));
  };
  const auto base = make("neighbor", {{"radius", "2"}, {"include_center", "true"}});
  const auto sampler =
      make("reuse",
           {{"window", "3"}, {"base", "neighbor"}, {"radius", "2"}, {"include_center", "true"}});
  ASSERT_TRUE(base.ok() && sampler.ok());
  EXPECT_EQ((*sampler)->surplus(), (*base)->surplus());
  EXPECT_EQ((*sampler)->settings().radius, 2);
  EXPECT_EQ((*sampler)->settings().rounds, 3);
  Feeder feeder(**buffer, 1);
  for (int64_t step = 0; step < 70; ++step) feeder.Step(0);
  std::vector<int64_t> slots, expected;
  std::vector<float> weights;
  for (uint64_t round = 0; round < 9; ++round) {
    const SampleRequest request{.rows = 17, .seed = 1, .round = round};
    if (round % 3 == 0) (*base)->Sample(**buffer, request, expected, weights);
    (*sampler)->Sample(**buffer, request, slots, weights);
    EXPECT_EQ(slots, expected) << round;
  }
  EXPECT_EQ(ToString(make("reuse", {{"base", "uniform"}, {"radius", "2"}}).error()),
            "sampler uniform has no parameter 'radius'");
}

TEST(Samplers, BadSettingsAreErrors) {
  EXPECT_EQ(ToString(FindSampler("neighbour").error()),
            "unknown sampler 'neighbour'; did you mean 'neighbor'?");
  const Result<std::unique_ptr<Sampler>> sampler =
      (*FindSampler("neighbor"))->make({{"radius", "0"}}, 10);
  ASSERT_FALSE(sampler.ok());
}

TEST(SumTree, FindsInProportion) {
  SumTree tree(5);
  for (int64_t i = 0; i < 5; ++i) tree.Set(i, static_cast<double>(i));
  EXPECT_EQ(tree.total(), 10.0);
  EXPECT_EQ(tree.Find(0.0), 1);
  EXPECT_EQ(tree.Find(0.99), 1);
  EXPECT_EQ(tree.Find(1.0), 2);
  EXPECT_EQ(tree.Find(5.99), 3);
  EXPECT_EQ(tree.Find(9.99), 4);
  EXPECT_EQ(tree.Find(10.0), 4) << "a mass that rounding put past the end";
}

}  // namespace
}  // namespace tessera
