// CompileNetwork: the layers of a network one by one, each with a program and data of its own.
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/base/stop.h"
#include "tessera/part.h"
#include "tessera/vta.h"
#include "tessera/vta/network/write.h"

namespace tessera::vta {
namespace {

struct Attempt {
  std::optional<Result<CompiledLayer>> layer;
  std::optional<Result<Program>> program;  // where it is to be run or written
  std::optional<Error> wrong;              // of `verify`
};

// Runs a copy of the program and compares; nothing if all is well.
std::optional<Error> Verify(Program program, const ConvShape& shape, const ConvData& data,
                            const Epilogue& epilogue) {
  const Result<CheckReport> report = CheckAndRun(program, {.may_stop = true});
  if (!report) return report.error();
  if (!report->diagnostics.empty()) {
    return Error{.kind = ErrorKind::kInternal, .message = ToString(report->diagnostics.front())};
  }
  const std::vector<int8_t> expected = ReferenceConv(shape, data, epilogue);
  if (StopRequested()) return Interrupted("verifying");
  if (UnpackConvOutput(program, shape) == expected) return std::nullopt;
  return Error{.kind = ErrorKind::kInternal, .message = "the output differs from a convolution's"};
}

void CompileOne(const Layer& layer, const NetworkOptions& options, Attempt& attempt) {
  attempt.layer.emplace(CompileLayer(layer, options.compile));
  if (!*attempt.layer || !(options.verify || !options.folder.empty())) return;
  const CompiledLayer& compiled = **attempt.layer;
  const Epilogue& epilogue = options.compile.epilogue;
  const ConvData data = RandomConvData(compiled.shape, epilogue.bias, options.seed);
  attempt.program.emplace(Link(compiled, data));
  if (!*attempt.program || !options.verify) return;
  attempt.wrong = Verify(**attempt.program, compiled.shape, data, epilogue);
}

std::vector<Attempt> CompileAll(const Network& network, const NetworkOptions& options) {
  std::vector<Attempt> attempts(network.layers.size());
  ThreadPool pool(options.threads);
  pool.ParallelFor(std::ssize(attempts), /*chunk=*/1, [&](int64_t begin, int64_t end, int) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      if (StopRequested()) return;
      CompileOne(network.layers[i].layer, options, attempts[i]);
    }
  });
  return attempts;
}

Error About(const NetworkLayer& entry, Error error) {
  error.message = fmt::format("layer {}: {}", entry.name, error.message);
  return error;
}

Json LayerJson(const NetworkLayer& entry, const CompiledLayer& compiled) {
  return {{"name", entry.name},
          {"count", entry.count},
          {"layer", ToString(entry.layer)},
          {"schedule", compiled.schedule},
          {"cycles", compiled.report.cycles},
          {"gemm_floor", compiled.gemm_floor_cycles},
          {"insns", compiled.instructions},
          {"uops", compiled.uops},
          {"dram_read_bytes", compiled.dram_read_bytes},
          {"dram_write_bytes", compiled.dram_write_bytes},
          {"evaluations", compiled.evaluations},
          {"tensors", TensorsJson(*compiled.kernel)}};
}

Json ManifestHead(const Network& network, const NetworkOptions& options, int64_t cycles) {
  const Config& config = options.compile.config;
  return {{"network", network.name},
          {"config", config.name},
          {"config_id", ConfigId(config)},
          {"data_seed", options.seed},
          {"shift", options.compile.epilogue.shift},
          {"extrapolated", !config.IsDefaultSize()},
          {"verified", options.verify},
          {"total_cycles", cycles}};
}

// Adds an attempt to what is compiled, or to what is skipped; its row of the manifest to `rows`.
Result<void> Take(size_t index, const NetworkLayer& entry, Attempt& attempt,
                  std::optional<FileSet>& files, CompiledNetwork& result, Json& rows) {
  if (!*attempt.layer) {
    result.skipped.push_back(About(entry, attempt.layer->error()));
    return {};
  }
  if (attempt.wrong) return About(entry, *attempt.wrong);
  rows.push_back(LayerJson(entry, **attempt.layer));
  result.cycles += entry.count * (*attempt.layer)->report.cycles;
  result.layers.push_back({entry.name, entry.count, **std::move(attempt.layer)});
  if (!files) return {};
  const Result<Program>& program = *attempt.program;
  if (!program) return About(entry, program.error());
  rows.back()["program"] = ProgramFile(index, entry.name);
  return AddProgram(ProgramFile(index, entry.name), *program, files);
}

}  // namespace

Result<CompiledNetwork> CompileNetwork(const Network& network, const NetworkOptions& options) {
  // Before the work: a folder that cannot be made should not cost a search.
  Result<std::optional<FileSet>> files = OpenFiles(options.folder);
  if (!files) return files.error();
  std::vector<Attempt> attempts = CompileAll(network, options);
  if (StopRequested()) return Interrupted("compiling");
  CompiledNetwork result;
  Json rows = Json::array();
  for (size_t i = 0; i < attempts.size(); ++i) {
    Result<void> taken = Take(i, network.layers[i], attempts[i], *files, result, rows);
    if (!taken) return taken.error();
  }
  if (result.layers.empty() && !result.skipped.empty()) return result;
  Json manifest = ManifestHead(network, options, result.cycles);
  manifest["layers"] = std::move(rows);
  result.manifest = tessera::ToText(manifest);
  if (Result<void> written = FinishFiles(result.manifest, *files); !written) {
    return written.error();
  }
  return result;
}

}  // namespace tessera::vta
