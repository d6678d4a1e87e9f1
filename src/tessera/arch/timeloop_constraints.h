// Constraints of Timeloop: architecture_constraints and mapspace_constraints of version 0.3,
// constraints of version 0.4, in files of their own or inside of an architecture.
#ifndef TESSERA_ARCH_TIMELOOP_CONSTRAINTS_H_
#define TESSERA_ARCH_TIMELOOP_CONSTRAINTS_H_

#include <functional>
#include <string>

#include "tessera/accelerator.h"
#include "tessera/base/document.h"
#include "tessera/result.h"

namespace tessera::timeloop {

// Whether a document has one of the keys that constraints stand under.
bool HoldsConstraints(const Node& root);

// All constraints of a document; whatever else it has is left alone. A spatial constraint is about
// the children of its target in version 0.3, and about the target among its parent's children in
// version 0.4: there the name of the decision has a '^' before the level's. Targets that `known`
// does not know are notes.
Result<Constraints> ReadConstraints(
    const Node& root, const std::function<bool(const std::string& target)>& known = nullptr);

// Constraints {temporal: ..., spatial: ..., dataspace: ...} of a node of a version 0.4
// architecture. `parent` is the level whose children the node's fan-out makes, empty if there is
// no fan-out; `level` is empty for a container.
Result<void> ReadNodeConstraints(const Node& constraints, const std::string& level,
                                 const std::string& parent, Constraints& out);

}  // namespace tessera::timeloop

#endif  // TESSERA_ARCH_TIMELOOP_CONSTRAINTS_H_
