#include "tessera/mapper/map_method.h"

#include <array>

#include <fmt/format.h>

#include "tessera/base/check.h"
#include "tessera/base/names.h"

namespace tessera {
namespace {

// In the order of ProofUse; what a search finds alone has the name of its method.
constexpr std::array<std::string_view, 3> kProofNames = {"", "auto", "exact"};

constexpr std::string_view kDefault = "marl";

// What method auto searches with before it proves.
constexpr std::string_view kIncumbents = "team";

MethodChoice Known(std::string_view name) {
  Result<MethodChoice> choice = ParseMethodChoice(name);
  TESSERA_CHECK(choice.ok());
  return *std::move(choice);
}

}  // namespace

std::string MapMethod::ToString() const {
  return proves() ? std::string(NameOf(proof, kProofNames)) : search->ToString();
}

MapMethod ProofMethod(ProofUse proof) {
  MapMethod method{.proof = proof};
  if (proof == ProofUse::kAfterSearch) method.search = Known(kIncumbents);
  return method;
}

MapMethod DefaultSearch() { return {.search = Known(kDefault)}; }

Result<MapMethod> ParseMapMethod(std::string_view text) {
  for (const ProofUse proof : {ProofUse::kAfterSearch, ProofUse::kAlone}) {
    if (text.substr(0, text.find(':')) != NameOf(proof, kProofNames)) continue;
    if (text == NameOf(proof, kProofNames)) return ProofMethod(proof);
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("method {} has no settings", NameOf(proof, kProofNames)),
                 .hint = "--set, --agents and --assignment need a search method"};
  }
  // Names with proofs are among those that misspelt ones are compared with.
  const std::vector<std::string> all = MapMethodNames();
  const std::vector<std::string_view> names(all.begin(), all.end());
  const Result<size_t> known = FindPosition("search method", text.substr(0, text.find(':')), names);
  if (!known) return known.error();
  Result<MethodChoice> search = ParseMethodChoice(text);
  if (!search) return search.error();
  return MapMethod{.search = *std::move(search)};
}

std::vector<std::string> MapMethodNames() {
  std::vector<std::string> names;
  for (const SearcherInfo& method : SearchMethods()) names.emplace_back(method.name);
  names.insert(names.end(), kProofNames.begin() + 1, kProofNames.end());
  return names;
}

}  // namespace tessera
