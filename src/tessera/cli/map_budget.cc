// Budgets of mapping runs from flags.
#include "tessera/cli/map_budget.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "tessera/map.h"

namespace tessera {
namespace {

// A minute on two cores, less what loading, the last rounds and writing files take.
constexpr double kSeconds = 55;

// What the search before proofs may evaluate: docs/mapping.md has the measurement.
constexpr int64_t kIncumbentSamples = 500;

// Chosen so that more samples also mean more proof; rounds and samples differ in cost by layer.
constexpr int64_t kSamplesPerRound = 100;

constexpr int64_t kSearchSamples = 20'000;

// Proofs where they are possible.
MapMethod DefaultMethod(MapSettings settings) {
  settings.method = ProofMethod(ProofUse::kAfterSearch);
  return CheckProvable(settings) ? settings.method : DefaultSearch();
}

Result<void> RefuseProofOptions(const MapBudget& budget, const MapSettings& settings) {
  const std::pair<bool, std::string_view> options[] = {
      {budget.proof_seconds.has_value(), "--proof-seconds"},
      {budget.proof_rounds.has_value(), "--proof-rounds"},
      {budget.proof_memory_mib.has_value(), "--proof-memory"}};
  for (const auto& [given, name] : options) {
    if (!given) continue;
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("{} is given, but method {} makes no proofs", name,
                                        settings.method.ToString()),
                 .hint = "use --method auto or exact"};
  }
  return {};
}

}  // namespace

std::vector<Flag> MapBudgetFlags(MapBudget& budget, MapSettings& settings) {
  return {
      {.name = "--samples",
       .target = &budget.samples,
       .help = "evaluations per layer, infeasible ones included; default: 20000, and 500 before "
               "proofs. With proofs it also replaces the clock by N/100 rounds",
       .value = "N",
       .least = 1},
      {.name = "--time-limit",
       .target = &budget.seconds,
       .help = "seconds for everything, which makes results depend on the machine; 0: no limit; "
               "default: 55 with proofs, otherwise 0",
       .value = "S",
       .least = 0},
      {.name = "--proof-seconds",
       .target = &budget.proof_seconds,
       .help = "methods auto and exact: seconds for the proofs alone; 0: no limit",
       .value = "S",
       .least = 0},
      {.name = "--proof-rounds",
       .target = &budget.proof_rounds,
       .help = "methods auto and exact: rounds of exact search per layer, the same on every "
               "machine; 0: no limit",
       .value = "N",
       .least = 0},
      {.name = "--proof-memory",
       .target = &budget.proof_memory_mib,
       .help = "methods auto and exact: memory for what is left to search, in MiB; what exceeds it "
               "is given up, and the gap stays (default: 1024)",
       .value = "MIB",
       .least = 1},
      {.name = "--target-gap",
       .target = &settings.target_gap,
       .help = "end with a layer this close to its bound: 0.05 is 5 %",
       .value = "G",
       .least = 0}};
}

Result<void> SetBudget(const MapBudget& budget, const std::optional<MapMethod>& method,
                       MapSettings& settings) {
  settings.method = method ? *method : DefaultMethod(settings);
  settings.budget.seconds = budget.seconds.value_or(0);
  if (!settings.method.proves()) {
    settings.budget.samples = budget.samples.value_or(kSearchSamples);
    return RefuseProofOptions(budget, settings);
  }
  settings.budget.samples = budget.samples.value_or(kIncumbentSamples);
  settings.proof_seconds = budget.proof_seconds.value_or(0);
  settings.proof_rounds = budget.proof_rounds.value_or(0);
  settings.proof_memory_mib = budget.proof_memory_mib.value_or(settings.proof_memory_mib);
  const bool clock = budget.seconds || budget.proof_seconds;
  if (clock || budget.proof_rounds) return {};
  if (budget.samples) {
    settings.proof_rounds = std::max<int64_t>(1, *budget.samples / kSamplesPerRound);
  } else {
    settings.budget.seconds = kSeconds;
  }
  return {};
}

}  // namespace tessera
