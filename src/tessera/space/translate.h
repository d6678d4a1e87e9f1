// Good mappings of one layer as a start for a similar one.
#ifndef TESSERA_SPACE_TRANSLATE_H_
#define TESSERA_SPACE_TRANSLATE_H_

#include "tessera/space.h"

namespace tessera {

// A point of one space as a point of another: decisions by name take the same or the nearest value,
// those that only `to` has take their first; then repaired. For good mappings of similar layers.
Point Translate(const DecisionSpace& from, const Point& point, const DecisionSpace& to);

}  // namespace tessera

#endif  // TESSERA_SPACE_TRANSLATE_H_
