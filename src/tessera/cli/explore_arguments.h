// What `explore` and `sweep` share: how every machine is mapped.
#ifndef TESSERA_CLI_EXPLORE_ARGUMENTS_H_
#define TESSERA_CLI_EXPLORE_ARGUMENTS_H_

#include <string>
#include <utility>
#include <vector>

#include "tessera/cli/command.h"
#include "tessera/cli/model_arguments.h"
#include "tessera/map.h"
#include "tessera/result.h"

namespace tessera {

struct MachineMapArguments {
  // Models whose mappings can be proved.
  MachineMapArguments();

  std::string constraints;
  ModelArguments model_settings;
  std::vector<std::string> limits;
  bool no_bypass = false;
};

// --limit, --no-bypass, --constraints and the settings of the model.
std::vector<Flag> MachineMapFlags(MachineMapArguments& arguments, std::string_view limits_help);

// Settings of every machine's mapping. Limits that are not those of layers go to `machine_limits`,
// or are errors if that is null.
Result<MapSettings> MachineMapSettings(const MachineMapArguments& arguments, Context& context,
                                       std::vector<std::pair<std::string, double>>* machine_limits);

}  // namespace tessera

#endif  // TESSERA_CLI_EXPLORE_ARGUMENTS_H_
