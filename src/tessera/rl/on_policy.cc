// Rollouts, advantages and the order of updates, the same for all units.
#include "tessera/rl/on_policy.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "tessera/base/memory.h"
#include "tessera/base/rank_weights.h"
#include "tessera/base/stop.h"
#include "tessera/nn/heads.h"
#include "tessera/part.h"
#include "tessera/result.h"
#include "tessera/rl/check_rewards.h"
#include "tessera/rl/device_on_policy.h"
#include "tessera/rl/network_memory.h"
#include "tessera/rl/policy_team.h"
#include "tessera/rl/policy_unit.h"
#include "tessera/rl/profiler.h"

namespace tessera {
namespace {

constexpr int64_t R = kBlockRows;

class Ppo final : public OnPolicyLearner {
 public:
  Ppo(const LearnerSetup& setup, const PpoOptions& options, UnitKind kind)
      : setup_(setup),
        kernels_(BestKernels()),
        shared_critic_(kind == UnitKind::kShared),
        team_(setup, options, kind, RolloutRows(setup, options)),
        features_(team_.spec.observation_size(), team_.rows),
        order_(static_cast<size_t>(team_.rows)),
        pointers_(static_cast<size_t>(team_.rows)) {
    int64_t scratch = 0, outputs = 0;
    for (const auto& unit : team_.units) {
      scratch = std::max(scratch, ForwardRowsScratch(unit->actor_layout(), setup_.lanes));
      outputs = std::max(outputs, unit->outputs());
      Rollout& rollout = unit->rollout();
      for (std::vector<float>* values : {&rollout.log_p, &rollout.values, &rollout.next_values,
                                         &rollout.advantages, &rollout.returns}) {
        values->resize(static_cast<size_t>(team_.rows));
      }
      chosen_.emplace_back(static_cast<size_t>(setup_.lanes * unit->stored()));
    }
    const int64_t padded = CeilDiv(setup_.lanes, R) * R;
    act_scratch_ = AlignedBuffer<float>(scratch);
    act_rows_ = AlignedBuffer<float>(setup_.lanes * outputs + kSlackFloats);
    act_outputs_ = AlignedBuffer<float>(outputs * padded);
    act_noise_ = AlignedBuffer<float>(outputs * padded);
  }

  void Act(int64_t rows, std::span<const float> observations, ActMode mode,
           std::span<float> actions) override {
    TESSERA_CHECK(rows <= setup_.lanes);
    const PhaseScope scope(setup_.profiler, Phase::kActing);
    for (size_t u = 0; u < team_.units.size(); ++u) {
      PolicyUnit& unit = *team_.units[u];
      const int64_t first = team_.spec.observation_offset(unit.members()[0]);
      ForwardRows(kernels_, unit.actor_layout(), unit.actor(), rows, observations.data() + first,
                  team_.spec.observation_size(), act_rows_.data(), act_scratch_.span());
      for (int64_t b = 0; b * R < rows; ++b) ActBlock(u, b, rows, mode, actions);
    }
    if (mode == ActMode::kExplore) ++team_.acts;
  }

  Result<void> Observe(const TransitionBatch& batch) override {
    TESSERA_CHECK(!UpdateDue());
    const PhaseScope scope(setup_.profiler, Phase::kOther);
    if (Result<void> checked = CheckRewards(team_.spec, batch.rewards); !checked) return checked;
    const int64_t first = team_.step * setup_.lanes, size = team_.spec.observation_size();
    std::copy(batch.observations.begin(), batch.observations.end(),
              team_.observations.begin() + first * size);
    std::copy(batch.next_observations.begin(), batch.next_observations.end(),
              team_.next_observations.begin() + first * size);
    std::transform(batch.ends.begin(), batch.ends.end(), team_.ends.begin() + first,
                   [](EpisodeEnd end) { return static_cast<uint8_t>(end); });
    for (size_t u = 0; u < team_.units.size(); ++u) {
      PolicyUnit& unit = *team_.units[u];
      std::copy(chosen_[u].begin(), chosen_[u].end(),
                unit.rollout().actions.begin() + first * unit.stored());
      for (int64_t e = 0; e < setup_.lanes; ++e) {
        auto acted = unit.rollout().acted.begin() + (first + e) * std::ssize(unit.members());
        for (const int64_t member : unit.members()) {
          const auto at = static_cast<size_t>(e * team_.spec.num_agents() + member);
          *acted++ = batch.acted.empty() ? uint8_t{1} : batch.acted[at];
        }
        unit.rollout().rewards[static_cast<size_t>(first + e)] =
            team_.RewardOf(unit, batch.rewards, e);
      }
    }
    ++team_.step;
    return {};
  }

  bool UpdateDue() const override { return team_.step == team_.options.steps; }

  Result<UpdateReport> Update() override {
    UpdateReport report;
    {
      const PhaseScope scope(setup_.profiler, Phase::kTargetQ);
      Gather(team_.next_observations, AllRows());
      EachCritic([&](PolicyUnit& unit) {
        unit.Values(features_, setup_.pool, unit.rollout().next_values.data());
      });
      Gather(team_.observations, AllRows());
      EachCritic([&](PolicyUnit& unit) {
        unit.Values(features_, setup_.pool, unit.rollout().values.data());
      });
      for (auto& unit : team_.units) {
        if (Abandoned()) break;
        unit->LogProbabilities(features_, setup_.pool, 0);
        if (shared_critic_) TakeValues(*unit);
        FillAdvantages(*unit);
      }
      if (shared_critic_) MeanReturns();
    }
    const int64_t batches = std::min(team_.options.minibatches, team_.rows);
    for (int64_t epoch = 0; epoch < team_.options.epochs && !Abandoned(); ++epoch) {
      OrderRows(team_, epoch, std::span(order_));
      for (int64_t m = 0; m < batches && !WasAbandoned(); ++m) {
        const int64_t begin = m * team_.rows / batches, end = (m + 1) * team_.rows / batches;
        const std::span<const int64_t> ids =
            std::span(order_).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
        {
          const PhaseScope scope(setup_.profiler, Phase::kSampling);
          Gather(team_.observations, ids);
        }
        const PhaseScope scope(setup_.profiler, Phase::kPLoss);
        for (auto& unit : team_.units) {
          if (Abandoned()) break;
          unit->Learn(features_, ids, HasCritic(*unit), setup_.pool, report);
        }
      }
    }
    const double count = static_cast<double>(team_.options.epochs * batches) *
                         static_cast<double>(team_.units.size());
    report.q_loss /= count;
    report.p_loss /= count;
    report.entropy /= count;
    team_.step = 0;
    ++team_.updates;
    return report;
  }

  void Values(int64_t rows, std::span<const float> observations, std::span<float> values) override {
    const int64_t size = team_.spec.observation_size();
    std::vector<float> one(static_cast<size_t>(team_.rows));
    for (int64_t first = 0; first < rows; first += team_.rows) {
      const int64_t count = std::min(team_.rows, rows - first);
      features_.FromRows(kernels_, observations.data() + first * size, size, count);
      std::fill_n(values.begin() + first, count, 0.0f);
      EachCritic([&](PolicyUnit& unit) {
        unit.Values(features_, setup_.pool, one.data());
        for (int64_t row = 0; row < count; ++row) {
          values[static_cast<size_t>(first + row)] +=
              one[static_cast<size_t>(row)] / static_cast<float>(critics());
        }
      });
    }
  }

  void Prefer(int64_t agent, std::span<const float> logarithms) override {
    for (auto& unit : team_.units) unit->Prefer(agent, logarithms);
  }

  void Explore(double chance) override {
    explored_ = chance;
    for (auto& unit : team_.units) unit->Explore(chance);
  }

  void RankAdvantages(double top) override { top_ = top; }

  void Smooth(int64_t agent, double part) override {
    for (auto& unit : team_.units) unit->Smooth(agent, part);
  }

  void SetEntropy(double weight) override {
    for (auto& unit : team_.units) unit->SetEntropy(weight);
  }

  void Imitate(std::span<const float> actions, double weight) override {
    for (auto& unit : team_.units) unit->Imitate(actions, team_.spec.action_size(), weight);
  }

  void SaveNetworks(const std::string& prefix, TensorWriter& writer) const override {
    for (size_t u = 0; u < team_.units.size(); ++u) {
      team_.units[u]->SaveNetworks(fmt::format("{}unit{}.", prefix, u), writer);
    }
  }

  Result<void> LoadNetworks(const std::string& prefix, const TensorReader& reader) override {
    for (size_t u = 0; u < team_.units.size(); ++u) {
      const std::string name = fmt::format("{}unit{}.", prefix, u);
      if (Result<void> r = team_.units[u]->LoadNetworks(name, reader); !r) return r;
    }
    return {};
  }

  void Save(const std::string& prefix, TensorWriter& writer) const override {
    team_.Save(prefix, writer);
  }
  Result<void> Load(const std::string& prefix, const TensorReader& reader) override {
    return team_.Load(prefix, reader);
  }

 private:
  // Where one critic serves all, it is that of the first unit.
  bool HasCritic(const PolicyUnit& unit) const {
    return !shared_critic_ || &unit == team_.units.front().get();
  }
  size_t critics() const { return shared_critic_ ? 1 : team_.units.size(); }

  template <typename Do>
  void EachCritic(const Do& what) {
    for (auto& unit : team_.units) {
      if (HasCritic(*unit) && !Abandoned()) what(*unit);
    }
  }

  void TakeValues(PolicyUnit& unit) const {
    Rollout& first = team_.units.front()->rollout();
    unit.rollout().values = first.values;
    unit.rollout().next_values = first.next_values;
  }

  // What the shared critic learns: the mean of the units' returns.
  void MeanReturns() {
    std::vector<float>& mean = team_.units.front()->rollout().returns;
    for (size_t row = 0; row < mean.size(); ++row) {
      double sum = 0;
      for (const auto& unit : team_.units) sum += unit->rollout().returns[row];
      mean[row] = static_cast<float>(sum / static_cast<double>(team_.units.size()));
    }
  }

  std::span<const int64_t> AllRows() {
    std::iota(order_.begin(), order_.end(), 0);
    return order_;
  }

  // The rows `ids` of stored observations as features.
  void Gather(const std::vector<float>& from, std::span<const int64_t> ids) {
    features_.set_rows(std::ssize(ids));
    for (size_t i = 0; i < ids.size(); ++i) {
      pointers_[i] = from.data() + ids[i] * team_.spec.observation_size();
    }
    for (int64_t b = 0; b < features_.blocks(); ++b) {
      kernels_.gather(features_.RowsIn(b), features_.features(), pointers_.data() + b * R,
                      features_.At(b, 0), R);
    }
  }

  // Choices of one unit for the rows of one block.
  void ActBlock(size_t u, int64_t b, int64_t rows, ActMode mode, std::span<float> actions) {
    const PolicyUnit& unit = *team_.units[u];
    const int64_t outputs = unit.outputs(), count = std::min(R, rows - b * R);
    float* const out = act_outputs_.data();
    float* const noise = act_noise_.data();
    kernels_.transpose(count, outputs, act_rows_.data() + b * R * outputs, outputs, out, R);
    const bool explore = mode == ActMode::kExplore;
    if (explore) {
      FillGumbel(kernels_, setup_.seed, StreamId("act", u), static_cast<uint64_t>(team_.acts),
                 b * outputs * R, outputs * R, noise);
    }
    for (const PolicyHead& head : unit.heads()) {
      float* const head_noise = noise + head.output * R;
      if (head.is_box()) {
        FillNormal(u, b, head, head_noise);
        GaussianChoose(kernels_, head.action.size, out + head.output * R,
                       unit.log_deviations() + head.deviation, explore ? head_noise : nullptr,
                       out + head.output * R);
      } else {
        CategoricalChoose(head.action.size, count, out + head.output * R,
                          explore ? head_noise : nullptr, head_noise);
        if (explore && explored_ > 0) ChooseUniformly(u, b, count, head, head_noise);
      }
      for (int64_t r = 0; r < count; ++r) {
        const int64_t row = b * R + r;
        float* const action = actions.data() + row * team_.spec.action_size() + head.action_first;
        float* const kept = chosen_[u].data() + row * unit.stored() + head.stored;
        WriteAction(head, head.is_box() ? out + head.output * R + r : head_noise + r, action,
                    explore ? kept : nullptr);
      }
    }
  }

  // Some of the choices of a head anew, whatever its network says.
  void ChooseUniformly(size_t u, int64_t b, int64_t count, const PolicyHead& head, float* chosen) {
    CounterRng rng(setup_.seed,
                   StreamId("act.explore", u * 4096 + static_cast<uint64_t>(head.output)),
                   static_cast<uint64_t>(team_.acts * 4096 + b));
    for (int64_t r = 0; r < count; ++r) {
      if (rng.Uniform() >= explored_) continue;
      chosen[r] = static_cast<float>(rng.UniformInt(head.action.size));
    }
  }

  static void WriteAction(const PolicyHead& head, const float* from, float* action, float* kept) {
    for (int64_t i = 0; i < head.action.width(); ++i) {
      switch (head.action.kind) {
        case ActionKind::kBox: action[i] = from[i * R]; break;
        case ActionKind::kChoice: action[i] = from[0]; break;
        case ActionKind::kSoftChoice: action[i] = static_cast<float>(i) == from[0] ? 1.0f : 0.0f;
      }
    }
    for (int64_t i = 0; kept != nullptr && i < head.stored_size(); ++i) kept[i] = from[i * R];
  }

  void FillNormal(size_t u, int64_t b, const PolicyHead& head, float* noise) const {
    CounterRng rng(setup_.seed,
                   StreamId("act.normal", u * 4096 + static_cast<uint64_t>(head.output)),
                   static_cast<uint64_t>(team_.acts * 4096 + b));
    for (int64_t i = 0; i < head.action.size * R; ++i) noise[i] = static_cast<float>(rng.Normal());
  }

  // Generalised advantages: backwards in time, cut where episodes end. A truncated state still has
  // a value, a terminal one has none.
  void FillAdvantages(PolicyUnit& unit) const {
    Rollout& rollout = unit.rollout();
    for (int64_t e = 0; e < setup_.lanes; ++e) {
      double advantage = 0;
      for (int64_t t = team_.options.steps - 1; t >= 0; --t) {
        const size_t row = static_cast<size_t>(t * setup_.lanes + e);
        const EpisodeEnd end = static_cast<EpisodeEnd>(team_.ends[row]);
        const double next = end == EpisodeEnd::kTerminated ? 0 : rollout.next_values[row];
        const double error =
            rollout.rewards[row] + team_.options.gamma * next - rollout.values[row];
        const double carried = end == EpisodeEnd::kNone ? advantage : 0;
        advantage = error + team_.options.gamma * team_.options.lambda * carried;
        rollout.advantages[row] = static_cast<float>(advantage);
        rollout.returns[row] = static_cast<float>(advantage + rollout.values[row]);
      }
    }
    if (!team_.options.normalize_advantages) return;
    Normalize(unit, rollout.advantages);
  }

  // By mean and deviation of the rows that count.
  void Normalize(const PolicyUnit& unit, std::vector<float>& advantages) const {
    double sum = 0, squares = 0, n = 0;
    for (size_t row = 0; row < advantages.size(); ++row) {
      if (!unit.AnyActed(static_cast<int64_t>(row))) continue;
      const double a = advantages[row];
      sum += a;
      squares += a * a;
      ++n;
    }
    if (n == 0) return;
    const double mean = sum / n, deviation = std::sqrt(std::max(0.0, squares / n - mean * mean));
    const double divisor = deviation + team_.options.advantage_floor;
    for (float& a : advantages) a = static_cast<float>((a - mean) / divisor);
    // Differences far below the floor are noise by their order, too.
    if (top_ > 0) Rank(unit, deviation / divisor, advantages);
  }

  void Rank(const PolicyUnit& unit, double scale, std::vector<float>& advantages) const {
    constexpr double kEqual = 1e-3;  // deviations; where observations differ, baselines do a little
    std::vector<size_t> rows;
    std::vector<double> costs;
    for (size_t row = 0; row < advantages.size(); ++row) {
      if (!unit.AnyActed(static_cast<int64_t>(row))) continue;
      rows.push_back(row);
      costs.push_back(-advantages[row]);
    }
    const std::vector<double> weights = EvenRankWeights(costs, top_, kEqual);
    for (size_t i = 0; i < rows.size(); ++i) {
      advantages[rows[i]] = static_cast<float>(scale * weights[i]);
    }
  }

  const LearnerSetup setup_;
  const Kernels& kernels_;
  const bool shared_critic_;
  double explored_ = 0;  // chance of a uniform choice
  double top_ = 0;       // part of a rollout whose advantages are good; 0: by their size
  PolicyTeam team_;
  FeatureBatch features_;
  std::vector<int64_t> order_;
  std::vector<const float*> pointers_;
  std::vector<std::vector<float>> chosen_;  // per unit: stored actions of the last Act
  AlignedBuffer<float> act_scratch_, act_rows_, act_outputs_, act_noise_;
};

}  // namespace

const ParameterList<PpoOptions>& PpoParameters() {
  using O = PpoOptions;
  const Range count{1, 1e9}, rate{0, 10}, unit{0, 1};
  static const ParameterList<O> parameters = {
      {"hidden", &O::hidden, Range{1, 65536}, "units of a hidden layer"},
      {"layers", &O::layers, Range{1, 8}, "hidden layers of a network"},
      {"steps", &O::steps, count, "steps of every environment between updates"},
      {"epochs", &O::epochs, count, "passes over a rollout"},
      {"minibatches", &O::minibatches, count, "gradient steps of a pass"},
      {"gamma", &O::gamma, unit, "discount"},
      {"lambda", &O::lambda, unit, "decay of generalised advantages"},
      {"clip", &O::clip, unit, "how far probabilities may move per update"},
      {"entropy", &O::entropy, Range{0, 1e6}, "worth of entropy"},
      {"actor_rate", &O::actor_rate, rate, "learning rate of policies"},
      {"critic_rate", &O::critic_rate, rate, "learning rate of value functions"},
      {"clip_norm", &O::clip_norm, Range{1e-9, 1e9}, "norm that gradients are clipped to"},
      {"initial_log_deviation", &O::initial_log_deviation, Range{-20, 5},
       "log of the first deviation of continuous actions"},
      {"normalize_advantages", &O::normalize_advantages, "scale advantages of a rollout"},
      {"advantage_floor", &O::advantage_floor, Range{0, 1e9},
       "what normalised advantages are divided by at least: smaller differences count less"},
      {"precision",
       &O::precision,
       {"fp32", "tf32", "bf16"},
       "of products on --device cuda; sums are fp32, and so is everything on the cpu"}};
  return parameters;
}

std::unique_ptr<OnPolicyLearner> MakeOnPolicy(const LearnerSetup& setup, const PpoOptions& options,
                                              UnitKind kind) {
  return std::make_unique<Ppo>(setup, options, kind);
}

namespace {

// Rollout and networks: what MakeOnPolicy takes, or the twin of a device, which computes nothing.
Result<void> CheckMemory(const EnvSpec& spec, int64_t lanes, const PpoOptions& options,
                         UnitKind kind, Device device) {
  const double rows = static_cast<double>(options.steps) * static_cast<double>(lanes);
  const double passed = device == Device::kCpu ? rows : 1;
  const bool joint = kind == UnitKind::kJoint;
  const double units = joint ? 1 : static_cast<double>(spec.num_agents());
  const int64_t everything = spec.observation_size();
  const int64_t own = joint ? everything : everything / std::max<int64_t>(1, spec.num_agents());
  const NetworkSize actor{own, joint ? spec.action_size() : spec.agents[0].action.width(),
                          options.hidden, options.layers};
  const NetworkSize critic{kind == UnitKind::kIndependent ? own : everything, 1, options.hidden,
                           options.layers};
  // Observations now and next, as features, and six numbers, an order and a pointer per row.
  const double rollout = rows * (sizeof(float) * (3.0 * static_cast<double>(everything) +
                                                  static_cast<double>(spec.action_size())) +
                                 48.0 * units);
  return RequireMemory(
      fmt::format("steps {}, hidden {}, layers {}", options.steps, options.hidden, options.layers),
      rollout + units * (actor.TrainingBytes(passed, 1) + critic.TrainingBytes(passed, 1)),
      "lower 'steps', 'hidden', 'layers' or the number of environments");
}

}  // namespace

Result<std::unique_ptr<Learner>> MakePpo(const LearnerSetup& setup, const PpoOptions& options,
                                         UnitKind kind) {
  if (Result<void> fits = CheckMemory(*setup.spec, setup.lanes, options, kind, setup.device);
      !fits) {
    return fits.error();
  }
  if (setup.device == Device::kCuda) return DeviceOnPolicy::Make(setup, options, kind);
  if (options.precision != "fp32") {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("precision {} is for --device cuda", options.precision),
                 .hint = "leave it out: the cpu computes in fp32"};
  }
  return std::unique_ptr<Learner>(MakeOnPolicy(setup, options, kind));
}

Result<std::unique_ptr<Learner>> MakePpo(const LearnerSetup& setup, const Assignments& assignments,
                                         UnitKind kind) {
  const std::string name(kPpoNames[static_cast<int>(kind)]);
  const Result<PpoOptions> options = ReadOptions("algorithm " + name, PpoParameters(), assignments);
  if (!options) return options.error();
  return MakePpo(setup, *options, kind);
}

std::vector<Preset> PpoPresets() { return {{"tessera", "the usual settings", {}}}; }

}  // namespace tessera
