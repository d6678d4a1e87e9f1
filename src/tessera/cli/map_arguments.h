// What the commands that search mappings share: model, objective, budget and the choices of the
// space.
#ifndef TESSERA_CLI_MAP_ARGUMENTS_H_
#define TESSERA_CLI_MAP_ARGUMENTS_H_

#include <optional>
#include <string>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/cli/command.h"
#include "tessera/cli/model_arguments.h"
#include "tessera/cli/network_argument.h"
#include "tessera/map.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

struct ProblemArguments {
  NetworkArgument network;
  std::string accelerator;
  std::vector<std::string> ert, art;  // tables for it
  std::vector<std::string> constraints;
  std::string dataflow;
  std::optional<std::string> model;  // none: the first that suits the accelerator
  ModelArguments model_settings;
  std::string objective{ToString(Objective::kLatency)};  // one or more, with commas between
  std::vector<std::string> limits;
  bool bypass = false, no_bypass = false;
  std::string sizes{NameOf(TileSizes::kDivisors, kTileSizesNames)};
  MapSettings settings;  // numbers and switches
};

// NETWORK, --accelerator, --model, --objective, and what the space and the models leave open.
std::vector<Flag> ProblemFlags(ProblemArguments& arguments);

// --constraints and --dataflow, of every command whose mappings may be restricted.
std::vector<Flag> ConstraintFlags(std::vector<std::string>& constraints, std::string& dataflow);

// --points.
Flag PointsFlag(MapSettings& settings);

// --samples, --time-limit and --points.
std::vector<Flag> BudgetFlags(MapSettings& settings);

// What arguments name, looked up and loaded.
struct MapInputs {
  MapSettings settings;
  Network network;
  Accelerator accelerator;
};

// Names that do not exist are errors with a hint. Notes about the machine become remarks.
Result<MapInputs> LoadInputs(const ProblemArguments& arguments, Context& context);

// A job for a single layer, which --layer must name unless the network has only one.
Result<MapJob> MakeLayerJob(const ProblemArguments& arguments, Context& context);

std::vector<std::string> MethodNames();

}  // namespace tessera

#endif  // TESSERA_CLI_MAP_ARGUMENTS_H_
