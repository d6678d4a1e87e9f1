// Mapping jobs on the command line.
#include "tessera/cli/map_output.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/mapper/map_network.h"
#include "tessera/report/map_report.h"

namespace tessera {
namespace {

// Layers without a mapping: the reason of the first is the reason of the command.
Result<void> CheckFound(const NetworkMapping& mapping) {
  for (const LayerMapping& layer : mapping.layers) {
    if (layer.cost || layer.search.stop == StopReason::kInterrupted) continue;
    if (layer.search.samples == 0) {
      if (layer.proof && layer.proof->complete) {
        return Error{.kind = ErrorKind::kInfeasible,
                     .message = fmt::format("layer '{}': the space was searched to its end and "
                                            "holds no mapping that the machine can run",
                                            layer.name),
                     .hint = "loosen the constraints, or let levels pass tensors by (--bypass)"};
      }
      return Error{.kind = ErrorKind::kBudget,
                   .message = fmt::format("layer '{}': no mapping was found in {} rounds of exact "
                                          "search",
                                          layer.name, layer.proof ? layer.proof->rounds : 0),
                   .hint = "give it more time, or use --method auto"};
    }
    if (layer.search.failed == layer.search.samples) {
      return Error{
          .kind = ErrorKind::kIo,
          .message = fmt::format("layer '{}': all {} evaluations failed; the last one: {}",
                                 layer.name, layer.search.samples, layer.search.last_problem)};
    }
    return Error{.kind = ErrorKind::kBudget,
                 .message = fmt::format("layer '{}': no feasible mapping among {} samples; {}",
                                        layer.name, layer.search.samples, WhyNothing(layer.search)),
                 .hint = "try more samples, another method or a larger machine"};
  }
  return {};
}

}  // namespace

Result<void> MapAndShow(const MapJob& job, const RunDirectory* directory, Context& context) {
  std::shared_ptr<ProgressObserver> progress = context.start_progress({.name_heading = "layer"});
  const MapHooks hooks{
      .progress = progress.get(), .stopped = context.stopped, .directory = directory};
  const Result<NetworkMapping> mapping =
      MapNetwork(job, static_cast<int>(context.options.threads), hooks);
  progress.reset();
  if (!mapping) return mapping.error();
  if (directory != nullptr) {
    const Result<std::vector<ExportedFile>> files = ResultFiles(job, *mapping);
    if (!files) return files.error();
    for (const ExportedFile& file : *files) {
      if (Result<void> written = directory->Write(file.name, file.contents); !written) {
        return written;
      }
    }
    if (mapping->interrupted) {
      context.remark(
          fmt::format("interrupted; continue with 'tessera resume {}'", directory->path()));
    }
  }
  const Result<Json> json = ToJson(job, *mapping);
  if (!json) return json.error();
  context.output.SetAll(*json);
  if (!context.output.json()) {
    if (Result<void> shown = context.output.Show(LayerTable(*mapping), "layers"); !shown) {
      return shown;
    }
    Result<void> shown = context.output.ShowText(Summary(job, *mapping));
    if (!shown) return shown;
  }
  return CheckFound(*mapping);
}

}  // namespace tessera
