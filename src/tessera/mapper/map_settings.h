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

#include "tessera/accelerator.h"
#include "tessera/cost.h"
#include "tessera/map.h"
#include "tessera/network.h"
#include "tessera/result.h"
#include "tessera/run.h"
#include "tessera/search.h"
#include "tessera/space.h"

namespace tessera {

// The settings as JSON, all but the seed, and back; unknown keys, names and wrong types are errors
// with their place.
std::string ToJsonText(const MapSettings& settings);
Result<MapSettings> ParseMapSettings(std::string_view text, const std::string& file);

// The cost model of the job for a layer.
Result<std::unique_ptr<CostModel>> ModelOf(const MapJob& job, const Layer& layer);

// What is searched for a layer of the job: constraints may be about layers of that name.
MappingProblemOptions ProblemOptionsOf(const MapJob& job, const std::string& layer_name);
Result<std::unique_ptr<MappingProblem>> ProblemOf(const MapJob& job, const Layer& layer,
                                                  const std::string& name);

// What the folder of a run needs to do a job again: settings that name files of the folder, and
// those files.
struct SavedMapJob {
  MapSettings settings = {};
  RunDirectory::Files inputs = {};
};
Result<SavedMapJob> SaveMapJob(const MapJob& job);

// The job of a folder with these settings.
Result<MapJob> LoadMapJob(const MapSettings& settings, const RunDirectory& directory);

// An error unless a run that prices with a program of its own (model exec:COMMAND) may do so: a
// folder is data, and running what stands in it is up to its reader.
Result<void> CheckMayExecute(const MapSettings& settings, bool allowed);

}  // namespace tessera

#endif  // TESSERA_MAPPER_MAP_SETTINGS_H_
