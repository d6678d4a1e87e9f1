// What the commands that search mappings share: model, objective, budget and the choices of the
// space.
#ifndef TESSERA_CLI_MAP_ARGUMENTS_H_
#define TESSERA_CLI_MAP_ARGUMENTS_H_

#include <optional>
#include <string>
#include <vector>

#include "tessera/arch/accelerator.h"
#include "tessera/base/result.h"
#include "tessera/cli/command.h"
#include "tessera/cli/network_argument.h"
#include "tessera/mapper/map_settings.h"

namespace tessera {

struct MapBudget;

struct ProblemArguments {
  NetworkArgument network;
  std::optional<std::string> model;  // none: what the accelerator has
  MapSettings settings;              // names and values as they are given
};

// NETWORK, --accelerator, --model, --objective, and what the space and the models leave open.
std::vector<Flag> ProblemFlags(ProblemArguments& arguments);

// --samples, --time-limit and --batch.
std::vector<Flag> BudgetFlags(MapSettings& settings);

// A job from arguments: loads and looks up everything. Notes about the machine become remarks.
// `budget` (may be null) chooses what flags left open; without it settings are as they are.
Result<MapJob> MakeJob(const ProblemArguments& arguments, Context& context,
                       const MapBudget* budget = nullptr);

// The same for a single layer, which --layer must name unless the network has only one.
Result<MapJob> MakeLayerJob(const ProblemArguments& arguments, Context& context);

std::vector<std::string> MethodNames();

}  // namespace tessera

#endif  // TESSERA_CLI_MAP_ARGUMENTS_H_
