#include "tessera/report/explore_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "tessera/base/text.h"
#include "tessera/cooptimize.h"
#include "tessera/report/curves.h"
#include "tessera/report/page.h"
#include "tessera/report/table.h"

namespace tessera {
namespace {

Json ValueJson(const ChosenValue& value) {
  if (value.number) {
    const double number = *value.number;
    constexpr double kExact = 9e15;
    if (number == std::floor(number) && std::abs(number) < kExact) {
      return static_cast<int64_t>(number);
    }
    return number;
  }
  if (value.text == "true" || value.text == "false") return value.text == "true";
  return value.text == "none" ? Json(nullptr) : Json(value.text);
}

Json ValuesJson(const std::vector<ChosenValue>& values) {
  Json json = Json::object();
  for (const ChosenValue& value : values) json[value.field] = ValueJson(value);
  return json;
}

Json CyclesJson(double cycles) {
  constexpr double kExact = 9e15;
  if (cycles == std::floor(cycles) && cycles < kExact) return static_cast<int64_t>(cycles);
  return cycles;
}

Json AreaJson(double area_um2) { return area_um2 > 0 ? Json(area_um2) : Json(nullptr); }

// Cycles, energy and so on of a machine.
void AddCosts(const ExploredMachine& machine, Json& json) {
  json["cycles"] = CyclesJson(machine.cycles);
  json["energy_pj"] = machine.energy_pj;
  json["edp"] = machine.edp();
  json["area_um2"] = AreaJson(machine.area_um2);
  json["power_mw"] = machine.power_mw;
  json["status"] = ToString(machine.status);
  json["gap"] = machine.gap();
  json["limited_by"] = machine.limited_by;
}

Json NetworksJson(const ExploredMachine& machine) {
  Json networks = Json::array();
  for (const ExploredNetwork& network : machine.networks) {
    networks.push_back({{"name", network.name},
                        {"cycles", CyclesJson(network.cycles)},
                        {"energy_pj", network.energy_pj},
                        {"edp", network.cycles * network.energy_pj}});
  }
  return networks;
}

std::string MachineFile(int64_t number) {
  return fmt::format("machines/{:05}/accelerator.yaml", number);
}

Json MachineJson(const ExploredMachine& machine) {
  Json json = {{"machine", ValuesJson(machine.values)}, {"number", machine.number}};
  AddCosts(machine, json);
  json["networks"] = NetworksJson(machine);
  json["file"] = MachineFile(machine.number);
  return json;
}

std::string_view LastPart(std::string_view field) {
  // "GLB.entries" says as much as "levels.GLB.entries".
  return field.starts_with("levels.") ? field.substr(std::string_view("levels.").size()) : field;
}

template <typename Rows, typename Machine>
Table MachineTable(const Rows& rows, const std::vector<ChosenValue>& columns,
                   const std::string& first, const Machine& machine_of) {
  std::vector<std::string> names = {first};
  for (const ChosenValue& value : columns) names.emplace_back(LastPart(value.field));
  for (const char* name :
       {"cycles", "energy_pj", "edp", "area_um2", "gap_pct", "limited_by", "status"}) {
    names.emplace_back(name);
  }
  Table table(std::move(names));
  int64_t number = 0;
  for (const auto& row : rows) {
    ++number;
    const auto& [label, values, machine, why] = machine_of(row, number);
    std::vector<Cell> cells = {label};
    for (const ChosenValue& value : values) {
      const Json json = ValueJson(value);
      cells.push_back(json.is_number_integer() ? Cell(json.get<int64_t>())
                      : json.is_number()       ? Cell(json.get<double>())
                                               : Cell(value.text));
    }
    if (machine == nullptr) {
      for (int i = 0; i < 5; ++i) cells.emplace_back();
      cells.emplace_back(why);
      cells.emplace_back("NOTHING");
    } else {
      cells.push_back(static_cast<int64_t>(std::llround(machine->cycles)));
      cells.push_back(machine->energy_pj);
      cells.push_back(machine->edp());
      cells.push_back(machine->area_um2 > 0 ? Cell(machine->area_um2) : Cell());
      cells.push_back(100 * machine->gap());
      cells.push_back(machine->limited_by);
      cells.push_back(ToString(machine->status));
    }
    table.AddRow(std::move(cells));
  }
  return table;
}

struct MachineRow {
  Cell label;
  const std::vector<ChosenValue>& values;
  const ExploredMachine* machine;
  std::string why;
};

Table FrontTable(const ExploreResult& result) {
  return MachineTable(result.front, result.front.front().values, "machine",
                      [](const ExploredMachine& machine, int64_t) {
                        return MachineRow{machine.number, machine.values, &machine, ""};
                      });
}

// The objective of a point over that of the first, or nothing.
std::optional<double> RelativeTo(const SweepPoint& first, const SweepPoint& point) {
  if (!first.machine || !point.machine || first.machine->value <= 0) return std::nullopt;
  return point.machine->value / first.machine->value;
}

Table PointTable(const SweepResult& result) {
  const Table costs =
      MachineTable(result.points, result.points.front().values, "point",
                   [](const SweepPoint& point, int64_t number) {
                     return MachineRow{number, point.values,
                                       point.machine ? &*point.machine : nullptr, point.why};
                   });
  std::vector<std::string> columns = costs.columns();
  columns.emplace_back("relative");  // to the first point
  Table table(std::move(columns));
  for (size_t i = 0; i < result.points.size(); ++i) {
    std::vector<Cell> cells = costs.rows()[i];
    const std::optional<double> relative = RelativeTo(result.points.front(), result.points[i]);
    cells.push_back(relative ? Cell(*relative) : Cell());
    table.AddRow(std::move(cells));
  }
  return table;
}

double ValueOf(const ExploredMachine& machine, Objective objective) {
  switch (objective) {
    case Objective::kLatency: return machine.cycles;
    case Objective::kEnergy: return machine.energy_pj;
    case Objective::kEdp: return machine.edp();
    case Objective::kArea: return machine.area_um2;
    case Objective::kPower: break;
  }
  return machine.power_mw;
}

std::string_view UnitOf(Objective objective) {
  switch (objective) {
    case Objective::kLatency: return "cycles";
    case Objective::kEnergy: return "pJ";
    case Objective::kEdp: return "pJ * cycles";
    case Objective::kArea: return "um2";
    case Objective::kPower: break;
  }
  return "mW";
}

std::string FrontDrawings(const ExploreResult& result) {
  const std::vector<Objective>& axes = result.job.settings.pareto;
  std::string drawings;
  for (size_t a = 0; a < axes.size(); ++a) {
    for (size_t b = a + 1; b < axes.size(); ++b) {
      Curve curve{.name = "machines of the front"};
      for (const ExploredMachine& machine : result.front) {
        curve.points.emplace_back(ValueOf(machine, axes[a]), ValueOf(machine, axes[b]));
      }
      std::ranges::sort(curve.points);
      drawings +=
          ToSvg({.title = fmt::format("{} against {}", ToString(axes[b]), ToString(axes[a])),
                 .x_label = std::string(UnitOf(axes[a])),
                 .y_label = std::string(UnitOf(axes[b])),
                 .dots = true,
                 .curves = {std::move(curve)}});
    }
  }
  return drawings;
}

std::string NamesOf(const std::vector<Network>& networks) {
  std::vector<std::string_view> names;
  for (const Network& network : networks) names.push_back(network.name);
  return fmt::format("{}", fmt::join(names, " + "));
}

// "no machine of this template can be better than 3.2 % beyond this".
std::string Certificate(const ExploreResult& result) {
  const char* const what = result.job.settings.pareto.empty() ? "this one" : "this front";
  if (!result.gap) return "nothing is known of what other machines could reach";
  if (*result.gap == 0) return fmt::format("no machine of the template is better than {}", what);
  return fmt::format("no machine of the template can be better than {:.2f} % beyond {}",
                     100 * *result.gap, what);
}

std::string ExploreText(const ExploreResult& result) {
  std::string text;
  if (!result.front.empty()) text = ToText(FrontTable(result)) + "\n";
  const auto count = [&](MachineFate fate) { return result.Count(fate); };
  const double share = result.machines > 0
                           ? 100.0 * static_cast<double>(count(MachineFate::kBound)) /
                                 static_cast<double>(result.machines)
                           : 0;
  text += fmt::format(
      "{}: {} machines: {} mapped, {} discarded by bound alone ({:.1f} %), {} by limits, {} "
      "impossible, {} not looked at\n",
      NamesOf(result.job.networks), WithThousands(result.machines),
      WithThousands(count(MachineFate::kMapped)), WithThousands(count(MachineFate::kBound)), share,
      WithThousands(count(MachineFate::kLimit)), WithThousands(count(MachineFate::kImpossible)),
      WithThousands(count(MachineFate::kOpen)));
  text += fmt::format("objective {}, method {}: {}\n", ToString(result.job.settings.objective),
                      result.job.settings.method, Certificate(result));
  return text;
}

Table RecordTable(const ExploreResult& result) {
  Table table({"machine", "fate", "bound", "why"});
  for (const MachineRecord& record : result.records) {
    table.Add(record.number + 1, NameOf(record.fate, kMachineFateNames),
              record.bound > 0 ? Cell(record.bound) : Cell(), record.why);
  }
  return table;
}

// The varied number as x, every cost as a picture of its own; other varied values are curves.
std::string SweepDrawings(const SweepResult& result) {
  const std::vector<ChosenValue>& first = result.points.front().values;
  std::string drawings;
  for (const Objective objective :
       {Objective::kLatency, Objective::kEnergy, Objective::kEdp, Objective::kArea}) {
    std::vector<Curve> curves;
    for (const SweepPoint& point : result.points) {
      if (!point.machine || !point.values.front().number) continue;
      const double x = *point.values.front().number, y = ValueOf(*point.machine, objective);
      if (x <= 0 || y <= 0) continue;
      std::string name;
      for (size_t i = 1; i < point.values.size(); ++i) {
        name += fmt::format("{}{} {}", i > 1 ? ", " : "", LastPart(point.values[i].field),
                            point.values[i].text);
      }
      if (name.empty()) name = ToString(objective);
      auto curve = std::ranges::find(curves, name, &Curve::name);
      if (curve == curves.end()) curve = curves.insert(curves.end(), {.name = name});
      curve->points.emplace_back(x, y);
    }
    for (Curve& curve : curves) std::ranges::sort(curve.points);
    if (curves.empty()) continue;
    drawings += ToSvg({.title = fmt::format("{} against {}", ToString(objective), first[0].field),
                       .x_label = first[0].field,
                       .y_label = std::string(UnitOf(objective)),
                       .dots = true,
                       .curves = std::move(curves)});
  }
  return drawings;
}

std::string KneeText(const SweepResult& result) {
  if (!result.knee) return "";
  const SweepPoint& point = result.points[*result.knee];
  return fmt::format("the curve flattens at {} = {}\n", point.values.front().field,
                     point.values.front().text);
}

}  // namespace

Result<RunView> ViewOfExplore(const ExploreRunResult& made) {
  const ExploreResult& result = made.result;
  RunView view{.json = Json::object(), .times = Json::object(), .interrupted = result.interrupted};
  if (result.recorded > 0) {
    view.remarks.push_back(fmt::format("resumed: {} steps are there", result.recorded));
  }
  view.text = ExploreText(result);
  const auto count = [&](MachineFate fate) { return result.Count(fate); };
  Json front = Json::array(), pareto = Json::array();
  for (const ExploredMachine& machine : result.front) front.push_back(MachineJson(machine));
  for (const Objective objective : result.job.settings.pareto) {
    pareto.push_back(ToString(objective));
  }
  view.json = {{"networks", NamesOf(result.job.networks)},
               {"objective", ToString(result.job.settings.objective)},
               {"pareto", std::move(pareto)},
               {"method", result.job.settings.method},
               {"machines", result.machines},
               {"mapped", count(MachineFate::kMapped)},
               {"discarded_by_bound", count(MachineFate::kBound)},
               {"discarded_by_limit", count(MachineFate::kLimit)},
               {"impossible", count(MachineFate::kImpossible)},
               {"not_looked_at", count(MachineFate::kOpen)},
               {"best", result.best ? MachineJson(*result.best) : Json(nullptr)},
               {"front", std::move(front)},
               {"gap", result.gap ? Json(*result.gap) : Json(nullptr)},
               {"certificate", Certificate(result)},
               {"stopped_by", NameOf(result.stopped_by, kMapStopNames)},
               {"turns", result.turns}};
  view.times = {{"seconds", result.seconds}};
  if (result.front.empty()) {
    if (!result.interrupted) {
      view.verdict = Error{.kind = ErrorKind::kBudget,
                           .message = "no machine was mapped in the time that there was",
                           .hint = "give it more time (--time-limit)"};
    }
    view.json["seconds"] = result.seconds;
    return view;
  }
  for (const ExploredMachine& machine : result.front) {
    view.files.push_back({MachineFile(machine.number), machine.file});
  }
  view.files.push_back({"machines.csv", ToCsv(RecordTable(result))});
  view.files.push_back({"front.csv", ToCsv(FrontTable(result))});
  view.files.push_back(
      {"report.html", Page(fmt::format("Machines for {}", NamesOf(result.job.networks)), view.text,
                           FrontDrawings(result))});
  view.files.push_back({"result.json", ToText(view.json)});
  view.json["seconds"] = result.seconds;
  return view;
}

Result<RunView> ViewOfSweep(const SweepRunResult& made) {
  const SweepResult& result = made.result;
  RunView view{.json = Json::object(), .times = Json::object(), .interrupted = result.interrupted};
  if (result.recorded > 0) {
    view.remarks.push_back(fmt::format("resumed: {} steps are there", result.recorded));
  }
  view.text = ToText(PointTable(result)) + "\n" + KneeText(result);
  Json points = Json::array();
  bool any = false;
  for (size_t i = 0; i < result.points.size(); ++i) {
    const SweepPoint& point = result.points[i];
    Json json = {{"values", ValuesJson(point.values)}};
    const std::optional<double> relative = RelativeTo(result.points.front(), point);
    json["relative"] = relative ? Json(*relative) : Json(nullptr);
    if (point.machine) {
      any = true;
      AddCosts(*point.machine, json);
      const std::string file = fmt::format("points/{:04}/accelerator.yaml", i + 1);
      json["file"] = file;
      view.files.push_back({file, point.machine->file});
    } else {
      for (const char* key : {"cycles", "energy_pj", "edp", "area_um2", "gap", "limited_by"}) {
        json[key] = nullptr;
      }
      json["status"] = ToString(MapStatus::kNothing);
      json["why"] = point.why;
    }
    points.push_back(std::move(json));
  }
  const SweepJob& job = result.job;
  view.json = {
      {"network", job.networks.front().name},
      {"objective", ToString(job.settings.map.objective)},
      {"points", std::move(points)},
      {"knee", result.knee ? ValuesJson(result.points[*result.knee].values) : Json(nullptr)}};
  view.times = {{"seconds", result.seconds}};
  if (!any && !result.interrupted) {
    view.verdict = Error{.kind = ErrorKind::kInfeasible,
                         .message = fmt::format("no point has a mapping of every layer: {}",
                                                result.points.front().why)};
  }
  if (!any) view.files.clear();
  if (any) {
    const std::string drawings = SweepDrawings(result);
    view.files.push_back({"points.csv", ToCsv(PointTable(result))});
    view.files.push_back({"sweep.svg", drawings.substr(0, drawings.find("</svg>") + 6) + "\n"});
    view.files.push_back({"report.html", Page(fmt::format("What if: {}", job.networks.front().name),
                                              view.text, drawings)});
    view.files.push_back({"result.json", ToText(view.json)});
  }
  view.json["seconds"] = result.seconds;
  return view;
}

}  // namespace tessera
