// tessera simulate FOLDER: every program of a compiled network, one after another. Where the
// manifest knows the connections, each program works on what the programs before it computed.
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/cli/simulate.h"
#include "tessera/cli/vta_arguments.h"
#include "tessera/vta/check/check.h"
#include "tessera/vta/network/manifest.h"
#include "tessera/vta/sim/cycles.h"

namespace tessera {
namespace {

struct ProgramRun {
  int64_t instructions = 0;
  vta::CycleReport report = {};
  bool portable = true;
};

Result<ProgramRun> RunOne(const vta::ManifestEntry& entry, const vta::Manifest& manifest,
                          const std::string& folder, const vta::TimingParameters& timing,
                          vta::StepOutputs& outputs) {
  const std::string path = (std::filesystem::path(folder) / entry.program).string();
  Result<vta::Program> program = LoadProgram(path);
  if (!program) return program.error();
  if (Result<void> fed = FeedInputs(entry, manifest, outputs, *program); !fed) return fed.error();
  const Result<vta::CheckReport> checked = vta::CheckAndRun(*program);
  if (!checked) return checked.error();
  if (!checked->ok()) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = ToString(checked->diagnostics.front()),
                 .where = {.file = path}};
  }
  if (entry.n > 0) {
    Result<std::vector<int8_t>> output = TakeOutput(entry, *program);
    if (!output) return output.error();
    outputs[entry.name] = *std::move(output);
  }
  const std::vector<vta::Instruction> instructions = DecodeInstructions(*program);
  vta::CycleSimulator simulator(program->config, timing);
  const Result<vta::CycleReport> report = simulator.Run(instructions);
  if (!report) return report.error();
  return ProgramRun{.instructions = std::ssize(instructions),
                    .report = *report,
                    .portable = checked->not_portable.empty()};
}

}  // namespace

Result<void> SimulateFolder(const std::string& folder, const vta::TimingParameters& timing,
                            Context& context) {
  const std::string path = (std::filesystem::path(folder) / "manifest.json").string();
  const Result<std::string> text = ReadTextFile(path);
  if (!text) return text.error();
  const Result<vta::Manifest> manifest = vta::ParseManifest(*text, path);
  if (!manifest) return manifest.error();
  Table table({"program", "count", "instructions", "cycles", "compute_busy %", "portable"});
  vta::StepOutputs outputs;
  int64_t total = 0;
  for (const vta::ManifestEntry& entry : manifest->programs) {
    const Result<ProgramRun> run = RunOne(entry, *manifest, folder, timing, outputs);
    if (!run) return run.error();
    total += entry.count * run->report.cycles;
    const auto compute = static_cast<size_t>(vta::Stage::kCompute);
    const double busy = static_cast<double>(run->report.stages[compute].busy_cycles) /
                        static_cast<double>(run->report.cycles + 1);
    table.Add(entry.name, entry.count, run->instructions, run->report.cycles,
              fmt::format("{:.1f}", 100 * busy), run->portable);
  }
  context.output.Set("network", manifest->network);
  context.output.Set("total_cycles", total);
  context.output.Set("host_steps", manifest->host_steps);
  if (Result<void> shown = context.output.Show(table, "programs"); !shown) return shown;
  std::string host;
  for (const std::string& step : manifest->host_steps) host += (host.empty() ? "" : ", ") + step;
  return context.output.ShowText(
      fmt::format("\ntotal {} cycles{}\n", WithThousands(total),
                  host.empty() ? "" : fmt::format("; left to the host: {}", host)));
}

}  // namespace tessera
