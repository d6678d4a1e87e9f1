// tessera simulate: runs VTA programs, checks them and counts their cycles.
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/cli/batch.h"
#include "tessera/cli/command.h"
#include "tessera/cli/simulate.h"
#include "tessera/cli/vta_arguments.h"
#include "tessera/vta/batch/rows.h"
#include "tessera/vta/check/check.h"
#include "tessera/vta/sim/cycles.h"
#include "tessera/vta/sim/trace.h"

namespace tessera {
namespace {

using vta::Stage;

struct SimulateArguments {
  std::string program;
  std::string batch;
  std::string configs;
  std::optional<std::string> trace;
  std::optional<std::string> dump;
  bool timeline = false;
  int64_t columns = 100;
  vta::TimingParameters timing;
};

std::vector<Flag> Flags(SimulateArguments& arguments) {
  std::vector<Flag> flags = {
      {.name = "PROGRAM",
       .target = &arguments.program,
       .help = "a program (.vta), assembly text, or the folder of a compiled network"},
      {.name = "--trace",
       .target = &arguments.trace,
       .help = "writes a trace for Perfetto (ui.perfetto.dev)",
       .value = "FILE"},
      {.name = "--timeline",
       .target = &arguments.timeline,
       .help = "shows when each stage is busy"},
      {.name = "--columns",
       .target = &arguments.columns,
       .help = "characters per line of the timeline",
       .value = "N",
       .least = 1,
       .most = 1000},
      {.name = "--dump-output",
       .target = &arguments.dump,
       .help = "writes the bytes of the output region",
       .value = "FILE"},
      {.name = "--batch",
       .target = &arguments.batch,
       .help = "runs program records (JSON lines, may be gzipped) and prints one line for each",
       .value = "RECORDS"},
      ConfigsFlag(arguments.configs)};
  for (const Flag& flag : TimingFlags(arguments.timing)) flags.push_back(flag);
  return flags;
}

Json DiagnosticsJson(const vta::CheckReport& report) {
  Json list = Json::array();
  for (const vta::Diagnostic& diagnostic : report.diagnostics) {
    list.push_back(
        {{"class", vta::DefectName(diagnostic.defect)},
         {"severity", diagnostic.severity == vta::Severity::kError ? "error" : "warning"},
         {"insn", diagnostic.insn},
         {"with_insn", diagnostic.with_insn < 0 ? Json() : Json(diagnostic.with_insn)},
         {"message", diagnostic.message}});
  }
  return list;
}

// Errors end the command with the first of them; all are listed.
Result<void> ShowDiagnostics(const vta::CheckReport& report, const std::string& file,
                             Context& context) {
  context.output.Set("diagnostics", DiagnosticsJson(report));
  context.output.Set("portable", report.ok() && report.not_portable.empty());
  context.output.Set("not_portable", report.not_portable);
  std::optional<Error> first;
  for (const vta::Diagnostic& diagnostic : report.diagnostics) {
    if (diagnostic.severity == vta::Severity::kWarning) {
      context.remark(fmt::format("{}: {}", file, ToString(diagnostic)));
      continue;
    }
    const Error error = {
        .kind = ErrorKind::kBadValue,
        .message = fmt::format("instruction {}: {}: {}", diagnostic.insn,
                               vta::DefectName(diagnostic.defect), diagnostic.message),
        .where = {.file = file}};
    if (first) context.complain(error);
    if (!first) first = error;
  }
  if (first) return *first;
  for (const std::string& reason : report.not_portable) {
    context.remark(fmt::format("{}: not portable: {}", file, reason));
  }
  return {};
}

// After its last instruction, or for want of any.
int64_t IdleCycles(const vta::StageUse& use, int64_t cycles) {
  return cycles + 1 - use.busy_cycles - use.token_cycles - use.fetch_cycles;
}

double Percent(int64_t part, int64_t cycles) {
  return 100 * static_cast<double>(part) / static_cast<double>(cycles + 1);
}

// Busy, both waits and idle add up to the cycles of the program; waiting for the bus is part of
// being busy.
Table StageTable(const vta::CycleReport& report) {
  Table table({"stage", "instructions", "busy", "busy %", "wait_token", "wait_fetch", "idle",
               "busy_waiting_for_bus"});
  for (const Stage stage : {Stage::kLoad, Stage::kCompute, Stage::kStore}) {
    const vta::StageUse& use = report.stages[static_cast<size_t>(stage)];
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

void SetTiming(const vta::CycleReport& report, const vta::Config& config,
               std::span<const vta::InstructionTime> times, Output& output) {
  output.Set("cycles", report.cycles);
  output.Set("extrapolated", !config.IsDefaultSize());
  Json stages = Json::array();
  for (const Stage stage : {Stage::kLoad, Stage::kCompute, Stage::kStore}) {
    const vta::StageUse& use = report.stages[static_cast<size_t>(stage)];
    stages.push_back({{"stage", vta::StageName(stage)},
                      {"instructions", use.instructions},
                      {"busy_cycles", use.busy_cycles},
                      {"token_cycles", use.token_cycles},
                      {"fetch_cycles", use.fetch_cycles},
                      {"bus_cycles", use.bus_cycles},
                      {"idle_cycles", IdleCycles(use, report.cycles)}});
  }
  output.Set("stages", std::move(stages));
  output.Set("bus", {{"read_bursts", report.read_bursts},
                     {"read_beats", report.read_beats},
                     {"write_bursts", report.write_bursts},
                     {"write_beats", report.write_beats}});
  Json timeline = Json::array();
  for (const vta::InstructionTime& time : times) timeline.push_back({time.start, time.done});
  output.Set("timeline", std::move(timeline));
}

Result<void> ShowTiming(const SimulateArguments& arguments, const vta::Program& program,
                        const vta::ExecutionCounts& counts, Context& context) {
  const std::vector<vta::Instruction> instructions = DecodeInstructions(program);
  vta::CycleSimulator simulator(program.config, arguments.timing);
  simulator.RecordDetails(arguments.trace.has_value());
  const Result<vta::CycleReport> report = simulator.Run(instructions);
  if (!report) return report.error();
  if (arguments.trace) {
    const std::string trace = vta::PerfettoTrace(instructions, simulator);
    if (Result<void> written = WriteFileAtomically(*arguments.trace, trace); !written) {
      return written;
    }
  }
  SetTiming(*report, program.config, simulator.timeline(), context.output);
  if (context.output.json()) return {};
  const std::string_view note =
      program.config.IsDefaultSize() ? "" : " (extrapolated: no RTL of this configuration)";
  Result<void> shown = context.output.ShowText(fmt::format("{} instructions on {}, {} cycles{}\n\n",
                                                           instructions.size(), program.config.name,
                                                           WithThousands(report->cycles), note));
  if (shown) shown = context.output.Show(StageTable(*report), "stages");
  if (shown) shown = context.output.ShowText(UseText(*report, counts));
  if (!shown || !arguments.timeline) return shown;
  return context.output.ShowText("\n" + vta::TextTimeline(instructions, simulator.timeline(),
                                                          report->cycles, arguments.columns));
}

Result<void> Run(const SimulateArguments& arguments, Context& context) {
  if (arguments.program.empty() == arguments.batch.empty()) {
    return Error{.kind = ErrorKind::kUsage, .message = "give either a PROGRAM or --batch RECORDS"};
  }
  if (Result<void> valid = vta::Validate(arguments.timing); !valid) return valid;
  if (!arguments.batch.empty()) {
    Result<void> fine = RefuseWith("--batch", {{arguments.trace.has_value(), "--trace"},
                                               {arguments.timeline, "--timeline"},
                                               {arguments.dump.has_value(), "--dump-output"}});
    if (!fine) return fine;
    const Result<vta::ConfigTable> configs = LoadConfigTables(arguments.configs);
    if (!configs) return configs.error();
    return AnswerLines(
        arguments.batch,
        [&](std::string_view row, const Where& where) {
          return vta::AnswerProgram(row, *configs, arguments.timing, where);
        },
        context);
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(arguments.program, ignored)) {
    Result<void> fine = RefuseWith("a folder", {{arguments.trace.has_value(), "--trace"},
                                                {arguments.timeline, "--timeline"},
                                                {arguments.dump.has_value(), "--dump-output"}});
    if (!fine) return fine;
    return SimulateFolder(arguments.program, arguments.timing, context);
  }
  Result<vta::Program> program = LoadProgram(arguments.program);
  if (!program) return program.error();
  const Result<vta::CheckReport> report = vta::CheckAndRun(*program);
  if (!report) return report.error();
  if (Result<void> fine = ShowDiagnostics(*report, arguments.program, context); !fine) return fine;
  if (arguments.dump) {
    const std::span<const uint8_t> bytes = Bytes(std::as_const(*program), program->out);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (Result<void> written = WriteFileAtomically(*arguments.dump, text); !written) return written;
  }
  return ShowTiming(arguments, *program, report->counts, context);
}

}  // namespace

extern const Command kSimulateCommand = {
    .name = "simulate",
    .summary = "runs VTA programs: results, defects, exact cycles",
    .examples = {{"tessera simulate conv1.vta --timeline", "cycles, who waits for what, and when"},
                 {"tessera simulate conv1.vta --trace conv1.json",
                  "a trace to open in ui.perfetto.dev"},
                 {"tessera simulate conv1.vta --read-delay 60 --bus-bytes 16",
                  "another memory system"},
                 {"tessera simulate programs", "a compiled network, program by program"},
                 {"tessera simulate --batch records.jsonl.gz > answers.jsonl",
                  "many programs, for scripts"}},
    .bind = Bind<SimulateArguments, Flags, Run>,
    .details =
        "Programs are checked first: fields, buffer limits, token deadlocks, races between "
        "stages,\n"
        "uninitialised reads. Cycles are those of the published RTL for the default configuration\n"
        "and extrapolate its rules for others (docs/vta.md)."};

}  // namespace tessera
