// tessera disassemble: VTA programs as text.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/batch.h"
#include "tessera/cli/command.h"
#include "tessera/cli/vta_arguments.h"
#include "tessera/vta.h"

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
    const Result<vta::RowAnswers> answers = vta::RowAnswers::Make(arguments.configs);
    if (!answers) return answers.error();
    return AnswerLines(
        arguments.batch,
        [&](std::string_view row, const Where& where) { return answers->ToDecode(row, where); },
        context);
  }
  const Result<vta::Program> program = vta::LoadProgram(arguments.program);
  if (!program) return program.error();
  if (context.output.json()) {
    context.output.Set("config", program->config.name);
    context.output.Set("instructions", vta::InstructionTexts(*program));
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
