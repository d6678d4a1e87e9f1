// What the two halves of `tessera simulate` share: one program (simulate.cc), and the folder of a
// compiled network (simulate_folder.cc).
#ifndef TESSERA_CLI_SIMULATE_H_
#define TESSERA_CLI_SIMULATE_H_

#include <string>

#include "tessera/base/result.h"
#include "tessera/cli/command.h"
#include "tessera/vta/sim/timing.h"

namespace tessera {

Result<void> SimulateFolder(const std::string& folder, const vta::TimingParameters& timing,
                            Context& context);

}  // namespace tessera

#endif  // TESSERA_CLI_SIMULATE_H_
