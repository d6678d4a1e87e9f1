// An environment of one's own, in which a team learns with MAPPO: each agent sees a number and is
// to name it; all get the same reward.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/env.h"
#include "tessera/train.h"

using namespace tessera;

namespace {

constexpr int64_t kAgents = 2, kNumbers = 3, kSteps = 8;

class NamingEnv final : public Env {
 public:
  explicit NamingEnv(int64_t batch) : batch_(batch) {
    spec_.name = "naming";
    spec_.horizon = kSteps;
    for (int64_t a = 0; a < kAgents; ++a) {
      spec_.agents.push_back({.name = "agent_" + std::to_string(a),
                              .observation_size = kNumbers,
                              .action = {.kind = ActionKind::kChoice, .size = kNumbers}});
    }
    steps_.resize(static_cast<size_t>(batch));
    rewards_.resize(static_cast<size_t>(batch * kAgents));
    ends_.resize(static_cast<size_t>(batch));
    observations_.resize(static_cast<size_t>(batch * kAgents * kNumbers));
  }

  const EnvSpec& spec() const override { return spec_; }
  int64_t batch() const override { return batch_; }

  void Reset(uint64_t seed) override {
    seed_ = static_cast<int64_t>(seed);
    std::fill(steps_.begin(), steps_.end(), 0);
    Show();
  }

  Result<void> Step(std::span<const float> actions) override {
    for (int64_t e = 0; e < batch_; ++e) {
      float right = 0;
      for (int64_t a = 0; a < kAgents; ++a) {
        const auto said = static_cast<int64_t>(actions[static_cast<size_t>(e * kAgents + a)]);
        right += said == NumberOf(e, a) ? 1.0f : 0.0f;
      }
      for (int64_t a = 0; a < kAgents; ++a) {
        rewards_[static_cast<size_t>(e * kAgents + a)] = right / kAgents;
      }
      const bool over = ++steps_[static_cast<size_t>(e)] % kSteps == 0;
      ends_[static_cast<size_t>(e)] = over ? EpisodeEnd::kTruncated : EpisodeEnd::kNone;
    }
    Show();
    return {};
  }

  void ResetFinished() override {}  // The next episode begins where the last one ended.

  std::span<const float> observations() const override { return observations_; }
  std::span<const float> rewards() const override { return rewards_; }
  std::span<const EpisodeEnd> ends() const override { return ends_; }

  void Save(const std::string& prefix, TensorWriter& writer) const override {
    writer.AddInt(prefix + "seed", seed_);
    writer.Add(prefix + "steps", std::span(steps_));
  }
  Result<void> Load(const std::string& prefix, const TensorReader& reader) override {
    const Result<int64_t> seed = reader.ReadInt(prefix + "seed");
    if (!seed) return seed.error();
    seed_ = *seed;
    if (Result<void> read = reader.Read(prefix + "steps", std::span(steps_)); !read) return read;
    Show();
    return {};
  }

 private:
  // A function of seed, environment, agent and step, so that nothing else needs to be saved.
  int64_t NumberOf(int64_t env, int64_t agent) const {
    CounterRng rng(static_cast<uint64_t>(seed_), StreamId("own.naming", static_cast<uint64_t>(env)),
                   static_cast<uint64_t>(steps_[static_cast<size_t>(env)] * kAgents + agent));
    return rng.UniformInt(kNumbers);
  }

  void Show() {
    std::fill(observations_.begin(), observations_.end(), 0.0f);
    for (int64_t e = 0; e < batch_; ++e) {
      for (int64_t a = 0; a < kAgents; ++a) {
        observations_[static_cast<size_t>((e * kAgents + a) * kNumbers + NumberOf(e, a))] = 1;
      }
    }
  }

  const int64_t batch_;
  EnvSpec spec_;
  int64_t seed_ = 1;
  std::vector<int64_t> steps_;
  std::vector<float> observations_, rewards_;
  std::vector<EpisodeEnd> ends_;
};

constexpr EnvInfo kNaming = {
    .name = "naming",
    .summary = "agents name the number that they see",
    .make = [](const Assignments&, int64_t batch, ThreadPool*) -> Result<std::unique_ptr<Env>> {
      return std::unique_ptr<Env>(std::make_unique<NamingEnv>(batch));
    }};

}  // namespace

int main() {
  if (!RegisterEnv(kNaming)) return 1;
  TrainSettings settings;
  settings.config.env = "naming";
  settings.config.algorithm = "mappo";
  settings.config.envs = 16;
  settings.config.report_every = 400;
  settings.episodes = 2'000;
  const Result<TrainOutcome> trained = Train(settings, /*threads=*/2);
  if (!trained) return std::puts(ToString(trained.error()).c_str()), 2;
  const double first = trained->rows.front().progress.agent_return;
  const double last = trained->rows.back().progress.agent_return;
  std::printf("mappo: %.2f of %lld right at first, %.2f at last\n", first,
              static_cast<long long>(kSteps), last);
  return last > first && last > kSteps / 2.0 ? 0 : 3;
}
