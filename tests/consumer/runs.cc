// A run with a folder: mapped, gone on with, checked; and a small
// co-optimization.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "tessera/cooptimize.h"
#include "tessera/runs.h"
#include "tessera/version.h"

using namespace tessera;

namespace {

Result<Network> OneLayer() {
  const Layer layer = {.k = 32, .c = 16, .y = 14, .x = 14, .r = 3, .s = 3, .pad = {1, 1, 1, 1}};
  return MakeNetwork("mine", {{.name = "conv", .layer = layer}});
}

Result<double> MapInto(const std::string& folder) {
  const Result<Network> network = OneLayer();
  if (!network) return network.error();
  const Result<Accelerator> machine = LoadAccelerator("eyeriss-256");
  if (!machine) return machine.error();
  MapSettings settings;
  settings.method = *ParseMapMethod("random");
  settings.budget.samples = 100;
  const Result<MapJob> job = MakeMapJob(settings, *network, *machine);
  if (!job) return job.error();
  Result<RunDirectory> run = CreateMapRun(folder, *job, {.version = TESSERA_VERSION_STRING});
  if (!run) return run.error();
  const Result<std::unique_ptr<RunResult>> result = Resume(*run);
  if (!result) return result.error();
  return dynamic_cast<const MapRunResult&>(**result).mapping.total.value;
}

// The same once more from the folder alone.
Result<double> GoOn(const std::string& folder) {
  Result<RunDirectory> run = RunDirectory::Open(folder);
  if (!run) return run.error();
  const Result<std::unique_ptr<RunResult>> result = Resume(*run);
  if (!result) return result.error();
  return dynamic_cast<const MapRunResult&>(**result).mapping.total.value;
}

Result<coopt::CooptimizeResult> Cooptimize() {
  const Result<Network> network = OneLayer();
  if (!network) return network.error();
  coopt::CooptimizeSettings settings;
  settings.method = "random";
  settings.hardware = "default";
  settings.measurements = 5;
  Result<coopt::CooptimizeJob> job = coopt::MakeCooptimizeJob(settings, /*seed=*/1, {*network});
  if (!job) return job.error();
  return coopt::Cooptimize(*std::move(job), /*threads=*/2);
}

}  // namespace

int main(int, char** argv) {
  const std::string folder = std::string(argv[0]) + ".run";
  std::filesystem::remove_all(folder);
  const Result<double> first = MapInto(folder);
  if (!first) return std::puts(ToString(first.error()).c_str()), 1;
  const Result<double> again = GoOn(folder);
  if (!again || *again != *first) return 2;
  const Result<coopt::CooptimizeResult> made = Cooptimize();
  if (!made) return std::puts(ToString(made.error()).c_str()), 3;
  std::printf("%.0f cycles, twice; %s: %.0f cycles\n", *first, made->best->hardware.c_str(),
              made->best->cycles);
  return made->best->layers.size() == 1 ? 0 : 4;
}
