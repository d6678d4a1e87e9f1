// The list of kinds.
#include "tessera/study/run_kinds.h"

#include <array>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/study/runs.h"

namespace tessera {

std::span<const RunKind> RunKinds() {
  static const std::array kKinds = {MapRunKind(), CompareRunKind(), CooptimizeRunKind(),
                                    TrainRunKind()};
  return kKinds;
}

Result<const RunKind*> KindOf(const RunDirectory& directory) {
  const std::string& name = directory.header().kind;
  for (const RunKind& kind : RunKinds()) {
    if (kind.name == name) return &kind;
  }
  return Error{
      .kind = ErrorKind::kUnsupported,
      .message = fmt::format("a run of kind {}, which this version does not know", Quoted(name)),
      .where = {.file = directory.File("run.json")},
      .hint = "use the version of tessera that made it"};
}

}  // namespace tessera
