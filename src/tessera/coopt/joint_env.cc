// Co-optimization as an environment: the three agents of DCOC walk through accelerators and
// schedules of one layer, every state they reach is measured, and what is fast is rewarded.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tessera/coopt/joint_walk.h"
#include "tessera/cooptimize.h"
#include "tessera/env.h"
#include "tessera/network.h"
#include "tessera/part.h"
#include "tessera/workload/copy.h"

namespace tessera::coopt {
namespace {

struct Options {
  std::string network = "resnet18";
  std::string layer = "3";
  std::string target{TargetNames().front()};
  std::string objective{kCooptObjectiveNames.front()};
  int64_t macs = 256;
  double penalty = 0.1;
  int64_t horizon = 25;
};

ParameterList<Options> Parameters() {
  const std::vector<std::string> targets = TargetNames();
  return {
      {"network", &Options::network, Choices{}, "zoo network or file"},
      {"layer", &Options::layer, Choices{}, "a layer of it, by name or number"},
      {"target", &Options::target, Choices(targets.begin(), targets.end()), "what is designed"},
      {"objective", &Options::objective,
       Choices(kCooptObjectiveNames.begin(), kCooptObjectiveNames.end()), "what is to be small"},
      {"macs", &Options::macs, Range{1, 1e6}, "multipliers, or PEs, that it may have"},
      {"penalty", &Options::penalty, Range{0, 1e6},
       "for a move to an accelerator or a schedule that does not exist"},
      {"horizon", &Options::horizon, Range{1, 1e6}, "steps of an episode"}};
}

// The reward of a state is the objective of the first start over its own, so 1 is as good as that.
class JointEnv final : public Env {
 public:
  JointEnv(std::shared_ptr<const CooptProblem> problem, const Options& options, int64_t batch,
           ThreadPool* pool)
      : problem_(std::move(problem)),
        options_(options),
        batch_(batch),
        own_pool_(pool == nullptr ? std::make_unique<ThreadPool>(1) : nullptr),
        simulator_(*problem_, pool == nullptr ? *own_pool_ : *pool),
        walk_(*problem_),
        spec_(walk_.Spec("cooptimize")),
        states_(static_cast<size_t>(batch)),
        observations_(static_cast<size_t>(batch * spec_.observation_size())),
        rewards_(static_cast<size_t>(batch * spec_.num_agents())),
        ends_(static_cast<size_t>(batch)),
        steps_(static_cast<size_t>(batch)),
        episodes_(static_cast<size_t>(batch)) {
    spec_.horizon = options.horizon;
  }

  // Finds what rewards refer to. An error if no start has a schedule that runs.
  Result<void> Prepare() {
    std::array<Measured, 1> first;
    for (uint64_t step = 0; step < kTries; ++step) {
      CounterRng rng(1, StreamId("env.cooptimize.reference"), step);
      const std::optional<Request> start = Start(rng);
      if (!start) continue;
      first[0].request = *start;
      simulator_.Measure(first);
      if (!first[0].outcome.valid) continue;
      reference_ = first[0].outcome.value;
      fallback_ = *start;
      Reset(0);
      return {};
    }
    return Error{.kind = ErrorKind::kInfeasible,
                 .message = "no accelerator within the budget has a schedule for the layer"};
  }

  const EnvSpec& spec() const override { return spec_; }
  int64_t batch() const override { return batch_; }

  void Reset(uint64_t seed) override {
    seed_ = seed;
    std::fill(episodes_.begin(), episodes_.end(), 0);
    for (int64_t e = 0; e < batch_; ++e) Begin(e);
  }

  Result<void> Step(std::span<const float> actions) override {
    const int64_t width = spec_.action_size();
    std::vector<Measured> measured(static_cast<size_t>(batch_));
    std::vector<bool> moved(static_cast<size_t>(batch_));
    for (size_t i = 0; i < actions.size(); ++i) {
      if (!std::isnan(actions[i])) continue;
      const auto agent = i % static_cast<size_t>(width);
      return Error{
          .kind = ErrorKind::kBadValue,
          .message = fmt::format("environment {}: the action of agent {} is not a number",
                                 i / static_cast<size_t>(width), spec_.agents[agent].name)};
    }
    for (int64_t e = 0; e < batch_; ++e) {
      const auto at = static_cast<size_t>(e);
      moved[at] = walk_.Apply(actions.data() + e * width, /*freeze_hardware=*/false, states_[at]);
      measured[at].request = states_[at];
    }
    simulator_.Measure(measured);
    for (int64_t e = 0; e < batch_; ++e) {
      const auto at = static_cast<size_t>(e);
      const MeasuredOutcome& outcome = measured[at].outcome;
      const double good = outcome.valid ? reference_ / outcome.value : 0;
      ends_[at] = ++steps_[at] >= options_.horizon ? EpisodeEnd::kTruncated : EpisodeEnd::kNone;
      Show(e, good - (moved[at] ? 0 : options_.penalty));
    }
    return {};
  }

  void ResetFinished() override {
    for (int64_t e = 0; e < batch_; ++e) {
      if (ends_[static_cast<size_t>(e)] != EpisodeEnd::kNone) Begin(e);
    }
  }

  std::span<const float> observations() const override { return observations_; }
  std::span<const float> rewards() const override { return rewards_; }
  std::span<const EpisodeEnd> ends() const override { return ends_; }

  void Save(const std::string& prefix, TensorWriter& writer) const override {
    saved_.clear();
    for (const Request& state : states_) {
      saved_.push_back(state.hardware);
      for (const uint8_t knob : state.point) saved_.push_back(knob);
    }
    writer.Add(prefix + "states", std::span<const int64_t>(saved_));
    writer.Add(prefix + "steps", std::span(steps_));
    writer.Add(prefix + "episodes", std::span(episodes_));
    writer.AddInt(prefix + "seed", static_cast<int64_t>(seed_));
  }

  Result<void> Load(const std::string& prefix, const TensorReader& reader) override {
    const Result<int64_t> seed = reader.ReadInt(prefix + "seed");
    if (!seed) return seed.error();
    seed_ = static_cast<uint64_t>(*seed);
    if (Result<void> read =
            reader.ReadWithin(prefix + "steps", std::span(steps_), int64_t{0}, options_.horizon);
        !read) {
      return read;
    }
    if (Result<void> read = reader.ReadWithin(prefix + "episodes", std::span(episodes_), int64_t{0},
                                              TensorReader::kMostCounted);
        !read) {
      return read;
    }
    saved_.resize(states_.size() * (1 + kMaxScheduleKnobs));
    const auto most = static_cast<int64_t>(problem_->hardware().size());
    if (Result<void> read =
            reader.ReadWithin(prefix + "states", std::span(saved_), int64_t{0}, most + 255);
        !read) {
      return read;
    }
    for (int64_t e = 0; e < batch_; ++e) {
      if (Result<void> placed = Place(e); !placed) return placed;
    }
    return {};
  }

 private:
  static constexpr uint64_t kTries = 1'000;

  // Some accelerator and one of its schedules.
  std::optional<Request> Start(CounterRng& rng) const {
    Request start;
    start.hardware =
        static_cast<uint32_t>(rng.UniformInt(static_cast<int64_t>(problem_->hardware().size())));
    const Task& task = problem_->task(start.hardware, 0);
    if (task.candidates.empty()) return std::nullopt;
    start.point = task.candidates[static_cast<size_t>(rng.UniformInt(std::ssize(task.candidates)))];
    return start;
  }

  void Begin(int64_t e) {
    const auto at = static_cast<size_t>(e);
    const uint64_t episode = static_cast<uint64_t>(episodes_[at]++);
    states_[at] = fallback_;
    for (uint64_t step = 0; step < kTries; ++step) {
      CounterRng rng(seed_ + static_cast<uint64_t>(e), StreamId("env.cooptimize", episode), step);
      if (const std::optional<Request> start = Start(rng)) {
        states_[at] = *start;
        break;
      }
    }
    steps_[at] = 0;
    ends_[at] = EpisodeEnd::kNone;
    Show(e, 0);
  }

  // What `saved_` says of a world; a state that does not exist is an error.
  Result<void> Place(int64_t e) {
    const auto at = static_cast<size_t>(e);
    const int64_t* const from = saved_.data() + at * (1 + kMaxScheduleKnobs);
    const Error damaged{.kind = ErrorKind::kBadValue,
                        .message = fmt::format("environment {}: no such state", e),
                        .hint = "the file is damaged"};
    if (from[0] >= static_cast<int64_t>(problem_->hardware().size())) return damaged;
    Request state{.hardware = static_cast<uint32_t>(from[0])};
    const ScheduleSpace& space = problem_->task(state.hardware, 0).space;
    for (size_t knob = 0; knob < kMaxScheduleKnobs; ++knob) {
      const int64_t size = knob < space.size() ? space.decisions()[knob].size() : 1;
      if (from[1 + knob] >= size) return damaged;
      state.point[knob] = static_cast<uint8_t>(from[1 + knob]);
    }
    if (!space.Valid(state.point)) return damaged;
    states_[at] = state;
    ends_[at] = EpisodeEnd::kNone;
    Show(e, 0);
    return {};
  }

  void Show(int64_t e, double reward) {
    const int64_t agents = spec_.num_agents();
    std::fill_n(rewards_.begin() + e * agents, agents, static_cast<float>(reward));
    walk_.Observe(states_[static_cast<size_t>(e)],
                  observations_.data() + e * spec_.observation_size());
  }

  const std::shared_ptr<const CooptProblem> problem_;
  const Options options_;
  const int64_t batch_;
  const std::unique_ptr<ThreadPool> own_pool_;
  const Simulator simulator_;
  const JointWalk walk_;
  EnvSpec spec_;
  std::vector<Request> states_;
  std::vector<float> observations_, rewards_;
  std::vector<EpisodeEnd> ends_;
  std::vector<int64_t> steps_, episodes_;
  mutable std::vector<int64_t> saved_;  // lives until the writer has written
  uint64_t seed_ = 0;
  double reference_ = 1;
  Request fallback_ = {};
};

Result<std::unique_ptr<Env>> Make(const Assignments& assignments, int64_t batch, ThreadPool* pool) {
  const Result<Options> options = ReadOptions("environment cooptimize", Parameters(), assignments);
  if (!options) return options.error();
  Result<Network> network = LoadNetwork(options->network);
  if (!network) return network.error();
  const Result<const NetworkLayer*> layer = FindLayer(*network, options->layer);
  if (!layer) return layer.error();
  network = OnlyLayer(*network, **layer);
  const Result<CooptObjective> objective = FindCooptObjective(options->objective);
  if (!objective) return objective.error();
  CooptimizeSettings settings;
  settings.target = options->target;
  settings.objective = *objective;
  settings.limits.macs = options->macs;
  const Result<CooptimizeJob> job = MakeCooptimizeJob(settings, /*seed=*/1, {*network});
  if (!job) return job.error();
  auto env = std::make_unique<JointEnv>(job->problem, *options, batch, pool);
  if (Result<void> prepared = env->Prepare(); !prepared) return prepared.error();
  return std::unique_ptr<Env>(std::move(env));
}

constexpr std::array<FileSetting, 1> kFiles = {
    {{"network", [](const std::string& value) { return !IsZooNetwork(value); }, NetworkCopy}}};

const EnvInfo kCooptimizeEnv = {
    .name = "cooptimize",
    .summary = "hardware and schedules of a layer: three agents move knobs, what is fast is good",
    .parameters = [] { return Describe(Parameters()); },
    .make = Make,
    .files = kFiles};

}  // namespace

Result<void> RegisterCooptimizeEnv() {
  static std::mutex mutex;
  static bool registered = false;
  const std::lock_guard lock(mutex);
  if (registered) return {};
  Result<void> added = RegisterEnv(kCooptimizeEnv);
  registered = added.ok();
  return added;
}

}  // namespace tessera::coopt
