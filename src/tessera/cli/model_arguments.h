// Settings of cost models as flags: every parameter that a model declares (tessera/cost.h) is a
// flag of the commands that search mappings.
#ifndef TESSERA_CLI_MODEL_ARGUMENTS_H_
#define TESSERA_CLI_MODEL_ARGUMENTS_H_

#include <optional>
#include <string>
#include <vector>

#include "tessera/cli/command.h"
#include "tessera/cost.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

// The names for --model, with a colon after those that take a command.
std::vector<std::string> CostModelNames();

class ModelArguments {
 public:
  // For all models, or for those that `which` says.
  explicit ModelArguments(bool (*which)(const CostModelInfo& model) = nullptr);

  // One per setting; models that share a setting share the flag. They point into this object.
  std::vector<Flag> Flags();

  // The model that `text` names, or else `fallback`, with those of the settings that it has. A
  // value that no model takes is an error, whichever model is chosen.
  Result<CostModelChoice> Choose(const std::optional<std::string>& text,
                                 const CostModelInfo& fallback) const;

 private:
  struct Slot {
    ParameterInfo info;
    std::string flag;      // "--energy"
    ParameterValue value;  // what the flag fills in
  };
  std::vector<Slot> slots_;
};

}  // namespace tessera

#endif  // TESSERA_CLI_MODEL_ARGUMENTS_H_
