// tessera assemble: VTA programs from text.
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/batch.h"
#include "tessera/cli/command.h"
#include "tessera/cli/vta_arguments.h"
#include "tessera/part.h"
#include "tessera/vta.h"

namespace tessera {
namespace {

struct AssembleArguments {
  std::string program;
  std::string batch;
  std::string configs;
};

std::vector<Flag> Flags(AssembleArguments& arguments) {
  return {{.name = "PROGRAM", .target = &arguments.program, .help = "assembly text"},
          {.name = "--batch",
           .target = &arguments.batch,
           .help = "encode rows of instruction or micro-op fields (JSON lines, may be gzipped)",
           .value = "ROWS"},
          ConfigsFlag(arguments.configs)};
}

Result<void> Run(const AssembleArguments& arguments, Context& context) {
  if (arguments.program.empty() == arguments.batch.empty()) {
    return Error{.kind = ErrorKind::kUsage, .message = "give either a PROGRAM or --batch ROWS"};
  }
  if (!arguments.batch.empty()) {
    Result<void> fine = RefuseWith("--batch", {{!context.options.out.empty(), "--out"}});
    if (!fine) return fine;
    const Result<vta::RowAnswers> answers = vta::RowAnswers::Make(arguments.configs);
    if (!answers) return answers.error();
    return AnswerLines(
        arguments.batch,
        [&](std::string_view row, const Where& where) { return answers->ToEncode(row, where); },
        context);
  }
  const Result<std::string> text = ReadTextFile(arguments.program);
  if (!text) return text.error();
  const Result<vta::Program> program = vta::ParseAssembly(*text, arguments.program);
  if (!program) return program.error();
  const std::string folder = context.options.out.empty() ? "." : context.options.out;
  if (Result<void> made = MakeFolder(folder); !made) return made;
  const std::string path =
      (std::filesystem::path(folder) / std::filesystem::path(arguments.program).stem()).string() +
      ".vta";
  if (Result<void> saved = vta::SaveProgram(*program, path); !saved) return saved;
  context.output.Set("file", path);
  context.output.Set("instructions", program->insn_count);
  context.output.Set("memory_bytes", program->dram.size());
  return context.output.ShowText(fmt::format("{}: {} instructions, {} bytes of memory\n", path,
                                             program->insn_count, program->dram.size()));
}

}  // namespace

extern const Command kAssembleCommand = {
    .name = "assemble",
    .summary = "VTA programs from assembly text; encodings from fields",
    .examples = {{"tessera assemble gemm.s --out build", "writes build/gemm.vta"},
                 {"tessera assemble --batch fields.jsonl > words.jsonl",
                  "instruction words for rows of fields"}},
    .bind = Bind<AssembleArguments, Flags, Run>,
    .details = "The text form is described in docs/vta.md; 'tessera disassemble' writes it.",
    .writes_out = true};

}  // namespace tessera
