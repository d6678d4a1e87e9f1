// tessera simulate: runs VTA programs, checks them and counts their cycles.
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/batch.h"
#include "tessera/cli/command.h"
#include "tessera/cli/vta_arguments.h"
#include "tessera/part.h"
#include "tessera/report/vta_report.h"
#include "tessera/vta.h"

namespace tessera {
namespace {

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

// Errors end the command with the first of them; all are listed.
Result<void> ShowDiagnostics(const vta::CheckReport& report, const std::string& file,
                             Context& context) {
  context.output.SetAll(ToJson(report));
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

Result<void> AnswerRecords(const SimulateArguments& arguments, Context& context) {
  const Result<vta::RowAnswers> answers =
      vta::RowAnswers::Make(arguments.configs, arguments.timing);
  if (!answers) return answers.error();
  return AnswerLines(
      arguments.batch,
      [&](std::string_view row, const Where& where) { return answers->ToProgram(row, where); },
      context);
}

Result<void> SimulateProgram(const SimulateArguments& arguments, Context& context) {
  Result<vta::Program> program = vta::LoadProgram(arguments.program);
  if (!program) return program.error();
  const Result<vta::Simulation> run =
      vta::Simulate(*program, {.timing = arguments.timing,
                               .trace = arguments.trace.has_value(),
                               .timeline_columns = arguments.timeline ? arguments.columns : 0});
  if (!run) return run.error();
  if (Result<void> fine = ShowDiagnostics(run->check, arguments.program, context); !fine) {
    return fine;
  }
  if (arguments.dump) {
    const std::span<const uint8_t> bytes = Bytes(*program, program->out);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (Result<void> written = WriteFileAtomically(*arguments.dump, text); !written) return written;
  }
  if (run->stuck) return *run->stuck;
  if (arguments.trace) {
    Result<void> written = WriteFileAtomically(*arguments.trace, run->trace);
    if (!written) return written;
  }
  return ShowTiming(*run, *program, context.output);
}

Result<void> Run(const SimulateArguments& arguments, Context& context) {
  if (arguments.program.empty() == arguments.batch.empty()) {
    return Error{.kind = ErrorKind::kUsage, .message = "give either a PROGRAM or --batch RECORDS"};
  }
  if (Result<void> valid = vta::Validate(arguments.timing); !valid) return valid;
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(arguments.program, ignored);
  if (!folder && arguments.batch.empty()) return SimulateProgram(arguments, context);
  Result<void> fine =
      RefuseWith(folder ? "a folder" : "--batch", {{arguments.trace.has_value(), "--trace"},
                                                   {arguments.timeline, "--timeline"},
                                                   {arguments.dump.has_value(), "--dump-output"}});
  if (!fine) return fine;
  if (!folder) return AnswerRecords(arguments, context);
  const Result<vta::FolderRun> run = vta::SimulateFolder(arguments.program, arguments.timing);
  if (!run) return run.error();
  return Show(*run, context.output);
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
