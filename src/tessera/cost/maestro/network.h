// Whole mapping files: layers one after the other, with what MAESTRO carries from one to the next.
#ifndef TESSERA_COST_MAESTRO_NETWORK_H_
#define TESSERA_COST_MAESTRO_NETWORK_H_

#include <optional>
#include <string>
#include <vector>

#include "tessera/arch/accelerator.h"
#include "tessera/base/result.h"
#include "tessera/cost/maestro/analysis.h"
#include "tessera/cost/maestro/options.h"
#include "tessera/cost/maestro/workload.h"
#include "tessera/mapping/dataflow.h"

namespace tessera::maestro {

struct MappedLayer {
  std::string name = {};
  Declaration declaration = {};
  Dataflow dataflow = {};
};

struct EvaluatedLayer {
  Workload workload = {};
  Analysis analysis = {};
  CostFlags flags = {};
  double csv_energy_nj = 0;  // with the carry-over of the layer before
};

// Why a file has no result: a rule that one of its layers breaks, or a declaration that makes no
// sense.
struct NetworkFailure {
  size_t layer = 0;
  Status status = Status::kReject;
  Error error = {};
};

struct EvaluatedNetwork {
  std::vector<EvaluatedLayer> layers = {};
  std::optional<NetworkFailure> failure = {};
};

// Evaluates the layers of a file in order. What MAESTRO finds while it reads the file comes before
// what it finds while it computes.
EvaluatedNetwork EvaluateNetwork(const std::vector<MappedLayer>& layers, const PeArray& array,
                                 MaestroVersion version, Analyser& analyser);

}  // namespace tessera::maestro

#endif  // TESSERA_COST_MAESTRO_NETWORK_H_
