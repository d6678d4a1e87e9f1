// The list of kinds.
#include "tessera/runs.h"

#include <array>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/study/kinds.h"

namespace tessera {

std::span<const RunKind> RunKinds() {
  static const std::array kKinds = {MapRunKind(),     CompareRunKind(), CooptimizeRunKind(),
                                    ExploreRunKind(), SweepRunKind(),   TrainRunKind(),
                                    PolicyRunKind(),  StudyRunKind()};
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

Result<std::unique_ptr<RunResult>> Resume(RunDirectory& directory, const RunContext& context,
                                          bool allow_exec) {
  const Result<const RunKind*> kind = KindOf(directory);
  if (!kind) return kind.error();
  if (Result<void> may = (*kind)->check_exec(directory, allow_exec); !may) return may.error();
  if (Result<void> begun = directory.Begin(); !begun) return begun.error();
  return (*kind)->resume(directory, context);
}

Result<RunVerification> Verify(const RunDirectory& directory, const VerifyOptions& options,
                               bool allow_exec) {
  const Result<const RunKind*> kind = KindOf(directory);
  if (!kind) return kind.error();
  if (Result<void> may = (*kind)->check_exec(directory, allow_exec); !may) return may.error();
  return (*kind)->verify(directory, options);
}

}  // namespace tessera
