// A point of one problem's space in the space of a similar problem.
#ifndef TESSERA_SPACE_TRANSLATE_H_
#define TESSERA_SPACE_TRANSLATE_H_

#include "tessera/space/decision_space.h"
#include "tessera/space/point.h"

namespace tessera {

// The legal point of `to` that takes the same decisions, by their names: numbers become the nearest
// ones in ratio, the largest number of a decision stays the largest (a whole dimension stays
// whole), labels and orders are kept. What `from` does not decide, or decides by other labels, gets
// its first value.
Point Translate(const DecisionSpace& from, const Point& point, const DecisionSpace& to);

}  // namespace tessera

#endif  // TESSERA_SPACE_TRANSLATE_H_
