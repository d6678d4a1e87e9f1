#include "tessera/cli/model_arguments.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace tessera {
namespace {

std::string_view PlaceholderOf(const ParameterInfo& info) {
  if (!info.placeholder.empty()) return info.placeholder;
  return std::holds_alternative<std::string>(info.fallback) ? "WHICH" : "N";
}

FlagTarget TargetOf(ParameterValue& value) {
  return std::visit([](auto& held) -> FlagTarget { return &held; }, value);
}

}  // namespace

std::vector<std::string> CostModelNames() {
  std::vector<std::string> names;
  for (const CostModelInfo* model : CostModels()) {
    names.emplace_back(model->name);
    if (model->takes_command) names.back() += ':';
  }
  return names;
}

ModelArguments::ModelArguments(bool (*which)(const CostModelInfo& model)) {
  for (const CostModelInfo* model : CostModels()) {
    if (which != nullptr && !which(*model)) continue;
    for (ParameterInfo& info : model->parameters()) {
      const auto same = [&](const Slot& slot) { return slot.info.name == info.name; };
      if (std::any_of(slots_.begin(), slots_.end(), same)) continue;
      std::string flag = "--" + info.name;
      ParameterValue value = info.fallback;
      slots_.push_back({std::move(info), std::move(flag), std::move(value)});
    }
  }
}

std::vector<Flag> ModelArguments::Flags() {
  std::vector<Flag> flags;
  for (Slot& slot : slots_) {
    Flag flag{.name = slot.flag,
              .target = TargetOf(slot.value),
              .help = slot.info.text,
              .value = PlaceholderOf(slot.info),
              .least = slot.info.range.least,
              .most = slot.info.range.most};
    if (!slot.info.choices.empty()) flag.choices = [&slot] { return slot.info.choices; };
    flags.push_back(std::move(flag));
  }
  return flags;
}

Result<CostModelChoice> ModelArguments::Choose(const std::optional<std::string>& text,
                                               const CostModelInfo& fallback) const {
  const Result<CostModelChoice> named =
      text ? ChooseCostModel(*text) : CostModelChoice::Make(fallback);
  if (!named) return named.error();
  Assignments settings;
  for (const Slot& slot : slots_) {
    const std::string value = ToString(slot.value);
    if (Result<void> valid = CheckModelSetting(slot.info, value); !valid) return valid.error();
    const auto has = [&](const auto& setting) { return setting.first == slot.info.name; };
    if (std::ranges::any_of(named->settings(), has)) settings.emplace_back(slot.info.name, value);
  }
  return CostModelChoice::Make(named->info(), settings, named->command());
}

}  // namespace tessera
