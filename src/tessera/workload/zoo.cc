// Look-up of zoo networks; the files themselves are in a generated source.
#include "tessera/workload/zoo.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/workload/native.h"

namespace tessera {

Result<Network> LoadZooNetwork(std::string_view name, const Bindings& bindings) {
  for (const ZooFile& file : Zoo()) {
    // Messages about a zoo network name it as the user does.
    if (file.name == name) return ReadNativeNetwork(file.contents, std::string(name), bindings);
  }
  std::vector<std::string_view> names;
  for (const ZooFile& file : Zoo()) names.push_back(file.name);
  std::string hint = DidYouMean(name, names);
  if (hint.empty()) hint = "'tessera zoo' lists the names";
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("the zoo has no network {}", Quoted(name)),
               .hint = std::move(hint)};
}

}  // namespace tessera
