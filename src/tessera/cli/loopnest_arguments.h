// What commands for model `loopnest` share: layers as loop problems, machines with energy tables,
// and files of Timeloop that hold several of these at once.
#ifndef TESSERA_CLI_LOOPNEST_ARGUMENTS_H_
#define TESSERA_CLI_LOOPNEST_ARGUMENTS_H_

#include <optional>
#include <string>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/cli/command.h"
#include "tessera/cli/network_argument.h"
#include "tessera/cost.h"
#include "tessera/mapping.h"
#include "tessera/result.h"

namespace tessera {

// --semantics, empty if not given, and --energy.
Flag SemanticsFlag(std::optional<std::string>& semantics, std::string_view help);
Flag EnergyFlag(std::vector<std::string>& files);
std::optional<loopnest::Semantics> SemanticsOf(const std::optional<std::string>& name);

// A layer that can be mapped.
struct LoopLayer {
  std::string name = {};
  int64_t count = 1;  // occurrences in its network
  LoopProblem problem = {};
};

// The layers of a network, or the one problem of a Timeloop file, whatever its shape.
Result<std::vector<LoopLayer>> LoadLoopLayers(const NetworkArgument& argument);

// A machine by preset name or path, with the energies of the tables put in. Remarks say what its
// file had beyond it.
Result<Accelerator> LoadLoopMachine(const std::string& name, const std::vector<std::string>& energy,
                                    Context& context);

}  // namespace tessera

#endif  // TESSERA_CLI_LOOPNEST_ARGUMENTS_H_
