// The cost models by name. A model is a folder of cost/ that defines a CostModelInfo, and one line
// in models.cc; flags, --help, `tessera list models`, spaces, bounds, exports, proofs and the
// conformance test read the descriptor. A program that uses the library adds its own models with
// RegisterCostModel.
#ifndef TESSERA_COST_MODELS_H_
#define TESSERA_COST_MODELS_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/arch/accelerator.h"
#include "tessera/base/parameter.h"
#include "tessera/base/result.h"
#include "tessera/cost/configured_model.h"
#include "tessera/mapping/mapping.h"

namespace tessera {

struct CostModelInfo {
  std::string_view name;     // as in --model
  std::string_view summary;  // one line for lists and --help
  MappingForm form;          // what it prices: its space, files and exports follow from that

  // Whether it is written NAME:COMMAND, the command being run by sh. Default: false.
  bool takes_command = false;

  // Its settings. A setting is a flag --NAME of every command that searches mappings; models that
  // share a setting declare it alike. Default: none.
  std::vector<ParameterInfo> (*parameters)() = [] { return std::vector<ParameterInfo>(); };

  // The model with settings, those that are not given at their defaults. Write Configure<...>.
  Result<std::shared_ptr<const ConfiguredModel>> (*configure)(const CostModelInfo& info,
                                                              const Assignments& settings,
                                                              const std::string& command);
};

// All models, in the order of `tessera list models`: a machine is priced by the first that suits
// it, unless the user names another.
std::span<const CostModelInfo* const> CostModels();

// Adds a model, which has to outlive the program, at the end of the list. Call it before anything
// reads the list. Errors: a name that is taken.
Result<void> RegisterCostModel(const CostModelInfo& model);

Result<const CostModelInfo*> FindCostModel(std::string_view name);

// Whether a machine has the part that mappings of a form are about.
bool HasPartFor(MappingForm form, const Accelerator& accelerator);

// The same as an error with a hint; `model` is its name for the message.
Result<void> CheckMachine(MappingForm form, std::string_view model, const Accelerator& accelerator);

// Whether a text is a value of a model's setting.
Result<void> CheckModelSetting(const ParameterInfo& parameter, std::string_view text);

// A model as a user chose it, parsed once and handed on. Copies share what is configured.
class CostModelChoice {
 public:
  CostModelChoice();  // the first model with its defaults

  // Unknown settings, values out of range and models without their command are errors.
  static Result<CostModelChoice> Make(const CostModelInfo& info, const Assignments& settings = {},
                                      std::string command = {});

  const CostModelInfo& info() const { return *info_; }
  const std::string& command() const { return command_; }
  const Assignments& settings() const { return settings_; }  // all, in the order of parameters

  // The text of --model: NAME, or NAME:COMMAND.
  std::string ToString() const;

  const ConfiguredModel* operator->() const { return model_.get(); }

  friend bool operator==(const CostModelChoice& a, const CostModelChoice& b) {
    return a.info_ == b.info_ && a.command_ == b.command_ && a.settings_ == b.settings_;
  }

 private:
  explicit CostModelChoice(const CostModelInfo* info) : info_(info) {}

  const CostModelInfo* info_;
  std::string command_ = {};
  Assignments settings_ = {};
  std::shared_ptr<const ConfiguredModel> model_ = nullptr;
};

// The choice that a text of --model names.
Result<CostModelChoice> ChooseCostModel(std::string_view text, const Assignments& settings = {});

// The model of a machine for which none was named.
const CostModelInfo& DefaultCostModel(const Accelerator& accelerator);

// A model's `parameters` and `configure`, for a `Model` that is made from options, and from a
// command if it takes one, where Model::Parameters() returns its ParameterList.
template <typename Model>
std::vector<ParameterInfo> DescribeSettings() {
  return Describe(Model::Parameters());
}
template <typename Model>
Result<std::shared_ptr<const ConfiguredModel>> Configure(const CostModelInfo& info,
                                                         const Assignments& settings,
                                                         const std::string& command) {
  const auto options =
      ReadOptions("model " + std::string(info.name), Model::Parameters(), settings);
  if (!options) return options.error();
  if constexpr (requires { Model(*options, command); }) {
    return std::shared_ptr<const ConfiguredModel>(std::make_shared<Model>(*options, command));
  } else {
    return std::shared_ptr<const ConfiguredModel>(std::make_shared<Model>(*options));
  }
}

}  // namespace tessera

#endif  // TESSERA_COST_MODELS_H_
