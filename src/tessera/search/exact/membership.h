// Whether a mapping belongs to the space that is searched; whether it fits memories is for the cost
// model to say.
#ifndef TESSERA_SEARCH_EXACT_MEMBERSHIP_H_
#define TESSERA_SEARCH_EXACT_MEMBERSHIP_H_

#include "tessera/mapping.h"
#include "tessera/search/exact/model.h"

namespace tessera::exact {

// Whatever its levels hold.
bool InSpace(const Model& model, const LoopMapping& mapping);

// And its levels hold what those of the model do.
bool Contains(const Model& model, const LoopMapping& mapping);

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_MEMBERSHIP_H_
