// Study files: what is asked for, before anything that they name is looked up.
//
//   format: tessera-study-1
//   networks: [resnet18, {network: nets/own.onnx, bind: {batch: 1}, layers: [conv1]}]
//   layers: each                       # a unit per layer; without it, one per network
//   accelerators: [eyeriss-256, machines/own.yaml]
//   objectives: [latency, edp]
//   methods: [marl, ga:population=50]
//   seeds: [1, 2, 3]
//   budget: {samples: 2000}
//   units:                             # further units, or all of them
//     - {network: vgg16, layer: 2, accelerator: nvdla, budget: {samples: 500}}
#ifndef TESSERA_STUDY_STUDY_FILE_H_
#define TESSERA_STUDY_STUDY_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/map.h"
#include "tessera/network.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

// A word of a file, with its place.
struct Word {
  std::string text = {};
  Where where = {};
};

// Which layers of a network are units.
struct LayersRequest {
  bool each = false;              // every distinct one
  std::vector<Word> chosen = {};  // otherwise these; none: the network as a whole
};

struct NetworkRequest {
  Word name = {};
  Bindings bindings = {};
  std::optional<LayersRequest> layers = {};  // none: those of the file
};

// How a unit is mapped, and what it needs; what is not given is left to the defaults of map.
struct UnitSettings {
  MapBudget budget = {};
  std::optional<double> target_gap = {};
  std::optional<Word> model = {};
  Assignments model_settings = {};
  std::optional<Word> sizes = {}, factors = {}, dataflow = {};
  std::vector<Word> constraints = {};
  std::optional<bool> decide_pes = {}, bypass = {};
  std::optional<int64_t> points = {};
  std::optional<double> within = {};
  std::vector<Word> limits = {};  // "energy_pj=1e9"
  std::optional<int64_t> cores = {}, memory_mib = {};
};

struct UnitRequest {
  Where where = {};
  NetworkRequest network = {};
  std::optional<Word> layer = {};
  Word accelerator = {};
  std::optional<Word> objective = {}, method = {};
  int64_t seed = 1;
  UnitSettings settings = {};
};

struct StudyFile {
  std::string name = {};  // as it says, or that of the file
  Where where = {};
  std::vector<NetworkRequest> networks = {};
  LayersRequest layers = {};
  std::vector<Word> accelerators = {};
  std::vector<std::optional<Word>> objectives = {}, methods = {};
  std::vector<int64_t> seeds = {};
  UnitSettings settings = {};
  std::vector<UnitRequest> units = {};
};

// Errors: syntax, unknown keys, values of the wrong kind, lists without items, a file without work.
Result<StudyFile> ParseStudyFile(std::string_view text, const std::string& file);

}  // namespace tessera

#endif  // TESSERA_STUDY_STUDY_FILE_H_
