// CompileWhole: a quantised network step by step, additions and pooling included. Every program is
// run on the inputs that the steps before gave it, and its output is compared.
#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/vta.h"
#include "tessera/vta/network/graph.h"
#include "tessera/vta/network/run.h"
#include "tessera/vta/network/write.h"

namespace tessera::vta {
namespace {

Json StepJson(const Graph& graph, size_t index, const StepRun& run, const Config& config) {
  const Step& step = graph.steps[index];
  Json inputs = Json::array();
  for (const size_t tensor : step.inputs) {
    inputs.push_back(tensor == 0 ? "image" : graph.steps[tensor - 1].name);
  }
  Json json = {{"name", step.name},
               {"kind", StepKindName(step.kind)},
               {"on", RunsOnVta(step.kind) ? "vta" : "host"},
               {"inputs", std::move(inputs)},
               {"output",
                {{"n", step.shape.n},
                 {"channels", step.shape.co},
                 {"pixels", step.shape.oh() * step.shape.ow()}}},
               {"values", run.values},
               {"distinct_values", run.distinct_values}};
  // How the input lies, which is not as its producer gave it where a view stands between them.
  json["input"] = {
      {"n", step.shape.n}, {"channels", step.shape.ci}, {"pixels", step.shape.h * step.shape.w}};
  if (step.kind == StepKind::kAveragePool) {
    json["window"] = {{"h", step.shape.h},
                      {"w", step.shape.w},
                      {"kh", step.shape.kh},
                      {"kw", step.shape.kw},
                      {"stride_h", step.shape.stride_h},
                      {"stride_w", step.shape.stride_w}};
  }
  if (!RunsOnVta(step.kind)) return json;
  json["cycles"] = run.report.cycles;
  if (step.kind == StepKind::kConv) {
    json["schedule"] = run.schedule;
    json["gemm_floor"] = GemmFloor(step.shape, config);
  }
  json["clip"] = {step.epilogue.low, step.epilogue.high};
  if (step.kind == StepKind::kConv) json["shift"] = step.epilogue.shift;
  json["dram_write_bytes"] = run.counts.store_bytes;
  return json;
}

std::string ManifestOf(const Graph& graph, const NetworkRun& run, const NetworkOptions& options,
                       const std::vector<Json>& files) {
  const Config& config = options.compile.config;
  Json steps = Json::array();
  for (size_t i = 0; i < run.steps.size(); ++i) {
    steps.push_back(StepJson(graph, i, run.steps[i], config));
    if (files[i].is_object()) steps.back().update(files[i]);
  }
  const auto best = std::max_element(run.scores.begin(), run.scores.end());
  return tessera::ToText(Json{{"network", graph.name},
                              {"config", config.name},
                              {"config_id", ConfigId(config)},
                              {"data_seed", options.seed},
                              {"extrapolated", !config.IsDefaultSize()},
                              {"verified", true},
                              {"total_cycles", run.cycles},
                              {"best_class", best - run.scores.begin()},
                              {"best_score", best == run.scores.end() ? 0 : *best},
                              {"steps", std::move(steps)}});
}

}  // namespace

Result<NetworkRun> CompileWhole(const Network& network, const NetworkOptions& options) {
  const Result<Graph> graph = GraphOf(network);
  if (!graph) return graph.error();
  Result<std::optional<FileSet>> out = OpenFiles(options.folder);
  if (!out) return out.error();
  std::vector<Json> files(graph->steps.size());
  const auto keep = [&](size_t step, const Kernel& kernel, const Program& program) -> Result<void> {
    files[step] = {{"insns", kernel.instructions.size()},
                   {"uops", kernel.uops.size()},
                   {"dram_read_bytes", CountTraffic(kernel).read()},
                   {"tensors", TensorsJson(kernel)}};
    if (!*out) return {};
    const std::string file = ProgramFile(step, graph->steps[step].name);
    files[step]["program"] = file;
    return AddProgram(file, program, *out);
  };
  Result<NetworkRun> run = RunNetwork(*graph, {.compile = options.compile,
                                               .seed = options.seed,
                                               .threads = options.threads,
                                               .on_program = keep});
  if (!run) return run.error();
  run->manifest = ManifestOf(*graph, *run, options, files);
  if (Result<void> written = FinishFiles(run->manifest, *out); !written) return written.error();
  return run;
}

}  // namespace tessera::vta
