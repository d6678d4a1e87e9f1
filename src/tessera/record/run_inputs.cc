#include "tessera/record/run_inputs.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "tessera/base/text.h"

namespace tessera {

Result<std::string> InputFile(const std::string& folder, const std::string& name) {
  if (folder.empty()) return name;
  const std::filesystem::path path(name);
  // Links are refused when the folder is opened, so that a name without ".." stays inside.
  if (name.starts_with("inputs/") && std::ranges::find(path, "..") == path.end()) {
    return folder + "/" + name;
  }
  return Error{
      .kind = ErrorKind::kBadValue,
      .message = fmt::format("the run names {}, which is none of its inputs", Quoted(name)),
      .where = {.file = folder + "/run.json"}};
}

}  // namespace tessera
