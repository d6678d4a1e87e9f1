// Words of enums: where one stands in its table.
#include "tessera/part.h"

#include <algorithm>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/result.h"

namespace tessera {

Result<size_t> FindPosition(std::string_view what, std::string_view word,
                            std::span<const std::string_view> names) {
  const auto found = std::find(names.begin(), names.end(), word);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  return Error{.kind = ErrorKind::kUsage,
               .message = fmt::format("unknown {} {}", what, Quoted(word)),
               .hint = DidYouMean(word, names)};
}

}  // namespace tessera
