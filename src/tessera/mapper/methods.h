// The methods that `map` has beside those of search/: they end with a proof.
#ifndef TESSERA_MAPPER_METHODS_H_
#define TESSERA_MAPPER_METHODS_H_

#include "tessera/search.h"

namespace tessera {

const MethodInfo& AutoMethod();   // a search, then proofs
const MethodInfo& ExactMethod();  // proofs alone
const MethodList& ProofMethods();

// The methods of search/, then those.
const MethodList& MapMethods();

}  // namespace tessera

#endif  // TESSERA_MAPPER_METHODS_H_
