// Maps a network: searches the best mapping of every layer, equal layers once, several layers at a
// time, and adds up what the network costs.
#ifndef TESSERA_MAPPER_MAP_NETWORK_H_
#define TESSERA_MAPPER_MAP_NETWORK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/cost.h"
#include "tessera/map.h"
#include "tessera/mapping.h"
#include "tessera/result.h"
#include "tessera/run.h"
#include "tessera/search/driver.h"

namespace tessera {

// An error about a layer, with its name.
Error InLayer(std::string_view layer, Error error);

// The journals of a layer: of its search (001.jsonl), and of its proof (001.proof.jsonl).
JournalFile SearchJournal(const RunDirectory& directory, size_t layer);
JournalFile ProofJournal(const RunDirectory& directory, size_t layer);

// The problem that a layer's search is about: the job's; before proofs, which look at bypass by
// themselves, the one without it where there are such mappings.
Result<std::unique_ptr<MappingProblem>> SearchProblem(const MapJob& job, const Layer& layer,
                                                      const std::string& name);

// What the method of a layer says of itself once it has seen these trials. None: they are not what
// it proposes, as where it was given mappings of other layers first, or SteadySeconds() passed the
// deadline.
struct MethodWords {
  std::vector<Note> notes = {};
  std::vector<std::vector<std::string>> agents = {};
};
Result<std::optional<MethodWords>> WordsAfter(const MapJob& job, const MappingProblem& problem,
                                              const Layer& layer, std::span<const Trial> trials,
                                              double deadline);

// Status of a value with a bound, or without one.
MapStatus StatusOf(double value, const std::optional<double>& bound);

// What ended a network's run: whatever most of all kept its layers from being proved.
MapStop StopOf(const NetworkMapping& mapping);

// The sums over layers that are mapped, with their bounds. Layers without a mapping leave the total
// without a bound.
NetworkTotal AddUp(const std::vector<LayerMapping>& layers, Objective objective);

}  // namespace tessera

#endif  // TESSERA_MAPPER_MAP_NETWORK_H_
