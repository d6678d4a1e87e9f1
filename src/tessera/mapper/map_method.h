// How mappings are found: by a search method, by a search whose result is then proved (auto), or by
// proof alone (exact).
#ifndef TESSERA_MAPPER_MAP_METHOD_H_
#define TESSERA_MAPPER_MAP_METHOD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/result.h"
#include "tessera/search.h"

namespace tessera {

enum class ProofUse : uint8_t {
  kNone,         // what a search finds is all
  kAfterSearch,  // method auto
  kAlone,        // method exact
};

struct MapMethod {
  ProofUse proof = ProofUse::kNone;         // Default: kNone.
  std::optional<MethodChoice> search = {};  // none: proof alone

  bool proves() const { return proof != ProofUse::kNone; }
  std::string ToString() const;  // as ParseMapMethod reads it
};

// "marl", "ga:population=50", "auto" or "exact". Errors as ParseMethodChoice.
Result<MapMethod> ParseMapMethod(std::string_view text);

// The method of a proof; it has no settings.
MapMethod ProofMethod(ProofUse proof);

// The search method where there are no proofs, with its defaults.
MapMethod DefaultSearch();

}  // namespace tessera

#endif  // TESSERA_MAPPER_MAP_METHOD_H_
