// The list of search methods, and how a method is found in any list.
#include "tessera/search.h"

#include <algorithm>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/part.h"

namespace tessera {

// In the order of `tessera list methods`.
#define TESSERA_SEARCH_METHODS(PART)  \
  PART(MethodInfo, RandomMethod)      \
  PART(MethodInfo, GridMethod)        \
  PART(MethodInfo, SaMethod)          \
  PART(MethodInfo, GaMethod)          \
  PART(MethodInfo, GammaMethod)       \
  PART(MethodInfo, BoMethod)          \
  PART(MethodInfo, GradientMethod)    \
  PART(MethodInfo, PpoMethod)         \
  PART(MethodInfo, PpoDiscreteMethod) \
  PART(MethodInfo, MarlMethod)        \
  PART(MethodInfo, MarlElitesMethod)  \
  PART(MethodInfo, MarlTableMethod)   \
  PART(MethodInfo, TeamMethod)        \
  PART(MethodInfo, PolicyMethod)

TESSERA_SEARCH_METHODS(TESSERA_DECLARE_MAKER)

namespace {

// A deque, because lists hold pointers to methods.
std::deque<MethodInfo>& Known() {
  static std::deque<MethodInfo> methods = {TESSERA_SEARCH_METHODS(TESSERA_MADE_PART)};
  return methods;
}

MethodList& List() {
  static MethodList list = [] {
    MethodList all("search method", {});
    for (const MethodInfo& method : Known()) all.Add(method);
    return all;
  }();
  return list;
}

}  // namespace

const MethodList& SearchMethods() { return List(); }

Result<void> RegisterMethod(MethodInfo method) {
  if (List().Find(method.name)) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("there is a method {} already", Quoted(method.name))};
  }
  List().Add(Known().emplace_back(std::move(method)));
  return {};
}

std::vector<const MethodInfo*> PointersTo(std::span<const MethodInfo> methods) {
  std::vector<const MethodInfo*> pointers;
  for (const MethodInfo& method : methods) pointers.push_back(&method);
  return pointers;
}

std::string_view WorksOn(const MethodInfo& method) {
  if (method.make) return "one space";
  return method.make_joint ? "hardware and schedules" : "proof";
}

std::vector<std::string> MethodList::Names() const {
  std::vector<std::string> names;
  for (const MethodInfo* method : methods_) names.emplace_back(method->name);
  return names;
}

Result<const MethodInfo*> MethodList::Find(std::string_view name) const {
  for (const MethodInfo* method : methods_) {
    if (method->name == name) return method;
  }
  return Error{.kind = ErrorKind::kUsage,
               .message = fmt::format("unknown {} {}", what_, Quoted(name)),
               .hint = DidYouMean(name, Names())};
}

std::string MethodChoice::ToString() const {
  std::string text(method->name);
  for (const auto& [name, value] : assignments) text += fmt::format(":{}={}", name, value);
  return text;
}

std::vector<std::string*> MethodChoice::Files() {
  std::vector<std::string*> files;
  for (auto& [name, value] : assignments) {
    if (std::ranges::count(method->file_parameters, name) > 0) files.push_back(&value);
  }
  return files;
}

Result<MethodChoice> ParseMethodChoice(std::string_view text, const MethodList& methods) {
  const std::vector<std::string_view> parts = Split(text, ':');
  const Result<const MethodInfo*> method = methods.Find(parts.front());
  if (!method) return method.error();
  const std::string part = fmt::format("method {}", (*method)->name);
  MethodChoice choice{.method = *method};
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t equals = parts[i].find('=');
    if (equals == std::string_view::npos) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = fmt::format("{} is not a setting of {}", Quoted(parts[i]), part),
                   .hint = "write METHOD:NAME=VALUE"};
    }
    const std::string_view name = parts[i].substr(0, equals);
    const std::string_view value = parts[i].substr(equals + 1);
    const Result<size_t> index = FindParameter(part, (*method)->parameters, name);
    if (!index) return index.error();
    const Result<ParameterValue> parsed = ParseValue((*method)->parameters[*index], value);
    if (!parsed) return parsed.error();
    choice.assignments.emplace_back(name, value);
  }
  return choice;
}

}  // namespace tessera
