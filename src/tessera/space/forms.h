// Which space the mappings of each form have. A new form is an alternative of Mapping and a line in
// forms.cc; cost models choose among the forms, so a new model needs neither.
#ifndef TESSERA_SPACE_FORMS_H_
#define TESSERA_SPACE_FORMS_H_

#include <memory>

#include "tessera/accelerator.h"
#include "tessera/cost.h"
#include "tessera/mapping.h"
#include "tessera/network.h"
#include "tessera/result.h"
#include "tessera/space.h"

namespace tessera {

// The accelerator has the part that the form is about (HasPartFor). Errors: layers that the form
// cannot express, constraints that leave nothing.
Result<std::unique_ptr<MappingSpace>> MakeMappingSpace(MappingForm form, const Layer& layer,
                                                       const Accelerator& accelerator,
                                                       const SpaceRules& rules,
                                                       const SpaceOptions& options);

}  // namespace tessera

#endif  // TESSERA_SPACE_FORMS_H_
