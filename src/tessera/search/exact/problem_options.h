// The exact mapper for a mapping problem: what its space leaves, in the mapper's terms.
#ifndef TESSERA_SEARCH_EXACT_PROBLEM_OPTIONS_H_
#define TESSERA_SEARCH_EXACT_PROBLEM_OPTIONS_H_

#include <optional>

#include "tessera/result.h"
#include "tessera/search/exact/mapper.h"
#include "tessera/space.h"

namespace tessera::exact {

// What the mapper calls an objective; none for those that it cannot prove.
std::optional<Goal> GoalOf(Objective objective);

// Whether the mapper knows bounds under these rules.
bool Proves(loopnest::Semantics semantics);

// Goal, semantics, constraints and keep sets of a problem; everything else has its default.
// Errors: models that do not price loops by the rules of cost/loopnest/, objectives without a goal.
Result<MapperOptions> OptionsFor(const MappingProblem& problem);

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_PROBLEM_OPTIONS_H_
