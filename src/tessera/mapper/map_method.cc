// Methods of mapping by name.
#include "tessera/map.h"

#include <fmt/format.h>

#include "tessera/result.h"

namespace tessera {
namespace {

constexpr std::string_view kDefault = "marl-table";

// What method auto searches with before it proves.
constexpr std::string_view kIncumbents = "team";

MethodChoice Known(std::string_view name) {
  Result<MethodChoice> choice = ParseMethodChoice(name);
  TESSERA_CHECK(choice.ok());
  return *std::move(choice);
}

}  // namespace

std::string MapMethod::ToString() const {
  switch (proof) {
    case ProofUse::kNone: break;
    case ProofUse::kAfterSearch: return std::string(AutoMethod().name);
    case ProofUse::kAlone: return std::string(ExactMethod().name);
  }
  return search->ToString();
}

MapMethod ProofMethod(ProofUse proof) {
  MapMethod method{.proof = proof};
  if (proof == ProofUse::kAfterSearch) method.search = Known(kIncumbents);
  return method;
}

MapMethod DefaultSearch() { return {.search = Known(kDefault)}; }

Result<MapMethod> ParseMapMethod(std::string_view text) {
  const size_t colon = text.find(':');
  const Result<const MethodInfo*> method = MapMethods().Find(text.substr(0, colon));
  if (method && (*method)->proves && colon != std::string_view::npos) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("method {} has no settings", (*method)->name),
                 .hint = "--set, --agents and --assignment need a search method"};
  }
  Result<MethodChoice> choice = ParseMethodChoice(text, MapMethods());
  if (!choice) return choice.error();
  if (choice->method == &AutoMethod()) return ProofMethod(ProofUse::kAfterSearch);
  if (choice->method == &ExactMethod()) return ProofMethod(ProofUse::kAlone);
  return MapMethod{.search = *std::move(choice)};
}

}  // namespace tessera
