// What a mapping run may spend where nobody says so, and on which method.
#include <algorithm>
#include <string_view>
#include <utility>

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

Result<void> SetMapBudget(const MapBudget& budget, const std::optional<MapMethod>& method,
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
