// Program records: checked, run and timed.
#include <fmt/format.h>

#include "tessera/base/json_text.h"
#include "tessera/vta.h"
#include "tessera/vta/batch/json_row.h"
#include "tessera/vta/batch/rows.h"
#include "tessera/vta/check/static.h"
#include "tessera/vta/sim/cycles.h"

namespace tessera::vta {
namespace {

Json ToJson(const Diagnostic& diagnostic) {
  Json json = {{"class", DefectName(diagnostic.defect)},
               {"severity", diagnostic.severity == Severity::kError ? "error" : "warning"},
               {"insn", diagnostic.insn}};
  json["with_insn"] = diagnostic.with_insn < 0 ? Json() : Json(diagnostic.with_insn);
  json["message"] = diagnostic.message;
  return json;
}

Json ToJson(const ExecutionCounts& counts) {
  Json loads;
  for (const uint32_t memory : {0u, 1u, 2u, 3u, 5u}) {
    loads[MemoryName(memory)] = counts.load_bytes[memory];
  }
  return {{"load_bytes", std::move(loads)},
          {"store_bytes", counts.store_bytes},
          {"gemm_tile_ops", counts.gemm_tile_ops},
          {"reset_tile_ops", counts.reset_tile_ops},
          {"alu_tile_ops", counts.alu_tile_ops}};
}

// Cycles, or null for a program that hardware never finishes.
Json CyclesOf(std::span<const Instruction> instructions, const Config& config,
              const TimingParameters& parameters) {
  CycleSimulator simulator(config, parameters);
  const Result<CycleReport> report = simulator.Run(instructions);
  return report ? Json(report->cycles) : Json();
}

void AddTiming(const Record& record, const TimingParameters& timing, Json& answer) {
  const std::vector<Instruction> instructions = DecodeInstructions(record.program);
  CycleSimulator simulator(record.program.config, timing);
  const Result<CycleReport> report = simulator.Run(instructions);
  answer["cycles"] = report ? Json(report->cycles) : Json();
  Json others = Json::array();
  for (const TimingParameters& parameters : record.alternatives) {
    others.push_back(CyclesOf(instructions, record.program.config, parameters));
  }
  answer["cycles_alt"] = std::move(others);
  Json timeline = Json::array();
  for (const InstructionTime& time : simulator.timeline()) {
    timeline.push_back({time.start, time.done});
  }
  answer["timeline"] = report ? std::move(timeline) : Json();
  if (!report) return;
  answer["bus"] = {{"acc_writes", report->acc_writes},
                   {"rd_bursts", report->read_bursts},
                   {"rd_beats", report->read_beats},
                   {"wr_bursts", report->write_bursts},
                   {"wr_beats", report->write_beats}};
}

}  // namespace

Result<std::string> AnswerProgram(std::string_view row, const ConfigTable& configs,
                                  const TimingParameters& timing, const Where& where) {
  Result<Record> record = ParseRecord(row, configs, where);
  if (!record) return record.error();
  const Result<CheckReport> report = CheckAndRun(record->program);
  if (!report) {
    Error error = report.error();
    error.where = where;
    return error;
  }
  Json answer = {{"id", record->id}};
  answer["out_hex"] = nullptr;
  answer["cycles"] = nullptr;
  answer["cycles_alt"] = nullptr;
  answer["timeline"] = nullptr;
  answer["extrapolated"] = !record->program.config.IsDefaultSize();
  answer["error"] = report->diagnostics.empty() ? Json() : ToJson(report->diagnostics.front());
  Json all = Json::array();
  for (const Diagnostic& diagnostic : report->diagnostics) all.push_back(ToJson(diagnostic));
  answer["diagnostics"] = std::move(all);
  answer["portable"] = report->ok() && report->not_portable.empty();
  answer["not_portable"] = report->not_portable;
  if (report->ok()) {
    answer["out_hex"] = BytesToHex(Bytes(std::as_const(record->program), record->program.out));
    answer["stats"] = ToJson(report->counts);
    AddTiming(*record, timing, answer);
  }
  return ToLine(answer);
}

}  // namespace tessera::vta
