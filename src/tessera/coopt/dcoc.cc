// DCOC: three agents with a shared critic propose hardware and schedules, Confidence Sampling picks
// what is measured, a cost model learns from it. The published method is there with its parts as
// described; our additions can be switched off one by one.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "tessera/coopt/confidence_sampling.h"
#include "tessera/coopt/dcoc_agents.h"
#include "tessera/coopt/performance_model.h"
#include "tessera/coopt/searcher.h"
#include "tessera/result.h"
#include "tessera/search.h"

namespace tessera::coopt {
namespace {

struct DcocOptions {
  std::string team = "three";
  std::string confidence = "model";
  std::string sampling = "confidence";
  std::string hardware = "confidence";
  std::string reward = "shared";
  bool roofline = true;
  bool transfer = true;
  int64_t ensemble = 3;
  bool validity = true;
  double optimism = 0.5;
  int64_t plan = 0;
  int64_t hardware_plan = 2;
  int64_t steps = 16;
  double temperature = 0.01;
  bool tune = false;
};

// Candidates of a task that are looked at beside those that agents came by.
constexpr size_t kWarm = 48;
constexpr size_t kWalkersPerLayer = 8;
constexpr size_t kMaxWalkers = 256;
// Accelerators whose worth is estimated before the first measurement, and how many more per round.
constexpr size_t kFirstHardware = 24;
constexpr size_t kNewHardware = 6;
constexpr size_t kMaxHardware = 128;
// Ranks of accelerators are relative differences of what they promise. Each turn that one had sets
// it back by 0.4 %, so that an accelerator whose schedules are mostly known makes room for one that
// promises little less, and draws (Gumbel's, of deviation 1.3) of about 1 % decide between those
// that promise the same. Both were set by hand.
constexpr double kSetBackPerTurn = 0.004;
constexpr double kDrawnShare = 0.01;
// Rounds in which one accelerator gets a schedule for every layer, before the next one is tried.
constexpr int kPatience = 8;

DcocAgentsKind KindOf(const std::string& name) {
  if (name == "one") return DcocAgentsKind::kOne;
  return name == "independent" ? DcocAgentsKind::kIndependent : DcocAgentsKind::kCentral;
}

// Measurements per layer and accelerator in a round: few, so that each is well chosen; more where a
// large budget would otherwise mean many rounds over several accelerators.
int64_t PlanOf(const JointSetup& setup, const DcocOptions& options) {
  if (options.plan > 0) return options.plan;
  // Who knows what to expect can look at each result before the next choice.
  if (setup.policy != nullptr) return std::clamp<int64_t>(setup.measurements / 8, 1, 4);
  if (setup.problem.hardware().fixed()) return 4;
  return std::clamp<int64_t>(setup.measurements / 100, 4, 16);
}

class DcocSearcher final : public JointSearcher {
 public:
  static Result<std::unique_ptr<JointSearcher>> Make(const JointSetup& setup,
                                                     const DcocOptions& options) {
    auto made = std::make_unique<DcocSearcher>(setup, options);
    if (setup.policy != nullptr) {
      if (Result<void> r = made->agents_.Load(*setup.policy); !r) return r.error();
      if (Result<void> r = made->model_.Load(*setup.policy); !r) return r.error();
    }
    return std::unique_ptr<JointSearcher>(std::move(made));
  }

  DcocSearcher(const JointSetup& setup, const DcocOptions& options)
      : setup_(setup),
        problem_(setup.problem),
        options_(options),
        layers_(problem_.layers().size()),
        plan_(PlanOf(setup, options)),
        model_(problem_, {.roofline = options.roofline,
                          .transfer = options.transfer,
                          .ensemble = options.ensemble,
                          .validity = options.validity,
                          .seed = setup.seed}),
        agents_(problem_,
                {.kind = KindOf(options.team),
                 .walkers = static_cast<int64_t>(std::min(kMaxWalkers, kWalkersPerLayer * layers_)),
                 .steps = options.steps,
                 .local_rewards = options.reward == "local",
                 .learn = setup.policy == nullptr || options.tune,
                 .seed = setup.seed}) {
    for (size_t knob = 0; knob < problem_.hardware().knobs(); ++knob) {
      hardware_sizes_.push_back(std::ssize(problem_.hardware().values(knob)));
    }
  }

  std::vector<Request> Propose() override {
    CounterRng rng(setup_.seed, StreamId("coopt.dcoc"), rounds_++);
    const bool fixed = problem_.hardware().fixed();
    if (!fixed && !complete_ && !problem_.task(0, 0).space.enumerates()) return CompleteOne(rng);
    const std::vector<uint32_t> hardware = fixed ? std::vector<uint32_t>{0} : ChooseHardware(rng);
    std::vector<Request> requests;
    for (const uint32_t one : hardware) ChooseSchedules(one, rng, requests);
    return requests;
  }

  void Observe(std::span<const Measured> measured) override {
    for (const Measured& item : measured) {
      if (!known_.emplace(item.request, item.outcome).second) continue;
      model_.Add(item);
      if (!item.outcome.valid) continue;
      Best& best = best_[{item.request.hardware, item.request.layer}];
      if (best.value == 0 && ++layers_done_[item.request.hardware] == layers_) complete_ = true;
      if (best.value == 0 || item.outcome.value < best.value) {
        best = {item.outcome.value, item.request.point};
      }
    }
    model_.Fit();
    estimates_.clear();
    if (!setup_.watch) return;
    setup_.watch({.model =
                      [this](std::span<const Request> states) {
                        std::vector<double> values;
                        for (const Request& state : states) {
                          values.push_back(-model_.Predict(state).log_value);
                        }
                        return values;
                      },
                  .critic =
                      [this](std::span<const Request> states) {
                        const std::vector<float> values = agents_.Values(states);
                        return std::vector<double>(values.begin(), values.end());
                      }});
  }

  bool Keeps() const override { return true; }

  // The policies of the agents with their critic, and what the cost model has learned from, which
  // ranks what the agents come by.
  void Save(TensorWriter& writer) const override {
    agents_.Save(writer);
    model_.Save(writer);
  }

 private:
  struct Best {
    double value = 0;  // 0: none yet
    SchedulePoint point = {};
  };

  // Optimistic logarithm of a value: what is uncertain may be better than it looks.
  double Expect(const Request& request) const {
    const PerformanceModel::Prediction prediction = model_.Predict(request);
    return prediction.log_value - options_.optimism * prediction.deviation;
  }

  // The most promising candidates of a task that were not measured, best first.
  std::vector<Request> WarmStarts(uint32_t hardware, uint32_t layer, size_t count,
                                  CounterRng& rng) const {
    const Task& task = problem_.task(hardware, layer);
    std::vector<size_t> order(task.candidates.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (options_.roofline) {
      const size_t look = std::min(order.size(), 4 * count);
      std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(look), order.end(),
                        [&](size_t a, size_t b) {
                          return task.estimates[a] != task.estimates[b]
                                     ? task.estimates[a] < task.estimates[b]
                                     : a < b;
                        });
      order.resize(look);
    } else {
      rng.Shuffle(std::span(order));
      order.resize(std::min(order.size(), count));
    }
    std::vector<std::pair<double, Request>> ranked;
    for (const size_t i : order) {
      const Request request = {hardware, layer, task.candidates[i]};
      if (known_.contains(request) || model_.Refused(request)) continue;
      ranked.emplace_back(Expect(request), request);
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Request> starts;
    for (const auto& [expected, request] : ranked) {
      if (starts.size() == count) break;
      starts.push_back(request);
    }
    return starts;
  }

  // Logarithm of the best value of a layer on an accelerator: measured, or expected.
  double BestLog(uint32_t hardware, uint32_t layer) {
    const auto known = estimates_.find({hardware, layer});
    if (known != estimates_.end()) return known->second;
    double best = std::numeric_limits<double>::infinity();
    const auto measured = best_.find({hardware, layer});
    if (measured != best_.end()) {
      best = std::log(measured->second.value);
    } else {
      CounterRng rng(setup_.seed, StreamId("coopt.dcoc.estimate", hardware), layer);
      const std::vector<Request> starts = WarmStarts(hardware, layer, 4, rng);
      const std::vector<SchedulePoint>& candidates = problem_.task(hardware, layer).candidates;
      if (!starts.empty()) {
        best = model_.Predict(starts.front()).log_value;
      } else if (!candidates.empty()) {
        best = model_.Predict({hardware, layer, candidates.front()}).log_value;
      }
    }
    estimates_[{hardware, layer}] = best;
    return best;
  }

  // Expected objective of an accelerator.
  double Worth(uint32_t hardware) {
    double sum = 0;
    for (uint32_t layer = 0; layer < layers_; ++layer) sum += std::exp(BestLog(hardware, layer));
    return sum;
  }

  // A target may refuse what looks valid. Layers must not spend their measurements on different
  // accelerators then, of which none serves the network: one gets them until all layers have some.
  std::vector<Request> CompleteOne(CounterRng& rng) {
    std::vector<Request> requests;
    for (int tries = 0; tries < kPatience && requests.empty(); ++tries) {
      if (!first_ || ++first_rounds_ > kPatience || tries > 0) {
        for (const uint32_t hardware : ChooseHardware(rng)) {
          if (!tried_first_.insert(hardware).second) continue;
          first_ = hardware;
          break;
        }
        first_rounds_ = 0;
      }
      if (!first_) break;
      ChooseSchedules(*first_, rng, requests);
      std::erase_if(requests, [&](const Request& request) {
        return best_.contains({request.hardware, request.layer});
      });
    }
    return requests;
  }

  // Candidates are the accelerators whose matrix unit promises most, and those that the hardware
  // agent comes by.
  std::vector<uint32_t> ChooseHardware(CounterRng& rng) {
    if (pool_.empty()) StartPool(rng);
    double best = std::numeric_limits<double>::infinity();
    for (const uint32_t hardware : pool_) best = std::min(best, Worth(hardware));
    Explore(best, rng);
    return options_.hardware == "ranking" ? RankHardware(best, rng) : SampleHardware(best, rng);
  }

  // Confidence Sampling over the pool: values are what accelerators promise, or what the critic
  // expects of their best schedules.
  std::vector<uint32_t> SampleHardware(double best, CounterRng& rng) {
    const auto value = [&](uint32_t hardware) {
      if (options_.confidence == "critic") return CriticOf(hardware);
      return std::log(best / Worth(hardware)) -
             kSetBackPerTurn * static_cast<double>(turns_[hardware]);
    };
    std::vector<HardwarePoint> candidates;
    std::vector<double> values;
    for (const uint32_t hardware : pool_) {
      if (!std::isfinite(Worth(hardware))) continue;
      candidates.push_back(problem_.hardware().point(hardware));
      values.push_back(value(hardware));
    }
    const std::vector<HardwarePoint> sampled = ConfidenceSample<HardwarePoint>(
        hardware_sizes_, candidates, values,
        {.count = options_.hardware_plan,
         .temperature = options_.temperature,
         .uniform = options_.sampling == "uniform"},
        [&](const HardwarePoint& point) {
          const std::optional<size_t> found = problem_.hardware().Find(point);
          return found && std::isfinite(Worth(static_cast<uint32_t>(*found)));
        },
        [&](const HardwarePoint& point) {
          return value(static_cast<uint32_t>(*problem_.hardware().Find(point)));
        },
        rng);
    std::vector<uint32_t> chosen;
    for (const HardwarePoint& point : sampled) {
      chosen.push_back(static_cast<uint32_t>(*problem_.hardware().Find(point)));
      AddToPool(chosen.back());
      ++turns_[chosen.back()];
    }
    return chosen;
  }

  // What the critic expects of an accelerator: the mean over the layers of its best known
  // schedules.
  double CriticOf(uint32_t hardware) {
    std::vector<Request> states;
    for (uint32_t layer = 0; layer < layers_; ++layer) {
      const auto measured = best_.find({hardware, layer});
      const std::vector<SchedulePoint>& candidates = problem_.task(hardware, layer).candidates;
      if (measured != best_.end()) {
        states.push_back({hardware, layer, measured->second.point});
      } else if (!candidates.empty()) {
        states.push_back({hardware, layer, candidates.front()});
      }
    }
    const std::vector<float> values = agents_.Values(states);
    return std::accumulate(values.begin(), values.end(), 0.0) /
           static_cast<double>(std::max<size_t>(1, values.size()));
  }

  // The most promising first, those that had their turns set back.
  std::vector<uint32_t> RankHardware(double best, CounterRng& rng) {
    std::vector<std::pair<double, uint32_t>> ranked;
    for (const uint32_t hardware : pool_) {
      const double worth = Worth(hardware);
      if (!std::isfinite(worth)) continue;
      const double noise = -std::log(-std::log(std::max(rng.Uniform(), 1e-300)));
      const double turns = static_cast<double>(turns_[hardware]);
      ranked.emplace_back(std::log(worth / best) + kSetBackPerTurn * turns - kDrawnShare * noise,
                          hardware);
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<uint32_t> chosen;
    for (const auto& [key, hardware] : ranked) {
      if (std::ssize(chosen) == options_.hardware_plan) break;
      chosen.push_back(hardware);
      ++turns_[hardware];
    }
    return chosen;
  }

  void StartPool(CounterRng& rng) {
    std::vector<std::pair<double, uint32_t>> order;
    if (options_.roofline) {
      for (const size_t hardware : Promising()) {
        order.emplace_back(problem_.FloorCycles(hardware) * problem_.Penalty(hardware),
                           static_cast<uint32_t>(hardware));
      }
      std::stable_sort(order.begin(), order.end());
    } else {
      for (size_t i = 0; i < kFirstHardware; ++i) {
        const int64_t drawn = rng.UniformInt(static_cast<int64_t>(problem_.hardware().size()));
        order.emplace_back(0, static_cast<uint32_t>(drawn));
      }
    }
    for (const auto& [floor, hardware] : order) {
      if (pool_.size() == kFirstHardware) break;
      AddToPool(hardware);
    }
  }

  // Larger buffers never cost cycles, but a penalty.
  std::vector<size_t> Promising() const {
    if (problem_.options().limit_penalty == 0) return problem_.hardware().LargestBuffers();
    std::vector<size_t> all(problem_.hardware().size());
    std::iota(all.begin(), all.end(), size_t{0});
    return all;
  }

  void AddToPool(uint32_t hardware) {
    if (in_pool_.insert(hardware).second) pool_.push_back(hardware);
  }

  // The agents walk from good accelerators; what they come by joins the pool, the critic's
  // favourites first.
  void Explore(double best, CounterRng& rng) {
    std::vector<std::pair<double, uint32_t>> ranked;
    for (const uint32_t hardware : pool_) ranked.emplace_back(Worth(hardware), hardware);
    std::stable_sort(ranked.begin(), ranked.end());
    std::vector<Request> starts;
    for (size_t i = 0; i < std::min<size_t>(4, ranked.size()); ++i) {
      const auto layer = static_cast<uint32_t>(rng.UniformInt(static_cast<int64_t>(layers_)));
      AddStarts(ranked[i].second, layer, 2, rng, starts);
    }
    if (starts.empty()) return;
    std::vector<Request> found;
    std::unordered_set<uint32_t> seen;
    agents_.Walk(
        starts, /*freeze_hardware=*/false,
        [&](const Request& state) { return ScoreState(state, best); },
        [&](const Request& state) {
          if (!in_pool_.contains(state.hardware) && seen.insert(state.hardware).second) {
            found.push_back(state);
          }
        });
    if (found.empty()) return;
    const std::vector<float> values = agents_.Values(found);
    std::vector<size_t> order(found.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return values[a] > values[b]; });
    for (size_t i = 0; i < std::min(kNewHardware, order.size()) && pool_.size() < kMaxHardware;
         ++i) {
      AddToPool(found[order[i]].hardware);
    }
  }

  // Part of the best known: of the hardware, where it is known, times that of the schedule.
  DcocAgents::Worth ScoreState(const Request& state, double best) {
    double hardware = 1;
    if (!problem_.hardware().fixed()) {
      hardware = in_pool_.contains(state.hardware)
                     ? best / Worth(state.hardware)
                     : std::min(1.0, best / (1.1 * problem_.FloorCycles(state.hardware) *
                                             problem_.Penalty(state.hardware)));
    }
    const double log_value = model_.Predict(state).log_value;
    const double reference = in_pool_.contains(state.hardware) || problem_.hardware().fixed()
                                 ? BestLog(state.hardware, state.layer)
                                 : log_value;
    // An accelerator on which nothing is known to fit is worth nothing.
    const double schedule = std::exp(std::min(0.0, reference - log_value));
    return {.hardware = std::isfinite(hardware) ? hardware : 0,
            .schedule = std::isfinite(schedule) ? schedule : 0};
  }

  // Where walks on one task begin: the most promising, the best measured, and anywhere.
  void AddStarts(uint32_t hardware, uint32_t layer, size_t count, CounterRng& rng,
                 std::vector<Request>& starts) {
    const Task& task = problem_.task(hardware, layer);
    if (task.candidates.empty()) return;
    const auto best = best_.find({hardware, layer});
    const size_t before = starts.size();
    if (best != best_.end()) starts.push_back({hardware, layer, best->second.point});
    for (const Request& start : WarmStarts(hardware, layer, count / 2 + 1, rng)) {
      if (starts.size() - before + 1 < count) starts.push_back(start);
    }
    while (starts.size() - before < count) {
      const int64_t drawn = rng.UniformInt(std::ssize(task.candidates));
      starts.push_back({hardware, layer, task.candidates[static_cast<size_t>(drawn)]});
    }
  }

  void ChooseSchedules(uint32_t hardware, CounterRng& rng, std::vector<Request>& requests) {
    std::vector<Request> starts;
    for (uint32_t layer = 0; layer < layers_; ++layer) {
      AddStarts(hardware, layer, kWalkersPerLayer, rng, starts);
    }
    if (starts.empty()) return;
    std::vector<std::vector<SchedulePoint>> visited(layers_);
    std::unordered_set<Request, RequestHash> seen;
    const auto offer = [&](const Request& state) {
      if (known_.contains(state) || !seen.insert(state).second) return;
      visited[state.layer].push_back(state.point);
    };
    agents_.Walk(
        starts, /*freeze_hardware=*/true,
        [&](const Request& state) { return ScoreState(state, Worth(hardware)); }, offer);
    for (uint32_t layer = 0; layer < layers_; ++layer) {
      for (const Request& state : WarmStarts(hardware, layer, kWarm, rng)) offer(state);
      Choose(hardware, layer, visited[layer], rng, requests);
    }
  }

  // Confidence Sampling over what was visited.
  void Choose(uint32_t hardware, uint32_t layer, const std::vector<SchedulePoint>& visited,
              CounterRng& rng, std::vector<Request>& requests) {
    const Task& task = problem_.task(hardware, layer);
    std::vector<SchedulePoint> candidates;
    std::vector<Request> states;
    for (const SchedulePoint& point : visited) {
      const Request state = {hardware, layer, point};
      if (model_.Refused(state) && best_.contains({hardware, layer})) continue;
      candidates.push_back(point);
      states.push_back(state);
    }
    if (candidates.empty()) return;
    const bool by_critic = options_.confidence == "critic";
    const double reference = BestLog(hardware, layer);
    const auto confidence = [&](const SchedulePoint& point) -> double {
      const Request state = {hardware, layer, point};
      if (by_critic) return agents_.Values(std::span(&state, 1)).front();
      return reference - Expect(state);
    };
    std::vector<double> values;
    if (by_critic) {
      for (const float value : agents_.Values(states)) values.push_back(value);
    } else {
      for (const SchedulePoint& point : candidates) values.push_back(confidence(point));
    }
    std::vector<int64_t> sizes;
    for (const Decision& knob : task.space.decisions()) sizes.push_back(knob.size());
    const std::vector<SchedulePoint> chosen = ConfidenceSample<SchedulePoint>(
        sizes, candidates, values,
        {.count = plan_,
         .temperature = options_.temperature,
         .uniform = options_.sampling == "uniform"},
        [&](const SchedulePoint& point) {
          return task.space.Valid(point) && !known_.contains({hardware, layer, point});
        },
        confidence, rng);
    for (const SchedulePoint& point : chosen) requests.push_back({hardware, layer, point});
  }

  const JointSetup setup_;
  const CooptProblem& problem_;
  const DcocOptions options_;
  const size_t layers_;
  const int64_t plan_;
  std::vector<int64_t> hardware_sizes_;  // values of each knob
  PerformanceModel model_;
  DcocAgents agents_;
  uint64_t rounds_ = 0;
  std::unordered_map<Request, MeasuredOutcome, RequestHash> known_;
  std::map<std::pair<uint32_t, uint32_t>, Best> best_;         // by hardware and layer
  std::map<std::pair<uint32_t, uint32_t>, double> estimates_;  // since the last fit
  std::vector<uint32_t> pool_;
  std::unordered_set<uint32_t> in_pool_;
  std::map<uint32_t, int64_t> turns_;
  std::map<uint32_t, size_t> layers_done_;  // by hardware, those with a schedule
  bool complete_ = false;                   // an accelerator has a schedule for every layer
  std::optional<uint32_t> first_;           // the accelerator that is to have them
  int first_rounds_ = 0;
  std::unordered_set<uint32_t> tried_first_;
};

}  // namespace

MethodInfo DcocMethod() {
  using O = DcocOptions;
  return DeclareMethod<DcocSearcher, O>(
      {.name = "dcoc",
       .summary = "three agents with a shared critic, Confidence Sampling, learned cost model"},
      {{"team", &O::team, Choices{"three", "one", "independent"},
        "three agents with one central critic, one agent, or three with critics of their own"},
       {"confidence", &O::confidence, Choices{"model", "critic"},
        "whose predictions Confidence Sampling uses"},
       {"sampling", &O::sampling, Choices{"confidence", "uniform"}, "what is measured"},
       {"hardware", &O::hardware, Choices{"confidence", "ranking"},
        "how accelerators are chosen: Confidence Sampling too, or the most promising in turns"},
       {"reward", &O::reward, Choices{"shared", "local"},
        "all agents get the same, or the hardware agent what the accelerator is worth and the "
        "others what the schedule is"},
       {"roofline", &O::roofline, "start from the analytical estimate"},
       {"transfer", &O::transfer, "one cost model for all layers"},
       {"ensemble", &O::ensemble, Range{1, 32}, "models whose spread is the uncertainty"},
       {"validity", &O::validity, "learn what the generator refuses"},
       {"optimism", &O::optimism, Range{0, 10}, "deviations that a prediction is bettered by"},
       {"plan", &O::plan, Range{0, 1'000},
        "measurements per layer and accelerator in a round; 0: 4, more with a large budget"},
       {"hardware_plan", &O::hardware_plan, Range{1, 100}, "accelerators in a round"},
       {"steps", &O::steps, Range{1, 1'000}, "steps of a walk"},
       {"temperature", &O::temperature, Range{1e-6, 100}, "of the soft-max; small is greedy"},
       {"tune", &O::tune, "with policies of an earlier run: agents go on learning"}});
}

}  // namespace tessera::coopt
