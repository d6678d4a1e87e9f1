// One way to end a run.
#include "tessera/cli/run_output.h"

#include <fmt/format.h>

#include "tessera/report/json.h"
#include "tessera/report/run_views.h"

namespace tessera {
namespace {

Result<void> Keep(const RunView& view, RunDirectory& directory) {
  // Nothing to keep: the run was stopped before it had a result, and goes on from its journals.
  if (view.files.empty()) return {};
  for (const ExportedFile& file : view.files) {
    if (Result<void> written = directory.Write(file.name, file.contents); !written) return written;
  }
  if (Result<void> written = directory.AddTimes(ToLine(view.times)); !written) return written;
  return directory.End(view.own_files);
}

Result<void> Show(RunView view, const RunDirectory* directory, Context& context) {
  for (const std::string& remark : view.remarks) context.remark(remark);
  if (directory != nullptr && view.interrupted) {
    context.remark(
        fmt::format("interrupted; continue with 'tessera resume {}'", directory->path()));
  }
  for (const ExportedFile& file : view.files) {
    if (context.page && file.name == kPageFile) context.page(file.contents);
  }
  context.output.SetAll(std::move(view.json));
  if (context.show_times) context.output.Set("times", view.times);
  if (Result<void> shown = context.output.ShowText(view.text); !shown) return shown;
  if (context.live && context.live()) {
    if (Result<void> shown = context.output.ShowText(view.closer); !shown) return shown;
  }
  return view.verdict;
}

}  // namespace

RunContext RunContextOf(const Context& context, Device device) {
  return {.threads = static_cast<int>(context.options.threads),
          .device = device,
          .stopped = context.stopped,
          .start_progress = context.start_progress,
          .remark = context.remark};
}

Result<void> ShowRun(std::string_view kind, const Result<std::unique_ptr<RunResult>>& result,
                     Context& context) {
  if (!result) return result.error();
  Result<RunView> view = ViewOf(kind, **result);
  if (!view) return view.error();
  return Show(*std::move(view), nullptr, context);
}

Result<std::unique_ptr<RunResult>> ContinueRun(RunDirectory& directory, Context& context,
                                               Device device) {
  const Result<const RunKind*> kind = KindOf(directory);
  if (!kind) return kind.error();
  if (Result<void> begun = directory.Begin(); !begun) return begun.error();
  Result<std::unique_ptr<RunResult>> result =
      (*kind)->resume(directory, RunContextOf(context, device));
  if (!result) return result;
  if (Result<void> ended = EndRun(directory, **result, context); !ended) return ended.error();
  return result;
}

Result<void> EndRun(RunDirectory& directory, const RunResult& result, Context& context) {
  Result<RunView> view = ViewOf(directory.header().kind, result);
  if (!view) return view.error();
  if (Result<void> kept = Keep(*view, directory); !kept) return kept;
  return Show(*std::move(view), &directory, context);
}

}  // namespace tessera
