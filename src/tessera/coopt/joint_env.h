// Co-optimization as an environment: the three agents of DCOC walk through accelerators and
// schedules of one layer, every state they reach is measured, and what is fast is rewarded.
#ifndef TESSERA_COOPT_JOINT_ENV_H_
#define TESSERA_COOPT_JOINT_ENV_H_

#include "tessera/env.h"

namespace tessera::coopt {

// For RegisterEnv: environment `cooptimize`. Settings: network, layer, target, objective,
// budget-macs, penalty, horizon.
extern const EnvInfo kCooptimizeEnv;

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_JOINT_ENV_H_
