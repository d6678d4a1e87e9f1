// Batches of particle worlds: actions to forces, steps, observations, episodes.
#include "tessera/env/mpe/mpe_env.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "tessera/base/aligned_buffer.h"
#include "tessera/base/memory.h"
#include "tessera/env/mpe/numpy_random.h"

namespace tessera {
namespace {

// The state that replay stores: velocities of predators and prey, positions, landmarks. In this
// order an agent reads its own velocity and then one unbroken run.
struct StateLayout {
  int64_t agents, landmarks;

  int64_t velocity(int64_t agent) const { return 2 * agent; }
  int64_t position(int64_t agent) const { return 2 * (agents + agent); }
  int64_t landmark(int64_t l) const { return 2 * (2 * agents + l); }
  int64_t size() const { return 2 * (2 * agents + landmarks); }
};

// WriteObservation as a map from the compact state.
ObservationMap ObservationMapOf(const MpeWorld& world, int64_t agent) {
  const StateLayout state{world.agents(), world.landmarks};
  std::vector<ObservationMap::Term> terms;
  int64_t input = 0;
  const auto put = [&](int64_t feature, bool relative) {
    for (int64_t d = 0; d < 2; ++d, ++input) {
      terms.push_back({input, feature + d, 1.0f});
      if (relative) terms.push_back({input, state.position(agent) + d, -1.0f});
    }
  };
  put(state.velocity(agent), false);
  put(state.position(agent), false);
  for (int64_t l = 0; l < world.landmarks; ++l) put(state.landmark(l), true);
  for (int64_t b = 0; b < world.agents(); ++b) {
    if (b != agent) put(state.position(b), true);
  }
  if (world.scenario == MpeScenario::kPredatorPrey) {
    for (int64_t b = world.predators; b < world.agents(); ++b) {
      if (b != agent) put(state.velocity(b), false);
    }
  }
  return {.inputs = world.observation_size(agent), .terms = std::move(terms)};
}

class MpeEnvImpl final : public MpeEnv {
 public:
  MpeEnvImpl(const MpeOptions& options, const PreyController* prey, int64_t batch, ThreadPool* pool)
      : world_(options.world), prey_(prey), horizon_(options.horizon), batch_(batch), pool_(pool) {
    actors_ = prey_ != nullptr && prey_->force != nullptr ? world_.predators : world_.agents();
    const bool tag = world_.scenario == MpeScenario::kPredatorPrey;
    spec_.name = tag ? "predator_prey" : "cooperative_navigation";
    spec_.horizon = horizon_;
    spec_.state_size = StateLayout{world_.agents(), world_.landmarks}.size();
    for (int64_t a = 0; a < actors_; ++a) {
      const bool adversary = tag && world_.is_predator(a);
      spec_.agents.push_back({.name = adversary
                                          ? fmt::format("adversary_{}", a)
                                          : fmt::format("agent_{}", tag ? a - world_.predators : a),
                              .observation_size = world_.observation_size(a),
                              .action = {.kind = ActionKind::kSoftChoice, .size = kMpeActionSize}});
      spec_.observation_maps.push_back(ObservationMapOf(world_, a));
    }
    world_doubles_ = 4 * world_.agents() + 2 * world_.landmarks;
    worlds_ = AlignedBuffer<double>(batch_ * world_doubles_);
    const int workers = pool_ != nullptr ? pool_->threads() : 1;
    scratch_ = AlignedBuffer<double>(workers * 3 * world_.agents());
    observations_ = AlignedBuffer<float>(batch_ * spec_.observation_size());
    states_ = AlignedBuffer<float>(batch_ * spec_.state_size);
    rewards_ = AlignedBuffer<float>(batch_ * actors_);
    ends_.resize(static_cast<size_t>(batch_));
    steps_.resize(static_cast<size_t>(batch_));
    clocks_.resize(static_cast<size_t>(batch_));
    Reset(0);
  }

  const EnvSpec& spec() const override { return spec_; }
  int64_t batch() const override { return batch_; }
  const MpeWorld& world() const override { return world_; }
  MpeState world_state(int64_t e) override {
    double* const at = worlds_.data() + e * world_doubles_;
    return {at, at + 2 * world_.agents(), at + 4 * world_.agents()};
  }

  Result<cuda::WorldSpec> device_spec() const override {
    const bool scripted = actors_ < world_.agents();
    if (scripted && prey_->on_device == cuda::PreyMotion::kNone) {
      return Error{
          .kind = ErrorKind::kUnsupported,
          .message = fmt::format("prey controller {} is not on --device cuda", prey_->name),
          .hint = "take flee, random or learned"};
    }
    cuda::WorldSpec spec{.navigation = world_.scenario == MpeScenario::kNavigation,
                         .mpe2 = world_.compat == MpeCompat::kMpe2,
                         .predators = static_cast<int>(world_.predators),
                         .prey = static_cast<int>(world_.prey),
                         .landmarks = static_cast<int>(world_.landmarks),
                         .actors = static_cast<int>(actors_),
                         .prey_motion = scripted ? prey_->on_device : cuda::PreyMotion::kNone,
                         .local_ratio = world_.local_ratio,
                         .horizon = horizon_,
                         .worlds = batch_};
    for (size_t a = 0; a < spec_.observation_maps.size(); ++a) {
      std::vector<cuda::ObservedNumber> numbers(
          static_cast<size_t>(spec_.agents[a].observation_size));
      for (const ObservationMap::Term& term : spec_.observation_maps[a].terms) {
        cuda::ObservedNumber& number = numbers[static_cast<size_t>(term.input)];
        (term.factor > 0 ? number.plus : number.minus) = WorldEntry(term.feature);
      }
      spec.observed.insert(spec.observed.end(), numbers.begin(), numbers.end());
    }
    return spec;
  }

  cuda::WorldImage image() override {
    static_assert(sizeof(NumpyMt19937) == sizeof(uint32_t) * cuda::kGeneratorWords);
    FillSavedPcg();
    return {.worlds = worlds_.span(),
            .steps = steps_,
            .clocks = clocks_,
            .generators = {mt_.empty() ? nullptr : mt_[0].state().data(),
                           mt_.size() * cuda::kGeneratorWords},
            .pcg = saved_pcg_};
  }

  void ChangedImage() override {
    TakeSavedPcg();
    for (int64_t e = 0; e < batch_; ++e) Show(e);
  }

  uint64_t seed() const override { return seed_; }

  void Reset(uint64_t seed) override {
    seed_ = seed;
    mt_.clear();
    pcg_.clear();
    for (int64_t e = 0; e < batch_; ++e) {
      const uint64_t own = seed + static_cast<uint64_t>(e);
      if (world_.compat == MpeCompat::kMpe2) {
        pcg_.emplace_back(own);
      } else {
        mt_.emplace_back(static_cast<uint32_t>(own));
        DrawStart(world_, mt_.back(), world_state(e));  // building the original uses one up
      }
      clocks_[static_cast<size_t>(e)] = 0;
      Start(e);
    }
  }

  Result<void> Step(std::span<const float> actions) override {
    TESSERA_CHECK(std::ssize(actions) == batch_ * actors_ * kMpeActionSize);
    if (Result<void> checked = CheckActions(actions); !checked) return checked;
    const auto body = [&](int64_t begin, int64_t end, int worker) {
      for (int64_t e = begin; e < end; ++e) {
        StepOne(e, actions.data() + e * actors_ * kMpeActionSize, worker);
      }
    };
    constexpr int64_t kChunk = 16;
    if (pool_ == nullptr || batch_ <= kChunk) {
      body(0, batch_, 0);
    } else {
      pool_->ParallelFor(batch_, kChunk, std::ref(body));
    }
    return {};
  }

  void ResetFinished() override {
    for (int64_t e = 0; e < batch_; ++e) {
      if (ends_[static_cast<size_t>(e)] != EpisodeEnd::kNone) Start(e);
    }
  }

  void Restart() override {
    for (int64_t e = 0; e < batch_; ++e) Start(e);
  }

  std::span<const float> observations() const override { return observations_.span(); }
  std::span<const float> states() const override { return states_.span(); }
  std::span<const float> rewards() const override { return rewards_.span(); }
  std::span<const EpisodeEnd> ends() const override { return ends_; }

  void Save(const std::string& prefix, TensorWriter& writer) const override {
    writer.Add(prefix + "worlds", worlds_.span(), {batch_, world_doubles_});
    writer.Add(prefix + "steps", std::span(steps_));
    writer.Add(prefix + "clocks", std::span(clocks_));
    writer.AddInt(prefix + "seed", static_cast<int64_t>(seed_));
    for (size_t e = 0; e < mt_.size(); ++e) {
      writer.Add(fmt::format("{}mt19937.{}", prefix, e), std::span<const uint32_t>(mt_[e].state()));
    }
    FillSavedPcg();
    if (!pcg_.empty()) writer.Add(prefix + "pcg64", std::span(saved_pcg_));
  }

  Result<void> Load(const std::string& prefix, const TensorReader& reader) override {
    constexpr double kFarthest = 1e30;
    if (Result<void> read =
            reader.ReadWithin(prefix + "worlds", worlds_.span(), -kFarthest, kFarthest);
        !read) {
      return read;
    }
    if (Result<void> read =
            reader.ReadWithin(prefix + "steps", std::span(steps_), int64_t{0}, horizon_);
        !read) {
      return read;
    }
    if (Result<void> read = reader.ReadWithin(prefix + "clocks", std::span(clocks_), int64_t{0},
                                              TensorReader::kMostCounted);
        !read) {
      return read;
    }
    const Result<int64_t> seed = reader.ReadInt(prefix + "seed");
    if (!seed) return seed.error();
    seed_ = static_cast<uint64_t>(*seed);
    for (size_t e = 0; e < mt_.size(); ++e) {
      const std::string name = fmt::format("{}mt19937.{}", prefix, e);
      if (Result<void> read = reader.Read(name, std::span<uint32_t>(mt_[e].state())); !read) {
        return read;
      }
      if (mt_[e].state().back() <= NumpyMt19937::kStateWords) continue;
      return Error{.kind = ErrorKind::kBadValue,
                   .message = fmt::format("array '{}' is no state of a generator", name),
                   .hint = "the file is damaged"};
    }
    saved_pcg_.resize(4 * pcg_.size());
    if (!pcg_.empty()) {
      if (Result<void> read = reader.Read(prefix + "pcg64", std::span(saved_pcg_)); !read) {
        return read;
      }
    }
    ChangedImage();
    return {};
  }

 private:
  // Where a number of the compact state lies in a world: positions come first there.
  int32_t WorldEntry(int64_t feature) const {
    const int64_t moving = 2 * world_.agents();
    return static_cast<int32_t>(feature < moving       ? feature + moving
                                : feature < 2 * moving ? feature - moving
                                                       : feature);
  }

  void FillSavedPcg() const {
    saved_pcg_.clear();
    for (const NumpyPcg64& random : pcg_) {
      for (const uint64_t word : random.state()) saved_pcg_.push_back(word);
    }
  }
  void TakeSavedPcg() {
    for (size_t e = 0; e < pcg_.size(); ++e) {
      const uint64_t* const at = saved_pcg_.data() + 4 * e;
      pcg_[e].set_state({at[0], at[1], at[2], at[3]});
    }
  }

  void Start(int64_t e) {
    const size_t at = static_cast<size_t>(e);
    if (world_.compat == MpeCompat::kMpe2) {
      DrawStart(world_, pcg_[at], world_state(e));
    } else {
      DrawStart(world_, mt_[at], world_state(e));
    }
    steps_[at] = 0;
    Show(e);
  }

  // The only error is a NaN, which one pass over the numbers finds without branches.
  Result<void> CheckActions(std::span<const float> actions) const {
    float sum = 0;
    for (const float value : actions) sum += value * 0.0f;
    if (sum == 0.0f) return {};
    const auto bad = std::find_if(actions.begin(), actions.end(),
                                  [](float value) { return !std::isfinite(value); });
    const int64_t at = (bad - actions.begin()) / kMpeActionSize;
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format(
                     "action {} of agent {} in environment {}", std::isnan(*bad) ? "nan" : "inf",
                     spec_.agents[static_cast<size_t>(at % actors_)].name, at / actors_)};
  }

  void StepOne(int64_t e, const float* actions, int worker) {
    const size_t at = static_cast<size_t>(e);
    const MpeState state = world_state(e);
    double* const forces = scratch_.data() + worker * 3 * world_.agents();
    for (int64_t a = 0; a < actors_; ++a) {
      DecodeVector(world_, a, std::span(actions + a * kMpeActionSize, kMpeActionSize),
                   forces + 2 * a);
    }
    for (int64_t a = actors_; a < world_.agents(); ++a) {
      CounterRng rng(seed_, StreamId("mpe.prey", static_cast<uint64_t>(e * world_.prey + a)),
                     static_cast<uint64_t>(clocks_[at]));
      prey_->force(world_, state, a, rng, forces + 2 * a);
    }
    StepWorld(world_, forces, state);
    ++clocks_[at];
    ++steps_[at];
    ends_[at] = steps_[at] >= horizon_ ? EpisodeEnd::kTruncated : EpisodeEnd::kNone;
    const std::span<double> rewards(forces + 2 * world_.agents(),
                                    static_cast<size_t>(world_.agents()));
    WriteRewards(world_, state, rewards);
    for (int64_t a = 0; a < actors_; ++a) {
      rewards_[e * actors_ + a] = static_cast<float>(rewards[static_cast<size_t>(a)]);
    }
    WriteViews(e);
  }

  // Observations of a world that has not stepped yet.
  void Show(int64_t e) {
    ends_[static_cast<size_t>(e)] = EpisodeEnd::kNone;
    for (int64_t a = 0; a < actors_; ++a) rewards_[e * actors_ + a] = 0;
    WriteViews(e);
  }

  void WriteViews(int64_t e) {
    const MpeState state = world_state(e);
    float* observation = observations_.data() + e * spec_.observation_size();
    for (int64_t a = 0; a < actors_; ++a) {
      WriteObservation(world_, state, a, observation);
      observation += spec_.agents[static_cast<size_t>(a)].observation_size;
    }
    float* compact = states_.data() + e * spec_.state_size;
    const auto put = [&](const double* values, int64_t count) {
      for (int64_t i = 0; i < count; ++i) *compact++ = static_cast<float>(values[i]);
    };
    put(state.velocities, 2 * world_.agents());
    put(state.positions, 2 * world_.agents());
    put(state.landmarks, 2 * world_.landmarks);
  }

  const MpeWorld world_;
  const PreyController* const prey_;
  const int64_t horizon_, batch_;
  ThreadPool* const pool_;
  EnvSpec spec_;
  int64_t actors_ = 0;  // agents with actions; the rest are moved by prey_
  int64_t world_doubles_ = 0;
  uint64_t seed_ = 0;
  AlignedBuffer<double> worlds_, scratch_;
  AlignedBuffer<float> observations_, states_, rewards_;
  std::vector<EpisodeEnd> ends_;
  std::vector<int64_t> steps_, clocks_;  // of the episode; since Reset
  std::vector<NumpyMt19937> mt_;         // one per environment, or none
  std::vector<NumpyPcg64> pcg_;
  mutable std::vector<uint64_t> saved_pcg_;  // lives until the writer has written
};

}  // namespace

namespace {

// Every agent sees every other one, so what a world takes grows with the square of its agents.
Result<void> CheckMemory(const MpeWorld& world, int64_t batch) {
  constexpr double kMapBytes = 100;  // of one observed number, as a map from the compact state
  double observed = 0;
  for (int64_t a = 0; a < world.agents(); ++a) {
    observed += static_cast<double>(world.observation_size(a));
  }
  return RequireMemory(fmt::format("{} environments of {} agents and {} landmarks", batch,
                                   world.agents(), world.landmarks),
                       observed * (kMapBytes + sizeof(float) * static_cast<double>(batch)),
                       "take fewer agents or environments");
}

}  // namespace

Result<std::unique_ptr<MpeEnv>> MakeMpeEnv(const MpeOptions& options, int64_t batch,
                                           ThreadPool* pool) {
  if (Result<void> checked = Check(options.world); !checked) return checked.error();
  if (batch < 1 || options.horizon < 1) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("{} environments of {} steps: both must be at least 1",
                                        batch, options.horizon)};
  }
  if (Result<void> fits = CheckMemory(options.world, batch); !fits) return fits.error();
  const PreyController* prey = nullptr;
  if (options.world.scenario == MpeScenario::kPredatorPrey) {
    const Result<const PreyController*> found = FindPreyController(options.prey);
    if (!found) return found.error();
    prey = *found;
  }
  return std::unique_ptr<MpeEnv>(std::make_unique<MpeEnvImpl>(options, prey, batch, pool));
}

}  // namespace tessera
