// What solved layers of a network teach about the next ones.
#ifndef TESSERA_MAPPER_WARM_START_H_
#define TESSERA_MAPPER_WARM_START_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tessera/map.h"
#include "tessera/space.h"

namespace tessera {

// Whether layers of a job learn from each other: its method takes hints, and what it finds depends
// on samples alone. With a budget of seconds, or proofs that have one, a resumed run could not
// repeat what an earlier layer had found by then.
bool StartsWarm(const MapJob& job);

// Layers are searched in waves of 1, 2, 4, ... layers of the list, each of which sees the layers of
// the waves before it, so that results depend on the list and not on threads. The end of the wave
// that begins at `begin`.
size_t WaveEnd(size_t begin, size_t layers);

// The best points of solved layers of the same type as the problem's, translated into its space,
// the most similar layer first.
std::vector<Point> HintsOf(std::span<const LayerMapping> solved, const Layer& layer,
                           const MappingProblem& problem, const MapJob& job);

// Whether a policy is to propose what proofs have to beat, if it makes such mappings.
bool WantsProposals(const MapJob& job);

// The job's policy; what ships is loaded when it is first asked for. Null: none, or the cost model
// has none.
std::shared_ptr<const policy::Networks> PolicyOf(const MapJob& job);

// Whether the job has a policy that makes mappings of a problem: not of machines larger than its
// games, nor of another cost model.
bool PolicyPlays(const MapJob& job, const MappingProblem& problem);

// What the job's policy proposes for a problem, for methods that start from hints; most of them
// then learn from there. Empty: there is no policy, or the method takes no hints.
std::vector<Point> PolicyHints(const MapJob& job, const MappingProblem& problem, uint64_t seed);

// Method policy as it acts before proofs, with few drafts, of which it thinks once: many proofs
// take less time than more of them would.
const MethodChoice& PolicyChoice();

// A mapping of a layer as the policy proposes it before proofs, but of which every level holds what
// it can. Nothing: the policy makes none.
std::optional<std::pair<LoopMapping, Cost>> HeldProposal(const MapJob& job,
                                                         const LayerMapping& layer);

}  // namespace tessera

#endif  // TESSERA_MAPPER_WARM_START_H_
