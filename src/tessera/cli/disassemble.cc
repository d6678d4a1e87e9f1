// tessera disassemble: VTA programs as text.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/batch.h"
#include "tessera/cli/command.h"
#include "tessera/cli/vta_arguments.h"
#include "tessera/vta/batch/rows.h"
#include "tessera/vta/isa/assembly.h"

namespace tessera {
namespace {

struct DisassembleArguments {
  std::string program;
  bool no_data = false;
  std::string batch;
  std::string configs;
};

std::vector<Flag> Flags(DisassembleArguments& arguments) {
  return {{.name = "PROGRAM", .target = &arguments.program, .help = "a program (.vta)"},
          {.name = "--no-data",
           .target = &arguments.no_data,
           .help = "leaves out the memory image; the text cannot be assembled again then"},
          {.name = "--batch",
           .target = &arguments.batch,
           .help = "decode rows of instruction or micro-op words (JSON lines, may be gzipped)",
           .value = "ROWS"},
          ConfigsFlag(arguments.configs)};
}

Result<void> Run(const DisassembleArguments& arguments, Context& context) {
  if (arguments.program.empty() == arguments.batch.empty()) {
    return Error{.kind = ErrorKind::kUsage, .message = "give either a PROGRAM or --batch ROWS"};
  }
  if (!arguments.batch.empty()) {
    if (Result<void> fine = RefuseWith("--batch", {{arguments.no_data, "--no-data"}}); !fine) {
      return fine;
    }
    const Result<vta::ConfigTable> configs = LoadConfigTables(arguments.configs);
    if (!configs) return configs.error();
    return AnswerLines(
        arguments.batch,
        [&](std::string_view row, const Where& where) {
          return vta::AnswerDecode(row, *configs, where);
        },
        context);
  }
  const Result<vta::Program> program = LoadProgram(arguments.program);
  if (!program) return program.error();
  if (context.output.json()) {
    Json lines = Json::array();
    for (const vta::Instruction& instruction : vta::DecodeInstructions(*program)) {
      lines.push_back(vta::ToText(instruction));
    }
    context.output.Set("config", program->config.name);
    context.output.Set("instructions", std::move(lines));
    return {};
  }
  return context.output.ShowText(vta::WriteAssembly(*program, {.data = !arguments.no_data}));
}

}  // namespace

extern const Command kDisassembleCommand = {
    .name = "disassemble",
    .summary = "VTA programs as assembly text; fields of encodings",
    .examples = {{"tessera disassemble conv1.vta --no-data", "instructions and micro-ops"},
                 {"tessera disassemble conv1.vta > conv1.s", "everything, to be assembled again"},
                 {"tessera disassemble --batch words.jsonl", "fields for rows of words"}},
    .bind = Bind<DisassembleArguments, Flags, Run>};

}  // namespace tessera
