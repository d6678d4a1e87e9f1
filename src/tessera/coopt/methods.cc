// All methods: one line in each of the two lists.
#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/coopt/searcher.h"

namespace tessera::coopt {

MethodInfo DcocMethod();
MethodInfo AutotvmMethod();
MethodInfo ChameleonMethod();
MethodInfo PpoMethod();
MethodInfo GaMethod();
MethodInfo RandomMethod();

std::span<const MethodInfo> Methods() {
  static const std::vector<MethodInfo>* const kMethods = new std::vector<MethodInfo>{
      DcocMethod(), AutotvmMethod(), ChameleonMethod(), PpoMethod(), GaMethod(), RandomMethod(),
  };
  return *kMethods;
}

std::vector<std::string> MethodNames() {
  std::vector<std::string> names;
  for (const MethodInfo& method : Methods()) names.emplace_back(method.name);
  return names;
}

Result<MethodChoice> ParseMethod(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, ':');
  MethodChoice choice;
  for (const MethodInfo& method : Methods()) {
    if (method.name == parts.front()) choice.method = &method;
  }
  if (choice.method == nullptr) {
    return Error{.kind = ErrorKind::kUnknownName,
                 .message = fmt::format("unknown co-optimization method {}", Quoted(parts.front())),
                 .hint = DidYouMean(parts.front(), MethodNames())};
  }
  const std::string part = "method " + std::string(choice.method->name);
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t equals = parts[i].find('=');
    if (equals == std::string_view::npos) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = fmt::format("{}: {} is not NAME=VALUE", part, Quoted(parts[i]))};
    }
    const std::string name(parts[i].substr(0, equals));
    const Result<size_t> found = FindParameter(part, choice.method->parameters, name);
    if (!found) return found.error();
    const Result<ParameterValue> value =
        ParseValue(choice.method->parameters[*found], parts[i].substr(equals + 1));
    if (!value) return value.error();
    choice.assignments.emplace_back(name, parts[i].substr(equals + 1));
  }
  return choice;
}

}  // namespace tessera::coopt
