// Which space the mappings of each form have. A new form is an alternative of Mapping and a line in
// forms.cc; cost models choose among the forms, so a new model needs neither.
#ifndef TESSERA_SPACE_FORMS_H_
#define TESSERA_SPACE_FORMS_H_

#include <memory>

#include "tessera/arch/accelerator.h"
#include "tessera/base/result.h"
#include "tessera/cost/configured_model.h"
#include "tessera/mapping/mapping.h"
#include "tessera/space/constraints.h"
#include "tessera/space/mapping_space.h"
#include "tessera/workload/layer.h"

namespace tessera {

// What a user may choose about a space.
struct SpaceOptions {
  // Dataflows: sizes of tiles; loops have perfect factors only. Default: kDivisors.
  TileSizes sizes = TileSizes::kDivisors;

  // Dataflows: whether the number of PEs is a decision. Default: false.
  bool decide_pes = false;

  // Loops: whether bypassing a level is a decision. Default: false.
  bool decide_keep = false;

  Constraints constraints = {};
};

// The accelerator has the part that the form is about (HasPartFor). Errors: layers that the form
// cannot express, constraints that leave nothing.
Result<std::unique_ptr<MappingSpace>> MakeMappingSpace(MappingForm form, const Layer& layer,
                                                       const Accelerator& accelerator,
                                                       const SpaceRules& rules,
                                                       const SpaceOptions& options);

}  // namespace tessera

#endif  // TESSERA_SPACE_FORMS_H_
