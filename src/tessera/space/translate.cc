// Decisions of one space in the words of another.
#include "tessera/space/translate.h"

namespace tessera {
namespace {

int32_t Translate(const Decision& from, int32_t index, const Decision& to) {
  if (from.kind() != to.kind()) return 0;
  if (from.kind() == DecisionKind::kOrdinal) {
    if (index + 1 == from.size()) return to.size() - 1;
    return to.Nearest(static_cast<double>(from.value(index)));
  }
  const Result<int32_t> same = to.Parse(from.Label(index));
  return same ? *same : 0;
}

}  // namespace

Point Translate(const DecisionSpace& from, const Point& point, const DecisionSpace& to) {
  Point made(to.size());
  for (size_t i = 0; i < to.size(); ++i) {
    const Decision& decision = to.decisions()[i];
    const size_t at = from.Find(decision.name());
    if (at < from.size()) made[i] = Translate(from.decisions()[at], point[at], decision);
  }
  to.Repair(made);
  return made;
}

}  // namespace tessera
