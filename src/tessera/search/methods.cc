// The list of search methods.
#include "tessera/search/method.h"

#include <array>

#include <fmt/format.h>

#include "tessera/base/text.h"

namespace tessera {

SearcherInfo RandomMethod();
SearcherInfo GridMethod();
SearcherInfo SaMethod();
SearcherInfo GaMethod();
SearcherInfo GammaMethod();
SearcherInfo BoMethod();
SearcherInfo MarlMethod();

std::span<const SearcherInfo> SearchMethods() {
  static const std::array kMethods = {
      RandomMethod(), GridMethod(), SaMethod(), GaMethod(), GammaMethod(), BoMethod(), MarlMethod(),
  };
  return kMethods;
}

Result<const SearcherInfo*> FindSearchMethod(std::string_view name) {
  std::vector<std::string_view> names;
  for (const SearcherInfo& method : SearchMethods()) {
    if (method.name == name) return &method;
    names.push_back(method.name);
  }
  return Error{.kind = ErrorKind::kUsage,
               .message = fmt::format("unknown search method {}", Quoted(name)),
               .hint = DidYouMean(name, names)};
}

std::string MethodChoice::ToString() const {
  std::string text(method->name);
  for (const auto& [name, value] : assignments) text += fmt::format(":{}={}", name, value);
  return text;
}

Result<MethodChoice> ParseMethodChoice(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, ':');
  const Result<const SearcherInfo*> method = FindSearchMethod(parts.front());
  if (!method) return method.error();
  MethodChoice choice{.method = *method};
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t equals = parts[i].find('=');
    if (equals == std::string_view::npos) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = fmt::format("{} is not a setting of method {}", Quoted(parts[i]),
                                          (*method)->name),
                   .hint = "write METHOD:NAME=VALUE"};
    }
    const std::string_view name = parts[i].substr(0, equals);
    const std::string_view value = parts[i].substr(equals + 1);
    const Result<size_t> index =
        FindParameter(fmt::format("method {}", (*method)->name), (*method)->parameters, name);
    if (!index) return index.error();
    if (const Result<ParameterValue> parsed = ParseValue((*method)->parameters[*index], value);
        !parsed) {
      return parsed.error();
    }
    choice.assignments.emplace_back(name, value);
  }
  return choice;
}

}  // namespace tessera
