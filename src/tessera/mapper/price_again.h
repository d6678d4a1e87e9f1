// What the journal of a search says of its best mapping, priced again: a journal is no reason to
// believe a number.
#ifndef TESSERA_MAPPER_PRICE_AGAIN_H_
#define TESSERA_MAPPER_PRICE_AGAIN_H_

#include "tessera/result.h"
#include "tessera/space.h"

namespace tessera {

// An error if a feasible trial has other numbers than the model. Models that price by the batch are
// not asked: they may be programs that take their time, or never say the same twice.
Result<void> PriceAgain(const MappingProblem& problem, const Trial& best);

}  // namespace tessera

#endif  // TESSERA_MAPPER_PRICE_AGAIN_H_
