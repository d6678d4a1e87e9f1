#include "tessera/report/maestro_report.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/cost/maestro/maestro.h"
#include "tessera/cost/maestro/report.h"
#include "tessera/part.h"

namespace tessera {
namespace {

using maestro::Analysis;
using maestro::LayerOutcome;
using maestro::MappedLayer;

double EnergyNj(const Analysis& analysis) {
  return maestro::EnergyOf(analysis).total() * maestro::kMacPj / 1000;
}

// JSON has no NaN and no infinity.
Json Number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json ColumnsJson(const LayerOutcome& layer, const PeArray& array) {
  const auto columns =
      maestro::ColumnsOf(layer.workload, array, layer.analysis, layer.csv_energy_nj);
  Json json;
  for (size_t i = 0; i < columns.size(); ++i) {
    const int64_t* integer = std::get_if<int64_t>(&columns[i]);
    json[std::string(maestro::ColumnNames()[i])] =
        integer != nullptr ? Json(*integer) : Number(*std::get_if<double>(&columns[i]));
  }
  return json;
}

Json TensorsJson(const std::array<int64_t, 3>& values) {
  return {{"input", values[0]}, {"filter", values[1]}, {"output", values[2]}};
}

Json DelayJson(const maestro::DelayStatistics& delay) {
  return {{"min", delay.min_cycles}, {"max", delay.max_cycles}, {"average", delay.average_cycles}};
}

void AddNumbers(const LayerOutcome& layer, const PeArray& array, MaestroArea area, Json& json) {
  const Analysis& a = layer.analysis;
  const maestro::LayerEnergy energy = maestro::EnergyOf(a);
  const maestro::Power power = maestro::PowerOf(a, array);
  json["flags"] = layer.flags.Names();
  json["cycles"] = a.cycles;
  json["macs"] = a.macs;
  json["layer_macs"] = layer.workload.exact_macs;
  json["energy_nj"] = EnergyNj(a);
  json["energy_mac_units"] = {
      {"mac", energy.mac}, {"l1", energy.l1}, {"l2", energy.l2}, {"total", energy.total()}};
  json["maestro_csv_energy_nj"] = layer.csv_energy_nj;
  json["area_um2"] = maestro::AreaUm2(a, array, area);
  json["power_mw"] = {{"pe", power.pe_mw},
                      {"l1", power.l1_mw},
                      {"l2", power.l2_mw},
                      {"noc", power.noc_mw},
                      {"total", power.total_mw()}};
  json["busy_pes"] = Number(a.busy_units);
  json["l1_required_elements"] = TensorsJson(a.l1_required);
  json["l2_required_elements"] = TensorsJson(a.l2_required);
  json["l1_reads"] = TensorsJson(a.l1_reads);
  json["l1_writes"] = TensorsJson(a.l1_writes);
  json["l2_reads"] = TensorsJson(a.l2_reads);
  json["l2_writes"] = TensorsJson(a.l2_writes);
  json["noc_elements_per_cycle"] = {{"peak", a.noc_required}, {"average", Number(a.noc_average)}};
  json["offchip_elements_per_cycle"] = a.offchip_required;
  json["ingress_delay_cycles"] = DelayJson(a.ingress);
  json["egress_delay_cycles"] = DelayJson(a.egress);
  json["compute_delay_cycles"] = DelayJson(a.compute);
  json["arithmetic_intensity"] = Number(a.arithmetic_intensity);
  json["maestro_csv"] = ColumnsJson(layer, array);
}

Json LayerJson(const MaestroReport& report, size_t i) {
  const MappedLayer& mapped = report.layers[i];
  const LayerOutcome& outcome = report.outcomes[i];
  Json json = {{"name", mapped.name},
               {"type", ToString(mapped.declaration.type)},
               {"mapping", ToString(mapped.dataflow)}};
  if (outcome.failure) {
    json["status"] = ToString(outcome.failure->status);
    json["msg"] = outcome.failure->error.message;
  } else {
    json["status"] = "ok";
    AddNumbers(outcome, report.array, report.area, json);
  }
  return json;
}

Json ArrayJson(const PeArray& array) {
  return {{"num_pes", array.num_pes},
          {"simd_lanes", array.simd_lanes},
          {"l1_elements", array.l1_elements},
          {"l2_elements", array.l2_elements},
          {"noc_elements_per_cycle", array.noc_elements_per_cycle},
          {"noc_hops", array.noc_hops},
          {"noc_hop_latency_cycles", array.noc_hop_latency_cycles},
          {"offchip_elements_per_cycle", array.offchip_elements_per_cycle}};
}

struct Total {
  int64_t layers = 0, failed = 0, flagged = 0;
  Checked cycles = 0, macs = 0;
  double energy_nj = 0;
};

Total TotalOf(const MaestroReport& report) {
  Total total;
  for (const LayerOutcome& outcome : report.outcomes) {
    ++total.layers;
    if (outcome.failure) {
      ++total.failed;
      continue;
    }
    if (!outcome.flags.empty()) ++total.flagged;
    total.cycles = total.cycles + outcome.analysis.cycles;
    total.macs = total.macs + outcome.analysis.macs;
    total.energy_nj += EnergyNj(outcome.analysis);
  }
  return total;
}

Json JsonOf(const Checked& count) { return count.ok() ? Json(count.value()) : Json(); }
std::string TextOf(const Checked& count) {
  return count.ok() ? WithThousands(count.value()) : "more than 64 bits of";
}

std::string Limit(int64_t value) {
  return value == PeArray::kUnlimited ? "unlimited" : WithThousands(value);
}

}  // namespace

Json ToJson(const MaestroReport& report) {
  Json layers = Json::array();
  for (size_t i = 0; i < report.layers.size(); ++i) layers.push_back(LayerJson(report, i));
  const Total total = TotalOf(report);
  return {{"model", kMaestroModel.name},
          {"network", report.network},
          {"version", NameOf(report.version, kMaestroVersionNames)},
          {"area_model", NameOf(report.area, kMaestroAreaNames)},
          {"hardware", ArrayJson(report.array)},
          {"layers", std::move(layers)},
          {"total",
           {{"layers", total.layers},
            {"failed", total.failed},
            {"flagged", total.flagged},
            {"cycles", JsonOf(total.cycles)},
            {"macs", JsonOf(total.macs)},
            {"energy_nj", total.energy_nj}}}};
}

Table LayerTable(const MaestroReport& report) {
  Table table({"layer", "cycles", "macs", "energy_nj", "maestro_csv_energy_nj", "l1_elements",
               "l2_elements", "busy_pes", "area_um2", "power_mw", "flags"});
  for (size_t i = 0; i < report.layers.size(); ++i) {
    const LayerOutcome& outcome = report.outcomes[i];
    if (outcome.failure) continue;
    const Analysis& a = outcome.analysis;
    table.Add(report.layers[i].name, a.cycles, a.macs, EnergyNj(a), outcome.csv_energy_nj,
              maestro::L1Required(a), maestro::L2Required(a), a.busy_units,
              maestro::AreaUm2(a, report.array, report.area),
              maestro::PowerOf(a, report.array).total_mw(),
              fmt::format("{}", fmt::join(outcome.flags.Names(), " ")));
  }
  return table;
}

std::string Summary(const MaestroReport& report) {
  const PeArray& array = report.array;
  const Total total = TotalOf(report);
  std::string text = fmt::format(
      "{}: {} of {} layers, {} cycles, {} MACs, {:.6g} nJ\n"
      "hardware: {} PEs x {} lanes, L1 {}, L2 {}, NoC {} elements/cycle after {} x {} cycles, "
      "off-chip {} elements/cycle\n",
      report.network, total.layers - total.failed, total.layers, TextOf(total.cycles),
      TextOf(total.macs), total.energy_nj, WithThousands(array.num_pes), array.simd_lanes,
      Limit(array.l1_elements), Limit(array.l2_elements), Limit(array.noc_elements_per_cycle),
      array.noc_hops, array.noc_hop_latency_cycles, Limit(array.offchip_elements_per_cycle));
  if (total.flagged > 0) {
    text += fmt::format("{} layers have flags: docs/cost-maestro.md says what each means\n",
                        total.flagged);
  }
  return text;
}

}  // namespace tessera
