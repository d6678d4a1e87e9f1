// engine_trace FILE ALGORITHM PRESET AGENTS ROUNDS SEED: update rounds of the engine with all that
// another program needs to repeat them: weights before and after, mini-batches, Gumbel noise.
// bench/pytorch/check_semantics.py reads the file.
#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/env.h"
#include "tessera/part.h"
#include "tessera/rl/off_policy.h"
#include "tessera/rl/profile_run.h"
#include "tessera/rl/profiler.h"

namespace tessera {
namespace {

constexpr int64_t R = kBlockRows;

// Keeps a copy of every batch and its noise, row by row.
class Recorder final : public UpdateTrace {
 public:
  explicit Recorder(TensorWriter& writer) : writer_(writer) {}

  void OnBatch(const OffPolicyAgents& agents, int64_t trainer) override {
    const ReplayBatch& batch = agents.batch();
    const FeatureLayout& layout = agents.replay().layout();
    const std::string name = fmt::format("round{}.trainer{}.", agents.round(), trainer);
    const int64_t rows = batch.rows();
    for (int64_t a = 0; a < agents.num_agents(); ++a) {
      const InputMap& map = layout.observations[static_cast<size_t>(a)];
      Add(fmt::format("{}obs{}", name, a), Inputs(batch.now, map), rows);
      Add(fmt::format("{}next{}", name, a), Inputs(batch.next, map), rows);
      std::vector<float>& actions = data_.emplace_back();
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < agents.choices(a); ++c) {
          actions.push_back(batch.now.Get(r, layout.action_first[static_cast<size_t>(a)] + c));
        }
      }
      Add(fmt::format("{}act{}", name, a), actions, rows);
      Add(fmt::format("{}noise{}", name, a), Noise(agents, trainer, a), rows);
    }
    Add(name + "own_noise", Noise(agents, trainer, -1), rows);
    Add(name + "reward", Inputs(batch.rewards, InputMap::Range(0, 1)), rows);
    Add(name + "live", Inputs(batch.live, InputMap::Range(0, 1)), rows);
  }

 private:
  const std::vector<float>& Inputs(const FeatureBatch& batch, const InputMap& map) {
    std::vector<float>& values = data_.emplace_back();
    std::vector<float> features(static_cast<size_t>(batch.features()));
    std::vector<float> inputs(static_cast<size_t>(map.inputs()));
    for (int64_t r = 0; r < batch.rows(); ++r) {
      for (int64_t f = 0; f < batch.features(); ++f) {
        features[static_cast<size_t>(f)] = batch.Get(r, f);
      }
      map.Apply(features.data(), inputs.data());
      values.insert(values.end(), inputs.begin(), inputs.end());
    }
    return values;
  }

  const std::vector<float>& Noise(const OffPolicyAgents& agents, int64_t trainer, int64_t agent) {
    const int64_t choices = agents.choices(agent < 0 ? trainer : agent);
    std::vector<float>& values = data_.emplace_back();
    std::vector<float> block(static_cast<size_t>(choices * R));
    for (int64_t r = 0; r < agents.batch().rows(); ++r) {
      if (r % R == 0) agents.Noise(trainer, agent, agents.round(), r / R, block.data());
      for (int64_t c = 0; c < choices; ++c) {
        values.push_back(block[static_cast<size_t>(c * R + r % R)]);
      }
    }
    return values;
  }

  void Add(const std::string& name, const std::vector<float>& values, int64_t rows) {
    writer_.Add(name, std::span(values), {rows, std::ssize(values) / rows});
  }

  TensorWriter& writer_;
  std::deque<std::vector<float>> data_;  // a deque: references stay valid
};

Result<void> Trace(const std::string& path, const std::string& algorithm, const std::string& preset,
                   const std::string& agents, int64_t rounds, uint64_t seed) {
  constexpr int64_t kFill = 3000;
  // Of 1024 rows one nearly always puts a ReLU so close to zero that rounding decides its gradient.
  const Assignments settings = {{"capacity", "30000"}, {"batch", "128"}};
  Result<std::unique_ptr<Env>> env =
      (*FindEnv("predator_prey"))->make({{"agents", agents}}, 1, nullptr);
  if (!env) return env.error();
  const Result<const LearnerInfo*> info = FindLearner(algorithm);
  if (!info) return info.error();
  TensorWriter writer;
  Recorder recorder(writer);
  Result<std::unique_ptr<Learner>> learner =
      MakeLearner(**info, preset, settings,
                  {.spec = &(*env)->spec(), .lanes = 1, .seed = seed, .trace = &recorder});
  if (!learner) return learner.error();
  // The weights before the first round: a learner with the same seed starts with the same ones.
  Result<std::unique_ptr<Learner>> twin =
      MakeLearner(**info, preset, settings, {.spec = &(*env)->spec(), .lanes = 1, .seed = seed});
  if (!twin) return twin.error();
  (*twin)->Save("before.", writer);
  Profiler profiler;
  if (Result<void> run =
          ProfileRun(**env, **learner, profiler, {.fill = kFill, .rounds = rounds - 1});
      !run) {
    return run;
  }
  (*learner)->Save("after.", writer);
  writer.AddInt("agents", (*env)->spec().num_agents());
  writer.AddInt("rounds", rounds);
  return writer.Write(path);
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "usage: engine_trace FILE ALGORITHM PRESET AGENTS ROUNDS SEED\n");
    return 2;
  }
  const tessera::Result<int64_t> rounds = tessera::ParseInt(argv[5]);
  const tessera::Result<int64_t> seed = tessera::ParseInt(argv[6]);
  const tessera::Result<void> done = !rounds ? rounds.error()
                                     : !seed
                                         ? seed.error()
                                         : tessera::Trace(argv[1], argv[2], argv[3], argv[4],
                                                          *rounds, static_cast<uint64_t>(*seed));
  if (done.ok()) return 0;
  std::fprintf(stderr, "engine_trace: %s\n", tessera::ToString(done.error()).c_str());
  return 1;
}
