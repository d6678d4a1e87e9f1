// Labels, imitation, reinforcement.
#include "tessera/mapper/policy_training.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tessera/accelerator.h"
#include "tessera/base/sha256.h"
#include "tessera/base/stop.h"
#include "tessera/cost.h"
#include "tessera/policy/game.h"
#include "tessera/policy/learn.h"
#include "tessera/policy/play.h"

namespace tessera {
Result<std::unique_ptr<MappingProblem>> ProblemOf(const Exercise& exercise,
                                                  const std::string& model) {
  const Result<CostModelChoice> choice = ChooseCostModel(model, {});
  if (!choice) return choice.error();
  MappingProblemOptions options{.objective = exercise.objective};
  options.space.decide_keep =
      exercise.bypass && exercise.machine.hierarchy && exercise.machine.hierarchy->bypass;
  return MappingProblem::Make(exercise.layer, exercise.machine, *choice, options);
}

namespace {

// Somebody's wish to stop, remembered: any thread may ask.
class Wish {
 public:
  explicit Wish(const std::function<bool()>& stopped) : stopped_(stopped) {}

  bool operator()() {
    if (stopped_ && !come_ && stopped_()) come_ = true;
    return come_;
  }

 private:
  const std::function<bool()>& stopped_;
  std::atomic<bool> come_ = false;
};

}  // namespace

struct PolicyTrainer::State {
  State(const Curriculum& made_from, uint64_t first_seed, ExerciseSource made_source,
        const policy::FeatureCounts& features)
      : curriculum(made_from),
        seed(first_seed),
        source(std::move(made_source)),
        networks(features, made_from.hidden, first_seed),
        student(networks, made_from.learning_rate),
        best(static_cast<size_t>(made_from.problems)) {
    progress.steps = Steps();
  }

  int64_t Batches() const {
    return (curriculum.problems + curriculum.batch - 1) / curriculum.batch;
  }
  int64_t LabelSteps() const { return Batches(); }
  int64_t ImitationSteps() const { return Batches() * curriculum.epochs; }
  int64_t Steps() const { return LabelSteps() + ImitationSteps() + Batches() * curriculum.visits; }

  // The exercises of a step, in an order that is new in every epoch.
  std::vector<size_t> Exercises(int64_t at) const {
    const int64_t epoch = at / Batches(), batch = at % Batches();
    std::vector<size_t> all(static_cast<size_t>(curriculum.problems));
    std::iota(all.begin(), all.end(), 0);
    if (at >= LabelSteps()) {
      CounterRng rng(seed, StreamId("policy.order"), static_cast<uint64_t>(epoch));
      rng.Shuffle(std::span(all));
    }
    const auto first = static_cast<size_t>(batch * curriculum.batch);
    const size_t last = std::min(all.size(), first + static_cast<size_t>(curriculum.batch));
    return {all.begin() + static_cast<std::ptrdiff_t>(first),
            all.begin() + static_cast<std::ptrdiff_t>(last)};
  }

  KnownMapping Label(size_t number, const std::function<bool()>& stopped) const {
    KnownMapping known;
    const Exercise exercise = source.Draw(seed, number);
    const Result<std::unique_ptr<MappingProblem>> problem = ProblemOf(exercise, curriculum.model);
    if (!problem) return known;  // Not every layer fits every machine.
    CounterRng rng(seed, StreamId("policy.teach"), number);
    if (rng.Uniform() < curriculum.taught) {
      known = TeachExactly(**problem, curriculum.rounds, stopped);
    }
    if (known.known) {
      ImproveNearBy(**problem, curriculum.improve, rng, known, stopped);
    } else {
      known = TeachByWalks(**problem, curriculum.improve, rng, stopped);
    }
    return known;
  }

  struct Visit {
    policy::Lessons lessons = {};
    double first = 0, best = 0;
    bool counts = false;
  };

  Visit ImitateOne(size_t number) const {
    Visit visit;
    if (!best[number].known) return visit;
    const Exercise exercise = source.Draw(seed, number);
    const Result<std::unique_ptr<MappingProblem>> problem = ProblemOf(exercise, curriculum.model);
    const std::unique_ptr<policy::Game> game = problem ? policy::MakeGame(**problem) : nullptr;
    if (game != nullptr) policy::Imitate(*game, best[number].point, 1, visit.lessons);
    return visit;
  }

  Visit ReinforceOne(size_t number, int64_t at, const std::function<bool()>& stopped) {
    Visit visit;
    const Exercise exercise = source.Draw(seed, number);
    const Result<std::unique_ptr<MappingProblem>> problem = ProblemOf(exercise, curriculum.model);
    const std::unique_ptr<policy::Game> game = problem ? policy::MakeGame(**problem) : nullptr;
    if (game == nullptr) return visit;
    std::vector<policy::Lessons> turns;
    const std::vector<policy::Draft> drafts = policy::Play(*game, networks,
                                                           {.count = curriculum.draws,
                                                            .seed = seed + number,
                                                            .stream = static_cast<uint64_t>(at),
                                                            .greedy_first = true,
                                                            .stopped = stopped},
                                                           &turns);
    const std::unique_ptr<Problem::Workspace> workspace = (*problem)->MakeWorkspace();
    std::vector<double> logs;
    constexpr double kInfeasible = 1e3;
    KnownMapping good;
    for (const policy::Draft& draft : drafts) {
      if (stopped()) return visit;
      const Outcome outcome = (*problem)->Evaluate(draft.point, *workspace);
      logs.push_back(outcome.feasible() ? std::log(outcome.value) : kInfeasible);
      if (!outcome.feasible() || (good.known && good.value <= outcome.value)) continue;
      good = {.point = draft.point, .value = outcome.value, .known = true};
    }
    if (!good.known) return visit;
    const double best_draw = std::log(good.value);
    // Near the best draw something better may lie, and near the best known mapping, too.
    CounterRng rng(seed, StreamId("policy.improve"), static_cast<uint64_t>(at) << 32 | number);
    KnownMapping& known = best[number];
    ImproveNearBy(**problem, curriculum.improve / 4, rng, good, stopped);
    if (!known.known || good.value < known.value) known = good;
    Teach(*game, known, drafts, logs, turns, visit);
    const double least = std::log(known.value);
    visit.first = (std::min(logs.front(), least + 10) - least) / std::log(2.0);
    visit.best = (best_draw - least) / std::log(2.0);
    visit.counts = true;
    return visit;
  }

  // Draws by how much better than their mean they are, the best known mapping, and which of the
  // draws to choose.
  void Teach(const policy::Game& game, const KnownMapping& known,
             const std::vector<policy::Draft>& drafts, std::vector<double>& logs,
             std::vector<policy::Lessons>& turns, Visit& visit) const {
    if (curriculum.imitate > 0) {
      policy::Imitate(game, known.point, static_cast<float>(curriculum.imitate), visit.lessons);
    }
    // Far worse is as bad as worse.
    const double least = *std::min_element(logs.begin(), logs.end());
    double mean = 0, square = 0;
    for (double& value : logs) {
      value = std::min(value, least + 3);
      mean += value / static_cast<double>(logs.size());
    }
    for (const double value : logs) square += (value - mean) * (value - mean);
    const double deviation = std::sqrt(square / static_cast<double>(logs.size())) + 0.05;
    for (size_t i = 0; i < turns.size(); ++i) {
      const double advantage = std::clamp((mean - logs[i]) / deviation, -2.0, 2.0);
      const auto weight = static_cast<float>(advantage / static_cast<double>(turns.size()));
      for (policy::Lessons::Turns& kind : turns[i].kinds) {
        for (policy::Lessons::Turns::Group& group : kind.groups) group.weight = weight;
      }
      visit.lessons.Append(turns[i]);
    }
    const policy::Turn choice = policy::ChoiceOf(game, drafts);
    visit.lessons.Add(choice, 0, 1);
    std::vector<float>& targets =
        visit.lessons.kinds[static_cast<size_t>(policy::AgentKind::kChoice)].targets;
    // With a trust of 10, what is a twentieth worse is chosen e times less.
    const double sharp = 2 * static_cast<double>(game.trust());
    double sum = 0;
    for (const double value : logs) sum += std::exp(-sharp * (value - least));
    for (size_t i = 0; i < logs.size(); ++i) {
      targets[targets.size() - logs.size() + i] =
          static_cast<float>(std::exp(-sharp * (logs[i] - least)) / sum);
    }
  }

  Result<void> Run(ThreadPool& pool, const std::function<bool()>& asked) {
    const std::vector<size_t> numbers = Exercises(step);
    std::vector<Visit> visits(numbers.size());
    const bool labels = step < LabelSteps();
    const bool imitation = !labels && step < LabelSteps() + ImitationSteps();
    std::vector<KnownMapping> before;
    for (const size_t number : numbers) before.push_back(best[number]);
    Wish wish(asked);
    const std::function<bool()> stopped = std::ref(wish);
    pool.ParallelFor(std::ssize(numbers), 1, [&](int64_t begin, int64_t end, int /*worker*/) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end) && !stopped(); ++i) {
        if (labels) {
          best[numbers[i]] = Label(numbers[i], stopped);
        } else {
          visits[i] = imitation ? ImitateOne(numbers[i]) : ReinforceOne(numbers[i], step, stopped);
        }
      }
    });
    if (stopped() || (!labels && !Learn(visits, imitation, pool, stopped))) {
      for (size_t i = 0; i < numbers.size(); ++i) best[numbers[i]] = before[i];
      return Interrupted("training");
    }
    progress.phase = labels ? "labels" : imitation ? "imitation" : "reinforcement";
    ++step;
    progress.step = step;
    progress.steps = Steps();
    return {};
  }

  // False, and nothing was learned, if it was stopped.
  bool Learn(const std::vector<Visit>& visits, bool imitation, ThreadPool& pool,
             const std::function<bool()>& stopped) {
    const AbandonScope scope(stopped);
    policy::Lessons lessons;
    double first = 0, found = 0, count = 0;
    for (const Visit& visit : visits) {
      lessons.Append(visit.lessons);
      if (!visit.counts) continue;
      first += visit.first;
      found += visit.best;
      ++count;
    }
    const double done = static_cast<double>(step + 1 - LabelSteps()) /
                        static_cast<double>(std::max<int64_t>(1, Steps() - LabelSteps()));
    student.set_learning_rate(curriculum.learning_rate * std::pow(0.1, done));
    const auto losses = student.Learn(lessons, imitation ? 0 : curriculum.entropy, pool);
    if (!losses) return false;
    // Of the kind with the most turns; running means, so that rows of a log say something.
    const double loss = (*losses)[static_cast<size_t>(policy::AgentKind::kTile)];
    constexpr double kForget = 0.02;
    const auto mix = [&](double& mean, double value, bool start) {
      mean = start ? value : mean + kForget * (value - mean);
    };
    mix(progress.loss, loss, step == LabelSteps());
    if (count == 0) return true;
    const bool start = step == LabelSteps() + ImitationSteps();
    mix(progress.first, first / count, start);
    mix(progress.best, found / count, start);
    return true;
  }

  Result<void> LoadBest(const TensorReader& reader, const std::function<bool()>& stopped) {
    constexpr std::string_view kName = "training.best_known";
    const auto damaged = [&] {
      return Error{.kind = ErrorKind::kBadValue,
                   .message = fmt::format("'{}' of the checkpoint does not fit", kName)};
    };
    const Result<int64_t> count = reader.Count(kName);
    if (!count) return count.error();
    std::vector<int64_t> all(static_cast<size_t>(*count));
    if (Result<void> read = reader.ReadWithin<int64_t>(kName, all, 0, 1 << 30); !read) return read;
    size_t at = 0;
    for (size_t i = 0; i < best.size(); ++i) {
      if (at >= all.size()) return damaged();
      const auto size = static_cast<size_t>(all[at++]);
      if (size == 0) continue;
      if (stopped && stopped()) return Interrupted("reading the checkpoint");
      const Result<std::unique_ptr<MappingProblem>> problem =
          ProblemOf(source.Draw(seed, i), curriculum.model);
      if (!problem) return problem.error();
      if (size != (*problem)->space().size() || at + size > all.size()) return damaged();
      best[i].point = Point(size);
      for (size_t k = 0; k < size; ++k) best[i].point[k] = static_cast<int32_t>(all[at++]);
      // Priced again: a checkpoint is no reason to believe a number.
      const Outcome outcome = (*problem)->Evaluate(best[i].point);
      if (!outcome.feasible()) return damaged();
      best[i].value = outcome.value;
      best[i].known = true;
    }
    return {};
  }

  const Curriculum curriculum;
  const uint64_t seed;
  const ExerciseSource source;
  policy::Networks networks;
  policy::Student student;
  std::vector<KnownMapping> best;   // by exercise
  std::vector<int64_t> saved = {};  // what a writer refers to
  int64_t step = 0;
  PolicyProgress progress;
};

PolicyTrainer::PolicyTrainer(std::unique_ptr<State> state) : state_(std::move(state)) {}
PolicyTrainer::~PolicyTrainer() = default;

Result<std::unique_ptr<PolicyTrainer>> PolicyTrainer::Make(const Curriculum& curriculum,
                                                           uint64_t seed) {
  Result<ExerciseSource> source = ExerciseSource::Make(curriculum);
  if (!source) return source.error();
  // All games of a model have the same features; the first exercise that can be played tells.
  constexpr uint64_t kTries = 1000;
  for (uint64_t i = 0; i < kTries; ++i) {
    const Result<std::unique_ptr<MappingProblem>> problem =
        ProblemOf(source->Draw(seed, i), curriculum.model);
    const std::unique_ptr<policy::Game> game = problem ? policy::MakeGame(**problem) : nullptr;
    if (game == nullptr) continue;
    return std::unique_ptr<PolicyTrainer>(new PolicyTrainer(
        std::make_unique<State>(curriculum, seed, *std::move(source), game->features())));
  }
  return Error{.kind = ErrorKind::kInfeasible,
               .message = "no exercise of the curriculum can be mapped",
               .hint = "name machines and layers that go together"};
}

Result<bool> PolicyTrainer::Step(ThreadPool& pool, const std::function<bool()>& stopped) {
  if (state_->step >= state_->Steps()) return false;
  if (Result<void> ran = state_->Run(pool, stopped); !ran) return ran.error();
  return state_->step < state_->Steps();
}

PolicyProgress PolicyTrainer::progress() const { return state_->progress; }
const policy::Networks& PolicyTrainer::networks() const { return state_->networks; }

Result<std::string> PolicyTrainer::DataHash(const std::function<bool()>& stopped) const {
  constexpr int64_t kBetweenPolls = 256;
  std::string all;
  for (int64_t i = 0; i < state_->curriculum.problems; ++i) {
    if (i % kBetweenPolls == 0 && stopped && stopped()) return Interrupted("looking at exercises");
    const Exercise exercise = state_->source.Draw(state_->seed, static_cast<uint64_t>(i));
    all += fmt::format("{}|{}|{}|{}\n", ToString(exercise.layer), AcceleratorText(exercise.machine),
                       static_cast<int>(exercise.objective), exercise.bypass);
  }
  return Sha256Hex(all);
}

Result<std::string> PolicyTrainer::LabelHash(ThreadPool& pool,
                                             const std::function<bool()>& asked) const {
  constexpr int64_t kChecked = 32;
  std::vector<KnownMapping> labels(
      static_cast<size_t>(std::min(kChecked, state_->curriculum.problems)));
  Wish wish(asked);
  const std::function<bool()> stopped = std::ref(wish);
  pool.ParallelFor(std::ssize(labels), 1, [&](int64_t begin, int64_t end, int /*worker*/) {
    for (int64_t i = begin; i < end && !stopped(); ++i) {
      labels[static_cast<size_t>(i)] = state_->Label(static_cast<size_t>(i), stopped);
    }
  });
  if (stopped()) return Interrupted("looking at labels");
  std::string all;
  for (const KnownMapping& label : labels) {
    all += fmt::format("{:.12g}|{}\n", label.value, fmt::join(label.point.indices(), ","));
  }
  return Sha256Hex(all);
}

void PolicyTrainer::Save(TensorWriter& writer) const {
  state_->student.Save(writer);
  writer.AddInt("training.step", state_->step);
  writer.AddDouble("training.loss", state_->progress.loss);
  writer.AddDouble("training.first", state_->progress.first);
  writer.AddDouble("training.best", state_->progress.best);
  // For each exercise the number of decisions, 0 if nothing is known, and their values.
  std::vector<int64_t>& all = state_->saved;
  all.clear();
  for (const KnownMapping& known : state_->best) {
    all.push_back(known.known ? static_cast<int64_t>(known.point.size()) : 0);
    if (!known.known) continue;
    all.insert(all.end(), known.point.indices().begin(), known.point.indices().end());
  }
  writer.Add("training.best_known", std::span<const int64_t>(all));
}

Result<void> PolicyTrainer::Load(const TensorReader& reader, const std::function<bool()>& stopped) {
  if (Result<void> loaded = state_->student.Load(reader); !loaded) return loaded;
  const Result<int64_t> step = reader.ReadIntWithin("training.step", 0, state_->Steps());
  if (!step) return step.error();
  state_->step = *step;
  PolicyProgress& progress = state_->progress;
  for (auto& [name, target] :
       {std::pair("training.loss", &progress.loss), std::pair("training.first", &progress.first),
        std::pair("training.best", &progress.best)}) {
    const Result<double> value = reader.ReadDouble(name);
    if (!value) return value.error();
    *target = *value;
  }
  progress.step = *step;
  progress.steps = state_->Steps();
  return state_->LoadBest(reader, stopped);
}

}  // namespace tessera
