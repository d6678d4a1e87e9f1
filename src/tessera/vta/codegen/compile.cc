#include "tessera/vta/codegen/compile.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "tessera/base/memory.h"
#include "tessera/vta/codegen/best.h"
#include "tessera/vta/codegen/data.h"
#include "tessera/vta/codegen/reference.h"
#include "tessera/vta/codegen/tiled.h"

namespace tessera::vta {
namespace {

constexpr std::string_view kTiledPrefix = "tiled:";
constexpr std::string_view kReferencePrefix = "reference:";

Result<ScheduledConv> Timed(Kernel kernel, std::string schedule, const CompileOptions& options) {
  CycleSimulator simulator(options.config, options.timing);
  Result<CycleReport> report = simulator.Run(kernel.instructions);
  if (!report) return report.error();
  return ScheduledConv{
      .kernel = std::move(kernel), .report = *report, .schedule = std::move(schedule)};
}

Result<ScheduledConv> WithKnobs(const ConvShape& shape, std::string_view text,
                                const CompileOptions& options) {
  const Result<Knobs> knobs = ParseKnobs(text);
  if (!knobs) return knobs.error();
  const Verdict verdict = CheckKnobs(shape, *knobs, options.config);
  if (!verdict.valid()) {
    return Error{.kind = ErrorKind::kInfeasible,
                 .message = fmt::format("schedule {}: {}: {}", ToString(*knobs), verdict.reason,
                                        verdict.explanation)};
  }
  return Timed(GenerateReference(shape, *knobs, options.config, options.epilogue),
               std::string(kReferencePrefix) + ToString(*knobs), options);
}

Result<ScheduledConv> WithTiles(const ConvShape& shape, std::string_view text,
                                const CompileOptions& options) {
  const Result<TiledSchedule> schedule = ParseTiledSchedule(text);
  if (!schedule) return schedule.error();
  Result<Kernel> kernel = GenerateTiled(shape, *schedule, options.config, options.epilogue);
  if (!kernel) {
    Error error = kernel.error();
    error.message = fmt::format("schedule {}: {}", ToString(*schedule), error.message);
    return error;
  }
  return Timed(*std::move(kernel), std::string(kTiledPrefix) + ToString(*schedule), options);
}

Result<ScheduledConv> Searched(const ConvShape& shape, const CompileOptions& options) {
  Result<BestConv> best = FindBest(shape, options.config, options.epilogue,
                                   {.timing = options.timing, .may_stop = true});
  if (!best) return best.error();
  return ScheduledConv{.kernel = std::move(best->kernel),
                       .report = best->report,
                       .schedule = DescribeSchedule(*best),
                       .evaluations = best->evaluations};
}

// The best valid knobs of the reference template, by timing all that a lower bound leaves.
Result<ScheduledConv> BestReference(const ConvShape& shape, const CompileOptions& options) {
  std::optional<ScheduledConv> best;
  int64_t evaluations = 0;
  for (const Knobs& knobs : KnobSpace(shape, options.config)) {
    if (!CheckKnobs(shape, knobs, options.config).valid()) continue;
    if (best && ReferenceLowerBound(shape, knobs, options.config, options.epilogue,
                                    options.timing) >= best->report.cycles) {
      continue;
    }
    Result<ScheduledConv> compiled = WithKnobs(shape, ToString(knobs), options);
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

// Packing reads exactly as many values as the shape has.
Result<void> CheckSizes(const CompiledLayer& layer, const ConvData& data) {
  const ConvShape& s = layer.shape;
  const bool biased = std::any_of(
      layer.kernel->tensors.begin(), layer.kernel->tensors.end(), [](const Tensor& tensor) {
        return tensor.role == TensorRole::kBias || tensor.role == TensorRole::kBiasWeights;
      });
  struct Part {
    std::string_view name;
    int64_t given, needed;
  };
  for (const Part& part : {Part{"input", std::ssize(data.input), s.n * s.ci * s.h * s.w},
                           {"weights", std::ssize(data.weights), s.co * s.ci * s.kh * s.kw},
                           {"bias", std::ssize(data.bias), biased ? s.co : 0}}) {
    if (part.given == part.needed) continue;
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("{} has {} values, the layer needs {}", part.name,
                                        part.given, part.needed)};
  }
  return {};
}

// The data as arrays and as tiles in the image of a program, what a run of it leaves and what it
// must be: each about as large as the tensors.
Result<void> RequireMemoryFor(const ConvShape& shape) {
  constexpr double kCopies = 4;
  const auto product = [](auto... sizes) { return (static_cast<double>(sizes) * ...); };
  const double values = product(shape.n, shape.ci, shape.h, shape.w) +
                        product(shape.co, shape.ci, shape.kh, shape.kw) +
                        product(shape.n, shape.co, shape.oh(), shape.ow());
  return RequireMemory("its tensors and its program", kCopies * values,
                       "give it more memory, or fewer threads");
}

}  // namespace

Result<ScheduledConv> ScheduleConv(const ConvShape& shape, const CompileOptions& options) {
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

Result<CompiledLayer> CompileConv(const ConvShape& shape, const CompileOptions& options) {
  if (Result<void> valid = Validate(options.config); !valid) return valid.error();
  if (Result<void> valid = Validate(options.timing); !valid) return valid.error();
  if (Result<void> fits = RequireMemoryFor(shape); !fits) return fits.error();
  Result<ScheduledConv> conv = ScheduleConv(shape, options);
  if (!conv) return conv.error();
  const Traffic traffic = CountTraffic(conv->kernel);
  return CompiledLayer{.shape = shape,
                       .schedule = std::move(conv->schedule),
                       .report = conv->report,
                       .gemm_floor_cycles = GemmFloor(shape, options.config),
                       .instructions = std::ssize(conv->kernel.instructions),
                       .uops = std::ssize(conv->kernel.uops),
                       .dram_read_bytes = traffic.read(),
                       .dram_write_bytes = traffic.written,
                       .evaluations = conv->evaluations,
                       .kernel = std::make_shared<const Kernel>(std::move(conv->kernel))};
}

Result<CompiledLayer> CompileLayer(const Layer& layer, const CompileOptions& options) {
  const Result<ConvShape> shape = ConvShapeOf(layer);
  if (!shape) return shape.error();
  return CompileConv(*shape, options);
}

Result<Program> Link(const CompiledLayer& layer, const ConvData& data) {
  TESSERA_CHECK(layer.kernel != nullptr);  // made by CompileConv
  if (Result<void> fits = CheckSizes(layer, data); !fits) return fits.error();
  return LinkConv(*layer.kernel, layer.shape, data);
}

}  // namespace tessera::vta
