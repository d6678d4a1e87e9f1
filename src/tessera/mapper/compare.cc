// Comparisons.
#include "tessera/mapper/compare.h"
#include "tessera/map.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "tessera/env/decision_env.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/mapper/price_again.h"
#include "tessera/part.h"
#include "tessera/record/trial_journal.h"
#include "tessera/search/evaluator.h"

namespace tessera {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// The value below which a part of the sorted values lies, between two of them by weight.
double Quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  const double place = part * static_cast<double>(values.size() - 1);
  const size_t below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  const double weight = place - static_cast<double>(below);
  if (weight == 0 || values[below] == values[above]) return values[below];
  return values[below] * (1 - weight) + values[above] * weight;
}

std::optional<double> Finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

class CompareObserver final : public SearchObserver {
 public:
  CompareObserver(std::mutex& mutex, TrialJournal* journal, ProgressObserver* progress,
                  ProgressRow row)
      : mutex_(mutex), journal_(journal), progress_(progress), row_(std::move(row)) {
    Tell(ProgressEvent::kStarted);
  }
  Result<void> OnTrials(std::span<const Trial> trials, const SearchResult& result) override {
    if (journal_ != nullptr) {
      if (Result<void> written = journal_->Append(trials); !written) return written;
    }
    Update(result);
    Tell(ProgressEvent::kAdvanced);
    return {};
  }
  void Done(const SearchResult& result) {
    Update(result);
    Tell(ProgressEvent::kDone);
  }

 private:
  void Update(const SearchResult& result) {
    row_.samples = result.samples;
    if (result.best) row_.best = result.best->outcome.value;
  }
  void Tell(ProgressEvent event) {
    if (progress_ == nullptr) return;
    const std::lock_guard<std::mutex> guard(mutex_);
    progress_->OnProgress(event, row_);
  }

  std::mutex& mutex_;
  TrialJournal* const journal_;
  ProgressObserver* const progress_;
  ProgressRow row_;
};

// Does the runs of a comparison.
class Comparer {
 public:
  Comparer(const MapJob& job, const CompareOptions& options, const MappingProblem& problem,
           std::optional<double> reference, const RunHooks& hooks)
      : job_(job), options_(options), problem_(problem), reference_(reference), hooks_(hooks) {}

  // All runs, at the budget.
  Result<void> Run(Comparison& comparison, int threads) {
    SearchOptions search = Options();
    if (options_.stop_within && options_.best_known) {
      search.target = *options_.best_known * (1 + *options_.stop_within);
    }
    std::vector<Task> tasks;
    for (size_t i = 0; i < comparison.runs.size(); ++i) tasks.push_back({i, search});
    return Do(tasks, comparison, threads);
  }

  // Those that may go on and have not arrived. They start again with the same seed and schedule, so
  // the beginning repeats what is known.
  Result<void> Extend(Comparison& comparison, int threads) {
    const double arrived = *comparison.best_known * (1 + options_.extend_within);
    std::vector<Task> tasks;
    for (size_t i = 0; i < comparison.runs.size(); ++i) {
      const CompareRun& run = comparison.runs[i];
      if (run.best().value_or(kNever) <= arrived) continue;
      if (run.result.stop == StopReason::kInterrupted) continue;
      for (const auto& [method, samples] : options_.extend) {
        if (method != run.method || samples <= run.result.samples) continue;
        SearchOptions search = Options();
        search.budget.samples = samples;
        search.target = arrived;
        tasks.push_back({i, search, /*extended=*/true});
      }
    }
    return Do(tasks, comparison, threads);
  }

  std::optional<double> BestKnown(const Comparison& comparison) const {
    std::optional<double> best = options_.best_known;
    for (const CompareRun& run : comparison.runs) {
      if (run.best()) best = std::min(best.value_or(kNever), *run.best());
    }
    return best;
  }

 private:
  struct Task {
    size_t run;
    SearchOptions search;
    bool extended = false;
  };

  SearchOptions Options() const {
    return {.budget = job_.settings.budget,
            .batch = job_.settings.points,
            .interrupted = hooks_.stopped,
            .reward_reference = reference_};
  }

  Result<void> Do(const std::vector<Task>& tasks, Comparison& comparison, int threads) {
    std::vector<Result<void>> outcomes(tasks.size());
    ThreadPool pool(threads);
    // The time is for everything, and methods compare at equal shares of it.
    const double share = pool.threads() / std::max<double>(1, static_cast<double>(tasks.size()));
    pool.ParallelFor(std::ssize(tasks), 1, [&](int64_t begin, int64_t /*end*/, int /*worker*/) {
      Task task = tasks[static_cast<size_t>(begin)];
      task.search.budget.seconds *= std::min(1.0, share);
      Result<SearchResult> result = DoOne(task, comparison.runs[task.run]);
      if (!result) {
        outcomes[static_cast<size_t>(begin)] = result.error();
        return;
      }
      comparison.runs[task.run].result = *std::move(result);
    });
    for (const Result<void>& outcome : outcomes) {
      if (!outcome) return outcome;
    }
    return {};
  }

  Result<SearchResult> DoOne(const Task& task, const CompareRun& made) {
    const bool begun = options_.replay || hooks_.directory != nullptr;
    if (!begun && hooks_.stopped && hooks_.stopped()) {
      return SearchResult{.stop = StopReason::kInterrupted};
    }
    const MethodChoice& method = options_.methods[task.run / static_cast<size_t>(options_.seeds)];
    const SearchSetup setup{.space = problem_.space(),
                            .seed = static_cast<uint64_t>(made.seed),
                            .samples = job_.settings.budget.samples,
                            .mapping = &problem_,
                            .policy = job_.policy};
    SearchOptions search = task.search;
    std::vector<Trial> replayed;
    std::optional<TrialJournal> journal;
    if (options_.replay) {
      replayed = options_.replay(task.run, task.extended);
      search.recorded = replayed;
      // The end of a run that had a clock is where its journal ends.
      search.interrupted = [] { return true; };
    } else if (hooks_.directory != nullptr) {
      Result<TrialJournal> opened =
          TrialJournal::Open(CompareJournal(*hooks_.directory, task.run, task.extended));
      if (!opened) return opened.error();
      journal = *std::move(opened);
      search.recorded = journal->recorded();
    }
    ThreadPool one(1);
    Evaluator evaluator(problem_, one);
    CompareObserver observer(mutex_, journal ? &*journal : nullptr, hooks_.progress,
                             {.name = fmt::format("{} seed {}", made.method, made.seed),
                              .budget = task.search.budget.samples});
    Result<SearchResult> result = RunMethod(method, setup, evaluator, search, &observer);
    if (!result) return result;
    if (journal && result->best) {
      if (Result<void> same = PriceAgain(problem_, *result->best); !same) return same.error();
    }
    observer.Done(*result);
    return result;
  }

  const MapJob& job_;
  const CompareOptions& options_;
  const MappingProblem& problem_;
  const std::optional<double> reference_;
  const RunHooks& hooks_;
  std::mutex mutex_;
};

}  // namespace

JournalFile CompareJournal(const RunDirectory& directory, size_t run, bool extended) {
  return directory.Journal(fmt::format("{:03}{}", run + 1, extended ? ".extended" : ""));
}

Result<void> CheckSeeds(const MapSettings& settings, int64_t seeds) {
  if (seeds >= 1 && seeds <= kMostSeeds && settings.seed <= INT64_MAX - seeds) return {};
  return Error{.kind = ErrorKind::kUsage,
               .message = fmt::format("{} seeds from {} on are no whole numbers below 2^63", seeds,
                                      settings.seed)};
}

std::optional<int64_t> CompareRun::SamplesTo(double value) const {
  for (const Improvement& improvement : result.curve) {
    if (improvement.value <= value) return improvement.samples;
  }
  return std::nullopt;
}

std::optional<double> CompareRun::BestWithinBudget() const {
  std::optional<double> best;
  for (const Improvement& improvement : result.curve) {
    if (budget > 0 && improvement.samples > budget) break;
    best = improvement.value;
  }
  return best;
}

Result<Comparison> CompareMethods(const MapJob& job, const CompareOptions& options, int threads,
                                  const RunHooks& hooks) {
  if (Result<void> checked = CheckSeeds(job.settings, options.seeds); !checked) {
    return checked.error();
  }
  const Layer& layer = job.network.layers.front().layer;
  const Result<std::unique_ptr<MappingProblem>> problem =
      ProblemOf(job, layer, job.network.layers.front().name);
  if (!problem) return problem.error();
  const Result<LayerBounds> bounds = BoundsOf(layer, job);
  if (!bounds) return bounds.error();
  Comparison comparison{.best_known = options.best_known,
                        .log10_size = (*problem)->space().Log10Size(),
                        .bound = bounds->Of(job.problem.objective)};
  for (size_t method = 0; method < options.methods.size(); ++method) {
    for (int64_t seed = 0; seed < options.seeds; ++seed) {
      comparison.runs.push_back({.method = options.NameOf(method),
                                 .seed = job.settings.seed + seed,
                                 .budget = job.settings.budget.samples});
    }
  }
  // Without a reference there are no returns; the methods may find something nevertheless.
  // A program of the user's is not asked often for it.
  constexpr int64_t kTriesOfPrograms = 64;
  const bool program = job.settings.model.info().takes_command;
  if (const Result<Outcome> reference =
          FindReference(**problem, program ? kTriesOfPrograms : kReferenceTries)) {
    comparison.reference = reference->value;
  }
  Comparer comparer(job, options, **problem, comparison.reference, hooks);
  if (Result<void> done = comparer.Run(comparison, threads); !done) return done.error();
  comparison.best_known = comparer.BestKnown(comparison);
  if (options.extend.empty() || !comparison.best_known) return comparison;
  if (Result<void> done = comparer.Extend(comparison, threads); !done) return done.error();
  comparison.best_known = comparer.BestKnown(comparison);
  return comparison;
}

std::optional<double> CompareRun::LastReturn() const {
  std::optional<double> last;
  for (const MeanReturn& mean : result.returns) {
    if (budget > 0 && mean.samples > budget) break;
    last = mean.reward;
  }
  return last;
}

std::vector<MethodSummary> Summarize(const Comparison& comparison) {
  std::vector<MethodSummary> summaries;
  for (size_t begin = 0; begin < comparison.runs.size();) {
    size_t end = begin;
    while (end < comparison.runs.size() &&
           comparison.runs[end].method == comparison.runs[begin].method) {
      ++end;
    }
    const std::span<const CompareRun> runs(comparison.runs.data() + begin, end - begin);
    std::vector<double> best;
    double seconds = 0;
    std::optional<double> last_return;
    for (const CompareRun& run : runs) {
      if (const std::optional<double> last = run.LastReturn()) {
        last_return = last_return.value_or(0) + *last / static_cast<double>(runs.size());
      }
      best.push_back(run.BestWithinBudget().value_or(kNever));
      seconds += run.result.seconds / static_cast<double>(runs.size());
    }
    const auto samples_to = [&](double within) {
      std::vector<double> samples;
      for (const CompareRun& run : runs) {
        const double value = comparison.best_known.value_or(0) * (1 + within);
        const std::optional<int64_t> reached = run.SamplesTo(value);
        samples.push_back(reached ? static_cast<double>(*reached) : kNever);
      }
      return Finite(Quantile(std::move(samples), 0.5));
    };
    summaries.push_back({.method = runs.front().method,
                         .median = Quantile(best, 0.5),
                         .lower_quartile = Quantile(best, 0.25),
                         .upper_quartile = Quantile(best, 0.75),
                         .to_10 = samples_to(0.10),
                         .to_5 = samples_to(0.05),
                         .to_1 = samples_to(0.01),
                         .last_return = last_return,
                         .seconds = seconds});
    begin = end;
  }
  return summaries;
}

}  // namespace tessera
