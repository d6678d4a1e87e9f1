// Fronts on the command line.
#include "tessera/cli/map_fronts.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/map.h"
#include "tessera/part.h"
#include "tessera/report/pareto_report.h"

namespace tessera {

Result<MapMethod> FrontMethod(const std::optional<MapMethod>& chosen, Factors factors) {
  if (chosen && !chosen->proves()) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("objective pareto needs proofs, which method {} does not "
                                        "make",
                                        chosen->ToString()),
                 .hint = "leave out --method"};
  }
  if (factors != Factors::kPerfect) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = "objective pareto knows perfect factors only",
                 .hint = "leave out --factors"};
  }
  return chosen.value_or(ProofMethod(ProofUse::kAfterSearch));
}

Result<void> MapFronts(const MapJob& job, Context& context) {
  std::shared_ptr<ProgressObserver> progress = context.start_progress({.name_heading = "layer"});
  const Result<NetworkFronts> fronts =
      FindFronts(job, static_cast<int>(context.options.threads),
                 {.progress = progress.get(), .stopped = context.stopped});
  progress.reset();
  if (!fronts) return fronts.error();
  const Result<Json> json = ToJson(job, *fronts);
  if (!json) return json.error();
  if (const std::string& out = context.options.out; !out.empty()) {
    const std::vector<ExportedFile> files = {{"fronts.json", ToText(*json)},
                                             {"fronts.svg", FrontsSvg(job, *fronts)}};
    if (Result<void> written = WriteTogether(out, files); !written) return written;
  }
  context.output.SetAll(*json);
  if (context.output.json()) return {};
  if (Result<void> shown = context.output.Show(FrontTable(*fronts), "points"); !shown) return shown;
  return context.output.ShowText(Summary(job, *fronts));
}

}  // namespace tessera
