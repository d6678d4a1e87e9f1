// Maps a network: searches the best mapping of every layer, equal layers once, several layers at a
// time, and adds up what the network costs.
#ifndef TESSERA_MAPPER_MAP_NETWORK_H_
#define TESSERA_MAPPER_MAP_NETWORK_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/cost/cost.h"
#include "tessera/mapper/layer_bounds.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/mapper/proof.h"
#include "tessera/mapping/mapping.h"
#include "tessera/record/progress.h"
#include "tessera/record/run_directory.h"
#include "tessera/search/driver.h"

namespace tessera {

// An error about a layer, with its name.
Error InLayer(std::string_view layer, Error error);

enum class MapStatus : uint8_t {
  kOptimal,    // nothing can be better: the value is the bound
  kBounded,    // at most `gap` above the bound
  kHeuristic,  // no bound is known
  kNothing,    // no feasible mapping was found
};
std::string_view ToString(MapStatus status);  // "OPTIMAL", ...

struct LayerMapping {
  std::string name = {};
  int64_t count = 1;
  Layer layer = {};
  SearchResult search = {};
  // The best point of the search, and the best mapping; empty if there is none.
  std::optional<Point> point = {};
  std::optional<Mapping> mapping = {};
  std::optional<Cost> cost = {};
  double value = 0;                  // of the objective
  std::optional<double> bound = {};  // no mapping has a lower value
  LayerBounds bounds = {};           // known without search
  MapStatus status = MapStatus::kNothing;
  std::optional<LayerProof> proof = {};  // of methods auto and exact
  std::string unproved = {};             // why method auto only searched; empty: it did not

  int64_t samples() const { return search.samples + (proof ? proof->evaluations : 0); }

  std::optional<double> gap() const {
    return bound && cost ? std::optional(value / *bound - 1) : std::nullopt;
  }
};

// Sums over all occurrences of all layers; EDP is the product of the sums, area and power are those
// of the most demanding layer, utilisation is weighted by cycles.
struct NetworkTotal {
  int64_t layers = 0;  // occurrences
  double cycles = 0;
  double energy_pj = 0;
  double area_um2 = 0;
  double power_mw = 0;
  double utilization = 0;
  double value = 0;                  // of the objective
  std::optional<double> bound = {};  // none for power and area
  int64_t samples = 0;

  double edp() const { return cycles * energy_pj; }
  std::optional<double> gap() const {
    return bound && *bound > 0 ? std::optional(value / *bound - 1) : std::nullopt;
  }
};

struct NetworkMapping {
  std::vector<LayerMapping> layers = {};
  NetworkTotal total = {};
  bool interrupted = false;
  double seconds = 0;
};

struct MapHooks {
  // Told about layers as they go; may be null.
  ProgressObserver* progress = nullptr;

  // Asked now and then whether to stop; may be empty.
  std::function<bool()> stopped = {};

  // Journals go here, and what they already hold is not evaluated again; may be null.
  const RunDirectory* directory = nullptr;
};

// The journals of a layer: of its search (001.jsonl), and of its proof (001.proof.jsonl).
JournalFile SearchJournal(const RunDirectory& directory, size_t layer);
JournalFile ProofJournal(const RunDirectory& directory, size_t layer);

// Status of a value with a bound, or without one.
MapStatus StatusOf(double value, const std::optional<double>& bound);

// The sums over layers that are mapped, with their bounds. Layers without a mapping leave the total
// without a bound.
NetworkTotal AddUp(const std::vector<LayerMapping>& layers, Objective objective);

// The result does not depend on `threads` (0: one per core), nor on interruptions if the run is
// resumed, as long as no budget of seconds is set. Errors: layers that the model cannot take,
// constraints that leave nothing, files that cannot be written.
Result<NetworkMapping> MapNetwork(const MapJob& job, int threads, const MapHooks& hooks);

}  // namespace tessera

#endif  // TESSERA_MAPPER_MAP_NETWORK_H_
