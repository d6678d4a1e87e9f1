#include "tessera/report/vta_report.h"

#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

using vta::Stage;

constexpr Stage kStages[] = {Stage::kLoad, Stage::kCompute, Stage::kStore};

const vta::StageUse& UseOf(const vta::CycleReport& report, Stage stage) {
  return report.stages[static_cast<size_t>(stage)];
}

// After its last instruction, or for want of any.
int64_t IdleCycles(const vta::StageUse& use, int64_t cycles) {
  return cycles + 1 - use.busy_cycles - use.token_cycles - use.fetch_cycles;
}

double Percent(int64_t part, int64_t cycles) {
  return 100 * static_cast<double>(part) / static_cast<double>(cycles + 1);
}

std::string ComputeBusy(const vta::CycleReport& report) {
  const auto busy = static_cast<double>(UseOf(report, Stage::kCompute).busy_cycles);
  return fmt::format("{:.1f}", 100 * (busy / static_cast<double>(report.cycles + 1)));
}

// Busy, both waits and idle add up to the cycles of the program; waiting for the bus is part of
// being busy.
Table StageTable(const vta::CycleReport& report) {
  Table table({"stage", "instructions", "busy", "busy %", "wait_token", "wait_fetch", "idle",
               "busy_waiting_for_bus"});
  for (const Stage stage : kStages) {
    const vta::StageUse& use = UseOf(report, stage);
    table.Add(vta::StageName(stage), use.instructions, use.busy_cycles,
              fmt::format("{:.1f}", Percent(use.busy_cycles, report.cycles)), use.token_cycles,
              use.fetch_cycles, IdleCycles(use, report.cycles), use.bus_cycles);
  }
  return table;
}

// What the matrix unit and the memory had to do.
std::string UseText(const vta::CycleReport& report, const vta::ExecutionCounts& counts) {
  return fmt::format(
      "\nmatrix unit  {} tile products, {:.1f} % of the cycles\n"
      "read bus     {} beats, {:.1f} % of the cycles\n"
      "stores       {} bytes\n",
      WithThousands(counts.gemm_tile_ops), Percent(counts.gemm_tile_ops, report.cycles),
      WithThousands(report.read_beats), Percent(report.read_beats, report.cycles),
      WithThousands(counts.store_bytes));
}

Json StagesJson(const vta::CycleReport& report) {
  Json stages = Json::array();
  for (const Stage stage : kStages) {
    const vta::StageUse& use = UseOf(report, stage);
    stages.push_back({{"stage", vta::StageName(stage)},
                      {"instructions", use.instructions},
                      {"busy_cycles", use.busy_cycles},
                      {"token_cycles", use.token_cycles},
                      {"fetch_cycles", use.fetch_cycles},
                      {"bus_cycles", use.bus_cycles},
                      {"idle_cycles", IdleCycles(use, report.cycles)}});
  }
  return stages;
}

void SetTiming(const vta::Simulation& run, const vta::Config& config, Output& output) {
  const vta::CycleReport& report = run.report;
  output.Set("cycles", report.cycles);
  output.Set("extrapolated", !config.IsDefaultSize());
  output.Set("stages", StagesJson(report));
  output.Set("bus", {{"read_bursts", report.read_bursts},
                     {"read_beats", report.read_beats},
                     {"write_bursts", report.write_bursts},
                     {"write_beats", report.write_beats}});
  Json timeline = Json::array();
  for (const vta::InstructionTime& time : run.times) timeline.push_back({time.start, time.done});
  output.Set("timeline", std::move(timeline));
}

Table StepTable(const vta::NetworkRun& run) {
  Table table({"step", "kind", "on", "cycles", "compute_busy %", "values", "distinct"});
  for (const vta::StepRun& step : run.steps) {
    const bool on_vta = vta::RunsOnVta(step.kind);
    table.Add(step.name, vta::StepKindName(step.kind), on_vta ? "vta" : "host",
              on_vta ? Cell(step.report.cycles) : Cell(), on_vta ? ComputeBusy(step.report) : "",
              step.values, step.distinct_values);
  }
  return table;
}

}  // namespace

Json ToJson(const vta::CheckReport& report) {
  Json list = Json::array();
  for (const vta::Diagnostic& diagnostic : report.diagnostics) {
    list.push_back(
        {{"class", vta::DefectName(diagnostic.defect)},
         {"severity", diagnostic.severity == vta::Severity::kError ? "error" : "warning"},
         {"insn", diagnostic.insn},
         {"with_insn", diagnostic.with_insn < 0 ? Json() : Json(diagnostic.with_insn)},
         {"message", diagnostic.message}});
  }
  return {{"diagnostics", std::move(list)},
          {"portable", report.ok() && report.not_portable.empty()},
          {"not_portable", report.not_portable}};
}

Result<void> ShowTiming(const vta::Simulation& run, const vta::Program& program, Output& output) {
  SetTiming(run, program.config, output);
  if (output.json()) return {};
  const std::string_view note =
      program.config.IsDefaultSize() ? "" : " (extrapolated: no RTL of this configuration)";
  Result<void> shown =
      output.ShowText(fmt::format("{} instructions on {}, {} cycles{}\n\n", program.insn_count,
                                  program.config.name, WithThousands(run.report.cycles), note));
  if (shown) shown = output.Show(StageTable(run.report), "stages");
  if (shown) shown = output.ShowText(UseText(run.report, run.check.counts));
  if (!shown || run.timeline.empty()) return shown;
  return output.ShowText("\n" + run.timeline);
}

Result<void> Show(const vta::CompiledNetwork& network, const std::string& config,
                  const std::string& ending, Output& output) {
  output.SetAll(FromText(network.manifest));
  if (output.json()) return {};
  Table table({"layer", "count", "cycles", "floor", "insns", "uops", "schedule"});
  for (const vta::CompiledNetwork::Entry& entry : network.layers) {
    const vta::CompiledLayer& layer = entry.layer;
    table.Add(entry.name, entry.count, layer.report.cycles, layer.gemm_floor_cycles,
              layer.instructions, layer.uops, layer.schedule);
  }
  if (Result<void> shown = output.Show(table); !shown) return shown;
  return output.ShowText(
      fmt::format("\ntotal {} cycles on {}{}\n", WithThousands(network.cycles), config, ending));
}

Result<void> Show(const vta::NetworkRun& run, const std::string& config, const std::string& ending,
                  Output& output) {
  output.SetAll(FromText(run.manifest));
  if (output.json()) return {};
  if (Result<void> shown = output.Show(StepTable(run)); !shown) return shown;
  return output.ShowText(
      fmt::format("\ntotal {} cycles on {}; every value equals plain arithmetic{}\n",
                  WithThousands(run.cycles), config, ending));
}

Result<void> Show(const vta::FolderRun& run, Output& output) {
  Table table({"program", "count", "instructions", "cycles", "compute_busy %", "portable"});
  for (const vta::FolderRun::Entry& entry : run.programs) {
    table.Add(entry.name, entry.count, entry.instructions, entry.report.cycles,
              ComputeBusy(entry.report), entry.portable);
  }
  output.Set("network", run.network);
  output.Set("total_cycles", run.cycles);
  output.Set("host_steps", run.host_steps);
  if (Result<void> shown = output.Show(table, "programs"); !shown) return shown;
  const std::string host = fmt::format("{}", fmt::join(run.host_steps, ", "));
  return output.ShowText(fmt::format("\ntotal {} cycles{}\n", WithThousands(run.cycles),
                                     host.empty() ? "" : "; left to the host: " + host));
}

}  // namespace tessera
