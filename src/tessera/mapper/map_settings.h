// What `tessera map` was asked for, as data that goes to a file and comes back: the run that is
// resumed or verified later is exactly the one that was started.
#ifndef TESSERA_MAPPER_MAP_SETTINGS_H_
#define TESSERA_MAPPER_MAP_SETTINGS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/arch/accelerator.h"
#include "tessera/base/result.h"
#include "tessera/cost/models.h"
#include "tessera/mapper/map_method.h"
#include "tessera/record/run_directory.h"
#include "tessera/search/budget.h"
#include "tessera/search/method.h"
#include "tessera/space/mapping_problem.h"
#include "tessera/workload/network.h"

namespace tessera {

// Which factors of a dimension mappings may have.
enum class Factors : uint8_t {
  kPerfect,  // those that divide it
  kAny,      // the last iteration may have less to do
};
inline constexpr std::array<std::string_view, 2> kFactorsNames = {"perfect", "any"};

struct MapSettings {
  // Zoo or preset name, or a file; in a run's folder, files of that folder.
  std::string network = {};
  std::string accelerator = {};
  std::string constraints = {};  // a file; empty: none

  CostModelChoice model = {};                 // Default: the first of CostModels().
  Objective objective = Objective::kLatency;  // Default: kLatency.
  MapMethod method = DefaultSearch();         // Default: DefaultSearch().
  TileSizes sizes = TileSizes::kDivisors;     // Default: kDivisors.
  bool decide_pes = false;                    // Default: false.
  bool bypass = false;                        // Default: false.
  Factors factors = Factors::kPerfect;        // Of methods with proofs. Default: kPerfect.

  int64_t seed = 1;                       // Default: 1.
  Budget budget = {};                     // Per layer; seconds: for the whole run.
  int64_t points = 64;                    // That a method is asked for at a time. Default: 64.
  std::optional<double> target_gap = {};  // Default: none.

  // What methods auto and exact may spend on proofs: seconds for the proofs of all layers, rounds
  // of exact search per layer (0: no limit), and memory for the open nodes of all layers.
  double proof_seconds = 0;         // Default: 0.
  int64_t proof_rounds = 0;         // Default: 0.
  int64_t proof_memory_mib = 1024;  // Default: 1024.
};

// The settings as JSON, all but the seed, and back; unknown keys, names and wrong types are errors
// with their place.
std::string ToJsonText(const MapSettings& settings);
Result<MapSettings> ParseMapSettings(std::string_view text, const std::string& file);

// Settings with everything loaded.
struct MapJob {
  MapSettings settings = {};
  Network network = {};
  Accelerator accelerator = {};
  MappingProblemOptions problem = {};
  std::optional<MethodChoice> method = {};  // none: method exact, which has no search
  bool prove = false;
  bool any_factors = false;  // also mappings whose factors do not divide
};

// The cost model of the job for a layer.
Result<std::unique_ptr<CostModel>> ModelOf(const MapJob& job, const Layer& layer);

// A job for inputs that are at hand: loads the other files, relative to `folder` (empty: the
// current one). Errors: settings that do not go together.
Result<MapJob> MakeMapJob(const MapSettings& settings, Network network, Accelerator accelerator,
                          const std::string& folder = "");

// What the folder of a run needs to do a job again: settings that name files of the folder, and
// those files.
struct SavedMapJob {
  MapSettings settings = {};
  RunDirectory::Files inputs = {};
};
Result<SavedMapJob> SaveMapJob(const MapJob& job);

// The job of a folder with these settings.
Result<MapJob> LoadMapJob(const MapSettings& settings, const RunDirectory& directory);

// A new run of kind map, and the job of one.
inline constexpr std::string_view kMapRun = "map";
Result<RunDirectory> CreateMapRun(const std::string& path, const MapJob& job,
                                  const RunOrigin& origin);
Result<MapJob> LoadMapJob(const RunDirectory& directory);

// An error unless a run that prices with a program of its own (model exec:COMMAND) may do so: a
// folder is data, and running what stands in it is up to its reader.
Result<void> CheckMayExecute(const MapSettings& settings, bool allowed);

}  // namespace tessera

#endif  // TESSERA_MAPPER_MAP_SETTINGS_H_
