#include "tessera/vta/network/run.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "tessera/base/stop.h"
#include "tessera/part.h"
#include "tessera/vta.h"
#include "tessera/vta/codegen/data.h"
#include "tessera/vta/codegen/elementwise.h"
#include "tessera/vta/codegen/pool.h"
#include "tessera/vta/network/host.h"
#include "tessera/vta/sim/cycles.h"

namespace tessera::vta {
namespace {

using Values = std::vector<int8_t>;

Error About(const Step& step, Error error) {
  error.message = fmt::format("step {}: {}", step.name, error.message);
  return error;
}

// Convolutions of equal sizes and epilogues share one program.
struct CompiledShape {
  ConvShape shape;
  Epilogue epilogue;
  std::optional<Result<ScheduledConv>> layer = std::nullopt;
};

std::vector<CompiledShape> CompileAll(const Graph& graph, const NetworkRunOptions& options) {
  std::vector<CompiledShape> shapes;
  for (const Step& step : graph.steps) {
    const bool known = std::any_of(shapes.begin(), shapes.end(), [&](const CompiledShape& s) {
      return s.shape == step.shape && s.epilogue == step.epilogue;
    });
    if (step.kind == StepKind::kConv && !known) shapes.push_back({step.shape, step.epilogue});
  }
  ThreadPool pool(options.threads);
  pool.ParallelFor(std::ssize(shapes), /*chunk=*/1, [&](int64_t begin, int64_t end, int) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      CompileOptions compile = options.compile;
      compile.epilogue = shapes[i].epilogue;
      shapes[i].layer.emplace(ScheduleConv(shapes[i].shape, compile));
    }
  });
  return shapes;
}

// What a step does, ready to run, and what it must give.
struct PreparedStep {
  Kernel kernel = {};
  Program program = {};
  Values expected = {};
  std::string schedule = {};
};

ElementwiseShape AdditionOf(const Step& step) {
  return {.n = step.shape.n,
          .channels = step.shape.ci,
          .h = step.shape.h,
          .w = step.shape.w,
          .inputs = 2,
          .low = step.epilogue.low,
          .high = step.epilogue.high};
}

Values PlainAddition(const Values& a, const Values& b, const Epilogue& epilogue) {
  Values sums(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    sums[i] = static_cast<int8_t>(std::clamp(a[i] + b[i], epilogue.low, epilogue.high));
  }
  return sums;
}

// The scores of all images, one after another.
std::vector<int32_t> Classify(const ConvShape& shape, const ConvData& data) {
  std::vector<int32_t> scores;
  const auto inputs = static_cast<size_t>(shape.ci);
  for (size_t image = 0; image < static_cast<size_t>(shape.n); ++image) {
    for (size_t k = 0; k < data.bias.size(); ++k) {
      int32_t score = data.bias[k];
      for (size_t c = 0; c < inputs; ++c) {
        score += data.weights[k * inputs + c] * data.input[image * inputs + c];
      }
      scores.push_back(score);
    }
  }
  return scores;
}

int64_t CountDistinct(const Values& values) {
  std::array<bool, 256> seen = {};
  for (const int8_t value : values) seen[static_cast<uint8_t>(value)] = true;
  return std::count(seen.begin(), seen.end(), true);
}

class Runner {
 public:
  Runner(const Graph& graph, const NetworkRunOptions& options)
      : graph_(graph),
        options_(options),
        simulator_(options.compile.config, options.compile.timing),
        shapes_(CompileAll(graph, options)) {}

  Result<NetworkRun> Run() {
    tensors_.push_back(RandomConvData(graph_.image, /*bias=*/false, options_.seed).input);
    for (size_t i = 0; i < graph_.steps.size(); ++i) {
      const Step& step = graph_.steps[i];
      if (StopRequested()) return Interrupted("running the network");
      Result<void> done = RunsOnVta(step.kind) ? RunOnVta(i) : RunOnHost(i);
      if (!done) return About(step, done.error());
      StepRun& result = run_.steps.back();
      result.name = step.name;
      result.kind = step.kind;
      run_.cycles += result.report.cycles;
    }
    if (run_.scores.empty()) run_.scores.assign(tensors_.back().begin(), tensors_.back().end());
    return std::move(run_);
  }

 private:
  // Weights and biases of step i, with its input.
  ConvData DataOf(size_t i) const {
    const Step& step = graph_.steps[i];
    ConvData data =
        RandomConvData(step.shape, /*bias=*/true, StreamId("vta.step", i) ^ options_.seed);
    data.input = Input(i, 0);
    return data;
  }
  const Values& Input(size_t i, size_t which) const {
    return tensors_[graph_.steps[i].inputs[which]];
  }

  Result<PreparedStep> PrepareConv(size_t i) {
    const Step& step = graph_.steps[i];
    const CompiledShape& compiled =
        *std::find_if(shapes_.begin(), shapes_.end(), [&](const CompiledShape& s) {
          return s.shape == step.shape && s.epilogue == step.epilogue;
        });
    const Result<ScheduledConv>& layer = *compiled.layer;
    if (!layer) return layer.error();
    const ConvData data = DataOf(i);
    Result<Program> program = LinkConv(layer->kernel, step.shape, data);
    if (!program) return program.error();
    return PreparedStep{.kernel = layer->kernel,
                        .program = *std::move(program),
                        .expected = ReferenceConv(step.shape, data, step.epilogue),
                        .schedule = layer->schedule};
  }

  Result<PreparedStep> PrepareAddition(size_t i) {
    const ElementwiseShape shape = AdditionOf(graph_.steps[i]);
    Result<Kernel> kernel = GenerateElementwise(shape, options_.compile.config);
    if (!kernel) return kernel.error();
    const std::array<Values, 2> inputs = {Input(i, 0), Input(i, 1)};
    Result<Program> program = LinkElementwise(*kernel, shape, inputs);
    if (!program) return program.error();
    return PreparedStep{.kernel = *std::move(kernel),
                        .program = *std::move(program),
                        .expected = PlainAddition(inputs[0], inputs[1], graph_.steps[i].epilogue)};
  }

  Result<PreparedStep> PrepareRelu(size_t i) {
    const ConvShape& s = graph_.steps[i].shape;
    const ElementwiseShape shape = {.n = s.n, .channels = s.ci, .h = s.h, .w = s.w, .low = 0};
    Result<Kernel> kernel = GenerateElementwise(shape, options_.compile.config);
    if (!kernel) return kernel.error();
    const std::array<Values, 1> inputs = {Input(i, 0)};
    Result<Program> program = LinkElementwise(*kernel, shape, inputs);
    if (!program) return program.error();
    Values expected = inputs[0];
    for (int8_t& value : expected) value = std::max<int8_t>(value, 0);
    return PreparedStep{.kernel = *std::move(kernel),
                        .program = *std::move(program),
                        .expected = std::move(expected)};
  }

  Result<PreparedStep> PrepareMaxPool(size_t i) {
    const ConvShape& shape = graph_.steps[i].shape;
    Result<Kernel> kernel = GenerateMaxPool(shape, options_.compile.config);
    if (!kernel) return kernel.error();
    Result<Program> program = LinkMaxPool(*kernel, shape, Input(i, 0));
    if (!program) return program.error();
    return PreparedStep{.kernel = *std::move(kernel),
                        .program = *std::move(program),
                        .expected = ReferenceMaxPool(shape, Input(i, 0))};
  }

  Result<PreparedStep> Prepare(size_t i) {
    switch (graph_.steps[i].kind) {
      case StepKind::kAdd: return PrepareAddition(i);
      case StepKind::kMaxPool: return PrepareMaxPool(i);
      case StepKind::kRelu: return PrepareRelu(i);
      default: return PrepareConv(i);
    }
  }

  Result<void> RunOnVta(size_t i) {
    Result<PreparedStep> step = Prepare(i);
    if (!step) return step.error();
    if (options_.on_program) {
      Result<void> seen = options_.on_program(i, step->kernel, step->program);
      if (!seen) return seen;
    }
    const Result<CheckReport> checked = CheckAndRun(step->program, {.may_stop = true});
    if (!checked) return checked.error();
    if (!checked->diagnostics.empty()) {
      return Error{.kind = ErrorKind::kInternal, .message = ToString(checked->diagnostics.front())};
    }
    const Result<CycleReport> timed = simulator_.Run(step->kernel.instructions);
    if (!timed) return timed.error();
    Values output = UnpackConvOutput(step->program, graph_.steps[i].shape);
    const auto [got, wanted] =
        std::mismatch(output.begin(), output.end(), step->expected.begin(), step->expected.end());
    if (got != output.end() || wanted != step->expected.end()) {
      return Error{.kind = ErrorKind::kInternal,
                   .message = fmt::format("output value {} differs from plain arithmetic",
                                          got - output.begin())};
    }
    run_.steps.push_back(
        {.schedule = std::move(step->schedule), .report = *timed, .counts = checked->counts});
    Keep(std::move(output));
    return {};
  }

  Result<void> RunOnHost(size_t i) {
    run_.steps.push_back({});
    const Step& step = graph_.steps[i];
    if (step.kind == StepKind::kAveragePool) {
      Keep(AveragePool(step.shape, Input(i, 0)));
      return {};
    }
    if (step.kind == StepKind::kConcat) {
      std::vector<std::span<const int8_t>> parts;
      for (size_t which = 0; which < step.inputs.size(); ++which) parts.push_back(Input(i, which));
      Keep(JoinChannels(step.shape.n, parts));
      return {};
    }
    run_.scores = Classify(graph_.steps[i].shape, DataOf(i));
    run_.steps.back().values = std::ssize(run_.scores);
    std::vector<int32_t> sorted = run_.scores;
    std::sort(sorted.begin(), sorted.end());
    run_.steps.back().distinct_values = std::unique(sorted.begin(), sorted.end()) - sorted.begin();
    tensors_.emplace_back();
    return {};
  }

  void Keep(Values output) {
    run_.steps.back().values = std::ssize(output);
    run_.steps.back().distinct_values = CountDistinct(output);
    tensors_.push_back(std::move(output));
  }

  const Graph& graph_;
  const NetworkRunOptions& options_;
  CycleSimulator simulator_;
  const std::vector<CompiledShape> shapes_;
  std::vector<Values> tensors_;
  NetworkRun run_;
};

}  // namespace

Result<NetworkRun> RunNetwork(const Graph& graph, const NetworkRunOptions& options) {
  if (Result<void> valid = Validate(options.compile.timing); !valid) return valid.error();
  return Runner(graph, options).Run();
}

}  // namespace tessera::vta
