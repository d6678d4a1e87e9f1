#include "tessera/vta/codegen/compile.h"

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/vta/codegen/reference.h"
#include "tessera/vta/codegen/tiled.h"

namespace tessera::vta {
namespace {

constexpr std::string_view kTiledPrefix = "tiled:";
constexpr std::string_view kReferencePrefix = "reference:";

Result<CompiledLayer> Timed(const ConvShape& shape, Kernel kernel, std::string schedule,
                            const CompileOptions& options) {
  CycleSimulator simulator(options.config, options.timing);
  Result<CycleReport> report = simulator.Run(kernel.instructions);
  if (!report) return report.error();
  return CompiledLayer{.shape = shape,
                       .kernel = std::move(kernel),
                       .report = *report,
                       .schedule = std::move(schedule)};
}

Result<CompiledLayer> WithKnobs(const ConvShape& shape, std::string_view text,
                                const CompileOptions& options) {
  const Result<Knobs> knobs = ParseKnobs(text);
  if (!knobs) return knobs.error();
  const Verdict verdict = CheckKnobs(shape, *knobs, options.config);
  if (!verdict.valid()) {
    return Error{.kind = ErrorKind::kInfeasible,
                 .message = fmt::format("schedule {}: {}: {}", ToString(*knobs), verdict.reason,
                                        verdict.explanation)};
  }
  return Timed(shape, GenerateReference(shape, *knobs, options.config, options.epilogue),
               std::string(kReferencePrefix) + ToString(*knobs), options);
}

Result<CompiledLayer> WithTiles(const ConvShape& shape, std::string_view text,
                                const CompileOptions& options) {
  const Result<TiledSchedule> schedule = ParseTiledSchedule(text);
  if (!schedule) return schedule.error();
  Result<Kernel> kernel = GenerateTiled(shape, *schedule, options.config, options.epilogue);
  if (!kernel) {
    Error error = kernel.error();
    error.message = fmt::format("schedule {}: {}", ToString(*schedule), error.message);
    return error;
  }
  return Timed(shape, *std::move(kernel), std::string(kTiledPrefix) + ToString(*schedule), options);
}

Result<CompiledLayer> Searched(const ConvShape& shape, const CompileOptions& options) {
  Result<BestConv> best =
      FindBest(shape, options.config, options.epilogue, {.timing = options.timing});
  if (!best) return best.error();
  return CompiledLayer{.shape = shape,
                       .kernel = std::move(best->kernel),
                       .report = best->report,
                       .schedule = DescribeSchedule(*best),
                       .evaluations = best->evaluations};
}

}  // namespace

Result<CompiledLayer> BestReference(const ConvShape& shape, const CompileOptions& options) {
  std::optional<CompiledLayer> best;
  int64_t evaluations = 0;
  for (const Knobs& knobs : KnobSpace(shape, options.config)) {
    if (!CheckKnobs(shape, knobs, options.config).valid()) continue;
    if (best && ReferenceLowerBound(shape, knobs, options.config, options.epilogue,
                                    options.timing) >= best->report.cycles) {
      continue;
    }
    Result<CompiledLayer> compiled = WithKnobs(shape, ToString(knobs), options);
    ++evaluations;
    if (compiled && (!best || compiled->report.cycles < best->report.cycles)) {
      best = *std::move(compiled);
    }
  }
  if (!best) {
    return Error{.kind = ErrorKind::kInfeasible,
                 .message = "no knobs of the reference template are valid for this layer"};
  }
  best->evaluations = evaluations;
  return *std::move(best);
}

Result<CompiledLayer> CompileLayer(const Layer& layer, const CompileOptions& options) {
  const Result<ConvShape> shape = ConvShapeOf(layer);
  if (!shape) return shape.error();
  return CompileConv(*shape, options);
}

Result<CompiledLayer> CompileConv(const ConvShape& shape, const CompileOptions& options) {
  if (Result<void> valid = Validate(shape, options.config); !valid) return valid.error();
  const std::string_view text = options.schedule;
  if (text == "auto") {
    return options.reference_only ? BestReference(shape, options) : Searched(shape, options);
  }
  if (text.starts_with(kTiledPrefix)) {
    return WithTiles(shape, text.substr(kTiledPrefix.size()), options);
  }
  return WithKnobs(shape,
                   text.substr(text.starts_with(kReferencePrefix) ? kReferencePrefix.size() : 0),
                   options);
}

}  // namespace tessera::vta
