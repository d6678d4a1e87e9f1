// The list of cost models, and how a user's choice finds its entry.
#include "tessera/cost.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

#define TESSERA_COST_MODELS(PART)     \
  PART(CostModelInfo, kLoopnestModel) \
  PART(CostModelInfo, kMaestroModel)  \
  PART(CostModelInfo, kExecModel)

TESSERA_COST_MODELS(TESSERA_DECLARE_PART)

namespace {

std::vector<const CostModelInfo*>& List() {
  static std::vector<const CostModelInfo*> models = {TESSERA_COST_MODELS(TESSERA_PART_ADDRESS)};
  return models;
}

// The part of a machine that a form is about, and a preset that has it.
struct FormPart {
  std::string_view name;
  bool (*has)(const Accelerator& accelerator);
  std::string_view example;
};
constexpr std::array<FormPart, 2> kFormParts = {{
    {"pe_array", [](const Accelerator& machine) { return machine.pe_array.has_value(); },
     "maestro-256"},
    {"hierarchy", [](const Accelerator& machine) { return machine.hierarchy.has_value(); },
     "eyeriss-256"},
}};

const FormPart& PartOf(MappingForm form) { return kFormParts[static_cast<size_t>(form)]; }

// Checks what is given against the declarations and adds what is not.
Result<Assignments> Complete(const CostModelInfo& info, const Assignments& given) {
  const std::vector<ParameterInfo> parameters = info.parameters();
  Assignments settings;
  for (const ParameterInfo& parameter : parameters) {
    settings.emplace_back(parameter.name, ToString(parameter.fallback));
  }
  for (const auto& [name, text] : given) {
    const Result<size_t> index =
        FindParameter(fmt::format("model {}", info.name), parameters, name);
    if (!index) return index.error();
    if (Result<void> valid = CheckModelSetting(parameters[*index], text); !valid) {
      return valid.error();
    }
    settings[*index].second = text;
  }
  return settings;
}

}  // namespace

std::span<const CostModelInfo* const> CostModels() { return List(); }

Result<void> RegisterCostModel(const CostModelInfo& model) {
  if (FindCostModel(model.name)) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("there is a cost model {} already", Quoted(model.name))};
  }
  List().push_back(&model);
  return {};
}

Result<const CostModelInfo*> FindCostModel(std::string_view name) {
  std::vector<std::string_view> names;
  for (const CostModelInfo* model : CostModels()) {
    if (model->name == name) return model;
    names.push_back(model->name);
  }
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown cost model {}", Quoted(name)),
               .hint = DidYouMean(name, names)};
}

bool HasPartFor(MappingForm form, const Accelerator& accelerator) {
  return PartOf(form).has(accelerator);
}

Result<void> CheckMachine(MappingForm form, std::string_view model,
                          const Accelerator& accelerator) {
  const FormPart& part = PartOf(form);
  if (part.has(accelerator)) return {};
  std::string hint = fmt::format("use '{}'", part.example);
  const auto other = std::ranges::find_if(
      CostModels(), [&](const CostModelInfo* info) { return info->form != form; });
  if (other != CostModels().end()) hint += fmt::format(", or --model {}", (*other)->name);
  return Error{.kind = ErrorKind::kUnsupported,
               .message = fmt::format("model '{}' needs a {}, but accelerator '{}' has none", model,
                                      part.name, accelerator.name),
               .hint = std::move(hint)};
}

Result<void> CheckModelSetting(const ParameterInfo& parameter, std::string_view text) {
  if (!parameter.choices.empty()) {
    const std::vector<std::string_view> words(parameter.choices.begin(), parameter.choices.end());
    const Result<size_t> known = FindPosition(parameter.name, text, words);
    return known ? Result<void>() : known.error();
  }
  const Result<ParameterValue> value = ParseValue(parameter, text);
  return value ? Result<void>() : value.error();
}

CostModelChoice::CostModelChoice() : info_(CostModels().front()) {
  Result<CostModelChoice> first = Make(*info_);
  TESSERA_CHECK(first.ok());  // Defaults are valid; the conformance test makes every model of them.
  *this = *std::move(first);
}

Result<CostModelChoice> CostModelChoice::Make(const CostModelInfo& info,
                                              const Assignments& settings, std::string command) {
  if (info.takes_command && Trim(command).empty()) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("--model {}: has no command", info.name),
                 .hint = fmt::format("write --model '{}:./my_model --option'", info.name)};
  }
  Result<Assignments> all = Complete(info, settings);
  if (!all) return all.error();
  CostModelChoice choice(&info);
  choice.command_ = std::move(command);
  choice.settings_ = *std::move(all);
  Result<std::shared_ptr<const ConfiguredModel>> model =
      info.configure(info, choice.settings_, choice.command_);
  if (!model) return model.error();
  choice.model_ = *std::move(model);
  return choice;
}

std::string CostModelChoice::ToString() const {
  return info_->takes_command ? fmt::format("{}:{}", info_->name, command_)
                              : std::string(info_->name);
}

Result<CostModelChoice> ChooseCostModel(std::string_view text, const Assignments& settings) {
  const size_t colon = text.find(':');
  const Result<const CostModelInfo*> info = FindCostModel(text.substr(0, colon));
  const bool command = colon != std::string_view::npos;
  if (!info || (command && !(*info)->takes_command)) return FindCostModel(text).error();
  return CostModelChoice::Make(**info, settings,
                               std::string(command ? text.substr(colon + 1) : ""));
}

const CostModelInfo& DefaultCostModel(const Accelerator& accelerator) {
  for (const CostModelInfo* model : CostModels()) {
    if (!model->takes_command && HasPartFor(model->form, accelerator)) return *model;
  }
  return *CostModels().front();
}

}  // namespace tessera
