// Searches for all layers of a network.
#include "tessera/mapper/map_network.h"
#include "tessera/map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/stop.h"
#include "tessera/env.h"
#include "tessera/mapper/any_factors.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/mapper/price_again.h"
#include "tessera/mapper/proof.h"
#include "tessera/mapper/warm_start.h"
#include "tessera/part.h"
#include "tessera/record/clock.h"
#include "tessera/record/trial_journal.h"
#include "tessera/search/device_problem.h"
#include "tessera/search/evaluator.h"

namespace tessera {
namespace {

constexpr double kEqual = 1e-9;  // relative; bounds and values are rounded differently

// Progress of several layers, reported by one thread at a time.
class SharedProgress final : public ProgressObserver {
 public:
  explicit SharedProgress(ProgressObserver* observer) : observer_(observer) {}

  void OnProgress(ProgressEvent event, const ProgressRow& row) override {
    if (observer_ == nullptr) return;
    const std::lock_guard<std::mutex> guard(mutex_);
    observer_->OnProgress(event, row);
  }

 private:
  std::mutex mutex_;
  ProgressObserver* const observer_;
};

// Journals and reports what a search does.
class LayerObserver final : public SearchObserver {
 public:
  // `device` may be null.
  LayerObserver(TrialJournal* journal, const DeviceProblem* device, SharedProgress& progress,
                ProgressRow row)
      : journal_(journal), device_(device), progress_(progress), row_(std::move(row)) {
    progress_.OnProgress(ProgressEvent::kStarted, row_);
  }

  Result<void> OnTrials(std::span<const Trial> trials, const SearchResult& result) override {
    // What a lost device leaves is not worth keeping: a resumed run tries it again.
    if (device_ != nullptr && device_->failure()) return *device_->failure();
    if (journal_ != nullptr) {
      if (Result<void> written = journal_->Append(trials); !written) return written;
    }
    Update(result);
    progress_.OnProgress(improved_ ? ProgressEvent::kImproved : ProgressEvent::kAdvanced, row_);
    return {};
  }

  void Done(const SearchResult& result, bool proof_follows) {
    Update(result);
    progress_.OnProgress(proof_follows ? ProgressEvent::kAdvanced : ProgressEvent::kDone, row_);
  }

 private:
  void Update(const SearchResult& result) {
    row_.samples = samples_before_ + result.samples;
    improved_ = result.best && (!row_.best || result.best->outcome.value < *row_.best);
    if (improved_) row_.best = result.best->outcome.value;
    row_.bound = result.bound;
    if (row_.best && row_.bound) row_.gap = *row_.best / *row_.bound - 1;
  }

  TrialJournal* const journal_;
  const DeviceProblem* const device_;
  SharedProgress& progress_;
  ProgressRow row_;
  const int64_t samples_before_ = row_.samples;  // by the start of a proof
  bool improved_ = false;
};

// A seed of its own for every layer, so that equal searches do not make equal mistakes; the same
// one wherever the layer stands.
uint64_t LayerSeed(int64_t seed, const Layer& layer) {
  return CounterRng(static_cast<uint64_t>(seed), StreamId(ToString(layer))).Bits64();
}

// Of a policy before proofs. One that meets the bound leaves nothing to propose, so they are made
// one at a time.
constexpr int64_t kProposals = 4, kProposalBatch = 1;

// A gap that no search is asked to close where there is a policy: a few rounds do it.
constexpr double kNearlyProved = 0.02;

// Whether a policy proposes mappings of a layer, instead of the method.
bool Proposes(const MapJob& job, const MappingProblem& problem) {
  return job.prove && PolicyPlays(job, problem);
}

// What ended the search of a layer without a proof.
MapStop StopOf(const LayerMapping& layer) {
  switch (layer.search.stop) {
    case StopReason::kTarget: return MapStop::kProved;
    case StopReason::kSeconds: return MapStop::kTime;
    case StopReason::kInterrupted: return MapStop::kInterrupted;
    case StopReason::kSamples:
    case StopReason::kExhausted:
    case StopReason::kFailures: break;
  }
  return MapStop::kSamples;
}

class NetworkMapper {
 public:
  NetworkMapper(const MapJob& job, int threads, const RunHooks& hooks, Device device)
      : job_(job),
        hooks_(hooks),
        device_(device),
        pool_(threads),
        progress_(hooks.progress),
        prover_(job, pool_,
                {.progress = &progress_, .stopped = hooks.stopped, .directory = hooks.directory},
                mapping_.layers) {}

  Result<NetworkMapping> Go() {
    mapping_.layers.resize(job_.network.layers.size());
    const size_t layers = mapping_.layers.size();
    proposed_.assign(layers, false);
    if (Result<void> ready = ForEachLayer(0, layers, [&](size_t i) { return Prepare(i); });
        !ready) {
      return ready.error();
    }
    if (job_.prove) {
      if (Result<void> known = ForEachLayer(0, layers, [&](size_t i) { return TakeBest(i); });
          !known) {
        return known.error();
      }
      // What a policy proposes is what the first look at a layer has to beat, in the place of its
      // own chains, which would cost more.
      if (WantsProposals(job_)) {
        Result<void> proposed = ForEachLayer(0, layers, [&](size_t i) { return Propose(i); });
        if (!proposed) return proposed.error();
      }
      // A first answer for everything before any layer is looked into.
      constexpr double kStartShare = 0.2;
      const double seconds = kStartShare * job_.settings.budget.seconds;
      if (Result<void> started = prover_.Start(seconds); !started) return started.error();
      started_ = true;
    }
    if (job_.method) {
      if (Result<void> searched = SearchAll(); !searched) return searched.error();
    }
    if (job_.prove) {
      if (Result<void> proved = prover_.Go(ProofDeadline()); !proved) return proved.error();
      mapping_.interrupted = hooks_.stopped && hooks_.stopped();
    }
    mapping_.total = AddUp(mapping_.layers, job_.problem.objective);
    for (LayerMapping& layer : mapping_.layers) {
      mapping_.interrupted |= layer.search.stop == StopReason::kInterrupted;
      if (!layer.proof) layer.stopped_by = StopOf(layer);
    }
    mapping_.stopped_by = StopOf(mapping_);
    mapping_.seconds = SteadySeconds() - start_;
    return std::move(mapping_);
  }

 private:
  // On all threads; the error of the first layer that has one, with its name.
  Result<void> ForEachLayer(size_t first, size_t last,
                            const std::function<Result<void>(size_t)>& work) {
    std::vector<Result<void>> outcomes(last - first);
    pool_.ParallelFor(std::ssize(outcomes), 1, [&](int64_t begin, int64_t /*end*/, int /*worker*/) {
      outcomes[static_cast<size_t>(begin)] = work(first + static_cast<size_t>(begin));
    });
    for (size_t i = 0; i < outcomes.size(); ++i) {
      if (!outcomes[i]) return InLayer(mapping_.layers[first + i].name, outcomes[i].error());
    }
    return {};
  }

  Result<void> SearchAll() {
    const size_t layers = mapping_.layers.size();
    for (size_t begin = 0, end = 0; begin < layers; begin = end) {
      end = StartsWarm(job_) ? WaveEnd(begin, layers) : layers;
      solved_ = begin;
      Result<void> searched = ForEachLayer(begin, end, [&](size_t i) { return Search(i); });
      if (!searched) return searched;
    }
    return {};
  }

  Result<void> Prepare(size_t index) {
    const NetworkLayer& entry = job_.network.layers[index];
    LayerMapping& made = mapping_.layers[index];
    made.name = entry.name;
    made.count = entry.count;
    made.layer = entry.layer;
    // What cannot be mapped is refused before time is spent on other layers.
    const Result<std::unique_ptr<MappingProblem>> problem =
        ProblemOf(job_, entry.layer, entry.name);
    if (!problem) return problem.error();
    const Result<LayerBounds> bounds = BoundsOf(entry.layer, job_);
    if (!bounds) return bounds.error();
    made.bounds = *bounds;
    made.bound = bounds->Of(job_.problem.objective);
    return {};
  }

  // Where proofs go on, so do they from the best mapping that an earlier part of the run searched:
  // a proof may have ended with it, and its own journal does not have it.
  Result<void> TakeBest(size_t index) {
    if (hooks_.directory == nullptr || prover_.Reproducible()) return {};
    const std::string path = SearchJournal(*hooks_.directory, index).path;
    if (std::error_code ignored; !std::filesystem::exists(path, ignored)) return {};
    LayerMapping& made = mapping_.layers[index];
    const Result<std::unique_ptr<MappingProblem>> problem =
        SearchProblem(job_, made.layer, made.name);
    if (!problem) return problem.error();
    if (Result<void> taken = TakeRecorded(index, **problem, made, StopReason::kSamples); !taken) {
      return taken;
    }
    if (Result<void> finished = Finish(**problem, made); !finished) return finished;
    made.search = {};  // It is counted when the layer's turn comes.
    return {};
  }

  // A layer that a policy makes mappings of, before anything is known of it but bounds.
  Result<void> Propose(size_t index) {
    LayerMapping& made = mapping_.layers[index];
    const Result<std::unique_ptr<MappingProblem>> problem =
        SearchProblem(job_, made.layer, made.name);
    if (!problem) return problem.error();
    if (!Proposes(job_, **problem)) return {};
    proposed_[index] = true;
    if (Result<void> searched = Search(index, **problem, made); !searched) return searched;
    return Finish(**problem, made);
  }

  Result<void> Search(size_t index) {
    if (proposed_[index]) return {};
    LayerMapping& made = mapping_.layers[index];
    const bool settled = made.cost || (made.proof && made.proof->complete);
    const bool proved = started_ && prover_.Done(index) && settled;
    const bool nearly =
        settled && WantsProposals(job_) && made.gap() && *made.gap() <= kNearlyProved;
    const StopReason stop = proved ? StopReason::kTarget : StopReason::kSamples;
    if ((proved || nearly) && hooks_.directory == nullptr) {
      made.search.stop = stop;
      return {};
    }
    const Result<std::unique_ptr<MappingProblem>> problem =
        SearchProblem(job_, made.layer, made.name);
    if (!problem) return problem.error();
    if (proved || nearly) return TakeRecorded(index, **problem, made, stop);
    // Layers whose turn comes after the time for searches have their first mapping, and what an
    // earlier part of the run found.
    const double whole = job_.settings.budget.seconds;
    const bool late = job_.prove && whole > 0 && SteadySeconds() >= start_ + whole / 2;
    Result<void> searched = late ? TakeRecorded(index, **problem, made, StopReason::kSeconds)
                                 : Search(index, **problem, made);
    if (!searched) return searched;
    if (Result<void> finished = Finish(**problem, made); !finished) return finished;
    if (started_) prover_.Offer(index);
    return {};
  }

  Result<void> Search(size_t index, const MappingProblem& problem, LayerMapping& made) {
    const bool proposes = proposed_[index];
    const Budget budget = LayerBudget(proposes);
    const std::span<const LayerMapping> solved(mapping_.layers.data(), solved_);
    const uint64_t seed = LayerSeed(job_.settings.seed, made.layer);
    std::vector<Point> hints = PolicyHints(job_, problem, seed);
    const std::vector<Point> similar = HintsOf(solved, made.layer, problem, job_);
    hints.insert(hints.end(), similar.begin(), similar.end());
    const MethodChoice& method = proposes ? PolicyChoice() : *job_.method;
    const SearchSetup setup{.space = problem.space(),
                            .seed = seed,
                            .samples = budget.samples,
                            .hints = std::move(hints),
                            .mapping = &problem,
                            .policy = PolicyOf(job_)};
    std::optional<TrialJournal> journal;
    if (hooks_.directory != nullptr) {
      Result<TrialJournal> opened = TrialJournal::Open(SearchJournal(*hooks_.directory, index));
      if (!opened) return opened.error();
      journal = *std::move(opened);
    }
    SearchOptions options{.budget = budget,
                          .batch = proposes ? kProposalBatch : job_.settings.points,
                          .bound = made.bound,
                          .target_gap = job_.settings.target_gap,
                          .interrupted = hooks_.stopped,
                          .recorded = journal ? std::span<const Trial>(journal->recorded())
                                              : std::span<const Trial>()};
    // What the bound proves optimal needs no further search.
    if (job_.prove && !options.target_gap) options.target_gap = kEqual;
    std::unique_ptr<DeviceProblem> on_device;
    if (device_ == Device::kCuda) {
      Result<std::unique_ptr<DeviceProblem>> opened = DeviceProblem::Make(problem);
      if (!opened) return opened.error();
      on_device = *std::move(opened);
    }
    ThreadPool one(1);  // Layers are what runs side by side.
    Evaluator evaluator(on_device != nullptr ? static_cast<const Problem&>(*on_device) : problem,
                        one);
    LayerObserver observer(journal ? &*journal : nullptr, on_device.get(), progress_,
                           {.name = made.name,
                            .best = made.cost ? std::optional(made.value) : std::nullopt,
                            .bound = made.bound,
                            .gap = made.gap(),
                            .samples = made.samples(),
                            .budget = job_.prove ? 0 : budget.samples});
    Result<SearchResult> result = RunMethod(method, setup, evaluator, options, &observer);
    if (!result) return result.error();
    observer.Done(*result, job_.prove);
    made.search = *std::move(result);
    made.bound = made.search.bound;
    return {};
  }

  // A layer that is not searched any more: an earlier part of the run brought its proof to an end,
  // or the clock did. What was searched before that is part of the run.
  Result<void> TakeRecorded(size_t index, const MappingProblem& problem, LayerMapping& made,
                            StopReason stop) const {
    made.search.stop = stop;
    if (hooks_.directory == nullptr) return {};
    const Result<std::vector<Trial>> trials = ReadTrials(SearchJournal(*hooks_.directory, index));
    if (!trials) return trials.error();
    made.search.samples = std::ssize(*trials);
    for (const Trial& trial : *trials) {
      made.search.failed += trial.outcome.kind == OutcomeKind::kFailed;
      made.search.infeasible += trial.outcome.kind == OutcomeKind::kInfeasible;
      if (!trial.outcome.feasible()) continue;
      if (Result<void> legal = problem.space().Check(trial.point); !legal) return legal;
      std::optional<Trial>& best = made.search.best;
      if (!best || problem.Better(trial.outcome, best->outcome)) best = trial;
    }
    return {};
  }

  // Seconds are for the whole run, so each layer gets its part of the threads' time; with proofs
  // after it, searches get half of it.
  Budget LayerBudget(bool proposes) const {
    Budget budget = job_.settings.budget;
    if (job_.prove) budget.seconds /= 2;
    if (proposes) budget.samples = std::min(budget.samples, kProposals);
    budget.seconds *= static_cast<double>(pool_.threads()) /
                      static_cast<double>(std::max<size_t>(1, job_.network.layers.size()));
    return budget;
  }

  double ProofDeadline() const {
    const double whole = job_.settings.budget.seconds, proofs = job_.settings.proof_seconds;
    double deadline = std::numeric_limits<double>::infinity();
    if (whole > 0) deadline = start_ + whole;
    if (proofs > 0) deadline = std::min(deadline, SteadySeconds() + proofs);
    return deadline;
  }

  Result<void> Finish(const MappingProblem& problem, LayerMapping& made) const {
    if (!made.search.best) return {};
    // A proof's mapping is as good if it has the same value; the proof sees to the rest.
    if (made.cost && made.search.best->outcome.value >= made.value) return {};
    if (hooks_.directory != nullptr) {
      if (Result<void> same = PriceAgain(problem, *made.search.best); !same) return same;
    }
    made.point = made.search.best->point;
    made.mapping = problem.space().Decode(*made.point);
    made.cost = problem.CostOf(*made.search.best);
    made.value = made.search.best->outcome.value;
    made.status = StatusOf(made.value, made.bound);
    return {};
  }

  const MapJob& job_;
  const RunHooks& hooks_;
  const Device device_;
  ThreadPool pool_;
  SharedProgress progress_;
  NetworkMapping mapping_;
  bool started_ = false;           // the proofs
  std::vector<uint8_t> proposed_;  // by layer: a policy did
  size_t solved_ = 0;              // layers whose results the others may use
  Prover prover_;
  const double start_ = SteadySeconds();
};

MapJob WithoutConstraints(const MapJob& job) {
  MapJob free = job;
  free.problem.space.constraints = {};
  free.accelerator.constraints = {};
  return free;
}

// Decisions of a space with what is left of them in one that constraints have narrowed, in which
// whether a level holds a tensor may be a decision of its own.
std::vector<DecisionChoices> ChoicesOf(const MappingSpace& all, const MappingSpace& left) {
  std::vector<DecisionChoices> choices;
  for (const Decision& decision : left.decisions()) {
    const size_t whole = all.Find(decision.name());
    choices.push_back({whole < all.size() ? all.decisions()[whole] : decision, decision});
  }
  for (size_t d = 0; d < left.leftovers().size(); ++d) {
    choices.push_back({all.leftovers()[d], left.leftovers()[d], /*follows=*/true});
  }
  return choices;
}

}  // namespace

Result<std::unique_ptr<MappingProblem>> SearchProblem(const MapJob& job, const Layer& layer,
                                                      const std::string& name) {
  const auto make = [&](const MappingProblemOptions& options) {
    return MappingProblem::Make(layer, job.accelerator, job.settings.model, options);
  };
  Result<std::unique_ptr<MappingProblem>> whole = make(ProblemOptionsOf(job, name));
  const bool narrower =
      job.prove && job.problem.space.decide_keep && job.problem.space.constraints.demands.empty();
  // A policy knows what to pass by.
  if (!whole || !narrower || PolicyPlays(job, **whole)) return whole;
  MappingProblemOptions options = ProblemOptionsOf(job, name);
  options.space.decide_keep = false;
  Result<std::unique_ptr<MappingProblem>> held = make(options);
  return held ? std::move(held) : std::move(whole);
}

JournalFile SearchJournal(const RunDirectory& directory, size_t layer) {
  return directory.Journal(fmt::format("{:03}", layer + 1));
}

JournalFile ProofJournal(const RunDirectory& directory, size_t layer) {
  return directory.Journal(fmt::format("{:03}.proof", layer + 1));
}

Error InLayer(std::string_view layer, Error error) {
  error.message = fmt::format("layer '{}': {}", layer, error.message);
  return error;
}

MapStop StopOf(const NetworkMapping& mapping) {
  if (mapping.interrupted) return MapStop::kInterrupted;
  for (const MapStop stop :
       {MapStop::kTime, MapStop::kMemory, MapStop::kRounds, MapStop::kSamples}) {
    if (std::ranges::find(mapping.layers, stop, &LayerMapping::stopped_by) !=
        mapping.layers.end()) {
      return stop;
    }
  }
  return MapStop::kProved;
}

std::string_view ToString(MapStatus status) {
  constexpr std::array<std::string_view, 4> kNames = {"OPTIMAL", "BOUNDED", "HEURISTIC", "NOTHING"};
  return kNames[static_cast<size_t>(status)];
}

MapStatus StatusOf(double value, const std::optional<double>& bound) {
  if (!bound) return MapStatus::kHeuristic;
  return value <= *bound * (1 + kEqual) ? MapStatus::kOptimal : MapStatus::kBounded;
}

NetworkTotal AddUp(const std::vector<LayerMapping>& layers, Objective objective) {
  NetworkTotal total;
  double bound_cycles = 0, bound_energy_pj = 0, bound_value = 0, bound_root_edp = 0;
  double busy_cycles = 0;
  bool bounded = objective != Objective::kPower && objective != Objective::kArea;
  for (const LayerMapping& layer : layers) {
    total.layers += layer.count;
    total.samples += layer.samples();
    bounded &= layer.bound.has_value() && layer.cost.has_value();
    if (!layer.cost) continue;
    const double count = static_cast<double>(layer.count);
    const double cycles = count * static_cast<double>(layer.cost->cycles);
    total.cycles += cycles;
    total.energy_pj += count * layer.cost->energy_pj;
    total.area_um2 = std::max(total.area_um2, layer.cost->area_um2);
    total.power_mw = std::max(total.power_mw, layer.cost->power_mw);
    busy_cycles += cycles * layer.cost->utilization;
    bound_cycles += count * layer.bounds.cycles.value_or(0);
    bound_energy_pj += count * layer.bounds.energy_pj.value_or(0);
    bound_value += count * layer.bound.value_or(0);
    bound_root_edp += count * std::sqrt(layer.bound.value_or(0));
  }
  total.utilization = total.cycles > 0 ? busy_cycles / total.cycles : 0;
  const std::array<double, 5> values = {total.cycles, total.energy_pj, total.edp(), total.power_mw,
                                        total.area_um2};
  total.value = values[static_cast<size_t>(objective)];
  // A product of sums is at least the square of the sum of roots of products (Cauchy-Schwarz), so
  // bounds of layers' EDP bound the network's.
  if (bounded) {
    total.bound = objective == Objective::kEdp
                      ? std::max(bound_cycles * bound_energy_pj, bound_root_edp * bound_root_edp)
                      : bound_value;
  }
  return total;
}

Result<NetworkMapping> MapNetwork(const MapJob& job, int threads, const RunHooks& hooks,
                                  Device device) {
  if (Result<void> can = CheckMapDevice(job, device); !can) return can.error();
  return NetworkMapper(job, threads, hooks, device).Go();
}

Result<void> CheckMapDevice(const MapJob& job, Device device) {
  if (device == Device::kCpu) return {};
  if (job.prove || !job.method) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = fmt::format("method {} proves, which is not on --device cuda",
                                        job.settings.method.ToString()),
                 .hint = "name a search method, such as --method marl, or take --device cpu"};
  }
  for (const NetworkLayer& entry : job.network.layers) {
    const Result<std::unique_ptr<MappingProblem>> problem =
        SearchProblem(job, entry.layer, entry.name);
    if (!problem) return InLayer(entry.name, problem.error());
    if (Result<void> can = DeviceProblem::Check(**problem); !can) {
      return InLayer(entry.name, can.error());
    }
    // The device itself is the same for all.
    if (&entry != &job.network.layers.back()) continue;
    if (const auto made = DeviceProblem::Make(**problem); !made) return made.error();
  }
  return {};
}

Result<std::optional<MethodWords>> WordsAfter(const MapJob& job, const MappingProblem& problem,
                                              const Layer& layer, std::span<const Trial> trials,
                                              double deadline) {
  const bool proposes = Proposes(job, problem);
  if (!proposes && !job.method) return std::optional<MethodWords>();
  const uint64_t seed = LayerSeed(job.settings.seed, layer);
  const int64_t samples = job.settings.budget.samples;
  const MethodChoice& method = proposes ? PolicyChoice() : *job.method;
  const AbandonScope scope([&] { return SteadySeconds() >= deadline || StopRequested(); });
  const Result<std::unique_ptr<Searcher>> searcher =
      method.Make({.space = problem.space(),
                   .seed = seed,
                   .samples = proposes ? std::min(samples, kProposals) : samples,
                   .hints = PolicyHints(job, problem, seed),
                   .mapping = &problem,
                   .policy = PolicyOf(job)});
  if (!searcher) return searcher.error();
  const int64_t batch = proposes ? kProposalBatch : job.settings.points;
  while (!trials.empty()) {
    if (SteadySeconds() >= deadline || scope.abandoned()) return std::optional<MethodWords>();
    const std::vector<Point> points =
        (*searcher)->Propose(std::min(batch, static_cast<int64_t>(trials.size())));
    if (scope.abandoned()) return std::optional<MethodWords>();
    const std::span<const Trial> seen = trials.first(std::min(points.size(), trials.size()));
    if (points.empty() || !std::ranges::equal(points, seen, {}, {}, &Trial::point)) {
      return std::optional<MethodWords>();
    }
    (*searcher)->Observe(seen);
    trials = trials.subspan(seen.size());
  }
  return std::optional(MethodWords{(*searcher)->Notes(), (*searcher)->Agents()});
}

Result<std::vector<SpaceSize>> SpaceSizes(const MapJob& job, int threads) {
  const std::vector<NetworkLayer>& layers = job.network.layers;
  std::vector<SpaceSize> sizes(layers.size());
  std::vector<Result<void>> outcomes(layers.size());
  const MapJob free = WithoutConstraints(job);
  const auto measure = [&](size_t i) -> Result<void> {
    if (StopRequested()) return Interrupted("counting mappings");
    const Result<std::unique_ptr<MappingProblem>> problem =
        ProblemOf(job, layers[i].layer, layers[i].name);
    if (!problem) return InLayer(layers[i].name, problem.error());
    const Result<std::unique_ptr<MappingProblem>> all =
        ProblemOf(free, layers[i].layer, layers[i].name);
    if (!all) return InLayer(layers[i].name, all.error());
    const MappingSpace& space = (*problem)->space();
    sizes[i] = {.decisions = static_cast<int64_t>(space.open().size()),
                .log10_size = space.Log10Size(),
                .choices = ChoicesOf((*all)->space(), space),
                .relations = {space.relations().begin(), space.relations().end()}};
    return {};
  };
  ThreadPool pool(threads);
  pool.ParallelFor(std::ssize(layers), 1, [&](int64_t begin, int64_t /*end*/, int /*worker*/) {
    outcomes[static_cast<size_t>(begin)] = measure(static_cast<size_t>(begin));
  });
  for (const Result<void>& outcome : outcomes) {
    if (!outcome) return outcome.error();
  }
  return sizes;
}

}  // namespace tessera
