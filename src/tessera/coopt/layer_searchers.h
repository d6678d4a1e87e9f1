// Search methods on fixed hardware: every layer is a decision space of its own, and gets a searcher
// of its own. One proposed point is one measurement; the session counts and remembers as it does
// for joint methods.
#ifndef TESSERA_COOPT_LAYER_SEARCHERS_H_
#define TESSERA_COOPT_LAYER_SEARCHERS_H_

#include <memory>

#include "tessera/coopt/searcher.h"
#include "tessera/result.h"
#include "tessera/search.h"

namespace tessera::coopt {

// The method works on one space, and the problem's hardware is fixed.
Result<std::unique_ptr<JointSearcher>> MakeLayerSearchers(const MethodChoice& choice,
                                                          const JointSetup& setup);

// What a search method sees of a measurement.
Outcome OutcomeOf(const CooptProblem& problem, const Measured& measured);

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_LAYER_SEARCHERS_H_
