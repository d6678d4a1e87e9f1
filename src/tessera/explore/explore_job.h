// Jobs of exploration and their folders: what both kinds of runs share.
#ifndef TESSERA_EXPLORE_EXPLORE_JOB_H_
#define TESSERA_EXPLORE_EXPLORE_JOB_H_

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tessera/arch/template.h"
#include "tessera/cooptimize.h"
#include "tessera/map.h"
#include "tessera/result.h"
#include "tessera/run.h"

namespace tessera {

// The job of every machine of a template, by method exact; checked with one that can be built.
Result<MapJob> BaseJob(const MapSettings& settings, const std::vector<Network>& networks,
                       const MachineTemplate& machines, const std::string& folder);

// Settings of `map` for the folder of a run, and the file that they name.
Result<MapSettings> SaveMapSettings(const MapJob& base, RunDirectory::Files& inputs);

// Networks as files of that folder; their names.
Result<std::vector<std::string>> SaveNetworks(const std::vector<Network>& networks,
                                              RunDirectory::Files& inputs);

// Fields of a sweep, and their values.
using VariedValues = std::vector<std::pair<std::string, std::vector<std::string>>>;

// Whether a field is a parameter of the network, not of the machine.
bool IsOfNetwork(const std::string& field);

// The settings of a run as JSON; an error with its place if they are damaged.
class SavedSettings {
 public:
  static Result<SavedSettings> Read(const RunDirectory& directory);

  // The first value of another kind makes `status` an error.
  template <typename Value>
  Value Get(const char* key) {
    try {
      return json_.at(key).get<Value>();
    } catch (const nlohmann::json::exception&) {
      Damaged(key);
      return {};
    }
  }
  nlohmann::ordered_json At(const char* key);
  void Damaged(std::string_view key);
  const Result<void>& status() const { return status_; }
  const std::string& file() const { return file_; }

 private:
  nlohmann::ordered_json json_;
  std::string file_;
  Result<void> status_;
};

}  // namespace tessera

#endif  // TESSERA_EXPLORE_EXPLORE_JOB_H_
