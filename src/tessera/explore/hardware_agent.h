// Method `dcoc` of exploration: the hardware agent of DCOC proposes machines, Confidence Sampling
// chooses those that are mapped.
#ifndef TESSERA_EXPLORE_HARDWARE_AGENT_H_
#define TESSERA_EXPLORE_HARDWARE_AGENT_H_

#include "tessera/search.h"

namespace tessera {

MethodInfo HardwareAgentMethod();

}  // namespace tessera

#endif  // TESSERA_EXPLORE_HARDWARE_AGENT_H_
