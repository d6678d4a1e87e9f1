#include "tessera/report/coopt_report.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/check.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

using coopt::HardwareCost;
using coopt::HardwareScore;
using coopt::Measured;
using coopt::Problem;
using coopt::SessionResult;
using coopt::TaskLayer;

// Cycles of one of the images of a batch need not be whole.
Json CyclesJson(double cycles) {
  if (cycles == std::floor(cycles) && cycles < 9e15) return static_cast<int64_t>(cycles);
  return cycles;
}

double PerImage(const Problem& problem, const Measured& measured) {
  return static_cast<double>(measured.outcome.cycles) /
         static_cast<double>(problem.images(measured.request.hardware));
}

double InferencesPerSecond(const Problem& problem, double cycles) {
  return problem.options().clock_mhz * 1e6 / cycles;
}

Json HardwareJson(const Problem& problem, size_t hardware) {
  const vta::Config& config = problem.hardware().config(hardware);
  const HardwareCost cost = coopt::CostOf(config, problem.options().clock_mhz);
  Json json = Json::parse(vta::WriteConfig(config));
  json["name"] = vta::ConfigId(config);
  json["macs"] = cost.macs;
  json["sram_bytes"] = cost.sram_bytes;
  json["area"] = cost.area_um2;
  json["sram_power_mw"] = cost.sram_power_mw;
  json["batch"] = config.batch();
  json["rtl_exists"] = config.batch() == 1;
  return json;
}

Json LayerJson(const Problem& problem, const coopt::Simulator& simulator,
               const SessionResult& result, size_t index) {
  const TaskLayer& layer = problem.layers()[index];
  const Measured& best = *result.best()->layers[index];
  const Result<coopt::GeneratedSchedule> code = simulator.Program(best.request);
  Json json = {{"name", layer.name}, {"type", TypeName(layer.layer)}};
  for (const NamedSize& size : Dimensions(layer.layer)) json[std::string(size.name)] = size.size;
  json["count"] = layer.count;
  json["cycles"] = CyclesJson(PerImage(problem, best));
  json["floor_cycles"] = CyclesJson(
      static_cast<double>(GemmFloor(problem.task(best.request.hardware, index).space.shape(),
                                    problem.hardware().config(best.request.hardware))) /
      static_cast<double>(problem.images(best.request.hardware)));
  json["energy_pj"] =
      best.outcome.energy_pj / static_cast<double>(problem.images(best.request.hardware));
  json["schedule"] = code ? code->text : "";
  json["measurements"] = result.layer_measurements[index];
  return json;
}

}  // namespace

Json CooptJson(const CooptRun& run, const Problem& problem, const coopt::Simulator& simulator,
               const SessionResult& result, const std::vector<coopt::LeftOut>& left_out) {
  CHECK(result.best() != nullptr);
  const HardwareScore& best = *result.best();
  const coopt::ProblemOptions& options = problem.options();
  Json layers = Json::array(), curve = Json::array(), pareto = Json::array(),
       skipped = Json::array();
  for (size_t i = 0; i < problem.layers().size(); ++i) {
    layers.push_back(LayerJson(problem, simulator, result, i));
  }
  for (const coopt::Step& step : result.curve) {
    curve.push_back(Json::array({step.measurements, CyclesJson(step.cycles)}));
  }
  for (const coopt::ParetoPoint& point : ParetoFront(problem, result)) {
    pareto.push_back({{"hardware", vta::ConfigId(problem.hardware().config(point.hardware))},
                      {"area", point.area_um2},
                      {"cycles", CyclesJson(point.cycles)},
                      {"throughput", InferencesPerSecond(problem, point.cycles)}});
  }
  for (const coopt::LeftOut& layer : left_out) {
    skipped.push_back({{"name", layer.name}, {"count", layer.count}, {"why", layer.why}});
  }
  return {{"network", run.network},
          {"method", run.method},
          {"seed", run.seed},
          {"generator", coopt::kGeneratorNames[static_cast<size_t>(options.generator)]},
          {"objective", coopt::kObjectiveNames[static_cast<size_t>(options.objective)]},
          {"validity_filter", run.validity_filter},
          {"clock_mhz", options.clock_mhz},
          {"bus_bits", options.timing.bus_bytes * 8},
          {"hardware", HardwareJson(problem, *result.hardware)},
          {"extrapolated", !problem.hardware().config(*result.hardware).IsDefaultSize()},
          {"layers", std::move(layers)},
          {"left_out", std::move(skipped)},
          {"cycles", CyclesJson(best.cycles)},
          {"floor_cycles", CyclesJson(problem.FloorCycles(*result.hardware))},
          {"value", best.value},
          {"throughput", InferencesPerSecond(problem, best.cycles)},
          {"measurements", result.measurements},
          {"invalid", result.invalid},
          {"refused", result.refused},
          {"hardware_space", problem.hardware().size()},
          {"curve", std::move(curve)},
          {"pareto", std::move(pareto)}};
}

Table CooptTable(const Problem& problem, const coopt::Simulator& simulator,
                 const SessionResult& result) {
  Table table({"layer", "count", "cycles", "floor", "measurements", "schedule"});
  for (size_t i = 0; i < problem.layers().size(); ++i) {
    const Measured& best = *result.best()->layers[i];
    const Result<coopt::GeneratedSchedule> code = simulator.Program(best.request);
    const double images = static_cast<double>(problem.images(best.request.hardware));
    const double floor =
        static_cast<double>(GemmFloor(problem.task(best.request.hardware, i).space.shape(),
                                      problem.hardware().config(best.request.hardware))) /
        images;
    table.Add(problem.layers()[i].name, problem.layers()[i].count,
              std::llround(PerImage(problem, best)), std::llround(floor),
              result.layer_measurements[i], code ? code->text : "");
  }
  return table;
}

Table ParetoTable(const Problem& problem, const SessionResult& result) {
  Table table({"hardware", "area_um2", "cycles", "inferences_per_second"});
  for (const coopt::ParetoPoint& point : ParetoFront(problem, result)) {
    table.Add(vta::ConfigId(problem.hardware().config(point.hardware)),
              std::llround(point.area_um2), std::llround(point.cycles),
              InferencesPerSecond(problem, point.cycles));
  }
  return table;
}

std::string CooptSummary(const Problem& problem, const SessionResult& result) {
  const vta::Config& config = problem.hardware().config(*result.hardware);
  const HardwareCost cost = coopt::CostOf(config, problem.options().clock_mhz);
  const HardwareScore& best = *result.best();
  std::string text = fmt::format(
      "{}: {} MACs, {} bytes of SRAM, {} um2{}\n", vta::ConfigId(config), cost.macs,
      WithThousands(cost.sram_bytes), WithThousands(std::llround(cost.area_um2)),
      config.batch() > 1 ? fmt::format(", {} images at once (no RTL exists)", config.batch()) : "");
  text += fmt::format(
      "{} cycles per image ({:+.1f} % against one product a cycle, padding included), {:.2f} "
      "inferences/s at {:g} MHz after {} measurements\n",
      WithThousands(std::llround(best.cycles)),
      100 * (best.cycles *
                 (problem.options().objective == coopt::Objective::kLatency
                      ? static_cast<double>(config.batch())
                      : 1.0) /
                 problem.FloorCycles(*result.hardware) -
             1),
      InferencesPerSecond(problem, best.cycles), problem.options().clock_mhz,
      WithThousands(result.measurements));
  return text;
}

}  // namespace tessera
