// SimulateFolder: every program of a compiled network from its files, one after another.
#include <filesystem>
#include <utility>

#include "tessera/base/file.h"
#include "tessera/vta.h"
#include "tessera/vta/network/manifest.h"

namespace tessera::vta {
namespace {

Result<FolderRun::Entry> RunOne(const ManifestEntry& entry, const Manifest& manifest,
                                const std::string& folder, const TimingParameters& timing,
                                StepOutputs& outputs) {
  const std::string path = (std::filesystem::path(folder) / entry.program).string();
  Result<Program> program = LoadProgram(path);
  if (!program) return program.error();
  if (Result<void> fed = FeedInputs(entry, manifest, outputs, *program); !fed) return fed.error();
  const Result<Simulation> run = Simulate(*program, {.timing = timing});
  if (!run) return run.error();
  if (!run->check.ok()) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = ToString(run->check.diagnostics.front()),
                 .where = {.file = path}};
  }
  if (entry.n > 0) {
    Result<std::vector<int8_t>> output = TakeOutput(entry, *program);
    if (!output) return output.error();
    outputs[entry.name] = *std::move(output);
  }
  if (run->stuck) return *run->stuck;
  return FolderRun::Entry{.name = entry.name,
                          .count = entry.count,
                          .instructions = program->insn_count,
                          .report = run->report,
                          .portable = run->check.not_portable.empty()};
}

}  // namespace

Result<FolderRun> SimulateFolder(const std::string& folder, const TimingParameters& timing) {
  const std::string path = (std::filesystem::path(folder) / "manifest.json").string();
  const Result<std::string> text = ReadTextFile(path);
  if (!text) return text.error();
  const Result<Manifest> manifest = ParseManifest(*text, path);
  if (!manifest) return manifest.error();
  FolderRun run = {.network = manifest->network, .host_steps = manifest->host_steps};
  StepOutputs outputs;
  size_t next_host_step = 0;
  for (size_t i = 0; i < manifest->programs.size(); ++i) {
    const std::vector<ManifestHostStep>& work = manifest->host_work;
    for (; next_host_step < work.size() && work[next_host_step].before <= i; ++next_host_step) {
      Result<void> done = RunHostStep(work[next_host_step], outputs);
      if (!done) return done.error();
    }
    const ManifestEntry& entry = manifest->programs[i];
    Result<FolderRun::Entry> one = RunOne(entry, *manifest, folder, timing, outputs);
    if (!one) return one.error();
    run.cycles += entry.count * one->report.cycles;
    run.programs.push_back(*std::move(one));
  }
  return run;
}

}  // namespace tessera::vta
