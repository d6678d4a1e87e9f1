// Proofs after a search: the exact mapper takes the best mapping of every layer, looks for better
// ones and raises the bounds, always where the gap is largest.
#ifndef TESSERA_RUN_PROOF_H_
#define TESSERA_RUN_PROOF_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/run/map_settings.h"
#include "tessera/run/progress.h"

namespace tessera {

struct LayerMapping;

// What was proved about a layer.
struct LayerProof {
  int64_t rounds = 0;
  int64_t evaluations = 0;  // by the exact search; they count as samples
  bool complete = false;    // nothing is left to search
};

struct ProofHooks {
  ProgressObserver* progress = nullptr;  // may be null
  std::function<bool()> stopped = {};    // may be empty
};

// Whether a job's model and objective can be proved; the error says why not.
Result<void> CheckProvable(const MapJob& job);

// Updates layers in place: proof, bound, status, and the mapping where a better one was found.
// After n rounds the result is the same on any number of threads; a limit of seconds makes the
// number of rounds depend on the machine. Layers keep what they have if they are interrupted.
Result<void> ProveLayers(const MapJob& job, ThreadPool& pool, const ProofHooks& hooks,
                         std::vector<LayerMapping>& layers);

}  // namespace tessera

#endif  // TESSERA_RUN_PROOF_H_
