// Proofs for the layers of a network: the exact mapper gives every layer a first mapping and a
// bound at once, takes what a search has found, and then closes gaps where they weigh most.
#ifndef TESSERA_MAPPER_PROOF_H_
#define TESSERA_MAPPER_PROOF_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "tessera/map.h"
#include "tessera/part.h"
#include "tessera/result.h"
#include "tessera/run.h"

namespace tessera {

struct LayerMapping;
class LayerProver;

// Contract:
//   Threads      members are called by one thread at a time; work is done on the pool's threads.
//   Determinism  without limits of seconds the result is a function of job and offers, also if the
//   run is
//                interrupted and starts again: its rounds are then repeated. With such a limit the
//                number of rounds depends on the machine, and a run that starts again goes on from
//                the mappings and bounds that its journals hold, at most one round of each layer
//                behind.
//   Ownership    everything that the constructor is given outlives the prover.
//   Interruption layers keep what they have.
class Prover {
 public:
  // `layers` have names, layers and bounds; the prover fills in the rest.
  Prover(const MapJob& job, ThreadPool& pool, const RunHooks& hooks,
         std::vector<LayerMapping>& layers);
  ~Prover();

  // A first mapping and a first bound of every layer, in some hundredths of a second each, or in
  // their part of `seconds`, if there are any. Layers that the exact mapper cannot take are left to
  // the search with method auto; they are listed.
  Result<void> Start(double seconds);

  // Whether nothing is left to do for the first objective of a layer.
  bool Done(size_t layer) const;

  // Takes over a mapping that was found elsewhere, if it is better: layers[layer].search.best has
  // been turned into layers[layer].mapping and so on.
  void Offer(size_t layer);

  // Rounds until everything is proved, limits are reached, the user stops it, or SteadySeconds()
  // is `deadline`.
  Result<void> Go(double deadline);

  // Whether no clock has a part in the results: then a run that starts again repeats its rounds.
  bool Reproducible() const;

 private:
  bool Over() const;
  LayerProver* Next();
  size_t Open() const;
  void Slice(LayerProver& prover, ThreadPool& pool, std::unique_lock<std::mutex>& lock);
  int64_t MemoryLimit() const;
  void Trim();
  void Tell(const LayerProver& prover);
  void TellTotal();

  const MapJob& job_;
  ThreadPool& pool_;
  const RunHooks hooks_;
  double deadline_ = std::numeric_limits<double>::infinity();
  double first_deadline_ = std::numeric_limits<double>::infinity();  // of the first objective
  std::vector<LayerMapping>& layers_;
  std::vector<std::unique_ptr<LayerProver>> provers_;  // null: cannot be proved

  struct Shared;
  std::unique_ptr<Shared> shared_;  // between the threads of Go
};

}  // namespace tessera

#endif  // TESSERA_MAPPER_PROOF_H_
