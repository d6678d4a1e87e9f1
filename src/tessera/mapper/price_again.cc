#include "tessera/mapper/price_again.h"

#include <fmt/format.h>

#include "tessera/cost.h"

namespace tessera {

Result<void> PriceAgain(const MappingProblem& problem, const Trial& best) {
  const Cost cost = problem.CostOf(best);
  const double value = ValueOf(cost, problem.objective());
  if (static_cast<double>(cost.cycles) == best.outcome.cycles &&
      cost.energy_pj == best.outcome.energy_pj && value == best.outcome.value) {
    return {};
  }
  return Error{.kind = ErrorKind::kBadValue,
               .message = fmt::format("the journal's best mapping is worth {}, but priced again it "
                                      "is {}",
                                      best.outcome.value, value),
               .hint = "the journal was changed, or another version wrote it"};
}

}  // namespace tessera
