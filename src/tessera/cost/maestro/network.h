// Whole mapping files: layers one after the other, with what MAESTRO carries from one to the next.
#ifndef TESSERA_COST_MAESTRO_NETWORK_H_
#define TESSERA_COST_MAESTRO_NETWORK_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/cost/maestro/analysis.h"
#include "tessera/cost/maestro/options.h"
#include "tessera/cost/maestro/rules.h"
#include "tessera/cost/maestro/workload.h"
#include "tessera/mapping.h"
#include "tessera/result.h"

namespace tessera::maestro {

struct MappedLayer {
  std::string name = {};
  Declaration declaration = {};
  Dataflow dataflow = {};
};

// Why a layer has no numbers: a rule that it breaks, or a declaration that makes no sense.
struct Failure {
  Status status = Status::kReject;
  Error error = {};
  bool while_reading = false;  // MAESTRO notices before it evaluates anything
  Violation broken = {};       // the rule, if there is one
};

struct LayerOutcome {
  std::optional<Failure> failure = {};
  // Without failure only:
  Workload workload = {};
  Analysis analysis = {};
  CostFlags flags = {};
  double csv_energy_nj = 0;  // with the carry-over from the layer before
};

// Evaluates the layers of a file in order; a layer that fails is left out of the carry-over.
std::vector<LayerOutcome> EvaluateNetwork(const std::vector<MappedLayer>& layers,
                                          const PeArray& array, MaestroVersion version,
                                          Analyser& analyser);

// The layer for which MAESTRO refuses the whole file, or crashes; none if it succeeds.
std::optional<size_t> FirstFailure(const std::vector<LayerOutcome>& outcomes);

}  // namespace tessera::maestro

#endif  // TESSERA_COST_MAESTRO_NETWORK_H_
