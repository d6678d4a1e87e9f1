// Search methods against each other on one layer: the same space, the same evaluator, the same
// budget, several seeds.
#ifndef TESSERA_MAPPER_COMPARE_H_
#define TESSERA_MAPPER_COMPARE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/mapper/map_network.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/search/driver.h"
#include "tessera/search/method.h"

namespace tessera {

struct CompareOptions {
  std::vector<MethodChoice> methods = {};

  // What tables call them. Default: as they are written.
  std::vector<std::string> names = {};
  std::string NameOf(size_t method) const {
    return names.empty() ? methods[method].ToString() : names[method];
  }

  // Seeds per method, counted up from the job's. Default: 5.
  int64_t seeds = 5;

  // The lowest value known from elsewhere. Default: none.
  std::optional<double> best_known = {};

  // A run ends once it is this close to the best known value, which must then be given: 0.05 is
  // 5 %. For counting samples of slow methods. Default: none.
  std::optional<double> stop_within = {};

  // Methods that may run on beyond the budget, by name with settings, and to how many samples: runs
  // that are not within `extend_within` of the best value of all go on until they are. Tables still
  // compare at the budget; samples to a value count all. Default: none.
  std::vector<std::pair<std::string, int64_t>> extend = {};

  // Default: 0.05.
  double extend_within = 0.05;

  // Trials of a run, or of its extension, that are taken instead of evaluating; the search ends
  // where they do. For verification. Default: empty.
  std::function<std::vector<Trial>(size_t run, bool extended)> replay = {};
};

// The journal of a run of a comparison: 001.jsonl, or 001.extended.jsonl, which starts again.
JournalFile CompareJournal(const RunDirectory& directory, size_t run, bool extended);

struct CompareRun {
  std::string method = {};
  int64_t seed = 1;
  SearchResult result = {};

  int64_t budget = 0;  // samples of the comparison; an extended run has more

  std::optional<double> best() const {
    return result.best ? std::optional(result.best->outcome.value) : std::nullopt;
  }
  // The best value within the budget, or nothing.
  std::optional<double> BestWithinBudget() const;
  // Samples until a value of at most `value` was found, or nothing.
  std::optional<int64_t> SamplesTo(double value) const;
};

struct Comparison {
  std::vector<CompareRun> runs = {};      // method by method, seed by seed
  std::optional<double> best_known = {};  // of these runs and of the options
  double log10_size = 0;                  // of the space
  std::optional<double> bound = {};
};

// Runs side by side on `threads` threads; only the times depend on how many. The job's network has
// one layer. With a directory every run has a journal, which it goes on with.
Result<Comparison> CompareMethods(const MapJob& job, const CompareOptions& options, int threads,
                                  const MapHooks& hooks);

// What all seeds of a method amount to.
struct MethodSummary {
  std::string method = {};
  // At the budget, over the seeds; infinite where too few found anything.
  double median = 0, lower_quartile = 0, upper_quartile = 0;
  // Median samples to come within 10 %, 5 % and 1 % of the best known value; none if most seeds
  // never did.
  std::optional<double> to_10, to_5, to_1;
  double seconds = 0;  // mean, extensions included
};
std::vector<MethodSummary> Summarize(const Comparison& comparison);

}  // namespace tessera

#endif  // TESSERA_MAPPER_COMPARE_H_
