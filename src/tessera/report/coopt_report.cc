#include "tessera/report/coopt_report.h"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/base/text.h"
#include "tessera/base/xml.h"
#include "tessera/coopt/session.h"
#include "tessera/coopt/targets.h"
#include "tessera/report/curves.h"
#include "tessera/report/note_json.h"
#include "tessera/result.h"

namespace tessera {
namespace {

using coopt::CooptProblem;
using coopt::HardwareCost;
using coopt::HardwareScore;
using coopt::Measured;
using coopt::SessionResult;
using coopt::TaskLayer;

// Cycles of one of the images of a batch need not be whole.
Json CyclesJson(double cycles) {
  if (cycles == std::floor(cycles) && cycles < 9e15) return static_cast<int64_t>(cycles);
  return cycles;
}

double PerImage(const CooptProblem& problem, const Measured& measured) {
  return static_cast<double>(measured.outcome.cycles) /
         static_cast<double>(problem.images(measured.request.hardware));
}

double InferencesPerSecond(const CooptProblem& problem, double cycles) {
  return problem.options().clock_mhz * 1e6 / cycles;
}

Json HardwareJson(const CooptProblem& problem, size_t hardware) {
  const coopt::Target& target = problem.hardware();
  const HardwareCost cost = target.Cost(hardware, problem.options().clock_mhz);
  const bool has_fields = target.info().hardware_file.ends_with(".json");
  Json json = has_fields ? FromText(target.FileText(hardware)) : Json::object();
  if (!has_fields) {
    for (size_t knob = 0; knob < target.knobs(); ++knob) {
      json[std::string(target.name(knob))] = int64_t{1} << target.value(hardware, knob);
    }
  }
  json["name"] = target.Name(hardware);
  json["macs"] = cost.macs;
  json["sram_bytes"] = cost.sram_bytes;
  json["area"] = cost.area_um2;
  json.update(ToJson(target.HardwareNotes(hardware, problem.options().clock_mhz)));
  return json;
}

Json LayerJson(const CooptProblem& problem, const SessionResult& result, size_t index) {
  const TaskLayer& layer = problem.layers()[index];
  const Measured& best = *result.best()->layers[index];
  const coopt::ScheduleSpace& space = problem.task(best.request.hardware, index).space;
  Json json = {{"name", layer.name}, {"type", TypeName(layer.layer)}};
  for (const NamedSize& size : Dimensions(layer.layer)) json[std::string(size.name)] = size.size;
  json["count"] = layer.count;
  json["cycles"] = CyclesJson(PerImage(problem, best));
  json["floor_cycles"] =
      CyclesJson(space.FloorCycles() / static_cast<double>(problem.images(best.request.hardware)));
  json["energy_pj"] =
      best.outcome.energy_pj / static_cast<double>(problem.images(best.request.hardware));
  json["schedule"] = space.Describe(best.request.point);
  json["measurements"] = result.layer_measurements[index];
  return json;
}

}  // namespace

Json CooptJson(const CooptRun& run, const CooptProblem& problem, const SessionResult& result,
               const std::vector<coopt::LeftOut>& left_out) {
  TESSERA_CHECK(result.best() != nullptr);
  const HardwareScore& best = *result.best();
  const coopt::CooptOptions& options = problem.options();
  Json layers = Json::array(), curve = Json::array(), pareto = Json::array(),
       skipped = Json::array();
  for (size_t i = 0; i < problem.layers().size(); ++i) {
    layers.push_back(LayerJson(problem, result, i));
  }
  for (const coopt::JointImprovement& step : result.curve) {
    curve.push_back(Json::array({step.measurements, CyclesJson(step.cycles)}));
  }
  for (const coopt::ParetoPoint& point : ParetoFront(problem, result)) {
    pareto.push_back({{"hardware", problem.hardware().Name(point.hardware)},
                      {"area", point.area_um2},
                      {"cycles", CyclesJson(point.cycles)},
                      {"throughput", InferencesPerSecond(problem, point.cycles)}});
  }
  for (const coopt::LeftOut& layer : left_out) {
    skipped.push_back({{"name", layer.name}, {"count", layer.count}, {"why", layer.why}});
  }
  Json json = {{"network", run.network},
               {"target", problem.hardware().info().name},
               {"method", run.method},
               {"seed", run.seed},
               {"objective", coopt::kCooptObjectiveNames[static_cast<size_t>(options.objective)]},
               {"validity_filter", run.validity_filter},
               {"clock_mhz", options.clock_mhz},
               {"hardware", HardwareJson(problem, *result.hardware)},
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
  json.update(ToJson(problem.hardware().RunNotes(*result.hardware, options)));
  return json;
}

Table CooptTable(const CooptProblem& problem, const SessionResult& result) {
  Table table({"layer", "count", "cycles", "floor", "measurements", "schedule"});
  for (size_t i = 0; i < problem.layers().size(); ++i) {
    const Measured& best = *result.best()->layers[i];
    const coopt::ScheduleSpace& space = problem.task(best.request.hardware, i).space;
    const double images = static_cast<double>(problem.images(best.request.hardware));
    table.Add(problem.layers()[i].name, problem.layers()[i].count,
              std::llround(PerImage(problem, best)), std::llround(space.FloorCycles() / images),
              result.layer_measurements[i], space.Describe(best.request.point));
  }
  return table;
}

Table ParetoTable(const CooptProblem& problem, const SessionResult& result) {
  Table table({"hardware", "area_um2", "cycles", "inferences_per_second"});
  for (const coopt::ParetoPoint& point : ParetoFront(problem, result)) {
    table.Add(problem.hardware().Name(point.hardware), std::llround(point.area_um2),
              std::llround(point.cycles), InferencesPerSecond(problem, point.cycles));
  }
  return table;
}

std::string CooptSummary(const CooptProblem& problem, const SessionResult& result) {
  const coopt::Target& target = problem.hardware();
  const HardwareCost cost = target.Cost(*result.hardware, problem.options().clock_mhz);
  const int64_t images = target.Images(*result.hardware);
  const HardwareScore& best = *result.best();
  std::string text = fmt::format(
      "{}: {} MACs, {} bytes of SRAM, {} um2{}\n", target.Name(*result.hardware), cost.macs,
      WithThousands(cost.sram_bytes), WithThousands(std::llround(cost.area_um2)),
      images > 1 ? fmt::format(", {} images at once (no RTL exists)", images) : "");
  text += fmt::format(
      "{} cycles per image ({:+.1f} % above the floor of products and bus), {:.2f} "
      "inferences/s at {:g} MHz after {} measurements\n",
      WithThousands(std::llround(best.cycles)),
      100 * (best.cycles *
                 (problem.options().objective == coopt::CooptObjective::kLatency
                      ? static_cast<double>(images)
                      : 1.0) /
                 problem.FloorCycles(*result.hardware) -
             1),
      InferencesPerSecond(problem, best.cycles), problem.options().clock_mhz,
      WithThousands(result.measurements));
  return text;
}

std::string CooptPage(const std::string& network, const std::string& text,
                      const CooptProblem& problem, const SessionResult& result) {
  Curve front = {.name = "not beaten in both", .points = {}},
        others = {.name = "best so far", .points = {}};
  for (const coopt::ParetoPoint& point : ParetoFront(problem, result)) {
    front.points.emplace_back(point.area_um2, InferencesPerSecond(problem, point.cycles));
  }
  for (const coopt::JointImprovement& step : result.curve) {
    others.points.emplace_back(step.measurements, InferencesPerSecond(problem, step.cycles));
  }
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>\n"
      "<style>body{{font-family:sans-serif;margin:2em;max-width:70em}}pre{{overflow-x:auto}}"
      "</style></head><body>\n<h1>Co-optimization of {0}</h1>\n<pre>{1}</pre>\n",
      EscapedXml(network), EscapedXml(text));
  page += ToSvg({.title = "Throughput against area",
                 .x_label = "um2",
                 .y_label = "inferences/s",
                 .steps = true,
                 .curves = {std::move(front)}});
  page += ToSvg({.title = "Throughput against measurements",
                 .x_label = "measurements",
                 .y_label = "inferences/s",
                 .steps = true,
                 .curves = {std::move(others)}});
  return page + "</body></html>\n";
}

namespace {

// Seconds until a number of measurements, those that a real device would take included.
double Total(const coopt::CooptimizeSeconds& seconds, int64_t measurements, double each) {
  return seconds.search + seconds.measuring + each * static_cast<double>(measurements);
}

Json TimesJson(const SessionResult& result, double each) {
  Json curve = Json::array();
  for (size_t i = 0; i < result.curve_seconds.size(); ++i) {
    const coopt::JointImprovement& step = result.curve[i];
    curve.push_back(Json::array(
        {Total(result.curve_seconds[i], step.measurements, each), CyclesJson(step.cycles)}));
  }
  return {{"search_seconds", result.seconds.search},
          {"measuring_seconds", result.seconds.measuring},
          {"measurement_seconds", each},
          {"optimization_seconds", Total(result.seconds, result.measurements, each)},
          {"time_curve", std::move(curve)}};
}

// Layers that cost nothing because they are not there: whoever reads inferences per second has to
// know.
std::string LeftOutText(const coopt::CooptimizeJob& job) {
  if (job.left_out.empty()) return "";
  int64_t occurrences = 0;
  std::string names;
  for (const coopt::LeftOut& layer : job.left_out) {
    occurrences += layer.count;
    names += fmt::format("  {} ({}x): {}\n", layer.name, layer.count, layer.why);
  }
  return fmt::format(
      "not included: {} layer{} of the network that {} cannot run; cycles and inferences/s are "
      "those of the others\n{}",
      occurrences, occurrences == 1 ? "" : "s", job.problem->hardware().info().name, names);
}

}  // namespace

Result<RunView> ViewOfCooptimize(const CooptimizeRunResult& made) {
  const coopt::CooptimizeJob& job = made.result.job;
  const SessionResult& result = *made.result.session;
  const CooptProblem& problem = *job.problem;
  RunView view{.json = Json::object(), .times = Json::object(), .interrupted = result.interrupted};
  if (made.result.recorded > 0) {
    view.remarks.push_back(fmt::format("resumed: {} measurements are there", made.result.recorded));
  }
  for (const coopt::LeftOut& layer : job.left_out) {
    view.remarks.push_back(
        fmt::format("not on {}: {}: {}", problem.hardware().info().name, layer.name, layer.why));
  }
  // Somebody stopped it before the first accelerator had all its schedules.
  if (result.best() == nullptr) return view;
  view.json = CooptJson({.network = job.name,
                         .method = job.settings.method,
                         .seed = job.seed,
                         .validity_filter = !job.settings.as_published},
                        problem, result, job.left_out);
  if (job.policy_info) {
    view.json["policy"] = {{"networks", job.policy_info->networks},
                           {"measurements", job.policy_info->measurements},
                           {"layers_seen", job.policy_info->layers_seen}};
    view.remarks.push_back(
        fmt::format("policies of {} measurements on {}; they have seen {} of these {} layers",
                    job.policy_info->measurements, fmt::join(job.policy_info->networks, ", "),
                    job.policy_info->layers_seen, problem.layers().size()));
  }
  view.text = ToText(CooptTable(problem, result));
  if (!problem.hardware().fixed()) view.text += "\n" + ToText(ParetoTable(problem, result));
  view.text += "\n" + CooptSummary(problem, result) + LeftOutText(job);
  const std::string page = CooptPage(job.name, view.text, problem, result);
  const std::string report = view.text;
  const double per_measurement = job.settings.measurement_seconds;
  view.times = TimesJson(result, per_measurement);
  view.text += fmt::format(
      "{:.2f} s of the processor in the search, {:.2f} s in the simulator; with {:g} s per "
      "measurement: {:.1f} s\n",
      result.seconds.search, result.seconds.measuring, per_measurement,
      view.times["optimization_seconds"].get<double>());
  for (size_t i = 0; i < made.result.programs.size(); ++i) {
    const std::string name =
        fmt::format("programs/{:02}-{}{}", i + 1, SafeFileName(problem.layers()[i].name),
                    problem.hardware().info().program_suffix);
    view.json["layers"][i]["program"] = name;
    view.files.push_back({name, made.result.programs[i]});
  }
  if (!made.result.programs.empty()) {
    view.json["data_seed"] = job.seed;
    view.json["verified"] = true;
  }
  view.files.push_back({std::string(problem.hardware().info().hardware_file),
                        problem.hardware().FileText(*result.hardware)});
  if (!made.result.policies.empty()) {
    view.files.push_back({std::string(coopt::kCooptPolicyFile), made.result.policies});
  }
  view.files.push_back({"report.txt", report});
  view.files.push_back({"report.html", page});
  view.files.push_back({"result.json", ToText(view.json)});
  return view;
}

}  // namespace tessera
