// How a method that is found by name is made for a problem.
#ifndef TESSERA_COOPT_METHODS_H_
#define TESSERA_COOPT_METHODS_H_

#include <memory>

#include "tessera/coopt/searcher.h"
#include "tessera/cooptimize.h"
#include "tessera/result.h"
#include "tessera/search.h"

namespace tessera::coopt {

// A method of one space searches every layer on its own where hardware is fixed; where it is
// decided, the joint version of the method takes its place. Errors: a method that has none, and
// settings that the joint version does not have.
Result<std::unique_ptr<JointSearcher>> MakeSearcher(const MethodChoice& choice,
                                                    const JointSetup& setup);

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_METHODS_H_
