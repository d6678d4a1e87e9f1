// tessera compile --whole: a quantised network step by step, additions and pooling included. Every
// program is run on the inputs that the steps before gave it, and its output is compared.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/cli/compile.h"
#include "tessera/cli/vta_arguments.h"
#include "tessera/vta/network/run.h"

namespace tessera {
namespace {

using vta::Graph;
using vta::NetworkRun;
using vta::StepRun;

Json StepJson(const Graph& graph, size_t index, const StepRun& run, const vta::Config& config) {
  const vta::Step& step = graph.steps[index];
  Json inputs = Json::array();
  for (const size_t tensor : step.inputs) {
    inputs.push_back(tensor == 0 ? "image" : graph.steps[tensor - 1].name);
  }
  Json json = {{"name", step.name},
               {"kind", vta::StepKindName(step.kind)},
               {"on", vta::RunsOnVta(step.kind) ? "vta" : "host"},
               {"inputs", std::move(inputs)},
               {"output",
                {{"n", step.shape.n},
                 {"channels", step.shape.co},
                 {"pixels", step.shape.oh() * step.shape.ow()}}},
               {"values", run.values},
               {"distinct_values", run.distinct_values}};
  if (!vta::RunsOnVta(step.kind)) return json;
  json["cycles"] = run.report.cycles;
  if (step.kind == vta::StepKind::kConv) {
    json["schedule"] = run.schedule;
    json["gemm_floor"] = GemmFloor(step.shape, config);
  }
  json["clip"] = {step.epilogue.low, step.epilogue.high};
  if (step.kind == vta::StepKind::kConv) json["shift"] = step.epilogue.shift;
  json["dram_write_bytes"] = run.counts.store_bytes;
  return json;
}

Table StepTable(const NetworkRun& run) {
  Table table({"step", "kind", "on", "cycles", "compute_busy %", "values", "distinct"});
  for (const StepRun& step : run.steps) {
    const bool on_vta = vta::RunsOnVta(step.kind);
    const auto compute = static_cast<size_t>(vta::Stage::kCompute);
    const double share = static_cast<double>(step.report.stages[compute].busy_cycles) /
                         static_cast<double>(step.report.cycles + 1);
    table.Add(step.name, vta::StepKindName(step.kind), on_vta ? "vta" : "host",
              on_vta ? Cell(step.report.cycles) : Cell(),
              on_vta ? fmt::format("{:.1f}", 100 * share) : "", step.values, step.distinct_values);
  }
  return table;
}

}  // namespace

Result<void> CompileWhole(const CompileArguments& arguments, Context& context) {
  Result<void> fine =
      RefuseWith("--whole", {{arguments.network.layer.has_value(), "--layer"},
                             {!arguments.network.bind.empty(), "--bind"},
                             {arguments.schedule != "auto", "--schedule"},
                             {arguments.shift != CompileArguments{}.shift, "--shift"}});
  if (!fine) return fine;
  const Result<Graph> graph = vta::FindGraph(arguments.network.name);
  if (!graph) return graph.error();
  const Result<vta::CompileOptions> compile = CompileOptionsOf(arguments);
  if (!compile) return compile.error();
  const std::string& folder = context.options.out;
  std::vector<Json> files(graph->steps.size());
  vta::NetworkRunOptions options = {.compile = *compile,
                                    .seed = static_cast<uint64_t>(context.options.seed),
                                    .threads = static_cast<int>(context.options.threads)};
  options.on_program = [&](size_t step, const vta::Kernel& kernel,
                           const vta::Program& program) -> Result<void> {
    files[step] = {{"insns", kernel.instructions.size()},
                   {"uops", kernel.uops.size()},
                   {"dram_read_bytes", CountTraffic(kernel).read()},
                   {"tensors", TensorsJson(kernel)}};
    if (folder.empty()) return {};
    const std::string file = ProgramFile(step, graph->steps[step].name);
    files[step]["program"] = file;
    return WriteProgram(folder, file, program);
  };
  const Result<NetworkRun> run = RunNetwork(*graph, options);
  if (!run) return run.error();
  Json steps = Json::array();
  for (size_t i = 0; i < run->steps.size(); ++i) {
    steps.push_back(StepJson(*graph, i, run->steps[i], compile->config));
    if (files[i].is_object()) steps.back().update(files[i]);
  }
  const auto best = std::max_element(run->scores.begin(), run->scores.end());
  const Json manifest = {{"network", graph->name},
                         {"config", compile->config.name},
                         {"config_id", ConfigId(compile->config)},
                         {"data_seed", context.options.seed},
                         {"extrapolated", !compile->config.IsDefaultSize()},
                         {"verified", true},
                         {"total_cycles", run->cycles},
                         {"best_class", best - run->scores.begin()},
                         {"best_score", best == run->scores.end() ? 0 : *best},
                         {"steps", std::move(steps)}};
  if (!folder.empty()) {
    if (Result<void> written = WriteManifest(folder, manifest); !written) return written;
  }
  context.output.SetAll(manifest);
  if (context.output.json()) return {};
  if (Result<void> shown = context.output.Show(StepTable(*run)); !shown) return shown;
  return context.output.ShowText(
      fmt::format("\ntotal {} cycles on {}; every value equals plain arithmetic{}\n",
                  WithThousands(run->cycles), compile->config.name,
                  folder.empty() ? "" : "; programs written to " + folder));
}

}  // namespace tessera
